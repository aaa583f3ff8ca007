"""Entry points that are of the wrong kind, or whose name is taken, are refused by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from fltheory import plugins
from fltheory.errors import InputError
from fltheory.ledger import Ledger, Paper

GROUP = "fltheory.claims"


def entry(name: str, value: str, package: str) -> EntryPoint:
    made = EntryPoint(name, value, GROUP)
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


def test_an_object_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, entry("mine", "math:pi", "one"))
    with pytest.raises(InputError, match=r"entry point 'mine' of fltheory.claims must be a Paper \(it is math:pi\)"):
        list(Ledger())


def test_the_built_in_paper_is_of_its_kind() -> None:
    assert isinstance(plugins.load(plugins.entries(GROUP)["fedau"], Paper), Paper)
