"""How far one-step lemmas are from tight: their worst cases by semidefinite programming, beside the claimed values."""

from __future__ import annotations

from analysis.worst_case import fast, fedamd, fedau, fedlaavg, textbook
from analysis.worst_case.lemmas import Lemma, WorstCase

LEMMAS: dict[str, Lemma] = {
    lemma.claim_id: lemma for module in (textbook, fedau, fedlaavg, fast, fedamd) for lemma in module.lemmas
}

__all__ = ["LEMMAS", "Lemma", "WorstCase"]
