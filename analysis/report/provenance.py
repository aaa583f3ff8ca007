"""Where the report comes from: versions, hashes and seeds, as a page and as JSON."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from analysis.json_text import json_text
from analysis.measured import sentence
from analysis.report.exhibits import Shown, unbacked_in_words
from analysis.report.facts import Facts
from analysis.report.html import Html, element, items, join, page, section, table
from analysis.wording import counted

MARK = "fltheory-report.json"  # the file that tells a report from any other folder
PACKAGES = ("fltheory", "numpy", "scipy", "sympy", "matplotlib", "latex2mathml")


def provenance(facts: Facts, shown: Shown) -> dict[str, Any]:
    """Versions, the hash of the recorded verdicts, what is out of date, the runs whose numbers are shown, and of each
    picture of runs, which was copied as it was, the runs that it names and that the store does not have.

    No time and no place: two reports of the same state are the same bytes.
    """
    recorded = (files("fltheory") / "data" / "verdicts.json").read_bytes()
    return {
        "schema": 1,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "verdicts_sha256": hashlib.sha256(recorded).hexdigest(),
        "outdated": dict(facts.outdated),
        "runs": [
            {
                "key": run.key,
                "what": sentence(run),
                "seed": run.experiment["seed"],
                "data_sha256": run.sha256,
                "versions": run.versions,
            }
            for run in shown.runs
        ],
        "pictures": {name: list(shown.unbacked.get(name, ())) for name in _of_runs(shown)},
    }


def _of_runs(shown: Shown) -> list[str]:
    return [name for name in shown.files if shown.figures[name].experiments]


def as_json(facts: Facts, shown: Shown) -> str:
    return json_text(provenance(facts, shown)) + "\n"


def provenance_page(facts: Facts, shown: Shown) -> str:
    """The same for people."""
    found = provenance(facts, shown)
    versions = [("Python", found["python"]), *found["packages"].items()]
    changed = [join(element("code", id_), f": {what} since") for id_, what in found["outdated"].items()]
    return page(
        "Provenance",
        element(
            "p",
            "The pages show recorded verdicts; nothing was checked anew for them. Each claim's page has the hash of "
            "its statement and of its checks. The same in ",
            element("a", "JSON", href=MARK),
            ".",
        ),
        section("Made with", table(("What", "Version"), versions)),
        section(
            "Recorded verdicts",
            element("p", "fltheory/data/verdicts.json, SHA-256 ", element("code", found["verdicts_sha256"])),
            element("p", "Out of date:") if changed else element("p", "None of them is out of date."),
            items(changed) if changed else "",
        ),
        section(
            "Seeds",
            element(
                "p",
                "A check that draws random numbers has its seed in its code, and so in its hash. The runs behind the "
                "tables, and those that pictures name and the store has:",
            ),
            table(
                ("What was run", "Seed", "SHA-256 of its data"),
                [(run["what"], str(run["seed"]), element("code", run["data_sha256"])) for run in found["runs"]],
            )
            if found["runs"]
            else element("p", "none."),
            *_pictures(shown),
        ),
        at="provenance.html",
    )


def _pictures(shown: Shown) -> list[Html]:
    """How many pictures of runs came as they were, and which of them the store does not bear out."""
    pictures = _of_runs(shown)
    if not pictures:
        return []
    said = f"{counted(len(pictures), 'picture')} of runs came from a folder as they were: captions say of which runs."
    unknown = [join(element("code", name), f": {unbacked_in_words(shown, name)}.") for name in shown.unbacked]
    return [element("p", said), items(unknown) if unknown else Html()]
