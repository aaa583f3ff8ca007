"""The published tables, one printed number or cell a row, as they stand in `fltheory/data`; sentences about them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from analysis.evidence import Evidence
from fltheory.ledger import Claim

METHOD = "table arithmetic"


def published(name: str) -> list[dict[str, str]]:
    """The rows of `fltheory/data/<name>.csv`, such as "fast_tab3", by the names of their columns."""
    with (files("fltheory") / "data" / f"{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def all_but(
    claim: Claim, table: str, held: Mapping[str, bool], expected: Any, exceptions: Mapping[str, str]
) -> Evidence:
    """`exact` if every comparison holds, `inconsistent` naming the ones that do not.

    held        comparison -> whether it holds
    expected    how many comparisons the claim speaks of, a whole number; with another number nothing is decided
    exceptions  comparison -> what is in the table, at least for those that do not hold
    """
    if len(held) != expected:
        counted = f"{table} has {len(held)} comparisons, not {expected}"
        return Evidence("not checked", METHOD, counted, table)
    broken = {name: exceptions[name] for name, good in held.items() if not good}
    if not broken:
        return Evidence("exact", METHOD, "Holds in every comparison.", table, len(held))
    listed = "; ".join(f"{name}: {what}" for name, what in broken.items())
    summary = f"Holds in {len(held) - len(broken)} of {len(held)} comparisons; not in {listed}."
    return Evidence("inconsistent", METHOD, summary, table, len(held), witness=broken)
