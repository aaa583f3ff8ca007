"""Buffers of a module: what it holds beside its parameters, such as the running statistics of batch normalisation.

    refuse    a module with buffers is not trained
    keep      buffers stay as they are in the module, which is always in its evaluation mode: batch normalisation
              normalises by the statistics that it came with
    average   local steps are made in the training mode, which renews the statistics client by client; they are further
              numbers of the model, behind its parameters, and the server moves them as it moves those. Everything
              else, what is measured and exact gradients, is computed in the evaluation mode, with the model's own

With "average" the buffers of plain averaging with global_lr = 1 and weights that add up to 1 are the mean over the
cohort. Numbers that are not floats (how many batches were seen) stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from fltheory.errors import InputError, one_of
from sims.training.copies import copied, same

POLICIES = ("refuse", "keep", "average")


def require_policy(buffers: str, module: nn.Module) -> None:
    """Raise InputError for an unknown policy, and for a module whose buffers do not allow it."""
    if buffers not in POLICIES:
        raise InputError("buffers", buffers, one_of(str(buffers), POLICIES))
    names = [name for name, _ in module.named_buffers()]
    if names and buffers == "refuse":
        raise InputError("module", names, 'one without buffers, or with the option buffers = "keep" or "average"')
    if buffers != "average":
        return
    kinds = {part.dtype for _, part in (*module.named_parameters(), *averaged(module, buffers).items())}
    if len(kinds) > 1:
        raise InputError("module", sorted(map(str, kinds)), "one whose parameters and buffers have one dtype")
    if any(part.momentum is None for part in _normalising(module).values()):
        raise InputError("module", "momentum = None", "one whose running statistics have a momentum, to be averaged")


def averaged(module: nn.Module, buffers: str) -> dict[str, Tensor]:
    """The buffers that are further numbers of the model."""
    return {n: b for n, b in module.named_buffers() if buffers == "average" and b.is_floating_point()}


def _normalising(module: nn.Module) -> dict[str, _NormBase]:
    """The layers, by name, with running statistics; they count batches, and look at that without momentum only."""
    parts = module.named_modules()
    return {name: part for name, part in parts if isinstance(part, _NormBase) and part.track_running_stats}


def counts_of_batches(module: nn.Module) -> set[str]:
    """The names of the buffers in which normalisation counts."""
    return {f"{name}.num_batches_tracked".lstrip(".") for name in _normalising(module)}


def changed(module: nn.Module, inputs: Tensor, *, training: bool) -> set[str]:
    """The buffers that a pass changes, counts of batches of normalisation apart; the module itself stays as it is.

    Raises InputError if one is replaced instead of written into: engines would not see it.
    """
    probe = copied(module).train(training)
    held = dict(probe.named_buffers())
    before = {name: buffer.clone() for name, buffer in held.items()}
    probe(inputs.clone())
    after = dict(probe.named_buffers())
    if replaced := [name for name, buffer in held.items() if after.get(name) is not buffer]:
        raise InputError("module", replaced, "one that writes into its buffers and does not replace them")
    counts = counts_of_batches(module)
    return {n for n, old in before.items() if n not in counts and not same(old, after[n])}


@contextmanager
def stepping(module: nn.Module, buffers: str) -> Iterator[None]:
    """Within it a module whose buffers are averaged is in its training mode, and then in its evaluation mode again."""
    if buffers != "average":
        yield
        return
    module.train()
    try:
        yield
    finally:
        module.eval()
