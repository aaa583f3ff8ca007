"""All pages of the report, and the folder they go to: written beside it and renamed when all of it is there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from analysis.files import make_folder
from analysis.graph import COLOURS, draw, uses
from analysis.report.algorithm import algorithm_page, algorithms_page
from analysis.report.claim import claim_page
from analysis.report.claims import claims_page, slug
from analysis.report.exhibits import Shown, exhibits_page, find, not_shown
from analysis.report.facts import Facts, gather
from analysis.report.home import contest_page, home_page
from analysis.report.mathematics import require_converter
from analysis.report.paper import paper_page
from analysis.report.provenance import MARK, as_json, provenance_page
from analysis.wording import counted
from fltheory.errors import InputError
from fltheory.ledger import ledger
from sims.algorithms import algorithms

LIST = "files.txt"  # in a report: the paths within it of all that was written, so that nothing else goes with it


def write(
    out: Path,
    scale: str,
    store: Path,
    figures: Path | None = None,
    broken: list[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the report; where its first page is.

    scale     of the runs that tables and pictures show
    store     folder of the runs
    figures   folder of `fltheory figures`, whose pictures are copied
    broken    if it is given, it gets a sentence on each table that lacks a faulty run, and on each file of a picture
              that cannot be shown; the page of figures and tables says so too
    tell      gets a sentence if experiment files are not there, whose runs are not shown

    A report that is there already is replaced, whole or not at all. Raises InputError for a folder that holds
    something else, also beside an older report, or that cannot be written.
    """
    target = out.resolve()
    _require_place(target, out)
    require_converter()
    shown = find(scale, store, figures)
    if broken is not None:
        broken.extend((*shown.broken.values(), *shown.unseen.values()))
    if shown.absent:
        tell(not_shown(shown))
    make_folder(target.parent)
    try:
        partial = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise InputError("--out", str(out), f"a folder that can be written ({error.strerror})") from None
    try:
        _fill(partial, gather(), shown)
        partial.chmod(0o755)
        _require_place(target, out)  # again, as something may have been put there meanwhile
        _replace(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return out / "index.html"


def _fill(folder: Path, facts: Facts, shown: Shown) -> None:
    """Write all files of the report into an empty folder."""
    for name in ("papers", "claims", "algorithms", "figures"):
        (folder / name).mkdir()
    for source in (path for kinds in shown.files.values() for path in kinds.values()):
        shutil.copyfile(source, folder / "figures" / source.name)
    graphs = {}
    for name, paper in ledger.papers.items():
        if any(uses(paper.claims, id_) for id_ in paper.claims):
            graphs[name] = f"papers/{name}.svg"
            draw(name, folder / graphs[name])
    for at, content in _pages(facts, shown, graphs):
        (folder / at).write_text(content, encoding="utf-8")
    (folder / LIST).touch()
    (folder / LIST).write_text("".join(f"{name}\n" for name in sorted(_names(folder))), encoding="utf-8")


def _pages(facts: Facts, shown: Shown, graphs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path within the report and content of every text file."""
    here = files("analysis.report")
    colours = "".join(f".verdict.{slug(verdict)} {{ background: {colour} }}\n" for verdict, colour in COLOURS.items())
    yield "style.css", (here / "style.css").read_text(encoding="utf-8") + colours
    yield "filter.js", (here / "filter.js").read_text(encoding="utf-8")
    yield "index.html", home_page(facts)
    yield "contest.html", contest_page()
    yield "claims.html", claims_page(facts)
    for claim in ledger.values():
        yield f"claims/{claim.id}.html", claim_page(facts, claim, shown.about(claim.id))
    for name, paper in ledger.papers.items():
        yield f"papers/{name}.html", paper_page(facts, paper, graphs.get(name), shown.names)
    known = algorithms()
    yield "algorithms.html", algorithms_page(known)
    for name, algorithm in known.items():
        yield f"algorithms/{name}.html", algorithm_page(facts, name, algorithm)
    yield "exhibits.html", exhibits_page(shown)
    yield "provenance.html", provenance_page(facts, shown)
    yield MARK, as_json(facts, shown)


def _require_place(target: Path, out: Path) -> None:
    try:
        older = (target / MARK).is_file()
        good = older or not target.exists() or (target.is_dir() and not any(target.iterdir()))
        own = (target / LIST).read_text(encoding="utf-8").splitlines() if older and (target / LIST).is_file() else []
        others = sorted(_names(target) - set(own)) if older else []
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"{LIST} is no text"
        raise InputError("--out", str(out), f"a folder that can be read ({why})") from None
    if not good:
        raise InputError("--out", str(out), "a new folder, an empty one or an older report")
    if others:
        more = f" and {counted(len(others) - 1, 'more file')}" if others[1:] else ""
        allowed = f"an older report with nothing else in it ({others[0]}{more}, not in its {LIST}, would be lost)"
        raise InputError("--out", str(out), allowed)


def _names(folder: Path) -> set[str]:
    """Paths within a folder of all that would be lost with it: files, and links whatever they lead to."""
    return {
        Path(where, name).relative_to(folder).as_posix()
        for where, inner, names in os.walk(folder)
        for name in (*names, *(one for one in inner if Path(where, one).is_symlink()))
    }


def _replace(new: Path, target: Path) -> None:
    """Put a folder where an older one may be, which then goes."""
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        os.replace(target, old)  # an empty folder gives way
        os.replace(new, target)
        shutil.rmtree(old)
    else:
        os.replace(new, target)
