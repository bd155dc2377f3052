"""Tests of berth_torch: placed models equal unplaced ones bit for bit.

    python3 scripts/torch/test_berth_torch.py            # three models, a few seconds
    BERTH_TORCH_MODELS=all python3 scripts/torch/test_berth_torch.py

m-etf is berth's own, by the command `berth` on the path; without it these cases are skipped.
"""
import contextlib
import copy
import io
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import berth_torch as bt     # noqa: E402
import models                # noqa: E402

torch.set_num_threads(1)
ALL = dict(models.MODELS)
CHOSEN = os.environ.get("BERTH_TORCH_MODELS", "resnet,bert,decode_step")
CHOSEN = list(ALL) if CHOSEN == "all" else CHOSEN.split(",")
SEEDS = int(os.environ.get("BERTH_TORCH_SEEDS", "1"))


def squares(out):
    return sum((t.float() ** 2).mean() for t in bt.tensors_of(out))


def sgd(weights):
    return torch.optim.SGD(weights, lr=0.1)


def unplaced_step(model, args, optimizer=None):
    """Loss and gradients as a training loop has them."""
    weights = {k: p for k, p in model.named_parameters() if p.requires_grad}
    for weight in weights.values():
        weight.grad = None
    loss = squares(model(*args))
    loss.backward()
    if optimizer:
        optimizer(list(weights.values())).step()
    return loss.detach(), {k: p.grad for k, p in weights.items()}


def differences(a, b):
    """What differs between two nests of tensors, strides included."""
    x, y = bt.tree_flatten(a), bt.tree_flatten(b)
    if x[1] != y[1]:
        return "structure: %s and %s" % (x[1], y[1])
    for p, q in zip(x[0], y[0]):
        if not isinstance(p, torch.Tensor):
            if p != q:
                return "%r and %r" % (p, q)
        elif p.shape != q.shape or p.stride() != q.stride() or p.dtype != q.dtype:
            return "%s %s %s and %s %s %s" % (p.shape, p.stride(), p.dtype, q.shape, q.stride(),
                                              q.dtype)
        elif not torch.equal(p, q):
            return "a tensor of shape %s" % list(p.shape)
    return None


def scattered(captured, seed, count=2):
    """Every op on any device, but what must be together."""
    rng = random.Random(seed)
    return grouped(captured, [rng.randrange(count) for _ in captured.ops])


def stages(captured, count=2):
    """Equal numbers of ops in the order of the program."""
    n = len(captured.ops)
    return grouped(captured, [i * count // n for i in range(n)])


def grouped(captured, device):
    at = {n: i for i, n in enumerate(captured.ops)}
    for members in bt.colocated(captured):
        for node in members:
            device[at[node]] = device[at[members[0]]]
    return device


def by_berth(captured, folder):
    """m-etf on two devices; None without the command."""
    if not shutil.which("berth"):
        return None
    graph, placed = os.path.join(folder, "g.json"), os.path.join(folder, "p.json")
    with open(graph, "w", encoding="utf-8") as file:
        json.dump(bt.graph_of(captured, "test"), file)
    subprocess.run(["berth", "place", graph, "mesh:2,preset=V100,bandwidth=25GB/s", "--links",
                    "duplex", "--placer", "m-etf", "--output", placed], check=True,
                   capture_output=True)
    return placed


class Equality(unittest.TestCase):
    """Placed over processes, forward and training steps."""

    def placements(self, captured, folder, seed):
        found = {"random": scattered(captured, seed), "three": scattered(captured, seed + 1, 3),
                 "stages": stages(captured), "m-etf": by_berth(captured, folder)}
        return {k: p for k, p in found.items() if p is not None}

    def check(self, name, method, training, optimizer=None):
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            model, args = ALL[name]()
            model.train(training)
            captured = bt.capture(model, args, method=method, optimizer=optimizer,
                                  loss=squares if training else None)
            with tempfile.TemporaryDirectory() as folder:
                for what, placement in self.placements(captured, folder, seed).items():
                    with self.subTest(model=name, method=method, placement=what, seed=seed):
                        self.compare(model, args, captured, placement, training, optimizer)

    def compare(self, model, args, captured, placement, training, optimizer):
        twin, steps = copy.deepcopy(model), 2 if training else 1
        torch.manual_seed(99)
        if training:
            expected = [unplaced_step(twin, args, optimizer) for _ in range(steps)]
        else:
            with torch.no_grad():
                expected = [twin(*args)]
        after = torch.rand(1)
        torch.manual_seed(99)
        with bt.Placed(model, args, placement, captured=captured) as placed:
            found = [placed(*args) for _ in range(steps)]
            state = placed.state()
        self.assertIsNone(differences(expected, found))
        self.assertEqual(after, torch.rand(1), "the random numbers go on as after the model")
        was, now = bt.unique_state(model), bt.unique_state(twin)
        self.assertEqual({k for k in now if not torch.equal(was[k], now[k])} - state.keys(), set())
        self.assertEqual([k for k, t in state.items() if not torch.equal(t, now[k])], [])

    def test_forward(self):
        for name in CHOSEN:
            self.check(name, "make_fx", False)

    def test_training(self):
        for name in CHOSEN:
            self.check(name, "make_fx", True)

    def test_update(self):
        for name in CHOSEN[:2] if SEEDS == 1 and len(CHOSEN) < 10 else CHOSEN:
            self.check(name, "make_fx", True, sgd)

    def test_symbolic_trace(self):
        for name in set(CHOSEN) & {"inception", "resnet", "dlrm", "einsum", "decode_step"}:
            self.check(name, "symbolic_trace", False)


class Tricks(unittest.TestCase):
    """Small programs, each with one trap; every placement of their ops on two devices."""

    def every(self, model, *args, most=64):
        model = model if isinstance(model, nn.Module) else Function(model)
        torch.manual_seed(1)
        expected = model(*bt.mapped(torch.clone, args))
        captured = bt.capture(model, args)
        seen = set()
        for code in range(1, min(most, 2 ** len(captured.ops))):
            device = grouped(captured, [code >> i & 1 for i in range(len(captured.ops))])
            if tuple(device) not in seen:
                seen.add(tuple(device))
                torch.manual_seed(1)
                found, _ = bt.apply(captured, args, device, ["cpu", "cpu"])
                self.assertIsNone(differences(expected, found))
        torch.manual_seed(1)
        self.assertIsNone(differences(expected, bt.run(model, args, max(seen, key=lambda d: sum(
            x != y for x, y in zip(d, d[1:]))), captured=captured)))
        return captured

    def test_a_reader_after_a_write_in_place_gets_the_new_value(self):
        def f(x):
            y = x + 1
            before = y * 2
            y[:, 0].add_(5)
            return before, y * 3, y.sum()
        self.every(f, torch.randn(3, 4))

    def test_an_input_that_is_written_keeps_the_callers_tensor(self):
        x = torch.randn(4)
        was = x.clone()
        self.every(lambda x: x.mul_(2) + 1, x)
        self.assertTrue(torch.equal(x, was))

    def test_expanded_gapped_and_transposed_tensors_keep_their_strides(self):
        def f(x):
            a = (x + 1)[:, :1].expand(4, 6)
            b = (x * 2)[:, ::3]
            c = (x * 3).t()
            return a, b, c, a + 1, b + 1, c + 1
        self.every(f, torch.randn(4, 6))

    def test_sizes_and_empty_tensors(self):
        def f(x):
            y = torch.relu(x)
            return y.view(y.size(0), -1).sum(1) / y.numel(), y[:0] * 2, y[:0]
        self.every(f, torch.randn(2, 3, 4))

    def test_tuples_stay_with_their_producer(self):
        def f(x):
            a, b = (x + 1).chunk(2)
            c = torch.cat(torch.unbind(x * 2))
            values, index = x.topk(2)
            return a - b, c, values, index
        self.every(f, torch.randn(4, 5))

    def test_random_numbers_are_drawn_in_the_order_of_the_program(self):
        def f(x):
            a = F.dropout(x, 0.5) + torch.rand(5)
            return a, torch.bernoulli(torch.sigmoid(x)), torch.multinomial(x.softmax(0), 3)
        captured = self.every(f, torch.randn(5))
        self.assertEqual(sum(captured.facts[n].random for n in captured.ops), 4)

    def test_a_kernel_that_writes_an_input_without_saying_so(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.RReLU(), nn.Linear(4, 2))     # its noise
        captured = bt.capture(model, (torch.randn(3, 4),), training=False)
        op = next(n for n in captured.ops if "rrelu" in n.name)
        self.assertEqual([n.name for n in captured.facts[op].writes], ["empty_like"])

    def test_a_backward_kernel_stays_whole(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.SiLU())
        captured = bt.capture(model, (torch.randn(3, 4),), loss=squares)
        self.assertIn("silu_backward", [bt.kind_of(captured, n) for n in captured.ops])

    def test_a_write_comes_after_the_readers_of_the_old_value(self):
        def f(x):
            y = x + 1
            before = y * 2
            y.add_(5)
            return before, y * 3
        captured = bt.capture(Function(f), (torch.ones(2),))
        self.assertEqual([n.name for n in captured.ops], ["input", "add", "mul", "add_", "mul_1"])
        self.assertIn(("mul", ["add_"], 0), [(a.name, [b.name for b in readers], size)
                                             for a, readers, size in bt.edges(captured)])
        with self.assertRaisesRegex(bt.Refused, "runs op 'add_' before 'mul'"):
            bt.read_plan(captured, {"placement": {"device": [0] * 5,
                                                  "sequence": [0, 1, 3, 2, 4]}})

    def test_an_argument_that_is_there_twice(self):
        attention = nn.MultiheadAttention(8, 2, batch_first=True)
        x = torch.randn(2, 3, 8)
        captured = bt.capture(attention, (x, x, x), loss=squares)
        found, _ = bt.apply(captured, (x, x, x), scattered(captured, 1), ["cpu", "cpu"])
        self.assertIsNone(differences(unplaced_step(attention, (x, x, x)), found))

    def test_a_weight_that_is_computed_by_a_hook(self):
        model, x = nn.utils.weight_norm(nn.Linear(4, 4)), torch.randn(2, 4)
        captured = bt.capture(model, (x,), loss=squares)
        found, _ = bt.apply(captured, (x,), scattered(captured, 1), ["cpu", "cpu"])
        self.assertIsNone(differences(unplaced_step(model, (x,)), found))

    def test_constants_and_a_weight_that_is_a_result(self):
        class Holder(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.randn(3))
                self.shift = torch.tensor([1.0, 2.0, 3.0])

            def forward(self, x):
                return {"y": x * self.w + self.shift, "w": self.w, "n": 3}
        self.every(Holder().requires_grad_(False), torch.randn(3))

    def test_batch_norm_writes_its_buffers_in_a_copy(self):
        model = nn.Sequential(nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.BatchNorm1d(4)).train()
        was = copy.deepcopy(model.state_dict())
        x = torch.randn(6, 4)
        captured = bt.capture(model, (x,))
        self.assertEqual(len(captured.written), 6 + 1)      # relu_ writes the norm's result
        with bt.Placed(model, (x,), stages(captured), captured=captured) as placed:
            placed(x)
            state = placed.state()
        for method in ("make_fx", "symbolic_trace"):
            twice = bt.capture(model, (x,), method=method)
            for _ in range(2):
                bt.apply(twice, (x,), stages(twice), ["cpu", "cpu"])
        self.assertTrue(all(torch.equal(was[k], t) for k, t in model.state_dict().items()))
        model(x)
        self.assertEqual(len(state), 6)
        self.assertTrue(all(torch.equal(t, model.state_dict()[k]) for k, t in state.items()))


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Transfers(unittest.TestCase):
    """With "meta" as a device, nothing crosses without a transfer."""

    def setUp(self):
        torch.manual_seed(0)
        self.model, self.args = models.llama()
        self.captured = bt.capture(self.model, self.args)
        self.device = scattered(self.captured, 3)

    def test_every_transfer_is_inserted(self):
        for devices in (["cpu", "meta"], ["meta", "cpu"]):
            out, count = bt.apply(self.captured, self.args, self.device, devices)
            self.assertEqual(list(out.shape), [2, 10, 64])
            self.assertGreater(count, 50)

    def test_one_that_is_missing_is_an_error(self):
        plan = bt.read_plan(self.captured, self.device)
        deliver = bt.Plan.deliver
        for missing in plan.messages[::9]:
            def without(plan, node, after, reader, missing=missing):
                if (node, after) != (missing.node, missing.after):
                    deliver(plan, node, after, reader)
            bt.Plan.deliver = without
            try:
                with self.assertRaises(KeyError):
                    bt.apply(self.captured, self.args, self.device, ["cpu", "meta"])
            finally:
                bt.Plan.deliver = deliver

    def test_one_that_moves_nothing_is_an_error(self):
        transfer = bt.transfer
        bt.transfer = lambda tensor, layout, device: tensor
        try:
            with self.assertRaises((bt.Refused, RuntimeError, NotImplementedError)):
                bt.apply(self.captured, self.args, self.device, ["cpu", "meta"])
        finally:
            bt.transfer = transfer


class Failures(unittest.TestCase):
    """Errors name the op; nothing waits for ever."""

    def setUp(self):
        self.model = nn.Sequential(nn.Embedding(10, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        self.args = (torch.tensor([1, 2]),)
        self.captured = bt.capture(self.model, self.args)
        self.names = [n.name for n in self.captured.ops]

    def placed(self, **options):
        device = [0] * (len(self.names) - 1) + [1]
        return bt.Placed(self.model, self.args, device, captured=self.captured, **options)

    def test_an_error_in_a_worker_names_its_op(self):
        with self.placed() as placed:
            with self.assertRaisesRegex(RuntimeError, r"device 0 \(cpu\): op 'embedding': Index"):
                placed(torch.tensor([1, 99]))
            with self.assertRaisesRegex(RuntimeError, "closed"):
                placed(*self.args)

    def test_a_process_that_ended(self):
        with self.placed() as placed:
            os.kill(placed.workers[0][0].pid, signal.SIGKILL)
            with self.assertRaisesRegex(RuntimeError, "process of device 0 has ended"):
                placed(*self.args)

    def test_a_process_that_does_not_answer(self):
        with self.placed(timeout=2) as placed:
            os.kill(placed.workers[0][0].pid, signal.SIGSTOP)
            with self.assertRaisesRegex(RuntimeError, "device [01].*(Timed out|no answer)"):
                placed(*self.args)

    def test_placements_that_do_not_fit(self):
        n = len(self.names)
        for placement, message in (
                ([0], "has 1 ops, the model %d" % n), ([0] * (n - 1) + [-1], "is on device -1"),
                ({"x": 0}, "has no op"), (None, "a NoneType is no placement"),
                ({**dict.fromkeys(self.names, 0), "x": 0}, "the model has no op 'x'"),
                ({"placement": {}}, "has no 'device'"),
                ({"placement": {"device": [0] * n, "sequence": [0] * n}}, "each op once"),
                ({"placement": {"device": [0] * n, "sequence": ["x"] * n}}, "each op once"),
                ([0] * (n - 1) + ["gpu"], "is on device gpu"),
                ({"placement": {"device": [0] * n, "op_names": ["x"] * n}}, "has op 'x' where"),
                ({"placement": {"device": [0] * n, "sequence": list(range(n))[::-1]}}, "runs op")):
            with self.assertRaisesRegex(bt.Refused, message):
                bt.run(self.model, self.args, placement, captured=self.captured)

    def test_ops_that_share_memory_stay_together(self):
        model, args = Function(lambda x: (x + 1).mul_(2)), (torch.ones(2),)
        with self.assertRaisesRegex(bt.Refused, "'add' and 'mul_' share memory"):
            bt.run(model, args, [0, 0, 1])

    def test_other_sizes_than_those_of_the_capture(self):
        with self.placed() as placed, self.assertRaisesRegex(bt.Refused, r"shape \[3\]"):
            placed(torch.tensor([1, 2, 3]))

    def test_other_strides_than_those_of_the_capture(self):
        model, args = Function(lambda x: x + 1), (torch.ones(3, 4),)
        captured = bt.capture(model, args)
        for x in torch.ones(4, 3).t(), torch.ones(1, 4).expand(3, 4), torch.ones(3, 8)[:, ::2]:
            with self.assertRaisesRegex(bt.Refused, r"strides .*, at the capture .*\[4, 1\]"):
                bt.apply(captured, (x,), [0, 1], ["cpu", "cpu"])

    def test_an_interrupt_ends_the_processes(self):
        def interrupted(*_):
            raise KeyboardInterrupt
        with self.placed() as placed:
            workers = [w[0] for w in placed.workers]
            placed.gather = interrupted
            with self.assertRaises(KeyboardInterrupt):
                placed(*self.args)
            self.assertEqual([w.exitcode for w in workers], [-signal.SIGKILL] * 2)
            with self.assertRaisesRegex(RuntimeError, "closed"):
                placed(*self.args)

    def test_processes_end_with_a_parent_that_was_killed(self):
        pipe, end = os.pipe()
        parent = os.fork()
        if not parent:
            try:
                self.placed()       # its workers hold the end of the pipe that is written
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.close(end)
        os.waitpid(parent, 0)
        self.assertTrue(select.select([pipe], [], [], 10)[0], "workers live on")
        os.close(pipe)

    def test_a_long_request_to_a_process_that_hangs(self):
        model, args = Function(lambda x: x + 1), (torch.ones(1000000),)
        with bt.Placed(model, args, [0, 1]) as placed:
            placed.timeout = -9.5       # of the reply; 10 s are added
            os.kill(placed.workers[0][0].pid, signal.SIGSTOP)
            with self.assertRaisesRegex(RuntimeError, "no answer within 0.5 s"):
                placed(*args)

    def test_optimizers_with_a_state(self):
        with self.assertRaisesRegex(bt.Refused, "optimiser .SGD. keeps a state"):
            bt.capture(self.model, self.args, loss=squares,
                       optimizer=lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.9))

    def test_arguments_of_the_capture(self):
        class Nest(dict):
            pass
        x = torch.ones(2)
        for function, args, message in (
                (lambda x: Nest(y=x + 1), (x,), "of type Nest"),
                (lambda n: x, (Nest(y=x),), "of type Nest"),
                (lambda x: x, x, "args is a Tensor"), (lambda: 3, (), "has no ops")):
            with self.assertRaisesRegex(bt.Refused, message):
                bt.capture(Function(function), args)
        for options, message in ({"loss": squares}, "loss: give it to"), ({"devices": [
                "cpu", "meta"]}, "nothing on meta"):
            with self.assertRaisesRegex(ValueError, message):
                self.placed(**options)

    def test_sizes_that_depend_on_data(self):
        captured = bt.capture(Function(lambda x: x[x > 0] * 2), (torch.tensor([1.0, -1, 2]),))
        device = list(range(len(captured.ops)))
        with bt.Placed(None, None, device, captured=captured) as placed:
            self.assertEqual(placed(torch.tensor([-1.0, 3, 2])).tolist(), [6, 4])
            with self.assertRaisesRegex(RuntimeError, r"op 'index': .* made \[1\], at the capture"):
                placed(torch.tensor([-1.0, -3, 2]))

    def test_other_arguments_than_tensors_are_those_of_the_capture(self):
        model = Function(lambda x, n, more: x * n + more["y"])
        args = (torch.ones(2), 3, {"y": torch.ones(2)})
        with bt.Placed(model, args, [0, 1, 0, 1]) as placed:
            self.assertEqual(placed(*args).tolist(), [4, 4])
            with self.assertRaisesRegex(bt.Refused, "an argument is 4, at the capture 3"):
                placed(args[0], 4, args[2])
            with self.assertRaisesRegex(bt.Refused, "another structure"):
                placed(args[0], 3, {})

    def test_a_number_read_from_a_tensor(self):
        with self.assertRaisesRegex((bt.Refused, RuntimeError), "item|value out of a tracing"):
            bt.capture(Function(lambda x: x * x.sum().item()), (torch.ones(2),))

    def test_a_model_that_sets_random_numbers_back(self):
        def f(x):
            state = torch.get_rng_state()
            y = torch.rand(3)
            torch.set_rng_state(state)
            return x * y + torch.rand(3)
        with self.assertRaisesRegex(bt.Refused, "result 0 of the captured graph is not the"):
            bt.capture(Function(f), (torch.ones(3),))

    def test_a_model_that_cannot_be_captured(self):
        with self.assertRaisesRegex(bt.Refused, "make_fx: .*; symbolic_trace: "):
            bt.capture(Function(lambda x: x if x.sum() > 0 else -x), (torch.ones(2),))


class Export(unittest.TestCase):
    """What the file says."""

    def graph(self, name, training=False, **options):
        model, args = ALL[name]()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "g.json")
            captured = bt.export(model, args, path, loss=squares if training else None,
                                 **options)
            with open(path, encoding="utf-8") as file:
                graph = json.load(file)["graph"]
            if shutil.which("berth"):
                subprocess.run(["berth", "check", path], check=True, capture_output=True)
        return model, captured, graph

    def test_flop_parameters_and_edges_are_those_of_the_model(self):
        model, captured, graph = self.graph("bert", passes=1)
        rows, w = 2 * 12, 32
        layer = 2 * rows * w * 12 * w + 2 * 2 * rows * 12 * w
        self.assertEqual(sum(o["flop"] for o in graph["ops"]), 2 * layer + 2 * rows * w * 64)
        bytes_ = sum(t.numel() * t.element_size() for t in bt.unique_state(model).values())
        self.assertEqual(sum(o.get("param_bytes", 0) for o in graph["ops"]), bytes_)
        self.assertEqual([o["name"] for o in graph["ops"]], [n.name for n in captured.ops])
        self.assertTrue(all(o["seconds"] > 0 for o in graph["ops"][1:]))
        self.assertGreater(captured.run_seconds, 0)

    def test_tied_weights_are_a_group(self):
        _, captured, graph = self.graph("bert", times=False)
        readers = {o["name"]: o.get("group") for o, n in zip(graph["ops"], captured.ops)
                   if "words.weight" in captured.facts[n].state}
        self.assertEqual(len(readers), 2)
        self.assertEqual(len(set(readers.values())), 1)
        self.assertNotIn(None, readers.values())
        self.assertNotIn("seconds", graph["ops"][-1])

    def test_a_training_step_has_a_backward_pass_of_twice_the_flop(self):
        _, _, graph = self.graph("vit", True, times=False)
        flop = [sum(o["flop"] for o in graph["ops"] if o.get("backward", False) == b)
                for b in (False, True)]
        first = 2 * 2 * 16 * 48 * 3 * 64        # the images need no gradient
        self.assertEqual(flop[1], 2 * flop[0] - first)
        model, captured, graph = self.graph("moe", True, times=False, optimizer=sgd)
        self.assertEqual(sum(o.get("update", False) for o in graph["ops"]),
                         len(list(model.parameters())))

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(
                io.StringIO()) as out:
            path = os.path.join(folder, "m.json")
            bt.main(["export", "models:moe", path, "--no-times"])
            self.assertRegex(out.getvalue(), r"^make_fx: \d+ ops, 223488 matrix FLOP\n$")
            self.assertTrue(os.path.getsize(path))


class Maps(unittest.TestCase):
    """Device maps and split points."""

    def setUp(self):
        self.model, self.args = models.vit()
        self.captured = bt.capture(self.model, self.args)

    def cut(self, module):
        ops = self.captured.ops
        first = next(i for i, n in enumerate(ops) if self.captured.path[n.name].startswith(module))
        return [int(i >= first) for i in range(len(ops))]

    def test_a_map_covers_every_weight_once_by_the_largest_modules(self):
        self.assertEqual(bt.device_map(self.captured, self.cut("layers.1"), ["cuda:0", "cpu"]),
                         {"patch": "cuda:0", "token": "cuda:0", "position": "cuda:0",
                          "layers.0": "cuda:0", "layers.1": "cpu", "layers.2": "cpu",
                          "head": "cpu"})
        self.assertEqual(bt.device_map(self.captured, [1] * len(self.captured.ops)), {"": 1})
        for seed in range(5):
            found = bt.device_map(self.captured, scattered(self.captured, seed))
            for name in self.model.state_dict():
                self.assertEqual(len([k for k in found if k in ("", name)
                                      or name.startswith(k + ".")]), 1, name)

    def test_stages_begin_at_modules(self):
        self.assertEqual([(k, getattr(v, "name", v)) for k, v in bt.split_points(
            self.captured, self.cut("layers.1")).items()], [("layers.1", "BEGINNING")])
        device = self.cut("layers.1")
        device[device.index(1)], device[device.index(1) + 1] = 0, 1
        with self.assertRaisesRegex(bt.Refused, "begins at op '.*', inside of module 'layers.1"):
            bt.split_points(self.captured, device)
        with self.assertRaisesRegex(bt.Refused, "no contiguous stage"):
            bt.split_points(self.captured, self.cut("layers.1")[:-1] + [0])


class Starts(unittest.TestCase):
    """Processes that are spawned, and more threads than one."""

    @unittest.skipUnless(len(CHOSEN) == len(ALL), "only with all models: takes seconds")
    def test_spawned_and_threaded(self):
        model = nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 512)).eval()
        args = (torch.randn(128, 512),)
        torch.set_num_threads(2)
        try:
            with torch.no_grad():
                expected = model(*args)
            for start in ("fork", "spawn"):
                self.assertIsNone(differences(expected, bt.run(model, args, [0, 1, 0, 1],
                                                               start=start)))
        finally:
            torch.set_num_threads(1)


if __name__ == "__main__":
    unittest.main()
