"""Predicted and measured steps of torch models on two CPU processes; see scripts/bench/torch_step."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import torch
from torch import nn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "scripts", "torch"))
import berth_torch   # noqa: E402
import models        # noqa: E402


def squares(out):
    """A loss of any result."""
    leaves = berth_torch.tensors_of(out)
    return sum((t.float() ** 2).mean() for t in leaves)


def inception():
    return nn.Sequential(models.Inception(16, 32), models.Inception(112, 32), nn.Flatten(),
                         nn.Linear(208 * 576, 10)), (torch.randn(8, 16, 24, 24),)


def moe():
    return models.Experts(256, 4), (torch.randn(1024, 256),)


def llama():
    return models.Llama(512, 256, 8, 4, 3), (models.tokens(512, 4, 128),)


def bert():
    return models.Bert(512, 256, 3, 0.1), (models.tokens(512, 4, 128),)


def vit():
    return models.ViT(192, 4), (torch.randn(16, 3, 32, 32),)


MODELS = {f.__name__: f for f in (inception, moe, llama, bert, vit)}


# ---- Calibration ----

def blocks(captured, rng):
    """A random placement: blocks of some ops in a row on a device."""
    device, number = {}, 0
    for node in captured.ops:
        if rng.random() < 0.1:
            number = rng.randrange(2)
        device[node] = number
    for members in berth_torch.colocated(captured):
        device.update({n: device[members[0]] for n in members})
    return [device[n] for n in captured.ops]


def size_of(captured, message):
    """Bytes of a message."""
    return captured.facts[message.node].bytes if message.node else torch.get_rng_state().numel()


class Samples:
    """Times of ops, of calls that send, and from their end to the arrival at who waits."""

    def __init__(self):
        self.ops, self.calls, self.rest, self.helpers = {}, [], [], []

    def add(self, placed):
        """Adds those of a step."""
        for key, (_, start, end) in placed.times.items():
            if isinstance(key, str):
                self.ops.setdefault(key, []).append(end - start)
        for device in range(2):
            sizes = [size_of(placed.captured, m) for m in placed.plan.messages if m.dst == device]
            if sizes:
                self.helpers.append((sum(sizes) / len(sizes),
                                     placed.times["helpers", device][2] / len(sizes)))
        for m in placed.plan.messages:
            size = size_of(placed.captured, m)
            sent, got = placed.times["send", m.number], placed.times["wait", m.number]
            self.calls.append((size, sent[2] - sent[1]))
            if got[1] < sent[1]:
                self.rest.append(got[2] - sent[2])


def by_size(samples, quantile):
    """One sample for each power of two of bytes."""
    classes = {}
    for size, seconds in samples:
        classes.setdefault(size.bit_length(), []).append((size, seconds))
    found = []
    for _, rows in sorted(classes.items()):
        if len(rows) >= 5:
            found.append((statistics.fmean(r[0] for r in rows), at(quantile, [r[1] for r in rows])))
    return found


def at(quantile, values):
    return sorted(values)[int(quantile * (len(values) - 1))]


def fit(rows):
    """Latency and bandwidth by berth.fit_link."""
    return [float(x) for x in lua("""
      local f = assert(berth.fit_link({%s}, {%s}, { relative = true }))
      print(string.format("%%.17g %%.17g", f.latency, f.bandwidth))
    """ % tuple(", ".join("%.9g" % r[i] for r in rows) for i in (0, 1))).split()]


def lua(program):
    """Output of a program that has berth."""
    done = subprocess.run([os.environ.get("LUA", "lua5.4"), "-e", 'local berth = require "berth"\n'
                           + program], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def calibrate(model, args, captured, o):
    """Samples of steps by random placements."""
    samples, rng = Samples(), random.Random(o.seed)
    for _ in range(o.placements_of_calibration):
        with berth_torch.Placed(model, args, blocks(captured, rng), captured=captured,
                                trace=True) as placed:
            placed(*args)
            for _ in range(o.steps):
                placed(*args)
                samples.add(placed)
    return samples


# ---- Predictions ----

def berth(*args):
    """Standard output of a command of berth."""
    done = subprocess.run(["berth", *args], capture_output=True, text=True)
    if done.returncode:
        sys.exit("berth %s: %s" % (" ".join(args), done.stderr))
    return done.stdout


def machine(latency, bandwidth=1e12):
    """Two devices; where calls that send are part of ops, bytes take no time on the link."""
    return "mesh:2,latency=%.9gs,bandwidth=%.9gB/s" % (latency, bandwidth)


def place(file, call, link, how, output):
    """Writes a placement: by a placer of berth, or two stages of equal time."""
    if how != "stages":
        berth("place", file, machine(call[0] + link, call[1]), "--links", "duplex", "--placer", how,
              "--output", output)
        return
    with open(file, encoding="utf-8") as source:
        ops = json.load(source)["graph"]["ops"]
    total, past, device, of_group = sum(o["seconds"] for o in ops), 0, [], {}
    for op in ops:
        number = int(past > total / 2)
        device.append(of_group.setdefault(op["group"], number) if "group" in op else number)
        past += op["seconds"]
    with open(output, "w", encoding="utf-8") as target:
        json.dump({"berth": 1, "placement": {"device": device}}, target)


def with_messages(captured, plan, seconds, call, copy):
    """Graph and devices of a placed run: each message is two more ops, and devices keep their order.

    A call on the device that sends, after the op; on the other a copy, which may run beside the
    call but takes the device's time. Readers wait for both. All tensors have one byte: bytes are
    in the times of calls and copies.
    """
    ops = [{"name": n.name, "seconds": seconds[n.name]} for n in captured.ops]
    at = {n: i for i, n in enumerate(captured.ops)}
    device, pairs, made, last = [plan.device[n] for n in captured.ops], [], {}, {}

    def follow(op, number):
        pairs.extend([(last[number], op)] if number in last else [])
        last[number] = op
    for node in plan.order:
        for m in plan.before[node]:
            pairs.extend((part, at[node]) for part in made[m])
        follow(at[node], plan.device[node])
        for m in plan.after[node]:
            size, first = size_of(captured, m), len(ops)
            ops.extend([{"name": "call %d" % m.number, "seconds": call[0] + size / call[1]},
                        {"name": "copy %d" % m.number, "seconds": size / copy}])
            device.extend([m.src, m.dst])
            made[m] = (first, first + 1)
            follow(first, m.src)
            pairs.append((at[node], first + 1))
    tensors = [{"from": a, "to": [b], "bytes": 1} for a, b in dict.fromkeys(pairs)]
    rank = [len(ops)] * len(at) + [0] * (len(ops) - len(at))
    return {"berth": 1, "graph": {"name": "run", "ops": ops, "tensors": tensors}}, device, rank


def predict(captured, plan, seconds, call, copy, link, folder):
    """Seconds of the step by the simulator; copies run as soon as their device is free."""
    graph, device, rank = with_messages(captured, plan, seconds, call, copy)
    file = os.path.join(folder, "run.json")
    with open(file, "w", encoding="utf-8") as target:
        json.dump(graph, target)
    return float(lua("""
      local g = assert(berth.load("%s"))
      local t = berth.topology.mesh(2, { latency = %.9g, bandwidth = 1e12 })
      local device = {%s}
      for i, d in ipairs(device) do device[i] = d + 1 end
      local r = assert(berth.simulate(g, t, device, { dispatch = "static", rank = {%s} }))
      print(string.format("%%.17g", r.makespan))
    """ % (file, link, ", ".join(map(str, device)), ", ".join(map(str, rank)))))


def study(name, training, o, folder):
    """Rows of a model: the predictions, the measured step, and the unplaced run."""
    torch.manual_seed(o.seed)
    model, args = MODELS[name]()
    model.train(training)
    file, placement = os.path.join(folder, "m.json"), os.path.join(folder, "p.json")
    captured = berth_torch.export(model, args, file, passes=o.passes,
                                  loss=squares if training else None)
    samples = calibrate(model, args, captured, o)
    busy = {k: at(o.quantile, v) for k, v in samples.ops.items()}
    copy = 1 / at(o.quantile, [seconds / size for size, seconds in samples.helpers])
    call, link = fit(by_size(samples.calls, o.quantile)), at(o.quantile, samples.rest)
    for how in o.placements.split(","):
        place(file, call, link, how, placement)
        with berth_torch.Placed(model, args, placement, captured=captured) as placed:
            placed(*args)
            steps = []
            for _ in range(o.rounds):
                for _ in range(o.steps):
                    placed(*args)
                    steps.append(placed.seconds)
                berth_torch.measure(captured, args, {}, o.passes)
            alone = {n.name: captured.facts[n].seconds for n in captured.ops}
            yield {"model": name, "step": "training" if training else "inference",
                   "placement": how, "ops": len(captured.ops),
                   "messages": len(placed.plan.messages), "sum_of_ops_s": sum(alone.values()),
                   "unplaced_s": captured.run_seconds,
                   "alone_s": predict(captured, placed.plan, alone, call, copy, link, folder),
                   "p10": predict(captured, placed.plan, {k: at(.1, v) for k, v in samples.ops.items()}, call, copy, link, folder),
                   "p25": predict(captured, placed.plan, {k: at(.25, v) for k, v in samples.ops.items()}, call, copy, link, folder),
                   "predicted_s": predict(captured, placed.plan, busy, call, copy, link, folder),
                   "least_s": min(steps), "median_s": statistics.median(steps),
                   "call": call, "link": link, "copy": copy}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--placements", default="m-etf,stages")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--placements-of-calibration", type=int, default=6)
    parser.add_argument("--quantile", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    o = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for name in o.models:
            for training in (False, True):
                for row in study(name, training, o, folder):
                    show(row, o.json)


def show(row, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
        return
    print("| %(model)s | %(step)s | %(placement)s | %(ops)d | %(messages)d | " % row + " | ".join(
        "%.2f" % (1e3 * row[k]) for k in ("sum_of_ops_s", "unplaced_s", "alone_s", "p10", "p25", "predicted_s",
                                          "least_s", "median_s"))
          + " | %+.1f %% |" % (100 * row["predicted_s"] / row["median_s"] - 100), flush=True)
    print("    call %.0f us, %.2g GB/s; copy %.2g GB/s, link %.0f us" % (
        1e6 * row["call"][0], row["call"][1] / 1e9, row["copy"] / 1e9, 1e6 * row["link"]))


if __name__ == "__main__":
    main()
