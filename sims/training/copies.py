"""A copy of a module, so that neither changes the other."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from fltheory.errors import InputError
from sims.refusals import reason_of


def copied(module: nn.Module) -> nn.Module:
    """A deep copy of a module; results of earlier passes that it holds are numbers in it.

    What functions and classes hold is not copied: that no pass reads parts of the module there is tried elsewhere
    (`sims.training.spoil`). Raises InputError for a module that has no copy.
    """
    held = [value for part in module.modules() for value in vars(part).values() if isinstance(value, Tensor)]
    results = {id(tensor): tensor.detach().clone() for tensor in held if not tensor.is_leaf}  # torch copies none
    memo: dict[int, Any] = {**results}
    try:
        with torch.no_grad():  # else parameters of scripts are results, too
            own = copy.deepcopy(module, memo)
            for given in module.parameters():  # torch copies a parameter without what it is told to remember
                if isinstance(memo.get(id(given)), Tensor):
                    vars(memo[id(given)]).update(copy.deepcopy(vars(given), memo))
    except Exception as error:  # such as a lock
        allowed = f"one of which copy.deepcopy makes a copy ({reason_of(error)})"
        raise InputError("module", type(module).__name__, allowed) from None
    if not isinstance(own, nn.Module):
        raise InputError("module", type(module).__name__, "one whose copy.deepcopy is a module")
    for (name, part), (_, given) in zip(own.named_parameters(), module.named_parameters(), strict=False):
        if part.data_ptr() == given.data_ptr() and part.numel():
            raise InputError("module", type(module).__name__, f"one whose copy.deepcopy has a {name} of its own")
        if not bool(((part == given) | (part.isnan() & given.isnan())).all()):
            allowed = f"one whose copy.deepcopy has its numbers (not of {name})"
            raise InputError("module", type(module).__name__, allowed)
        part.requires_grad_(given.requires_grad)
    return own
