"""What `fltheory figures` and `fltheory tables` do: find or run what is needed, make what can be made, say what not."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from analysis.exhibits import Exhibit, Given, chosen, elsewhere, given_of
from analysis.figures.style import GREY, WIDTH, Picture, house_style, save
from analysis.files import as_csv, make_folder, require_writable, write_text
from analysis.measured import sentences
from analysis.missing_runs import in_words, run_file, seconds
from analysis.stored_runs import SCALES, lost, runs_of
from analysis.wording import counted
from fltheory.errors import InputError, one_of
from sims.montecarlo.simulate import is_sound
from sims.store import Run

Kind = Literal["figures", "tables"]
FORMATS = ("png", "svg", "pdf")
FORMS = ("text", "markdown", "csv")
LETTERS = 148  # of a caption, in a line as wide as a page
ROOM, LINE = 3, 0.1  # lines of a caption that a figure has room for, and the height in inches of each one more


@dataclass(frozen=True)
class Setting:
    """What is asked for, and who is told what cannot be had.

    scale    of the runs
    store    where they are
    run      whether to run what it lacks
    tell     gets a sentence on whatever is missing
    typed    other options of the command, for the one that is offered
    broken   gets a sentence on each figure or table that cannot be made, or not with all its runs, as one is faulty or,
             where it was to be run, cannot be
    """

    scale: str
    store: Path
    run: bool
    tell: Callable[[str], None]
    typed: str = ""
    broken: list[str] = field(default_factory=list)


def figures(names: Iterable[str], formats: str, out: Path, setting: Setting) -> Iterator[Path]:
    """Draw figures; the paths of pictures and data, as they are written."""
    kinds = list(dict.fromkeys(formats.split(",")))
    for kind in kinds:
        if kind not in FORMATS:
            raise InputError("--format", kind, one_of(kind, FORMATS))
    exhibits = chosen("figures", names)
    make_folder(out)
    require_writable(out / "figure")  # before the work
    for name, exhibit, picture in _made("figures", exhibits, setting, _captioned):
        if picture.lacks:
            setting.tell(f"{name} is not whole. {'. '.join(picture.lacks)}")
        file = stem(name, exhibit, setting.scale)
        with house_style():
            yield from (save(picture.figure, out / f"{file}.{kind}") for kind in kinds)
        data = out / f"{file}.csv"
        write_text(data, as_csv(picture.rows))
        yield data


def stem(name: str, exhibit: Exhibit, scale: str) -> str:
    """The name of a figure's files, without their ending."""
    return name.replace(".", "_") + (f"_{scale}" if exhibit.experiments else "")


def tables(names: Iterable[str], form: str, setting: Setting) -> Iterator[str]:
    """The text of each table."""
    if form not in FORMS:
        raise InputError("--format", form, one_of(form, FORMS))
    for _, _, table in _made("tables", chosen("tables", names), setting, lambda exhibit, given: exhibit.make(given)):
        yield {"text": table.to_text, "markdown": table.to_markdown, "csv": table.to_csv}[form]()


def listed(kind: Kind, names: Iterable[str]) -> str:
    """A line for each figure or table: its name and what it is of."""
    exhibits = chosen(kind, names)
    width = max(map(len, exhibits), default=0)
    return "\n".join(f"{name:<{width}}  {exhibit.about}" for name, exhibit in exhibits.items())


def _made(
    kind: Kind, exhibits: Mapping[str, Exhibit], setting: Setting, make: Callable[[Exhibit, Given], Any]
) -> Iterator[tuple[str, Exhibit, Any]]:
    """Each exhibit that can be made, and what was made; a sentence on what it lacks, or on a run that is faulty."""
    files = [file for exhibit in exhibits.values() for file in exhibit.experiments if Path(file).is_file()]
    faults: dict[str, InputError] = {}
    runs = runs_of(dict.fromkeys(files), setting.scale, setting.store, faults)
    unread = lost([file for file in files if file not in runs and file not in faults], setting.scale, setting.store)
    failed: dict[str, str] = {}
    if setting.run:
        filling = dict.fromkeys(file for exhibit in exhibits.values() for file in exhibit.filled_by(setting.scale))
        failed = _run_missing([file for file in filling if file in files and file not in faults], runs, setting)
    faults |= {file: fault for file, fault in unread.items() if file not in runs}  # those that were made again
    for name, exhibit in exhibits.items():
        given = given_of(exhibit, setting.scale, runs, faults)
        try:
            made = make(exhibit, given) if given.runs or not exhibit.experiments or kind == "tables" else None
        except InputError as error:
            setting.broken.append(f"{name} is not made: {error}")
            continue
        if given.faulty:
            damaged = [] if setting.run else [file for file in given.faulty if file in runs or file in unread]
            mend = f". {_offer(f'{kind} {name}', damaged, setting)}" if damaged else ""
            setting.broken.append(f"{faulty(name, given, made is not None)}{mend}")
        if made is not None:
            yield name, exhibit, made
        own, filled = given.runs, exhibit.filled_by(setting.scale)
        if exhibit.experiments and not filled:
            setting.tell(
                f"At {setting.scale} scale nothing is trained that {name} shows{_elsewhere(kind, name, exhibit)}"
            )
        lacking = [file for file in filled if file not in own or own[file].status != "complete"]
        lacking = [file for file in lacking if file not in given.faulty]
        if lacking:
            without = "has cells that were not run" if kind == "tables" else "lacks runs" if own else "is not drawn"
            without = "has runs that were interrupted" if all(file in own for file in lacking) else without
            without = "has empty cells" if kind == "tables" and given.absent else without
            if not setting.run:
                setting.tell(f"{name} {without}: {_offer(f'{kind} {name}', lacking, setting)}")
            elif why := "; ".join(dict.fromkeys(failed[file] for file in lacking if file in failed)):
                setting.broken.append(f"{name} {without}, as some of it cannot be run here: {why}")


def faulty(name: str, given: Given, made: bool) -> str:
    """Which of an exhibit's runs are left out of it, and why; or that it is not made, as there are no others."""
    why = "; ".join(f"{file}: {error}" for file, error in given.faulty.items())
    return f"{name} is made without {why}" if made else f"{name} is not made: {why}"


def _elsewhere(kind: Kind, name: str, exhibit: Exhibit) -> str:
    """What to type for the scales at which something is; to be added to a sentence."""
    commands = [f"`fltheory {kind} {name} --scale {scale}`" for scale in SCALES if exhibit.filled_by(scale)]
    return f"; at other scales it is: {' or '.join(commands)}" if commands else ""


def _run_missing(files: Iterable[str], runs: dict[str, Run], setting: Setting) -> dict[str, str]:
    """Run what the store lacks, or has in part, and add it to the runs; the files that cannot be run, and why."""
    failed = {}
    for file in dict.fromkeys(files):
        if file in runs and runs[file].status == "complete" and is_sound(runs[file]):
            continue
        try:
            setting.tell(f"{file} at {setting.scale} scale: about {in_words(seconds(file, setting.scale))}")
            runs[file] = run_file(file, setting.scale, setting.store)
        except InputError as error:
            setting.tell(f"{file} cannot be run: {error}")
            failed[file] = str(error)
    return failed


def _offer(command: str, files: list[str], setting: Setting) -> str:
    """Which runs are missing, what to type, how long it takes, and what must be done first for some of them."""
    which = files[0] if len(files) == 1 else f"{files[0]} and {counted(len(files) - 1, 'more file')}"
    total, refused = 0.0, []
    for file in files:
        if not Path(file).is_file():
            return elsewhere([file])
        try:
            total += seconds(file, setting.scale)
        except InputError as error:
            refused.append(f"{error.argument} {error.value} must be {error.allowed}")
    missing = f"{setting.store} has no finished run of {which} at {setting.scale} scale"
    typed = f"`fltheory {command} --scale {setting.scale}{setting.typed} --run`"
    them = "it" if len(files) == 1 else "them"
    why, able = "; ".join(dict.fromkeys(refused)), len(files) - len(refused)
    if not able:
        return f"{missing}. {typed} cannot make {them} yet: {why}"
    some = f"{able} of these {len(files)}" if refused else them
    rest = f". It cannot make the {'others' if len(refused) > 1 else 'other'} yet: {why}" if refused else ""
    return f"{missing}. {typed} makes {some}, in about {in_words(total)} on one core{rest}"


def _captioned(exhibit: Exhibit, given: Given) -> Picture:
    picture: Picture = exhibit.make(given)
    if given.runs or picture.notes:
        _caption(picture, given)
    return picture


def _caption(picture: Picture, given: Given) -> None:
    """Above a picture: of runs at what scale, what they are and what is not there, and what else it says of itself.

    A small run is not to be taken for the paper's.
    """
    what = {
        "smoke": "Smoke scale: shows that it runs, and no result.",
        "laptop": "Laptop scale, smaller than the paper's: no reproduction of its numbers.",
        "paper": "Paper scale.",
    }[given.scale]
    width = int(LETTERS * picture.figure.get_figwidth() / WIDTH)
    lines = [what, *(f"{words}." for words in sentences(given.runs.values()))] if given.runs else []
    lines += [f"{words}." for words in (*picture.lacks, *picture.notes)]
    lines += [f"Left out, as the file or its stored run is faulty: {', '.join(given.faulty)}."] if given.faulty else []
    broken = [one for line in lines for one in textwrap.wrap(_unbroken(line), width, break_on_hyphens=False)]
    picture.figure.set_figheight(picture.figure.get_figheight() + LINE * max(0, len(broken) - ROOM))
    picture.figure.suptitle("\n".join(broken), fontsize=6, color=GREY)


def _unbroken(line: str) -> str:
    """A line that is not broken inside names such as "K = 10" or "40 of 100 clients"."""
    return re.sub(r" (=|≥|of) (?=\d|inf)", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", line)
