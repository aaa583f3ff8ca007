"""Which modules can be trained here: a loss must be a function of the parameters and one sample, of nothing else."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import is_lazy

from fltheory.errors import InputError
from sims.refusals import reason_of
from sims.training.buffers import averaged, changed, copied, require_policy
from sims.training.engines import Batch, Engine, backward, loss_of
from sims.training.layout import Layout

PROBE = 3  # samples on which a module is tried
LOOKED_AT = 2**22  # numbers of the inputs that are looked at together
SEEDS = (1, 2)
CLOSE = 1e-3  # relative difference of outputs that rounding in single precision may make
APART = {"full": 1e-2, "half": 0.1}  # of gradients by a parameter: more than rounding makes (found: 5e-6 and 0.06),
SLIGHT = {"full": 1e-5, "half": 1e-3}  # beside this of the gradient by all of them (found: 1e-6 and 0.01)
DRAWN = "one that draws no random numbers (dropout of sims.training.models.layers)"
PURE = "one that leaves its parameters as they are (no embedding with max_norm)"


def require_trainable(
    module: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    buffers: str = "refuse",
    test: tuple[Tensor, Tensor] | None = None,
) -> None:
    """Raise InputError unless the module can be trained on these data, with this policy for its buffers.

    Its parameters are floats of one dtype, all trained, and have no hooks, and its buffers allow the policy
    (`sims.training.buffers`); it leaves its inputs and parameters as they are, keeps nothing of earlier calls, and
    draws no random numbers (dropout has its masks from outside, `sims.training.models.layers`); what it makes of a
    sample does not depend on the others of the batch, but for local steps with averaged buffers; and it gives finite
    logits (B, classes) for as many classes as there are. All inputs are finite. Test data, if there are any, are inputs
    that it takes, with classes that it has logits of.
    """
    name = type(module).__name__
    require_shapes(module)
    require_policy(buffers, module)
    if buffers != "refuse":
        module.eval()
    _require_parameters(module)
    _require_layers(module)
    some, before = inputs[:PROBE], {own: part.detach().clone() for own, part in module.named_parameters()}
    if not len(some):
        raise InputError("inputs", tuple(inputs.shape), "some samples")
    _require_finite("inputs", inputs)
    fresh = _fresh(module)
    outputs = [_outputs(module, some, seed) for seed in SEEDS]
    shape, largest = tuple(outputs[0].shape), int(targets.max())
    if len(shape) != 2 or shape[0] != len(some) or shape[1] <= largest:
        raise InputError(
            "module", f"{name} with outputs {shape}", f"one with logits (B, classes) for {largest + 1} classes"
        )
    if not bool(torch.isfinite(outputs[0]).all()):
        wrong = outputs[0][~torch.isfinite(outputs[0])][0].item()
        raise InputError("module", f"{name} with {wrong} among its outputs", "one with finite logits at its start")
    if written := [own for own, part in module.named_parameters() if not _same(part, before[own])]:
        _write(module, before)
        raise InputError("module", f"{name}, which writes to {written}", PURE)
    if not torch.equal(*outputs):
        allowed = "one that gives the same again (it counts its calls, or draws numbers that torch does not seed)"
        raise InputError("module", name, allowed)
    by_itself = "one that treats each sample by itself (group or layer normalisation)"
    try:
        alone = torch.cat([_outputs(module, one[None], SEEDS[0]) for one in some])
    except InputError:  # batch normalisation has no variance of one sample
        raise InputError("module", name, by_itself) from None
    if not _close(alone, outputs[0]):
        raise InputError("module", name, by_itself)
    _require_no_memory(module, fresh, some)
    if buffers != "refuse":
        _require_buffers(module, some, buffers)
    if test is not None and len(test[0]):
        _require_test(module, *test, shape[1])


def require_tensors(module: Any, inputs: Any, targets: Any, test: Any = None) -> None:
    """Raise InputError for what is no module, and for data that are no tensors of samples with a class for each."""
    if not isinstance(module, nn.Module):
        raise InputError("module", module, "a torch.nn.Module, made and not only its class")
    if test is not None and not (isinstance(test, tuple | list) and len(test) == 2):
        raise InputError("test", test, "a pair of inputs and classes")
    pairs = [("inputs", inputs, "targets", targets), *([("test inputs", test[0], "test", test[1])] if test else [])]
    for what, samples, of, classes in pairs:
        for name, data in ((what, samples), (of, classes)):
            if not isinstance(data, Tensor):
                allowed = "a tensor (torch.as_tensor makes one of an array or a list)"
                raise InputError(name, type(data).__name__, allowed)
            if data.layout != torch.strided or not data.ndim:
                kind = str(data.layout).removeprefix("torch.")
                raise InputError(name, f"{kind} of shape {tuple(data.shape)}", "dense, with a row for each sample")
        _require_classes(of, classes, len(samples))


def _require_classes(what: str, classes: Tensor, size: int) -> None:
    if classes.shape != (size,):
        raise InputError(what, tuple(classes.shape), f"one class for each of the {size} inputs")
    if classes.is_floating_point() or classes.dtype == torch.bool or (size and int(classes.min()) < 0):
        raise InputError(what, classes[:3].tolist(), "whole numbers of at least 0")


def require_shapes(module: nn.Module) -> None:
    """Raise InputError for parameters and buffers that have no shape before a first batch."""
    if lazy := [name for name, part in (*module.named_parameters(), *module.named_buffers()) if is_lazy(part)]:
        raise InputError("module", lazy, "one whose parameters have shapes (a lazy module has after a first call)")


def require_own_gradients(module: nn.Module, engine: Engine, layout: Layout, model: Tensor, batch: Batch) -> None:
    """Raise InputError unless an engine's gradients are those of the module with this model (d,) written into it.

    A module may hold its start where an engine puts no other model: in a view of a parameter, or, with `vmap`, in a
    list. The batch is that of one client. A module that fails there alone, or has gradients that are not finite, is
    taken.
    """
    inputs, targets, masks = batch
    own = dict(module.named_parameters())
    before = {name: parameter.detach().clone() for name, parameter in own.items()}
    elsewhere, one = layout.named(model), (inputs[0], targets[0], tuple(mask[0] for mask in masks))
    failed = False
    _write(module, elsewhere)
    try:
        slopes = backward(loss_of(module, None, *one), list(own.values()))
        written = [name for name, parameter in own.items() if not _same(parameter, elsewhere[name])]
    except Exception:  # whatever a module makes of numbers that no step leads to, such as a scale below 0
        failed = True
    finally:
        _write(module, before)
    if failed:
        loss_of(module, None, *one)  # fails again if it kept a tensor of the engine
        return
    if written:
        raise InputError("module", f"{type(module).__name__}, which writes to {written}", PURE)
    found = engine.gradients(model[None], *batch)[0]
    expected = [torch.zeros_like(p) if s is None else s for p, s in zip(own.values(), slopes, strict=True)]
    kind = "half" if torch.finfo(model.dtype).bits < 32 else "full"
    slight = SLIGHT[kind] * float(torch.stack([slope.norm() for slope in expected]).norm())
    pairs = zip(own, expected, layout.named(found).values(), strict=False)  # what more is found is of buffers
    wrong = [name for name, e, f in pairs if float((f - e).norm()) > APART[kind] * float(e.norm()) + slight]
    if wrong:
        plain = "plain parameters, used where they are registered, with no views or lists of them"
        plain += "" if engine.name == "sequential" else ' and products in their own precision; or engine = "sequential"'
        allowed = f"one whose gradients the engine {engine.name!r} finds, by {wrong}, too ({plain})"
        raise InputError("module", type(module).__name__, allowed)


def _fresh(module: nn.Module) -> nn.Module | None:
    """A copy that was never called; None if there is none, as of a module with a lock."""
    try:
        return copy.deepcopy(module)
    except Exception:
        return None


def _require_no_memory(module: nn.Module, fresh: nn.Module | None, some: Tensor) -> None:
    """Raise InputError unless a module that was called before does with other parameters what a fresh copy does.

    A product of its parameters that it keeps would be that of its start for every client. It is called twice there: of
    a mean over calls the first, at the start, tells nothing. A module that fails there is taken.
    """
    if fresh is None:
        return
    layout = Layout(module)
    other = 1.25 * torch.cat([part.detach().reshape(-1) for part in module.parameters()]) + 0.1
    try:
        with layout.held(module, other):
            _outputs(module, some, SEEDS[0])
            again = _outputs(module, some, SEEDS[0])
            with layout.held(fresh, other):  # within, as a function of the module's that was not copied uses its own
                expected = _outputs(fresh, some, SEEDS[0])
    except InputError:
        return
    if bool(torch.isfinite(expected).all()) and not _close(again, expected):
        allowed = "one that keeps nothing of earlier calls (such as a product or a mean of its parameters)"
        raise InputError("module", type(module).__name__, allowed)


def _close(found: Tensor, expected: Tensor) -> bool:
    """Whether outputs differ by no more than rounding."""
    close = max(CLOSE, 4 * torch.finfo(expected.dtype).eps if expected.is_floating_point() else 0)
    return torch.allclose(found, expected, rtol=close, atol=close * float(expected.abs().max()))


def _write(module: nn.Module, numbers: dict[str, Tensor]) -> None:
    """These numbers into the parameters, in their own memory."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(numbers[name])


def _same(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def _require_parameters(module: nn.Module) -> None:
    """All are trained, and nothing hangs on them: models stand in their place, and would pass hooks by unseen."""
    own = dict(module.named_parameters())
    kinds = {part.dtype for part in own.values()}
    if len(kinds) > 1 or any(not kind.is_floating_point for kind in kinds):
        raise InputError("module", sorted(map(str, kinds)), "one whose parameters are floats of one dtype")
    frozen = [name for name, parameter in own.items() if not parameter.requires_grad]
    if frozen or not own:
        allowed = "one with parameters, all of them trained (requires_grad)"
        raise InputError("module", frozen or type(module).__name__, allowed)
    if shared := [n for n, p in own.items() if any(not s and d > 1 for s, d in zip(p.stride(), p.shape, strict=True))]:
        raise InputError("module", shared, "one whose parameters have memory for each of their numbers (none expanded)")
    hooked = [name for name, p in own.items() if p._backward_hooks or p._post_accumulate_grad_hooks]
    if hooked:
        raise InputError("module", hooked, "one without hooks on its parameters (hooks on its layers are kept)")


def _require_layers(module: nn.Module) -> None:
    """None of them draws its own dropout masks, has sparse gradients or changes its parameters in a pass."""
    name, embeddings = type(module).__name__, (nn.Embedding, nn.EmbeddingBag)
    if any(isinstance(part, _DropoutNd) and part.p > 0 for part in module.modules()):
        raise InputError("module", name, "one with dropout of sims.training.models.layers, if any")
    if any(isinstance(part, embeddings) and part.sparse for part in module.modules()):
        raise InputError("module", name, "one with dense gradients (an embedding without sparse=True)")
    if any(isinstance(part, embeddings) and part.max_norm is not None for part in module.modules()):
        raise InputError("module", name, PURE)


def _require_finite(what: str, inputs: Tensor) -> None:
    """Raise InputError that names the first sample with a number that is not finite; all of them are looked at."""
    if not inputs.is_floating_point() and not inputs.is_complex():
        return
    size = max(1, LOOKED_AT // max(1, inputs[0].numel()))
    for first, some in zip(range(0, len(inputs), size), torch.split(inputs, size), strict=True):
        if bool(torch.isfinite(some.sum())):  # as no sum is with one that is not, and five times faster
            continue
        wrong = ~torch.isfinite(some)
        for bad in wrong.reshape(len(some), -1).any(dim=1).nonzero()[:1].flatten().tolist():
            raise InputError(f"{what}[{first + bad}]", some[bad][wrong[bad]][0].item(), "of finite numbers")


def _require_test(module: nn.Module, inputs: Tensor, targets: Tensor, classes: int) -> None:
    """The module takes the test inputs, and has logits of their classes."""
    _require_finite("test inputs", inputs)
    _outputs(module, inputs[:PROBE], SEEDS[0], "test inputs")
    if (largest := int(targets.max())) >= classes:
        raise InputError("test", largest, f"classes below {classes}, of which the module has logits")


def _require_buffers(module: nn.Module, some: Tensor, buffers: str) -> None:
    """Evaluation changes no buffer; local steps change those that are averaged, and draw nothing."""
    if moved := changed(module, some, training=False):
        raise InputError("module", sorted(moved), "one whose buffers stay as they are in its evaluation mode")
    if buffers != "average":
        return
    if lost := changed(module, some, training=True) - averaged(module, buffers).keys():
        raise InputError("module", sorted(lost), "one whose buffers are floats where they change, to be averaged")
    _outputs(copied(module).train(), some, SEEDS[0], drawn="one that draws no random numbers in its training mode")


def _outputs(module: nn.Module, inputs: Tensor, seed: int, what: str = "inputs", drawn: str = DRAWN) -> Tensor:
    """What the module makes of the inputs, with torch's global generators at this seed and then as they were.

    It is given a copy: what is written into the data here would stay in those of the caller.
    """
    given = inputs.clone()
    devices = [inputs.device.index or 0] if inputs.device.type == "cuda" else []
    with torch.no_grad(), torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        try:
            found = module(given)
        except Exception as error:  # whatever a module of other shapes raises
            kind = str(inputs.dtype).removeprefix("torch.")
            allowed = f"one for {what} {tuple(inputs.shape)} of {kind} ({reason_of(error)})"
            raise InputError("module", type(module).__name__, allowed) from None
        if not torch.equal(before, torch.get_rng_state()):  # of small probability nothing need be seen in the outputs
            raise InputError("module", type(module).__name__, drawn)
    if given._version or not torch.equal(given, inputs):  # a version counts what torch writes, also the same number
        allowed = "one that leaves its inputs as they are (no inplace=True before the first layer with parameters)"
        raise InputError("module", f"{type(module).__name__}, which writes to its input", allowed)
    if not isinstance(found, Tensor):
        raise InputError("module", type(module).__name__, f"one that gives logits, not a {type(found).__name__}")
    return found
