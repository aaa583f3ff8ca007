"""Which modules can be trained here: a loss must be a function of the parameters and one sample, of nothing else."""

from __future__ import annotations

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
SEEDS = (1, 2)
CLOSE = 1e-3  # relative difference of outputs that rounding in single precision may make
APART = 0.1  # of the gradients by a parameter: more than rounding makes, also where it switches a ReLU
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

    Its parameters are all trained and have no hooks, and its buffers allow the policy (`sims.training.buffers`); it
    leaves its inputs and parameters as they are, and draws no random numbers (dropout has its masks from outside,
    `sims.training.models.layers`); what it makes of a sample does not depend on the others of the batch, but for local
    steps with averaged buffers; and it gives finite logits (B, classes) for as many classes as there are. Test data,
    if there are any, are inputs that it takes, with classes that it has logits of.
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
    _require_finite("inputs", some)
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
    if not torch.allclose(alone, outputs[0], rtol=CLOSE, atol=CLOSE * float(outputs[0].abs().max())):
        raise InputError("module", name, by_itself)
    if buffers != "refuse":
        _require_buffers(module, some, buffers)
    if test is not None and len(test[0]):
        _require_test(module, *test, shape[1])


def require_shapes(module: nn.Module) -> None:
    """Raise InputError for parameters and buffers that have no shape before a first batch."""
    if lazy := [name for name, part in (*module.named_parameters(), *module.named_buffers()) if is_lazy(part)]:
        raise InputError("module", lazy, "one whose parameters have shapes (a lazy module has after a first call)")


def require_own_gradients(module: nn.Module, engine: Engine, layout: Layout, model: Tensor, batch: Batch) -> None:
    """Raise InputError unless an engine's gradients are those of the module with this model (d,) written into it.

    A module may hold its start where an engine puts no other model: in a view of a parameter, or, with `vmap`, in a
    list. The batch is that of one client. A module that fails there, or has gradients that are not finite, is taken.
    """
    inputs, targets, masks = batch
    own = dict(module.named_parameters())
    before = {name: parameter.detach().clone() for name, parameter in own.items()}
    elsewhere = layout.named(model)
    _write(module, elsewhere)
    try:
        loss = loss_of(module, None, inputs[0], targets[0], tuple(mask[0] for mask in masks))
        slopes = backward(loss, list(own.values()))
        written = [name for name, parameter in own.items() if not _same(parameter, elsewhere[name])]
    except Exception:  # whatever a module makes of numbers that no step leads to, such as a scale below 0
        return
    finally:
        _write(module, before)
    if written:
        raise InputError("module", f"{type(module).__name__}, which writes to {written}", PURE)
    found = engine.gradients(model[None], *batch)[0]
    expected = [torch.zeros_like(p) if s is None else s for p, s in zip(own.values(), slopes, strict=True)]
    slight = CLOSE * float(torch.stack([slope.norm() for slope in expected]).norm())
    pairs = zip(own, expected, layout.named(found).values(), strict=False)  # what more is found is of buffers
    wrong = [name for name, e, f in pairs if float((f - e).norm()) > APART * float(e.norm()) + slight]
    if wrong:
        plain = "plain parameters, used where they are registered, with no views or lists of them"
        allowed = f"one whose gradients the engine {engine.name!r} finds, by {wrong}, too ({plain})"
        raise InputError("module", type(module).__name__, allowed)


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


def _require_finite(what: str, some: Tensor) -> None:
    if not bool(torch.isfinite(some).all()):
        raise InputError(what, some[~torch.isfinite(some)][0].item(), "finite numbers")


def _require_test(module: nn.Module, inputs: Tensor, targets: Tensor, classes: int) -> None:
    """The module takes the test inputs, and has logits of their classes."""
    _require_finite("test inputs", inputs[:PROBE])
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
