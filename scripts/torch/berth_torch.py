"""PyTorch models to berth and back: capture, export, device maps, pipeline stages, placed runs.

    captured = export(model, args, "model.json")      # ops, times, bytes, FLOP for `berth place`
    device_map(captured, "placed.json")               # for accelerate
    split_points(captured, "placed.json")             # for torch.distributed.pipelining
    run(model, args, "placed.json")                   # over processes, equal to model(*args)

A model is captured by torch.export (2.x, not tested), else make_fx, else symbolic_trace. One pass
with the real inputs finds what the graph does not say: sizes, which tensors share memory, which ops
write in place or draw random numbers. Ops of berth are nodes of the graph, under their names;
weights, views of weights and numbers (sizes) are no ops: each device has its own.

One file, no dependency but torch; tested with 1.13 on CPU.
"""
import argparse
import collections
import contextlib
import copy
import datetime
import functools
import importlib
import inspect
import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from multiprocessing import connection

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

METHODS = ("export", "make_fx", "symbolic_trace")
# Reads of a tensor's data as a number: such a number would be wrong in the next step.
READS = {"item", "tolist", "_local_scalar_dense", "int", "float", "bool", "nonzero_tuple"}
# What arguments and results may be.
PLAIN = (torch.Tensor, int, float, complex, str, type(None), torch.dtype, torch.device)
DTYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}


class Refused(ValueError):
    """The model, or its placement, cannot be captured or run; the message names the node."""


# ---- Tensors ----

def tensors_of(value):
    """The tensors of a value, in order, through tuples, lists and dicts."""
    return [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor)]


def mapped(function, value):
    """A nest with a function of each tensor in its place."""
    leaves, spec = tree_flatten(value)
    return tree_unflatten([function(t) if isinstance(t, torch.Tensor) else t for t in leaves], spec)


def memory_of(tensor):
    """Address of a tensor's storage; 0 for an empty one and on the device meta."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()


class Layout:
    """Shape, strides and alignment of a tensor, and what of its memory is sent.

    As strides choose kernels, and so the last bits of results, a received tensor has those of the
    sent one. Sent is the span from the first to the last element in memory, which keeps expanded
    tensors small; or, if the span has gaps, the elements one after the other.
    """

    def __init__(self, tensor):
        self.dtype, self.shape, self.stride = tensor.dtype, tuple(tensor.shape), tensor.stride()
        self.offset = tensor.storage_offset() % max(1, 64 // tensor.element_size())
        self.core = [1 if s == 0 else n for n, s in zip(self.shape, self.stride)]
        self.span = 1 + sum((n - 1) * s for n, s in zip(self.core, self.stride))
        self.elements = 1
        overlap = False
        reach = 0
        for s, n in sorted((s, n) for n, s in zip(self.core, self.stride) if n > 1):
            overlap = overlap or s <= reach
            reach += (n - 1) * s
            self.elements *= n
        if 0 in self.shape:
            self.span = self.elements = 0
        self.packed = self.span > self.elements and not overlap
        self.count = self.elements if self.packed else self.span
        self.bytes = self.count * tensor.element_size()

    def flat(self, tensor):
        """The elements to send, as one row: a view, unless they are packed."""
        if self.packed:
            return tensor.as_strided(self.core, self.stride).contiguous().view(-1)
        return tensor.as_strided((self.count,), (1,))

    def buffer(self, device="cpu"):
        """An unset tensor of this layout."""
        row = torch.empty(self.offset + self.span, dtype=self.dtype, device=device)
        return row.as_strided(self.shape, self.stride, self.offset)

    def receive(self):
        """A tensor of this layout, and the row of it that a message fills."""
        tensor = self.buffer()
        row = torch.empty(self.count, dtype=self.dtype) if self.packed else self.flat(tensor)
        return tensor, row

    def unpack(self, tensor, row):
        """Completes a received tensor from its row."""
        if self.packed:
            tensor.as_strided(self.core, self.stride).copy_(row.view(self.core))
        return tensor


def generator_state(device):
    """State of the random numbers of a device, as bytes; None: the device has none (meta)."""
    kind = torch.device(device).type
    if kind == "meta":
        return None
    return torch.cuda.get_rng_state(device) if kind == "cuda" else torch.get_rng_state()


def set_generator_state(state, device):
    """Sets what generator_state returned."""
    if state is not None and torch.device(device).type == "cuda":
        torch.cuda.set_rng_state(state, device)
    elif state is not None and torch.device(device).type == "cpu":
        torch.set_rng_state(state)


# ---- Capture ----

class MatrixFlop(TorchDispatchMode):
    """Counts 2 m n k of every product, convolution and attention that is dispatched."""

    def __init__(self):
        super().__init__()
        self.flop = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        packet = getattr(func, "overloadpacket", func)
        self.flop += product_flop(packet.__name__, args, out)
        return out


def product_flop(name, args, out):
    """FLOP of one aten call; 0 of all that is no product."""
    if name in ("mm", "bmm", "mv", "dot"):
        return 2 * args[0].numel() * (args[1].shape[-1] if args[1].dim() > 1 else 1)
    if name in ("addmm", "baddbmm", "addmv", "addbmm"):
        return product_flop("mm", args[1:], out)
    if name in ("convolution", "_convolution"):
        big = args[0] if args[6] else out         # args[6]: transposed
        return 2 * big.numel() * args[1][0].numel()
    if name == "convolution_backward":
        big = args[1] if args[7] else args[0]
        return 2 * big.numel() * args[2][0].numel() * sum(args[10][:2])
    if name.startswith("_scaled_dot_product") and "backward" not in name:
        query, key, value = args[:3]
        return 2 * query[..., 0].numel() * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    return 0


class Facts:
    """What a pass with real tensors says about a node."""

    def __init__(self):
        self.layout = None          # of a tensor
        self.value = None           # of what holds no tensor
        self.container = False      # a tuple or list with tensors
        self.bytes = self.moved = self.flop = 0
        self.seconds = None
        self.writes = []            # names of the memory (see Captured.memory) that it writes
        self.random = False
        self.local = False          # no op: a weight, a view of weights, or a number
        self.state = frozenset()    # names of the weights that it reads


class Captured:
    """A model's graph, its nodes in the order of the program, and the facts of each.

    `ops`: the nodes that berth places; `state`: name -> weight or buffer; `names`: node of a
    weight -> its name; `backward`: names of the nodes after the loss, in a training step;
    `failed`: reasons why other ways of capture failed; `home`: device of the unplaced model;
    `form`, `options`: of the arguments of the capture.
    """

    def __init__(self, graph_module, method):
        self.module, self.method = graph_module, method
        self.nodes = [n for n in graph_module.graph.nodes if n.op != "output"]
        self.output = next(n for n in graph_module.graph.nodes if n.op == "output").args[0]
        self.place_in = {n: i for i, n in enumerate(self.nodes)}
        self.facts = {n: Facts() for n in self.nodes}
        self.state, self.names, self.feed, self.finish = {}, {}, None, None
        self.trained = frozenset()
        self.path, self.parent, self.written = {}, {}, {}
        self.backward, self.ops, self.run_seconds = frozenset(), [], None
        self.tables, self.ids, self.failed, self.home = {}, {}, [], "cpu"
        self.form, self.options = None, {}

    def memory(self, node):
        """Representative of the nodes and weights that share memory with a node or a name."""
        while node in self.parent:
            node = self.parent[node]
        return node

    def share(self, a, b):
        """Records that two nodes, or a node and the name of a weight, share memory."""
        a, b = self.memory(a), self.memory(b)
        if a is not b:
            self.parent[a] = b

    def source(self, node, reader):
        """The op whose result a reader finds in a node: the node, or the last write before."""
        found, at = node, self.place_in[node]
        for writer in self.written.get(self.memory(node), ()):
            if at < self.place_in[writer] < self.place_in.get(reader, len(self.nodes)):
                found = writer
        return found

    def inputs(self, node):
        """The ops that a node reads, in order, each once."""
        return [n for n in node.all_input_nodes if not self.facts[n].local]

    def draws(self):
        """The ops that draw random numbers, in order."""
        return [n for n in self.ops if self.facts[n].random]

    def outputs(self):
        """The nodes whose results leave the graph."""
        found = {}
        fx.node.map_arg(self.output, lambda n: found.setdefault(n))
        return list(found)


def unique_state(model):
    """Name -> parameter or buffer, a tied one once, by its first name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def tables_of(model):
    """Module -> {full name: name in unique_state} of the weights and buffers that are its own."""
    names = {id(t): k for k, t in unique_state(model).items()}
    own = {name: {name + "." * bool(name) + k: names[id(t)]
                  for k, t in [*m._parameters.items(), *m._buffers.items()] if id(t) in names}
           for name, m in model.named_modules(remove_duplicate=False)}
    return {k: v for k, v in own.items() if v}


def put(model, values):
    """Puts other tensors in place of a model's own; values: id of a tensor -> tensor."""
    saved = []
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            saved.append((table, dict(table)))
            table.update({k: values.get(id(t), t) for k, t in table.items() if t is not None})
        flat = getattr(module, "_flat_weights_names", None)     # recurrent layers keep a list
        if flat:
            saved.append((module.__dict__, {"_flat_weights": module._flat_weights}))
            module._flat_weights = [getattr(module, name) for name in flat]
    return saved


@contextlib.contextmanager
def swapped(model, values):
    """The model with other tensors, as by put, for a while."""
    saved = put(model, values)
    try:
        yield
    finally:
        for table, old in reversed(saved):
            table.update(old)


@contextlib.contextmanager
def module_paths(model, path):
    """Records in path the module in whose call a node is created."""
    stack, create = [""], fx.Graph.create_node

    def create_node(graph, *args, **kwargs):
        node = create(graph, *args, **kwargs)
        path[node.name] = stack[-1]
        return node

    def leave(*_):
        stack.pop()

    hooks = []
    for name, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda m, a, name=name: stack.append(name)))
        hooks.append(module.register_forward_hook(leave))
    fx.Graph.create_node = create_node
    try:
        yield
    finally:
        fx.Graph.create_node = create
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def own_kernels():
    """Keeps ops such as silu_backward whole, which make_fx splits although the CPU has a kernel.

    The parts would round differently from the kernel that the model itself runs.
    """
    overload = torch._ops.OpOverload
    split, has = overload.decompose, torch._C._dispatch_has_kernel_for_dispatch_key

    def decompose(op, *args, **kwargs):
        return NotImplemented if has(op.name(), "CPU") else split(op, *args, **kwargs)
    overload.decompose = decompose
    try:
        yield
    finally:
        overload.decompose = split


def training_step(out, weights, training, path):
    """Loss and gradients of a result, and the optimiser's update; and the nodes until the loss."""
    loss, optimizer = training
    total = loss(out) if loss else out
    forward = frozenset(path)
    grads = torch.autograd.grad(total, list(weights.values()), allow_unused=True)
    if optimizer:
        for weight, grad in zip(weights.values(), grads):
            weight.grad = grad
        made = optimizer(list(weights.values()))
        made.step()
        if tensors_of([list(kept.values()) for kept in made.state.values()]):
            raise Refused("the optimiser (%s) keeps a state, which steps would not keep; use SGD "
                          "without momentum, or update outside of the step" % type(made).__name__)
    return (total, dict(zip(weights, grads))), forward


def by_export(model, args, kwargs, training):
    """Capture by torch.export (2.x; not tested)."""
    if training:
        raise Refused("torch.export captures no backward pass")
    module = torch.export.export(model, args, kwargs or None).module()
    captured = Captured(module, "export")
    for node in captured.nodes:
        stack = list(node.meta.get("nn_module_stack", {}).values())
        captured.path[node.name] = stack[-1][0] if stack else ""
    holders = [n for n in captured.nodes if n.op == "placeholder"]
    captured.feed = lambda a, k: dict(zip(holders, tree_flatten((a, k))[0]))
    captured.finish = lambda out: module.graph.process_outputs(out)
    return captured


def by_make_fx(model, args, kwargs, training):
    """Capture by make_fx: aten calls with real tensors; weights become inputs of the graph."""
    from torch.fx.experimental.proxy_tensor import make_fx
    state, path, found = unique_state(model), {}, {}
    trained = [k for k, t in state.items() if training and t.requires_grad]
    leaves, tree = tree_flatten((args, kwargs))
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def traced(values, given):
        values = {k: v.detach().requires_grad_() if k in trained else v for k, v in values.items()}
        held = list(leaves)
        for i, tensor in zip(at, given):
            held[i] = tensor
        a, k = tree_unflatten(held, tree)
        with swapped(model, {id(state[name]): v for name, v in values.items()}):
            out = model(*a, **k)
            if training:
                weights = {name: values[name] for name in trained}
                out, found["forward"] = training_step(out, weights, training, path)
        flat, found["form"] = tree_flatten(out)
        return flat

    with module_paths(model, path), own_kernels(), torch.set_grad_enabled(bool(training)):
        module = make_fx(traced)({k: t.detach() for k, t in state.items()},
                                 clones([leaves[i] for i in at]))
    captured = Captured(module, "make_fx")
    captured.path, captured.trained = path, frozenset(trained)
    captured.backward = frozenset(path) - found.get("forward", frozenset(path))
    holders = [n for n in captured.nodes if n.op == "placeholder"]
    captured.names = dict(zip(holders, state))
    inputs = holders[len(state):]
    for node, label in zip(inputs, input_names(model, args, kwargs)):
        if all(n.name != label for n in captured.nodes):
            node.name, path[label] = label, ""
    captured.feed = lambda a, k: dict(zip(inputs, tensors_of((a, k))))
    captured.finish = lambda out: tree_unflatten(list(out), found["form"])
    return captured


def form_of(value):
    """Text of what is the same in each step: a tensor's type, sizes and strides; another value."""
    if isinstance(value, torch.Tensor):
        strides = [s if n > 1 and value.numel() else 1 for s, n in zip(value.stride(), value.shape)]
        return "%s of shape %s and strides %s" % (value.dtype, list(value.shape), strides)
    if isinstance(value, PLAIN):
        return repr(value)
    raise Refused("an argument or a result is of type %s: use tensors, numbers and strings, in "
                  "tuples, lists and dicts" % type(value).__name__)


def forms_of(value):
    """The forms of a nest's leaves, and the nest."""
    leaves, nest = tree_flatten(value)
    return list(map(form_of, leaves)), nest


def fed(captured, args, kwargs):
    """Placeholder -> value, of arguments that have the form of those of the capture.

    Messages have the strides of the capture: from others they would read the wrong memory.
    """
    (new, nest), (old, was) = forms_of((args, kwargs)), captured.form
    if nest != was:
        raise Refused("the arguments have another structure than those of the capture")
    for a, b in zip(new, old):
        if a != b:
            raise Refused("an argument is %s, at the capture %s" % (a, b))
    return captured.feed(args, kwargs)


def input_names(model, args, kwargs):
    """A name for each tensor of the arguments: the parameter's, with a number if it has several."""
    known = [k for k, p in inspect.signature(model.forward).parameters.items()
             if p.kind is not p.VAR_POSITIONAL]
    labels = [*(known[i] if i < len(known) else "input" for i in range(len(args))), *kwargs]
    for label, value in zip(labels, [*args, *kwargs.values()]):
        tensors = tensors_of(value)
        yield from [label] if len(tensors) == 1 else ("%s_%d" % (label, i)
                                                      for i in range(len(tensors)))


def by_symbolic_trace(model, args, kwargs, training):
    """Capture by symbolic_trace: modules of torch.nn stay whole."""
    if training:
        raise Refused("symbolic_trace captures no backward pass")
    path = {}
    with module_paths(model, path):
        module = fx.symbolic_trace(model)
    captured = Captured(module, "symbolic_trace")
    captured.path = path
    path.update({n.name: n.target for n in captured.nodes if n.op == "call_module"})
    holders = [n for n in captured.nodes if n.op == "placeholder"]

    def feed(a, k):
        bound = inspect.signature(model.forward).bind(*a, **k)
        bound.apply_defaults()
        return {n: bound.arguments[n.target] for n in holders}
    captured.feed, captured.finish = feed, plain
    return captured


def plain(value):
    """A result with lists and dicts in place of the immutable ones of torch.fx."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return (list if isinstance(value, list) else tuple)(map(plain, value))
    return value


def capture(model, args, kwargs=None, *, loss=None, optimizer=None, training=False, method=None):
    """Captures model(*args, **kwargs), or a training step of it, and runs it once.

    loss: function of the model's result; training=True: the result is the loss. The step returns
    (loss, {name: gradient}). optimizer: makes a torch.optim optimiser of a list of weights; its
    update is part of the step; as it is made in every step, it must keep no state (SGD without
    momentum). method: "export", "make_fx" or "symbolic_trace"; default: the first that succeeds.
    The model, its buffers and the random numbers of torch are left as they were.
    """
    kwargs = kwargs or {}
    if not isinstance(args, (tuple, list)):
        raise Refused("args is a %s: a tuple of arguments is needed" % type(args).__name__)
    wanted = (loss, optimizer) if loss or optimizer or training else None
    tries = {"export": by_export, "make_fx": by_make_fx, "symbolic_trace": by_symbolic_trace}
    if method is not None and method not in METHODS:
        raise ValueError("method %r: %s are possible" % (method, ", ".join(METHODS)))
    form, home = forms_of((tuple(args), kwargs)), home_of(model, args, kwargs)
    names = ["make_fx"] if wanted else METHODS if hasattr(torch, "export") else METHODS[1:]
    failed = []
    for name in [method] if method else names:
        state = generator_state(home)
        try:
            twin = scratch_copy(model, wanted and wanted[1])
            captured = tries[name](twin, args, kwargs, wanted)
            captured.failed, captured.home, captured.form = failed, home, form
            captured.options = {"loss": loss, "optimizer": optimizer, "training": training,
                                "method": name}
            set_generator_state(state, home)
            out = examine(captured, twin, model, args, kwargs)
            set_generator_state(state, home)
            compare(out, clones(uncaptured(model, args, kwargs, wanted)), wanted)
            return captured
        except Refused:
            raise
        except Exception as error:       # each way of capture fails in its own manner
            if method:
                raise
            failed.append("%s: %s: %s" % (name, type(error).__name__, error))
        finally:
            set_generator_state(state, home)
    raise Refused("the model cannot be captured: " + "; ".join(failed))


def home_of(model, args, kwargs):
    """The device of the model's first weight, else of the first tensor of the arguments."""
    found = [*unique_state(model).values(), *tensors_of((args, kwargs))]
    return str(found[0].device) if found else "cpu"


def scratch_copy(model, weights_too):
    """A copy of the model whose buffers may be written, and its weights with an optimiser."""
    shared = {} if weights_too else {id(p): p for p in model.parameters()}
    for module in model.modules():      # tensors that hooks compute before each call
        shared.update({id(t): t for t in vars(module).values()
                       if isinstance(t, torch.Tensor) and not t.is_leaf})
    return copy.deepcopy(model, shared)


def clones(value):
    """A nest with copies of its tensors; one that is there twice has one copy."""
    made = {}
    return mapped(lambda t: made.setdefault(id(t), t.detach().clone()), value)


def uncaptured(model, args, kwargs, training):
    """The model's own result, or its loss and gradients."""
    model, (args, kwargs) = scratch_copy(model, False), clones((args, kwargs))
    with torch.set_grad_enabled(bool(training)):
        out = model(*args, **kwargs)
        if training:
            weights = {k: p for k, p in model.named_parameters() if p.requires_grad}
            out, _ = training_step(out, weights, (training[0], None), ())
    return out


def compare(found, expected, training):
    """Refuses a capture that is wrong; warns if a gradient is rounded in another way."""
    if forms_of(found) != forms_of(expected):
        raise Refused("the captured graph returns %s in %s, the model %s in %s" % (
            *forms_of(found), *forms_of(expected)))
    for i, (a, b) in enumerate(zip(tensors_of(found), tensors_of(expected))):
        if not torch.equal(a, b) and not (raw(a) == raw(b)).all():
            what = "gradient %d" % i if training and i else "result %d" % i
            if not training or not torch.allclose(a, b, 1e-3, 1e-5, equal_nan=True):
                raise Refused("%s of the captured graph is not the model's; does the model set the "
                              "state of random numbers (checkpoint), or depend on data?" % what)
            warnings.warn("%s of the captured step is rounded in another way" % what)


def raw(tensor):
    """The bytes of a tensor, as a copy."""
    return tensor.detach().clone(memory_format=torch.contiguous_format).view(-1).view(torch.uint8)


def examine(captured, twin, model, args, kwargs):
    """Fills in the facts by a pass over the graph with the twin's tensors; returns its result."""
    own, known = unique_state(twin), unique_state(model)
    names = {id(t): k for k, t in own.items()}
    constants = {}
    for node in captured.nodes:
        if node.op == "get_attr":
            tensor = functools.reduce(getattr, node.target.split("."), captured.module)
            if isinstance(tensor, torch.Tensor):
                captured.names[node] = names.get(id(tensor), node.target)
                constants[captured.names[node]] = tensor
    own = {**constants, **own}
    modules = {n: captured.module.get_submodule(n.target)
               for n in captured.nodes if n.op == "call_module"}
    inputs = clones(captured.feed(args, kwargs))
    env, readers = {}, {n: len(n.users) for n in captured.nodes}
    restore(own, known)
    with torch.no_grad(), MatrixFlop() as flop:
        for node in captured.nodes:
            look(captured, node, env, own, names, modules, inputs, flop)
            for n in node.all_input_nodes:     # the output reads, too
                readers[n] -= 1
                if not readers[n]:
                    del env[n]
        trim(captured)
        out = clones(captured.finish(fx.node.map_arg(captured.output, env.get)))
        restore(own, known)
    captured.state, captured.ids = {**constants, **known}, names
    captured.tables = tables_of(model)
    captured.trained = captured.trained or frozenset(dict(model.named_parameters()))
    return out


@torch.no_grad()
def restore(own, known):
    """Undoes what a trace or a pass has written to the copies of weights and buffers."""
    for name, tensor in known.items():
        if own[name] is not tensor:
            own[name].copy_(tensor)


def module_state(node, modules, names):
    """Name -> tensor of what a module that is called whole has."""
    if node not in modules:
        return {}
    module = modules[node]
    return {names[id(t)]: t for t in [*module.parameters(), *module.buffers()]}


def look(captured, node, env, own, names, modules, inputs, flop):
    """Runs one node and notes its facts."""
    fact = captured.facts[node]
    if node in captured.names:
        name = captured.names[node]
        env[node], fact.local, fact.state = own[name], True, frozenset([name])
        captured.share(node, name)
        fact.layout = Layout(env[node])
        return
    given = [(n, t) for n in node.all_input_nodes for t in tensors_of(env[n])]
    own_state = module_state(node, modules, names)
    held = frozenset(own_state).union(*(captured.facts[n].state for n in node.all_input_nodes
                                        if captured.facts[n].local))
    watched = given + list(own_state.items())
    old = [(t._version, raw(t)) for _, t in watched]       # some kernels count no version
    draws, before = generator_state(captured.home), flop.flop
    env[node] = value = inputs[node] if node.op == "placeholder" else call(node, env, modules)
    fact.flop = flop.flop - before
    fact.random = not torch.equal(draws, generator_state(captured.home))
    fact.writes = [n for (n, t), (version, bytes_) in zip(watched, old)
                   if t._version != version or not torch.equal(raw(t), bytes_)]
    describe(captured, node, value, given, held)


def describe(captured, node, value, given, state):
    """The facts that follow from a node's value and the tensors given to it."""
    fact = captured.facts[node]
    made, addresses = tensors_of(value), {memory_of(t): n for n, t in given if memory_of(t)}
    for tensor in made:
        if tensor.layout != torch.strided:
            raise Refused("op '%s' makes a tensor of layout %s" % (node.name, tensor.layout))
        if memory_of(tensor) in addresses:
            captured.share(node, addresses[memory_of(tensor)])
    view = bool(made) and all(memory_of(t) in addresses for t in made)
    plain = not fact.writes and not fact.random
    if not made and plain:
        read = str(getattr(node.target, "__name__", node.target)).split(".")[0]
        if read in READS and given:
            raise Refused("op '%s' reads a number from a tensor (%s)" % (node.name, read))
        fact.local, fact.value = True, value
    elif view and plain and all(captured.facts[n].local for n, _ in given):
        fact.local = True
    fact.state = state
    fact.container = bool(made) and not isinstance(value, torch.Tensor)
    fact.layout = None if fact.container or not made else Layout(value)
    fact.bytes = sum(Layout(t).bytes for t in made)
    if not view and not fact.container and node.op != "placeholder":
        fact.moved = fact.bytes + sum(Layout(t).bytes for _, t in given)


def call(node, env, modules, changed=()):
    """The value of a node, from those of its inputs; changed: node -> other keyword arguments."""
    args = fx.node.map_arg(node.args, env.__getitem__)
    kwargs = changed[node] if node in changed else node.kwargs
    kwargs = fx.node.map_arg(kwargs, env.__getitem__) if kwargs else {}
    if node.op == "call_module":
        return modules[node](*args, **kwargs)
    if node.op == "call_method":
        return getattr(args[0], node.target)(*args[1:], **kwargs)
    if node.op == "call_function":
        return node.target(*args, **kwargs)
    raise Refused("op '%s': %s '%s' cannot be run" % (node.name, node.op, node.target))


def trim(captured):
    """Keeps what reaches an output, writes or draws; lists ops and the writers of memory."""
    live = set()
    fx.node.map_arg(captured.output, live.add)
    for node in reversed(captured.nodes):
        fact = captured.facts[node]
        if node in live or fact.writes or fact.random or node.op == "placeholder":
            live.add(node)
            live.update(node.all_input_nodes)
    captured.ops = [n for n in captured.nodes if n in live and not captured.facts[n].local]
    if not captured.ops:
        raise Refused("the model has no ops")
    for node in captured.ops:
        for target in captured.facts[node].writes:
            writers = captured.written.setdefault(captured.memory(target), [])
            if node not in writers:
                writers.append(node)


def colocated(captured, weights=False):
    """Lists of ops that must share a device.

    The parts of a tuple with its producer; all views of memory that is written, and its writers;
    with weights: also the ops that read one trained weight, which tied weights make several.
    """
    together = collections.defaultdict(list)
    for node in captured.ops:
        fact = captured.facts[node]
        keys = [captured.memory(x) for x in [node, *fact.writes, *fact.state]]
        keys = [k for k in keys if k in captured.written]
        tuples = [node, *captured.inputs(node)]
        keys += [("tuple", n) for n in tuples if captured.facts[n].container]
        keys += [("weight", name) for name in fact.state if weights and name in captured.trained]
        for key in keys:
            together[key].append(node)
    parent = {n: n for n in captured.ops}

    def find(n):
        while parent[n] is not n:
            n = parent[n]
        return n
    for members in together.values():
        for node in members[1:]:
            parent[find(node)] = find(members[0])
    sets = collections.defaultdict(list)
    for node in captured.ops:
        sets[find(node)].append(node)
    return [members for members in sets.values() if len(members) > 1]


# ---- Plans and their execution ----

# A tensor (node None: the state of random numbers) that crosses after an op; copied: it is written
# later on.
Message = collections.namedtuple("Message", "number node after src dst copied")


class Plan:
    """What each device runs, sends and frees, in one order of all ops.

    Each device runs its ops in the order of the whole, sends a tensor at once when it is there and
    waits for one only before its first reader: the first op of the order that is not done can
    always run, so there is no deadlock.
    """

    def __init__(self, captured, device, order=None):
        self.captured, self.device = captured, device
        self.order = order or captured.ops
        self.messages, self.sent = [], {}
        self.before, self.after = (collections.defaultdict(list) for _ in range(2))
        for node in self.order:
            for n in captured.inputs(node):
                self.deliver(n, captured.source(n, node), node)
        draws = captured.draws()
        for a, b in zip(draws, draws[1:]):
            self.deliver(None, a, b)
        self.last_draw = draws[-1] if draws else None
        self.drop = self.last_uses()

    def deliver(self, node, after, reader):
        """Adds the message by which a reader gets a node as it is after an op, if one is needed."""
        src, dst = self.device[after], self.device[reader]
        if src == dst:
            return
        message = self.sent.get((node, after, dst))
        if not message:
            writers = self.captured.written.get(self.captured.memory(node), ())
            at = self.captured.place_in
            copied = node is None or any(at[w] > at[after] for w in writers)
            message = Message(len(self.messages), node, after, src, dst, copied)
            self.sent[node, after, dst] = message
            self.messages.append(message)
            self.after[after].append(message)
        self.before[reader].append(message)

    def last_uses(self):
        """Op -> the nodes that its device needs no longer after it."""
        last = {}
        for node in self.order:
            uses = [node, *self.captured.inputs(node), *(m.node for m in self.after[node])]
            last.update({(self.device[node], n): node for n in uses if n is not None})
        for node in self.captured.outputs():
            last.pop((self.owner(node), node), None)
        drop = collections.defaultdict(list)
        for (_, n), node in last.items():
            drop[node].append(n)
        return drop

    def owner(self, node):
        """The device that has the value of an output."""
        facts = self.captured.facts
        readers = (n for n in self.order if facts[n].state & facts[node].state)
        return self.device[node if node in self.device else next(readers, self.order[0])]

    def on(self, device):
        """The ops of a device, in order."""
        return [n for n in self.order if self.device[n] == device]

    def results(self, device):
        """The outputs that a device has."""
        return [n for n in self.captured.outputs() if self.owner(n) == device]


class Place:
    """A device with its weights, its modules and the values of nodes that it holds."""

    def __init__(self, plan, number, device):
        self.captured = captured = plan.captured
        self.device, self.nodes, self.outputs = device, plan.on(number), plan.results(number)
        self.state, self.modules, self.kwargs, self.base = {}, {}, {}, {}
        for name in {k for n in self.nodes + self.outputs for k in captured.facts[n].state}:
            tensor = captured.state[name].detach().to(device)
            self.state[name] = tensor.clone() if self.written(name) else tensor
        with torch.no_grad():
            for node in captured.nodes:
                self.prepare(node)
        self.env = {}

    def written(self, node):
        """Whether the step writes the memory of a node or a weight."""
        return self.captured.memory(node) in self.captured.written

    def prepare(self, node):
        """Sets the value of a node that is no op; moves an op's module and device argument."""
        fact = self.captured.facts[node]
        if fact.local and not fact.state:
            self.base[node] = fact.value
        elif fact.local and fact.state <= self.state.keys():
            name = self.captured.names.get(node)
            self.base[node] = self.state[name] if name else call(node, self.base, {})
        elif node.op == "call_module" and fact.state <= self.state.keys():
            self.modules[node] = self.module(self.captured.module.get_submodule(node.target))
        if node.kwargs.get("device") is not None and not fact.local:
            self.kwargs[node] = {**node.kwargs, "device": torch.device(self.device)}

    def module(self, module):
        """A copy of a module, with the weights of this place."""
        own = [*module.parameters(), *module.buffers()]
        twin = copy.deepcopy(module, {id(t): t for t in own})
        put(twin, {id(t): self.state[self.captured.ids[id(t)]] for t in own})
        return twin

    def run(self, node, given):
        """Runs an op and keeps its value; given: placeholder -> value."""
        if node.op == "placeholder":
            copied = self.written(node)
            self.env[node] = mapped(lambda t: t.detach().to(self.device, copy=copied), given[node])
        else:
            self.env[node] = value = call(node, self.env, self.modules, self.kwargs)
            layout = self.captured.facts[node].layout
            if layout and value.shape != layout.shape:
                raise Refused("op '%s' made %s, at the capture %s: sizes must not depend on data" %
                              (node.name, list(value.shape), list(layout.shape)))

    def check(self, node):
        """Refuses a result on another device, as of an op that made a tensor without its input."""
        for tensor in tensors_of(self.env[node]):
            if tensor.device.type != torch.device(self.device).type:
                raise Refused("op '%s' of device %s made a tensor on %s" % (
                    node.name, self.device, tensor.device))

    def results(self):
        """Name -> value of the outputs that this device has."""
        return {n.name: self.env[n] for n in self.outputs}


def transfer(tensor, layout, device):
    """A tensor on another device, with the same strides; from meta: zeros."""
    out = layout.buffer(device)
    if tensor.is_meta or out.is_meta:
        return out if out.is_meta else out.zero_()
    row = layout.flat(tensor).to(device)
    if layout.packed:
        return layout.unpack(out, row)
    layout.flat(out).copy_(row)
    return out


def apply(captured, args, placement, devices, kwargs=None):
    """Runs a captured model by a placement in this process, with a transfer for each message.

    devices: list such as ["cuda:0", "cuda:1"], or ["cpu", "meta"]: then an op whose input was not
    transferred raises an error. Returns the result and the number of transfers.
    """
    plan = read_plan(captured, placement, devices)
    places = [Place(plan, i, device) for i, device in enumerate(devices)]
    for place in places:
        place.env = dict(place.base)
    given = fed(captured, args, kwargs or {})
    with torch.no_grad():
        for node in plan.order:
            places[plan.device[node]].run(node, given)
            places[plan.device[node]].check(node)
            for m in plan.after[node]:
                src, dst = places[m.src], places[m.dst]
                if m.node is None:
                    set_generator_state(generator_state(src.device), dst.device)
                else:
                    layout = captured.facts[m.node].layout
                    dst.env[m.node] = transfer(src.env[m.node], layout, dst.device)
            for n in plan.drop[node]:
                del places[plan.device[node]].env[n]
    return collect(captured, [p.results() for p in places]), len(plan.messages)


def collect(captured, results):
    """The result of the model from those of the places."""
    env = {k: v for part in results for k, v in part.items()}
    return captured.finish(fx.node.map_arg(captured.output, lambda n: env[n.name]))


# ---- Placements ----

def read_placement(captured, placement):
    """Device number of each op, and the order of execution, if there is one.

    placement: a file of `berth place --output` or its contents, a list with a device number for
    each op, or a dict from names of ops to device numbers.
    """
    ops, names, given, sequence = captured.ops, [n.name for n in captured.ops], None, None
    if isinstance(placement, (str, os.PathLike)):
        with open(placement, encoding="utf-8") as file:
            placement = json.load(file)
        if "placement" not in placement:
            raise Refused("the file has no placement; `berth place --output` writes one")
    if isinstance(placement, dict) and isinstance(placement.get("placement"), dict):
        found, given, sequence = stored(placement)
    elif isinstance(placement, dict):
        for who, a, b in ("placement", names, placement), ("model", placement, set(names)):
            for name in a:
                if name not in b:
                    raise Refused("the %s has no op '%s'" % (who, name))
        found = [placement[name] for name in names]
    elif isinstance(placement, (list, tuple)):
        found = list(placement)
    else:
        raise Refused("a %s is no placement" % type(placement).__name__)
    if len(found) != len(ops):
        raise Refused("the placement has %d ops, the model %d; was the graph exported with the "
                      "same loss and optimizer?" % (len(found), len(ops)))
    for name, node in zip(given or names, ops):
        if name != node.name:
            raise Refused("the placement has op '%s' where the model has '%s'" % (name, node.name))
    for node, number in zip(ops, found):
        if not isinstance(number, int) or number < 0:
            raise Refused("op '%s' is on device %s" % (node.name, number))
    at = {n.name: i for i, n in enumerate(ops)}
    order = [at.get(i, i) for i in sequence or ()]
    if order and sorted(map(str, order)) != sorted(map(str, range(len(ops)))):
        raise Refused("the sequence of the placement does not have each op once")
    return dict(zip(ops, found)), [ops[i] for i in order] or None


def stored(placement):
    """Device numbers, names of ops and sequence of a file's contents; the last may be None."""
    held = placement["placement"]
    if "device" not in held:
        raise Refused("the placement has no 'device'")
    devices = placement.get("topology", {}).get("devices", [])
    labels = held.get("device_names") or [d.get("name", "d%d" % i) for i, d in enumerate(devices)]
    names = held.get("op_names") or [o.get("name") for o in
                                     placement.get("graph", {}).get("ops", [])]
    return [labels.index(d) if d in labels else d for d in held["device"]], names, held.get(
        "sequence")


def read_plan(captured, placement, devices=None):
    """The plan of a placement, which keeps what shares memory together."""
    device, order = read_placement(captured, placement)
    for node, number in device.items():
        if devices and number >= len(devices):
            raise Refused("op '%s' is on device %d of %d" % (node.name, number, len(devices)))
        if devices and captured.facts[node].random and torch.device(
                devices[number]).type not in (torch.device(captured.home).type, "meta"):
            raise Refused("op '%s' draws random numbers on %s, the model on %s" % (
                node.name, devices[number], captured.home))
    for members in colocated(captured):
        other = next((n for n in members if device[n] != device[members[0]]), None)
        if other is not None:
            raise Refused("ops '%s' and '%s' share memory or a tuple: place them on one device "
                          "(on %d and %d)" % (members[0].name, other.name, device[members[0]],
                                              device[other]))
    check_order(captured, order)
    return Plan(captured, device, order)


def check_order(captured, order):
    """Refuses an order of execution that breaks an edge of the exported graph."""
    place = {n: i for i, n in enumerate(order or captured.ops)}
    for source, readers, _ in edges(captured):
        for reader in readers:
            if place[source] > place[reader]:
                raise Refused("the placement runs op '%s' before '%s', which it reads" %
                              (reader.name, source.name))


# ---- Export ----

def edges(captured):
    """Tensors between ops: a list of (op, [readers], bytes), an op and a reader once.

    A reader of memory that was written depends on the last writer, and a writer on the readers of
    what it overwrites (0 bytes); draws of random numbers follow each other.
    """
    pairs, sent = set(), {}

    def add(key, source, reader, size):
        if source is not reader and (source, reader) not in pairs:
            pairs.add((source, reader))
            sent.setdefault(key, (source, [], size))[1].append(reader)
    for reader in captured.ops:
        for n in captured.inputs(reader):
            source = captured.source(n, reader)
            add((source, n), source, reader, captured.facts[n].bytes)
    for source, reader in memory_order(captured):
        add((source, None), source, reader, 0)
    draws = captured.draws()
    for a, b in zip(draws, draws[1:]):
        add((a, "random"), a, b, generator_state(captured.home).numel())
    for node in captured.ops:
        if captured.facts[node].bytes and (node, node) not in sent:
            sent[node, node] = (node, [], captured.facts[node].bytes)
    return list(sent.values())


def memory_order(captured):
    """Pairs of ops, the first to be run before the second as one of them writes what both use."""
    touched = collections.defaultdict(list)
    for node in captured.ops:
        fact = captured.facts[node]
        used = [node, *captured.inputs(node), *fact.writes, *fact.state]
        for root in dict.fromkeys(captured.memory(x) for x in used):
            if root in captured.written:
                touched[root].append(node)
    for root, nodes in touched.items():
        readers, writer = [], None
        for node in nodes:
            if writer:
                yield writer, node
            if node in captured.written[root]:
                yield from ((r, node) for r in readers)
                readers, writer = [], node
            else:
                readers.append(node)


def measure(captured, args, kwargs, passes):
    """Sets the seconds of each op: the least of several passes over all ops, in order.

    Sets captured.run_seconds to the least time of passes without clocks between the ops.
    """
    plan = Plan(captured, {n: 0 for n in captured.ops})
    place, given = Place(plan, 0, captured.home), captured.feed(args, kwargs)
    state = generator_state(captured.home)
    one_pass(plan, place, given)            # warms up
    for _ in range(passes):
        start = time.perf_counter()
        one_pass(plan, place, given)
        total = time.perf_counter() - start
        captured.run_seconds = min(total, captured.run_seconds or total)
        for node, seconds in one_pass(plan, place, given, clock=time.perf_counter).items():
            fact = captured.facts[node]
            fact.seconds = min(seconds, fact.seconds or seconds)
    set_generator_state(state, captured.home)


@torch.no_grad()
def one_pass(plan, place, given, clock=None):
    """Runs all ops on one place; with a clock, returns the seconds from op to op."""
    place.env, spans = dict(place.base), {}
    before = clock and clock()
    for node in place.nodes:
        place.run(node, given)
        for n in plan.drop[node]:
            del place.env[n]
        if clock:
            now = clock()
            spans[node], before = now - before, now
    return spans


def graph_of(captured, name):
    """The graph as berth JSON."""
    number = {n: i for i, n in enumerate(captured.ops)}
    ops, counted, weights = [], set(), {captured.memory(k) for k in captured.trained}
    for node in captured.ops:
        fact = captured.facts[node]
        op = {"name": node.name, "kind": kind_of(captured, node), "flop": fact.flop,
              "bytes": fact.moved}
        fresh = [k for k in sorted(fact.state) if k not in counted]
        counted.update(fresh)
        if fresh:
            op["param_bytes"] = sum(t.numel() * t.element_size()
                                    for t in map(captured.state.get, fresh))
        if fact.seconds is not None:
            op["seconds"] = 0 if node.op == "placeholder" else round(fact.seconds, 9)
        if weights & {captured.memory(x) for x in fact.writes}:
            op["update"] = True
        elif node.name in captured.backward:
            op["backward"] = True
        ops.append(op)
    for i, members in enumerate(colocated(captured, weights=True)):
        for node in members:
            ops[number[node]]["group"] = i
    tensors = [{"from": number[a], "to": [number[b] for b in readers], "bytes": size}
               for a, readers, size in edges(captured)]
    graph = {"name": name, "ops": ops, "tensors": tensors}
    dtypes = {t.dtype for t in captured.state.values() if t.is_floating_point()}
    if len(dtypes) == 1 and dtypes <= DTYPES.keys():
        graph["dtype"] = DTYPES[dtypes.pop()]
    return {"berth": 1, "graph": graph}


def kind_of(captured, node):
    """Kind of an op: aten's name, the name of a function or a method, a module's class."""
    if node.op == "call_module":
        return type(captured.module.get_submodule(node.target)).__name__
    if node.op == "placeholder":
        return "placeholder"
    packet = getattr(node.target, "overloadpacket", node.target)
    return getattr(packet, "__name__", str(node.target))


def export(model, args, path, kwargs=None, *, times=True, passes=5, name=None, **options):
    """Captures a model, measures its ops and writes berth JSON; returns the capture.

    times=False: no `seconds`; the ops then cost what their FLOP and bytes take. passes: whole
    passes of which each op's least time counts. options: those of capture.
    The returned capture has `run_seconds`, the time of the whole, to compare with the sum of ops:
    page faults of malloc make a difference, unless MALLOC_TRIM_THRESHOLD_ and
    MALLOC_MMAP_THRESHOLD_ are 4000000000 in the environment.
    """
    captured = capture(model, args, kwargs, **options)
    if times:
        measure(captured, args, kwargs or {}, passes)
    with open(path, "w", encoding="utf-8") as file:
        file.write(written(graph_of(captured, name or type(model).__name__)))
    return captured


def written(graph):
    """The text of a graph's file, a line for each op and tensor."""
    body = dict(graph["graph"])
    ops, tensors = (",\n".join(map(json.dumps, body.pop(k))) for k in ("ops", "tensors"))
    return '{"berth": 1, "graph": {%s,\n"ops": [\n%s],\n"tensors": [\n%s]}}\n' % (
        json.dumps(body)[1:-1], ops, tensors)


# ---- Maps for other runtimes ----

def device_map(captured, placement, devices=None):
    """Map of modules to devices for accelerate: the largest modules that lie on one device.

    devices: names of devices by number; default: the numbers. A module that has weights but no
    other modules runs as a whole, on the device of most of its bytes; weights that no op reads
    are with those before.
    """
    device, _ = read_placement(captured, placement)
    of_weight, found, last = {}, {}, 0
    for node in captured.ops:
        for name in captured.facts[node].state:
            of_weight.setdefault(name, device[node])
    for prefix, own in captured.tables.items():
        inner = any(k.startswith(prefix + "." * bool(prefix)) for k in captured.tables
                    if k != prefix)
        for key, names in ({k: [v] for k, v in own.items()} if inner
                           else {prefix: own.values()}).items():
            share = collections.Counter()
            for name in names:
                if name in of_weight:
                    tensor = captured.state[name]
                    share[of_weight[name]] += tensor.numel() * tensor.element_size()
            last = found[key] = share.most_common(1)[0][0] if share else last
    return {k: devices[d] if devices else d for k, d in fold(found, "").items()}


def fold(found, prefix):
    """The map below a prefix: one entry if all of its parts have one device."""
    start = len(prefix) + 1 if prefix else 0
    inside = {k: d for k, d in found.items() if k == prefix or k.startswith(prefix + "."[:start])}
    if len(set(inside.values())) == 1:
        return {prefix: next(iter(inside.values()))}
    parts = dict.fromkeys(prefix + "."[:start] + k[start:].split(".")[0] for k in inside)
    return {k: d for part in parts for k, d in fold(inside, part).items()}


def split_points(captured, placement):
    """Module -> SplitPoint.BEGINNING, for the split_spec of torch.distributed.pipelining.

    Each device must run one contiguous part of the program that begins where a module begins;
    otherwise an error names the op. Without torch.distributed.pipelining (2.x) values are strings.
    """
    device, _ = read_placement(captured, placement)
    ops = [n for n in captured.ops if n.op != "placeholder"]
    if captured.backward:
        raise Refused("split points are those of a forward pass; this is a training step")
    first, found, seen = {}, {}, []
    for node in ops:
        path = captured.path.get(node.name, "")
        for module in prefixes(path):
            first.setdefault(module, node)
        if seen and device[node] == seen[-1]:
            continue
        if device[node] in seen:
            raise Refused("device %d has no contiguous stage: op '%s' runs after one of device %d"
                          % (device[node], node.name, seen[-1]))
        begins = [m for m in prefixes(path) if first[m] is node]
        if seen and not begins:
            raise Refused("the stage of device %d begins at op '%s', inside of module '%s'"
                          % (device[node], node.name, path))
        if seen:
            found[begins[0]] = beginning()
        seen.append(device[node])
    return found


def prefixes(path):
    """The modules around a path, the outermost first: "a", "a.b", ..."""
    parts = path.split(".") if path else []
    return [".".join(parts[:i + 1]) for i in range(len(parts))]


def beginning():
    """The enumeration's member where torch has it."""
    try:
        from torch.distributed.pipelining import SplitPoint
        return SplitPoint.BEGINNING
    except ImportError:
        return "BEGINNING"


# ---- Runs over processes ----

def packed(value):
    """Bytes of a value with tensors; they keep strides and shared memory."""
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def unpacked(data):
    """The value of such bytes, which come from a process of this program."""
    return torch.load(io.BytesIO(data), weights_only=False)


class Worker:
    """One device's process: runs its part of each step."""

    def __init__(self, plan, number, device):
        self.plan, self.number = plan, number
        self.place = Place(plan, number, device)
        self.at, self.times = "", {}
        self.inbox = {}
        for m in plan.messages:
            if m.dst == number:
                self.inbox[m] = (plan.captured.facts[m.node].layout.receive() if m.node else
                                 (None, torch.empty_like(generator_state(device))))

    def send(self, m):
        """Begins to send a message; what is returned keeps its memory alive."""
        if m.node is None:
            row = generator_state(self.place.device)
        else:
            row = self.plan.captured.facts[m.node].layout.flat(self.place.env[m.node])
            row = row.clone().cpu() if m.copied else row.cpu()
        return (dist.isend(row, m.dst, tag=m.number), row) if row.numel() else None

    def take(self, m, work):
        """Waits for a message and puts its tensor in its place."""
        tensor, row = self.inbox[m]
        if work:
            work.wait()
        if m.node is None:
            return set_generator_state(row, self.place.device)
        layout = self.plan.captured.facts[m.node].layout
        layout.unpack(tensor, row)
        local = torch.device(self.place.device).type == "cpu"
        self.place.env[m.node] = tensor if local else transfer(tensor, layout, self.place.device)

    def step(self, given):
        """One step: the outputs that this device has, and when it began and ended."""
        place, plan, clock = self.place, self.plan, time.perf_counter
        place.env, sending = dict(place.base), []
        coming = {m: dist.irecv(row, m.src, tag=m.number) if row.numel() else None
                  for m, (_, row) in self.inbox.items()}
        dist.barrier()
        start, self.times, helpers = clock(), {}, time.process_time() - time.thread_time()
        for node in place.nodes:
            self.at = node.name
            for m in plan.before[node]:
                if m in coming:
                    began = clock()
                    self.take(m, coming.pop(m))
                    self.times["wait", m.number] = (self.number, began, clock())
            begun = clock()
            place.run(node, given)
            self.times[node.name] = (self.number, begun, clock())
            for m in plan.after[node]:
                sent = clock()
                sending.append(self.send(m))
                self.times["send", m.number] = (self.number, sent, clock())
            for n in plan.drop[node]:
                del place.env[n]
        end = clock()
        for pair in filter(None, sending):
            pair[0].wait()
        helpers = time.process_time() - time.thread_time() - helpers
        self.times["helpers", self.number] = (self.number, 0.0, helpers)
        return place.results(), (start, end)


def serve_in_thread(*args):
    """Main function of a worker's process.

    In a forked process the first thread takes the pool of OpenMP threads, which were not forked,
    for its own, and would wait for them; a new thread makes a pool.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)        # Ctrl-C: the parent ends its workers
    threading.Thread(target=end_with_parent, daemon=True).start()
    thread = threading.Thread(target=serve, args=args)
    thread.start()
    thread.join()


def end_with_parent():
    """Ends this process if its parent was killed and could not."""
    mp.parent_process().join()
    os._exit(1)


def send(pipe, data):
    """Sends to a worker; one that died is reported as it does not answer."""
    with contextlib.suppress(OSError):
        pipe.send_bytes(data)


def serve(number, pipe, job):
    """Answers "step" and "state" until the pipe closes."""
    worker = None
    try:
        torch.set_num_threads(job["threads"])
        captured = job.get("captured") or job["capture"]()
        plan = read_plan(captured, job["placement"], job["devices"])
        worker = Worker(plan, number, job["devices"][number])
        if sys.platform == "linux":         # all processes are on this machine
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group("gloo", init_method="file://" + job["store"], rank=number,
                                world_size=len(job["devices"]),
                                timeout=datetime.timedelta(seconds=job["timeout"]))
        dist.barrier()
        pipe.send_bytes(packed(("ready",)))
        with torch.no_grad():
            while True:
                pipe.send_bytes(packed(answer(worker, unpacked(pipe.recv_bytes()))))
    except EOFError:
        pass
    except BaseException as error:
        at = worker.at if worker else ""
        text = "%s: %s" % (type(error).__name__, error)
        with contextlib.suppress(OSError):
            pipe.send_bytes(packed(("error", at, text, traceback.format_exc())))


def answer(worker, request):
    """A worker's reply to a request."""
    place = worker.place
    if request[0] == "state":
        return "state", {k: t.cpu() for k, t in place.state.items() if place.written(k)}
    _, given, state, trace = request
    set_generator_state(state, place.device)
    nodes = {n.name: n for n in place.nodes}
    results, span = worker.step({nodes[k]: v for k, v in given.items() if k in nodes})
    last = worker.plan.last_draw
    drawn = generator_state(place.device) if last in place.nodes else None
    worker.at = ""
    return "done", mapped(torch.Tensor.cpu, results), span, drawn, worker.times if trace else None


class Placed:
    """A model that runs by a placement, a process for each device, until close().

    placed(*args, **kwargs) returns what the model (or its training step) returns, bit for bit, if
    the model runs with the same number of threads; the random numbers of torch are used as by the
    model. Sizes of inputs are those of the capture. `seconds` is the time of the last step from
    its start to the end of its last op, `times` (with trace=True) op -> (device, start, end), s,
    and the same of ("send", number) and ("wait", number) of messages; ("helpers", device): the CPU
    time of the threads that receive.

    devices: names such as "cpu" or "cuda:1" by number; default: cuda if there are enough, else
    cpu. start: "fork" (CPU only), "spawn" or "forkserver" (the model is pickled; each process
    captures it). timeout: seconds for a step. options: those of capture, unless captured is given.
    """

    def __init__(self, model, args, placement, devices=None, kwargs=None, *, captured=None,
                 start=None, threads=None, timeout=60, trace=False, **options):
        if captured and options:
            raise ValueError("%s: give it to the capture" % ", ".join(options))
        if any(torch.device(d).type == "meta" for d in devices or ()):
            raise ValueError("a process computes nothing on meta; apply() checks transfers with it")
        self.captured = captured = captured or capture(model, args, kwargs, **options)
        number, _ = read_placement(captured, placement)
        devices = devices or default_devices(1 + max(number.values()))
        self.plan = read_plan(captured, placement, devices)
        self.timeout, self.trace, self.seconds, self.times = timeout, trace, None, {}
        self.folder, self.workers = tempfile.TemporaryDirectory(), []
        job = {"devices": [str(d) for d in devices], "placement": placement, "timeout": timeout,
               "threads": threads or torch.get_num_threads(),
               "store": os.path.join(self.folder.name, "store")}
        start = start or default_start(devices)
        if start == "fork":
            job["captured"] = captured
        else:
            job["capture"] = functools.partial(capture, model, args, kwargs, **captured.options)
        self.launch(mp.get_context(start), devices, job)

    def launch(self, context, devices, job):
        """Starts the processes and waits until all are ready."""
        for i in range(len(devices)):
            pipe, end = context.Pipe()
            process = context.Process(target=serve_in_thread, args=(i, end, job), daemon=True)
            process.start()
            end.close()
            self.workers.append((process, pipe, str(devices[i])))
        self.replies("start")

    def __call__(self, *args, **kwargs):
        given = {n.name: v for n, v in fed(self.captured, args, kwargs).items()}
        request = packed(("step", given, generator_state(self.captured.home), self.trace))
        replies = self.ask(request)
        for _, _, _, drawn, times in replies:
            if drawn is not None:
                set_generator_state(drawn, self.captured.home)
            self.times.update(times or {})
        spans = [r[2] for r in replies]
        self.seconds = max(end for _, end in spans) - max(start for start, _ in spans)
        return collect(self.captured, [r[1] for r in replies])

    def state(self):
        """Name -> weight or buffer that steps have written, as it is now."""
        return {k: t for r in self.ask(packed(("state",))) for k, t in r[1].items()}

    def ask(self, request):
        """Sends a request to all processes and returns their replies."""
        if not self.workers:
            raise RuntimeError("the placed model is closed")
        for _, pipe, _ in self.workers:     # a worker that hangs would block a long request
            threading.Thread(target=send, args=(pipe, request), daemon=True).start()
        return self.replies("step")

    def replies(self, what):
        """A reply of each process; the first error of any, or an interrupt, ends them all."""
        try:
            return self.gather(what)
        except BaseException:
            self.close()
            raise

    def gather(self, what):
        """The replies, as they come, in order of the devices."""
        waiting, found = {w[1]: i for i, w in enumerate(self.workers)}, {}
        deadline = time.monotonic() + self.timeout + 10
        while waiting:
            ready = connection.wait(list(waiting), max(0, deadline - time.monotonic()))
            if not ready:
                self.fail("device %d (%s): no answer within %g s", min(waiting.values()),
                          self.timeout + 10)
            for pipe in ready:
                number = waiting.pop(pipe)
                try:
                    found[number] = unpacked(pipe.recv_bytes())
                except (EOFError, OSError):
                    self.fail("device %d (%s): no answer to a %s", number, what)
                if found[number][0] == "error":
                    at, text = found[number][1:3]
                    self.fail("device %d (%s): " + ("op '%s': " % at if at else "") + "%s", number,
                              text)
        return [found[i] for i in range(len(self.workers))]

    def fail(self, text, number, *rest):
        """Raises an error about a process."""
        text = text % (number, self.workers[number][2], *rest)
        for worker in self.workers:
            worker[0].join(0.1)
        ended = [i for i, w in enumerate(self.workers) if w[0].exitcode not in (None, 0)]
        text += "; the process of device %d has ended" % ended[0] if ended else ""
        raise RuntimeError(text)

    def close(self):
        """Ends the processes."""
        for process, pipe, _ in self.workers:
            process.kill()
            process.join()
            pipe.close()
        self.workers = []
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def default_devices(count):
    """CUDA devices if there are enough, else CPUs."""
    enough = torch.cuda.is_available() and torch.cuda.device_count() >= count
    return ["cuda:%d" % i for i in range(count)] if enough else ["cpu"] * count


def default_start(devices):
    """CUDA cannot be used in a forked process."""
    return "fork" if all(torch.device(d).type == "cpu" for d in devices) else "spawn"


def run(model, args, placement, devices=None, kwargs=None, **options):
    """Runs a model once by a placement, over processes; options: those of Placed."""
    with Placed(model, args, placement, devices, kwargs, **options) as placed:
        return placed(*args, **(kwargs or {}))


def main(argv=None):
    """Command line: export FUNCTION OUT, where module:function returns (model, args)."""
    parser = argparse.ArgumentParser(description="Exports a PyTorch model as berth JSON.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("export", help="write ops, times, bytes and FLOP of a model")
    command.add_argument("function", help="module:function that returns (model, args)")
    command.add_argument("output", help="file to write, .json")
    command.add_argument("--method", choices=METHODS, help="way of capture; default: the first "
                         "that succeeds")
    command.add_argument("--no-times", action="store_true", help="do not measure the ops")
    command.add_argument("--passes", type=int, default=5, help="passes to measure (default 5)")
    command.add_argument("--training", action="store_true", help="a training step; the model's "
                         "result is the loss")
    o = parser.parse_args(argv)
    module, _, function = o.function.partition(":")
    sys.path.insert(0, os.getcwd())
    if not function:
        parser.error("'%s' is not module:function" % o.function)
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        parser.error(str(error))
    made = make()
    if not isinstance(made, tuple) or len(made) != 2:
        parser.error("%s returns no (model, args)" % o.function)
    try:
        captured = export(*made, o.output, times=not o.no_times, passes=o.passes, method=o.method,
                          training=o.training, name=function)
    except Refused as error:
        sys.exit("berth_torch: %s" % error)
    print(summary(captured))


def summary(captured):
    """A line about a capture."""
    facts = [captured.facts[n] for n in captured.ops]
    text = "%s: %d ops, %d matrix FLOP" % (captured.method, len(facts), sum(f.flop for f in facts))
    text = "".join("failed: %s\n" % reason for reason in captured.failed) + text
    if captured.run_seconds is None:
        return text
    return text + ", sum of ops %.3g ms, run %.3g ms" % (
        1e3 * sum(f.seconds for f in facts), 1e3 * captured.run_seconds)


if __name__ == "__main__":
    main()
