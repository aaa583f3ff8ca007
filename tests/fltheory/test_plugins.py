"""Entry points that are of the wrong kind, or whose name is taken, are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from analysis import practice
from analysis.checks import all_checks
from analysis.exhibits import chosen
from fltheory import plugins
from fltheory.errors import InputError
from fltheory.ledger import Ledger, Paper
from fltheory.participation import families
from sims import catalogue
from sims.algorithms import algorithms
from sims.training.models import factory, models

GROUP = "fltheory.claims"


def entry(name: str, value: str, package: str, group: str = GROUP) -> EntryPoint:
    made = EntryPoint(name, value, group)
    return made._for(SimpleNamespace(name=package))  # type: ignore[attr-defined]


def installed(monkeypatch: pytest.MonkeyPatch, *found: EntryPoint) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda group: [e for e in found if e.group == group])


def test_a_name_of_two_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, entry("fedau", "math:pi", "one"), entry("fedau", "math:e", "other"))
    with pytest.raises(InputError, match="of both one and other; got 'fedau'"):
        plugins.entries(GROUP)


def test_of_a_package_found_twice_the_first_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, entry("fedau", "math:pi", "one"), entry("fedau", "math:e", "one"))
    assert plugins.entries(GROUP)["fedau"].value == "math:pi"


def known_rates() -> bool:
    return practice._knows_rates({"selection": {"name": "all_available"}}, {"process": {"name": "mine"}})


@pytest.mark.parametrize(
    ("group", "value", "ask", "kind"),
    [
        ("claims", "math:pi", lambda: list(Ledger()), "a Paper"),
        ("checks", "math:pi", all_checks.__wrapped__, "a CheckBook"),
        ("processes", "math:pi", families, "a type"),
        ("processes", "fractions:Fraction", families, "the class of a ParticipationProcess, or one with a method step"),
        ("processes", "fractions:Fraction", catalogue._processes, "the class of a ParticipationProcess"),
        ("processes", "fractions:Fraction", known_rates, "the class of a ParticipationProcess"),
        ("algorithms", "math:pi", algorithms, "an Algorithm"),
        ("models", "math:pi", models, "a Callable"),
        ("models", "math:pi", lambda: factory("mine"), "a Callable"),
        ("figures", "math:pi", lambda: chosen("figures", []), "a Mapping"),
        ("tables", "math:pi", lambda: chosen("tables", []), "a Mapping"),
        ("tables", "errno:errorcode", lambda: chosen("tables", []), "an Exhibit"),
    ],
)
def test_an_object_of_another_kind_is_refused(
    group: str, value: str, ask: Callable[[], object], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, entry("mine", value, "one", f"fltheory.{group}"))
    named = f"entry point 'mine' of fltheory.{group} in package one must be {kind}"
    with pytest.raises(InputError, match=f"{named}.*{value}"):
        ask()


def test_the_built_in_paper_is_of_its_kind() -> None:
    assert isinstance(plugins.load(plugins.entries(GROUP)["fedau"], Paper), Paper)
