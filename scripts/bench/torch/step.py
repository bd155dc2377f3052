"""Predicted and measured steps of torch models on two processes; see scripts/bench/torch_step."""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "torch"))
import berth_torch   # noqa: E402
import models        # noqa: E402


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
PLACERS = ("m-etf", "heft", "stages")


def squares(out):
    """A loss of any result."""
    return sum((t.float() ** 2).mean() for t in berth_torch.tensors_of(out))


def usual(values):
    """The mean without the slowest fifth, which other programs delay most."""
    return statistics.fmean(sorted(values)[:max(1, round(0.8 * len(values)))])


def run(*command):
    """Output of a command."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %s" % (command[0], done.stderr))
    return done.stdout


def lua(program):
    """Output of a program that has berth."""
    return run(os.environ.get("LUA", "lua5.4"), "-e", 'local berth = require "berth"\n' + program)


# ---- What messages cost on this machine ----

class Messages:
    """Samples of what messages of steps took, and their means, as a step has many.

    call: seconds and bytes/s of the sender's call; link: seconds from its end until a receiver
    that waits has the tensor; copy: seconds and bytes/s of the receiver's other thread, CPU time.
    """

    def __init__(self):
        self.calls, self.links, self.copies = {}, [], {}

    def add(self, placed):
        """Adds those of the last step."""
        plan, times = placed.plan, placed.times
        for m in plan.messages:
            size, sent, got = size_of(plan, m), times["send", m.number], times["wait", m.number]
            keep(self.calls, size, sent[2] - sent[1])
            if got[1] < sent[1]:
                self.links.append(max(got[2] - sent[2], 0.0))
        for device in range(2):         # a sample for the mean of what a device receives
            sizes = [size_of(plan, m) for m in plan.messages if m.dst == device]
            if sizes:
                keep(self.copies, statistics.fmean(sizes),
                     times["helpers", device][2] / len(sizes))

    def fit(self):
        """Sets call, copy and link."""
        self.call, self.copy = line(self.calls), line(self.copies)
        self.link = statistics.fmean(self.links)

    def __str__(self):
        return "call %.0f us and %.2f GB/s, copy %.0f us and %.2f GB/s, link %.0f us" % (
            1e6 * self.call[0], self.call[1] / 1e9, 1e6 * self.copy[0], self.copy[1] / 1e9,
            1e6 * self.link)


def keep(classes, size, seconds):
    """Adds a sample to its class of sizes, two in each octave."""
    classes.setdefault(round(2 * math.log2(size)), []).append((size, seconds))


def line(classes):
    """Seconds, and bytes/s, by berth.fit_link over the means of the classes."""
    rows = [[statistics.fmean(x) for x in zip(*c)] for _, c in sorted(classes.items())
            if len(c) >= 10]
    text = [", ".join("%.9g" % r[i] for r in rows) for i in (0, 1)]
    found = lua("local f = assert(berth.fit_link({%s}, {%s}, { relative = true }))\n"
                'print(string.format("%%.17g %%.17g", f.latency, f.bandwidth))' % tuple(text))
    return [float(x) for x in found.split()]


def size_of(plan, message):
    """Bytes of a message."""
    return (plan.captured.facts[message.node].bytes if message.node
            else torch.get_rng_state().numel())


def graph_of_run(plan, seconds, costs):
    """Graph, devices and ranks of a placed run: each message is two ops more.

    A call on the device that sends, after the op, and a copy on the other, which may run beside
    the call but takes the device's time; readers wait for both. Devices keep the order of their
    ops. All tensors have a byte: the sizes are in the times of calls and copies.
    """
    ops = [{"name": n.name, "seconds": seconds[n.name]} for n in plan.order]
    number = {n: i for i, n in enumerate(plan.order)}
    device, pairs, parts, last = [plan.device[n] for n in plan.order], [], {}, {}

    def follow(op, place):
        pairs.extend([(last[place], op)] if place in last else [])
        last[place] = op
    for node in plan.order:
        pairs.extend((part, number[node]) for m in plan.before[node] for part in parts[m])
        follow(number[node], plan.device[node])
        for m in plan.after[node]:
            size, first = size_of(plan, m), len(ops)
            parts[m] = (first, first + 1)
            ops += [{"name": "call %d" % m.number, "seconds": costs.call[0] + size / costs.call[1]},
                    {"name": "copy %d" % m.number, "seconds": costs.copy[0] + size / costs.copy[1]}]
            device += [m.src, m.dst]
            follow(first, m.src)
            pairs.append((number[node], first + 1))
    tensors = [{"from": a, "to": [b], "bytes": 1} for a, b in dict.fromkeys(pairs)]
    rank = [int(i < len(number)) for i in range(len(ops))]       # copies before ops
    return {"berth": 1, "graph": {"name": "run", "ops": ops, "tensors": tensors}}, device, rank


def predict(plan, seconds, costs, folder):
    """Seconds of a step by the simulator."""
    graph, device, rank = graph_of_run(plan, seconds, costs)
    file = os.path.join(folder, "run.json")
    with open(file, "w", encoding="utf-8") as target:
        json.dump(graph, target)
    return float(lua("""
      local g = assert(berth.load("%s"))
      local t = berth.topology.mesh(2, { latency = %.9g, bandwidth = "1 TB/s" })
      local r = assert(berth.simulate(g, t, {%s}, { dispatch = "static", rank = {%s} }))
      print(string.format("%%.17g", r.makespan))
    """ % (file, costs.link, ", ".join(str(d + 1) for d in device), ", ".join(map(str, rank)))))


# ---- Studies ----

class Study:
    """A model, its op times in placed runs, its placements and their measured steps."""

    def __init__(self, name, training, o, folder):
        torch.manual_seed(o.seed)
        self.name, self.training, self.o, self.folder = name, training, o, folder
        self.model, self.args = MODELS[name]()
        self.model.train(training)
        self.file = os.path.join(folder, "%s-%s.json" % (name, training))
        self.captured = berth_torch.export(self.model, self.args, self.file, passes=o.passes,
                                           loss=squares if training else None)
        self.seconds, self.placements, self.steps, self.plans = {}, {}, {}, {}

    def step(self, placement, trace, steps):
        """Runs a placement; yields it after each step but the first."""
        with berth_torch.Placed(self.model, self.args, placement, captured=self.captured,
                                trace=trace) as placed:
            placed(*self.args)
            for _ in range(steps):
                placed(*self.args)
                yield placed

    def calibrate(self, rng, costs):
        """Samples of a random placement: blocks of some ten ops in a row on a device."""
        device, number = {}, 0
        for node in self.captured.ops:
            number = rng.randrange(2) if rng.random() < 0.1 else number
            device[node] = number
        for members in berth_torch.colocated(self.captured):
            device.update({n: device[members[0]] for n in members})
        for placed in self.step([device[n] for n in self.captured.ops], True, self.o.steps):
            costs.add(placed)
            for key, (_, start, end) in placed.times.items():
                if isinstance(key, str):
                    self.seconds.setdefault(key, []).append(end - start)

    def place(self, costs):
        """Places by berth, on devices whose link has the cost of a whole message."""
        machine = "mesh:2,latency=%.9gs,bandwidth=%.9gB/s" % (costs.call[0] + costs.link,
                                                              costs.call[1])
        for placer in PLACERS[:-1]:
            self.placements[placer] = os.path.join(self.folder, "%s-%s-%s.json" % (
                self.name, self.training, placer))
            run("berth", "place", self.file, machine, "--links", "duplex", "--placer", placer,
                "--output", self.placements[placer])
        self.placements["stages"] = self.stages()

    def stages(self):
        """The first half of the time on a device, the second on the other."""
        ops, past, device, of_group = self.captured.ops, 0, {}, {}
        total = sum(self.captured.facts[n].seconds for n in ops)
        for i, members in enumerate(berth_torch.colocated(self.captured, weights=True)):
            of_group.update({n: members[0] for n in members})
        for node in ops:
            device[node] = device.get(of_group.get(node), int(past > total / 2))
            past += self.captured.facts[node].seconds
        return [device[n] for n in ops]

    def measure(self):
        """Steps of all placements, and times of the unplaced model."""
        for placer, placement in self.placements.items():
            for placed in self.step(placement, False, self.o.steps):
                self.steps.setdefault(placer, []).append(placed.seconds)
                self.plans[placer] = placed.plan
        berth_torch.measure(self.captured, self.args, {}, self.o.passes)

    def rows(self, costs):
        """A row for each placement."""
        alone = {n.name: self.captured.facts[n].seconds for n in self.captured.ops}
        busy = {k: usual(v) for k, v in self.seconds.items()}
        for placer, plan in self.plans.items():
            step = usual(self.steps[placer])
            guess = predict(plan, busy, costs, self.folder)
            yield {"model": self.name, "step": "training" if self.training else "inference",
                   "placement": placer, "ops": len(plan.order), "messages": len(plan.messages),
                   "sum_of_ops_s": sum(alone.values()), "unplaced_s": self.captured.run_seconds,
                   "predicted_alone_s": predict(plan, alone, costs, self.folder),
                   "predicted_s": guess, "measured_s": step, "error": guess / step - 1,
                   "least_s": min(self.steps[placer]),
                   "median_s": statistics.median(self.steps[placer])}


COLUMNS = ("sum_of_ops_s", "unplaced_s", "predicted_alone_s", "predicted_s", "measured_s",
           "least_s")


def show(row, as_json):
    """A line of JSON, or of a table in milliseconds."""
    if as_json:
        return print(json.dumps(row), flush=True)
    head = "| %(model)s, %(step)s | %(placement)s | %(ops)d | %(messages)d | " % row
    times = " | ".join("%.1f" % (1e3 * row[k]) for k in COLUMNS)
    print(head + times + " | %+.1f %% |" % (100 * row["error"]), flush=True)


def share(rows, guess):
    """What a column of predictions is off, as text."""
    errors = [abs(r[guess] / r["measured_s"] - 1) for r in rows]
    return "%d of %d within 10 %%, mean %.1f %%, largest %.1f %%" % (
        sum(e <= 0.1 for e in errors), len(errors), 100 * statistics.fmean(errors),
        100 * max(errors))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=6, help="of each placement in a round")
    parser.add_argument("--passes", type=int, default=3, help="of the unplaced model in a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    o = parser.parse_args()
    torch.set_num_threads(1)
    rng, costs = random.Random(o.seed), Messages()
    with tempfile.TemporaryDirectory() as folder:
        studies = [Study(name, training, o, folder) for name in o.models or MODELS
                   for training in (False, True)]
        for i in range(o.rounds):
            for study in studies:
                study.calibrate(rng, costs)
            if i == 0:
                costs.fit()
                for study in studies:
                    study.place(costs)
            for study in studies:
                study.measure()
        costs.fit()
        rows = [r for study in studies for r in study.rows(costs)]
    for row in rows:
        show(row, o.json)
    if not o.json:
        print(costs)
        print("predicted: %s\nby ops alone: %s" % (share(rows, "predicted_s"),
                                                   share(rows, "predicted_alone_s")))


if __name__ == "__main__":
    main()
