"""Which modules can be trained here: a loss must be a function of the parameters and one sample, of nothing else."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from fltheory.errors import InputError
from sims.refusals import reason_of
from sims.training.buffers import averaged, changed, require_policy

PROBE = 3  # samples on which a module is tried
SEEDS = (1, 2)
CLOSE = 1e-3  # relative difference of outputs that rounding in single precision may make


def require_trainable(module: nn.Module, inputs: Tensor, targets: Tensor, buffers: str = "refuse") -> None:
    """Raise InputError unless the module can be trained on these data, with this policy for its buffers.

    Its parameters are all trained and have no hooks, and its buffers allow the policy (`sims.training.buffers`); it
    leaves its inputs as they are, and draws no random numbers (dropout has its masks from outside,
    `sims.training.models.layers`); what it makes of a sample does not depend on the others of the batch, but for local
    steps with averaged buffers; and it gives finite logits (B, classes) for as many classes as there are.
    """
    name = type(module).__name__
    require_policy(buffers, module)
    if buffers != "refuse":
        module.eval()
    _require_parameters(module)
    if any(isinstance(part, _DropoutNd) for part in module.modules()):
        raise InputError("module", name, "one with dropout of sims.training.models.layers, if any")
    if any(isinstance(part, nn.Embedding | nn.EmbeddingBag) and part.sparse for part in module.modules()):
        raise InputError("module", name, "one with dense gradients (an embedding without sparse=True)")
    some = inputs[:PROBE]
    if not bool(torch.isfinite(some).all()):
        raise InputError("inputs", some[~torch.isfinite(some)][0].item(), "finite numbers")
    outputs = [_outputs(module, some, seed) for seed in SEEDS]
    shape, largest = tuple(outputs[0].shape), int(targets.max())
    if len(shape) != 2 or shape[0] != len(some) or shape[1] <= largest:
        raise InputError(
            "module", f"{name} with outputs {shape}", f"one with logits (B, classes) for {largest + 1} classes"
        )
    if not bool(torch.isfinite(outputs[0]).all()):
        wrong = outputs[0][~torch.isfinite(outputs[0])][0].item()
        raise InputError("module", f"{name} with {wrong} among its outputs", "one with finite logits at its start")
    if not torch.equal(*outputs):
        allowed = "one that draws no random numbers (dropout of sims.training.models.layers)"
        if not torch.equal(outputs[-1], _outputs(module, some, SEEDS[-1])):
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


def _require_parameters(module: nn.Module) -> None:
    """All are trained, and nothing hangs on them: models stand in their place, and would pass hooks by unseen."""
    own = dict(module.named_parameters())
    frozen = [name for name, parameter in own.items() if not parameter.requires_grad]
    if frozen or not own:
        allowed = "one with parameters, all of them trained (requires_grad)"
        raise InputError("module", frozen or type(module).__name__, allowed)
    hooked = [name for name, p in own.items() if p._backward_hooks or p._post_accumulate_grad_hooks]
    if hooked:
        raise InputError("module", hooked, "one without hooks on its parameters (hooks on its layers are kept)")


def _require_buffers(module: nn.Module, some: Tensor, buffers: str) -> None:
    """Evaluation changes no buffer; local steps change those that are averaged, and draw nothing."""
    if moved := changed(module, some, training=False):
        raise InputError("module", sorted(moved), "one whose buffers stay as they are in its evaluation mode")
    if buffers != "average":
        return
    if lost := changed(module, some, training=True) - averaged(module, buffers).keys():
        raise InputError("module", sorted(lost), "one whose buffers are floats where they change, to be averaged")
    if not torch.equal(*(_outputs(copy.deepcopy(module).train(), some, seed) for seed in SEEDS)):
        raise InputError("module", type(module).__name__, "one that draws no random numbers in its training mode")


def _outputs(module: nn.Module, inputs: Tensor, seed: int) -> Tensor:
    """What the module makes of the inputs, with torch's global generators at this seed and then as they were.

    It is given a copy: what is written into the data here would stay in those of the caller.
    """
    given = inputs.clone()
    devices = [inputs.device.index or 0] if inputs.device.type == "cuda" else []
    with torch.no_grad(), torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        try:
            found = module(given)
        except Exception as error:  # whatever a module of other shapes raises
            kind = str(inputs.dtype).removeprefix("torch.")
            allowed = f"one for inputs {tuple(inputs.shape)} of {kind} ({reason_of(error)})"
            raise InputError("module", type(module).__name__, allowed) from None
    if given._version or not torch.equal(given, inputs):  # a version counts what torch writes, also the same number
        allowed = "one that leaves its inputs as they are (no inplace=True before the first layer with parameters)"
        raise InputError("module", f"{type(module).__name__}, which writes to its input", allowed)
    if not isinstance(found, Tensor):
        raise InputError("module", type(module).__name__, f"one that gives logits, not a {type(found).__name__}")
    return found
