"""Which modules can be trained here: a loss must be a function of the parameters and one sample, of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import is_lazy

from fltheory.errors import InputError
from sims.refusals import is_out_of_memory
from sims.training.buffers import averaged, changed, require_policy, stepping
from sims.training.engines import logits_of
from sims.training.layout import SETTLED, Layout
from sims.training.models.layers import layers_of
from sims.training.rehearsal import INPUTS_STAY, close, rehearsing, require_plain_outputs
from sims.training.watch import PURE, drawing_nothing, generators, refusing, unwritten

PROBE = 3  # samples on which a module is tried
LOOKED_AT = 2**22  # numbers of the inputs that are looked at together
ALONE = "one that treats each sample by itself (group or layer normalisation)"
ROUNDED = f"{ALONE}: alone and in a batch it differs by more than 0.1 %, which can also be rounding made large"
AGAIN = "one that gives the same again (it counts its calls, or draws numbers that torch does not seed)"

Evaluating = Callable[[], AbstractContextManager[Any]]  # torch.no_grad, or torch.enable_grad


def require_trainable(
    module: nn.Module,
    given: nn.Module,
    original: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    buffers: str = "refuse",
    test: tuple[Tensor, Tensor] | None = None,
) -> Evaluating:
    """Raise InputError unless the module can be trained on these data, with this policy for its buffers.

    It is a copy of the `original`, whose parameters are sound (`require_parameters`); what is `given` beside it for
    comparison is the original, or where that is on another device the copy. Its buffers allow the policy
    (`sims.training.buffers`), for which it is put into its mode. It reads nothing of the original, leaves its inputs
    and parameters as they are, keeps nothing of earlier calls, and draws no random numbers (dropout has its masks from
    outside, `sims.training.models.layers`). What it makes of a sample does not depend on the others of the batch, but
    for local steps with averaged buffers. It gives finite logits (B, classes) for as many classes as there are. All
    inputs are finite. Test data, if there are any, are inputs that it takes, with classes that it has logits of. Its
    steps are tried elsewhere (`sims.training.rehearsal`).

    What is given back is what it is to be evaluated in: `torch.no_grad`, or `torch.enable_grad` for a module that only
    works with gradients, as it hangs hooks on what it makes.
    """
    require_policy(buffers, module)
    if buffers != "refuse":
        module.eval()
    _require_layers(module, buffers)
    if not len(inputs):
        raise InputError("inputs", tuple(inputs.shape), "some samples")
    _require_finite("inputs", inputs)
    whole = not inputs.is_floating_point() and not inputs.is_complex()
    if whole and layers_of(module) is not None:
        raise InputError(
            "module", type(module).__name__, "one that takes whole numbers, such as text, as the inputs are"
        )
    some, classes = inputs[:PROBE], int(targets.max()) + 1
    with rehearsing(module, given, inputs.device) as back:
        found = _require_outputs(module, some, classes)
        back()
        evaluating: Evaluating = torch.no_grad if _goes_without_gradients(module, some) else torch.enable_grad
        back()
        with evaluating():
            _require_outputs(module, some, classes)
        back()  # what it keeps of a pass may be no copy of itself
        if buffers != "refuse":
            _require_buffers(module, some, buffers, evaluating)
        require_plain_outputs(module, given, Layout(module), some, back, evaluating, original)
        if test is not None and len(test[0]):
            with evaluating():
                _require_test(module, *test, found)
    return evaluating


def _goes_without_gradients(module: nn.Module, some: Tensor) -> bool:
    try:
        with torch.no_grad():
            module(some.clone())
    except InputError:
        raise
    except (Exception, SystemExit):
        return False
    return True


def _require_outputs(module: nn.Module, some: Tensor, classes: int) -> int:
    """How many classes it gives logits of; InputError for less, and unless they are finite and each of its sample."""
    name, own = type(module).__name__, dict(module.named_parameters())
    outputs = _outputs(module, some)
    now = dict(module.named_parameters())
    if now.keys() != own.keys() or any(now[part] is not own[part] for part in own):
        raise InputError("module", name, SETTLED)
    _require_logits(module, outputs, len(some), classes)
    if not bool(torch.isfinite(outputs).all()):
        wrong = outputs[~torch.isfinite(outputs)][0].item()
        raise InputError("module", f"{name} with {wrong} among its outputs", "one with finite logits at its start")
    if not torch.equal(_outputs(module, some), outputs):
        raise InputError("module", name, AGAIN)
    try:
        alone = [_outputs(module, one[None]) for one in some]
    except InputError as error:  # batch normalisation has no variance of one sample
        if is_out_of_memory(error.__cause__ or error):
            raise
        raise InputError("module", name, ALONE) from None
    for one in alone:
        _require_logits(module, one, 1, classes)
    if alone[0].shape[1] != outputs.shape[1] or not close(torch.cat(alone), outputs):
        raise InputError("module", name, ROUNDED)
    return outputs.shape[1]


def _require_logits(module: nn.Module, outputs: Tensor, size: int, classes: int) -> None:
    shape = tuple(outputs.shape)
    if len(shape) != 2 or shape[0] != size or shape[1] < classes:
        found = f"{type(module).__name__} with outputs {shape}" + (" for one sample" if size == 1 else "")
        raise InputError("module", found, f"one with logits (B, classes) for {classes} classes")


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


def require_parameters(module: nn.Module) -> None:
    """Raise InputError unless parameters are floats of one dtype, all of them trained, with nothing hanging on them.

    Models stand in their place, and would pass hooks by unseen.
    """
    require_shapes(module)
    own = dict(module.named_parameters())
    if {id(part) for part in module.parameters()} != {id(part) for part in own.values()}:
        allowed = "one whose parameters() are those of named_parameters(), in any order"
        raise InputError("module", type(module).__name__, allowed)
    if any(part.is_inference() for part in own.values()):
        raise InputError("module", type(module).__name__, "one that was made outside torch.inference_mode")
    kinds = {part.dtype for part in own.values()}
    if len(kinds) > 1 or any(not kind.is_floating_point for kind in kinds):
        raise InputError("module", sorted(map(str, kinds)), "one whose parameters are floats of one dtype")
    frozen = [name for name, parameter in own.items() if not parameter.requires_grad]
    if frozen or not any(parameter.numel() for parameter in own.values()):
        allowed = "one with parameters, all of them trained (requires_grad)"
        raise InputError("module", frozen or type(module).__name__, allowed)
    if shared := [n for n, p in own.items() if any(not s and d > 1 for s, d in zip(p.stride(), p.shape, strict=True))]:
        raise InputError("module", shared, "one whose parameters have memory for each of their numbers (none expanded)")
    hooked = [name for name, p in own.items() if p._backward_hooks or p._post_accumulate_grad_hooks]
    if hooked:
        raise InputError("module", hooked, "one without hooks on its parameters (hooks on its layers are kept)")


def _require_layers(module: nn.Module, buffers: str) -> None:
    """None of them draws its own dropout masks in steps, has sparse gradients or changes its parameters in a pass."""
    name, embeddings = type(module).__name__, (nn.Embedding, nn.EmbeddingBag)
    with stepping(module, buffers):
        drawing = any(isinstance(part, _DropoutNd) and part.p > 0 and part.training for part in module.modules())
    if drawing:
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


def largest_of(inputs: Tensor, count: int) -> list[int]:
    """The samples with the largest numbers, so many at most, largest first."""
    sizes = torch.cat([_largest(some) for some in torch.split(inputs, 2**10)])
    return torch.topk(sizes, min(count, len(sizes))).indices.tolist()


def _largest(some: Tensor) -> Tensor:
    """The largest absolute number of each sample, (n,)."""
    numbers = some if some.is_complex() else some.double() if not some.is_floating_point() else some
    return numbers.abs().reshape(len(some), -1).amax(dim=1)


def _require_test(module: nn.Module, inputs: Tensor, targets: Tensor, classes: int) -> None:
    """The module takes the test inputs, and has logits of their classes."""
    _require_finite("test inputs", inputs)
    _outputs(module, inputs[:PROBE], "test inputs")
    if (largest := int(targets.max())) >= classes:
        raise InputError("test", largest, f"classes below {classes}, of which the module has logits")


def _require_buffers(module: nn.Module, some: Tensor, buffers: str, evaluating: Evaluating) -> None:
    """Evaluation changes no buffer; local steps change those that are averaged."""
    with evaluating():
        moved = changed(module, some, training=False)
    if moved:
        raise InputError("module", sorted(moved), "one whose buffers stay as they are in its evaluation mode")
    if buffers == "average" and (lost := changed(module, some, training=True) - averaged(module, buffers).keys()):
        raise InputError("module", sorted(lost), "one whose buffers are floats where they change, to be averaged")


def _outputs(module: nn.Module, inputs: Tensor, what: str = "inputs") -> Tensor:
    """What the module makes of a copy of the inputs, with gradients or without, as they are."""
    given, name = inputs.clone(), type(module).__name__
    own = [part for _, part in module.named_parameters()]
    watched = drawing_nothing(generators(module, inputs.device), module), unwritten(module, own, numbers=True)
    shape, kind = tuple(inputs.shape), str(inputs.dtype).removeprefix("torch.")
    whose = refusing(module, "one for", f"{what} {shape} of {kind}, samples of shape {shape[1:]}")
    with whose, torch.set_grad_enabled(torch.is_grad_enabled()), watched[0], watched[1]:
        found = module(given)
    if given._version or not torch.equal(given, inputs):  # a version counts what torch writes, also the same number
        raise InputError("module", f"{name}, which writes to its input", INPUTS_STAY)
    return logits_of(module, found).detach().clone()  # it may show memory of a parameter
