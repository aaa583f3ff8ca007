"""The `fltheory` command. Imports are local to each command, so that help and usage errors come at once."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analysis.cli_data import data_app
from analysis.cli_shared import BAD_INPUT, CLOSED_PIPE, DIFFERS, DONE, JsonFlag

if TYPE_CHECKING:
    from analysis.checks import Depth as CheckDepth
    from analysis.verify import Result

app = typer.Typer(
    name="fltheory",
    help="Does federated-learning theory agree with itself, with exact computation, and with practice?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")
results_app = typer.Typer(help="Results of simulations: list, show, export, compare.", no_args_is_help=True)
app.add_typer(results_app, name="results")

FEW_CLAIMS = 10
STALE_SHOWN = 5  # lines on claims that are not recorded as they are

# Newer versions of typer carry click inside: ask typer for the base of its usage errors.
UsageError: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class Depth(StrEnum):
    """How far the checks go."""

    quick = "quick"
    default = "default"
    deep = "deep"


class Scale(StrEnum):
    """How large an experiment is run."""

    smoke = "smoke"
    laptop = "laptop"
    paper = "paper"


class Backend(StrEnum):
    """Where simulations run in parallel."""

    loky = "loky"
    dask = "dask"


@app.command("list")
def list_claims(
    paper: Annotated[str | None, typer.Option(help="Only claims of this paper.")] = None,
    verdict: Annotated[str | None, typer.Option(help="Only claims with this recorded verdict.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the claims with their recorded verdicts."""
    from fltheory.errors import InputError, one_of
    from fltheory.ledger import ledger
    from fltheory.verdicts import VERDICTS, needs, recorded

    known = recorded()
    entries = {id_: known.get(id_) or {"title": c.title, "verdict": "not recorded"} for id_, c in ledger.items()}
    for option, value, allowed in (("--paper", paper, ledger.papers), ("--verdict", verdict, VERDICTS)):
        if value is not None and value not in allowed:
            raise InputError(option, value, one_of(value, allowed))
    chosen = {
        id_: entry
        for id_, entry in entries.items()
        if paper in (None, id_.partition(".")[0]) and verdict in (None, entry["verdict"])
    }
    if as_json:
        print(json.dumps(chosen, indent=1, ensure_ascii=False))
        return
    width = max((len(id_) for id_ in chosen), default=0)
    for id_, entry in chosen.items():
        needed = f" (needs: {needs(entry)})" if needs(entry) else ""
        print(f"{id_:<{width}}  {entry['verdict']:<12}  {entry['title']}{needed}")
    print(f"{len(chosen)} of {len(entries)} claims; `fltheory show ID` tells the rest.", file=sys.stderr)


@app.command()
def show(
    claim_id: Annotated[str, typer.Argument(metavar="ID")],
    latex: Annotated[bool, typer.Option(help="Print the formulas in LaTeX.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show one claim: statement, assumptions, conditions, bound, evidence, and how to rerun it."""
    from analysis.show import claim_as_json, claim_as_text
    from fltheory.ledger import ledger

    claim = ledger[claim_id]
    print(json.dumps(claim_as_json(claim), indent=1, ensure_ascii=False) if as_json else claim_as_text(claim, latex))


@app.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="[ID|PAPER]...")] = None,
    depth: Annotated[Depth, typer.Option(help="How far the checks go.")] = Depth.default,
    record: Annotated[bool, typer.Option(help="Write the verdicts of this source checkout.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the results to this file.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a core by default.")] = None,
) -> None:
    """Check the claims and hold the verdicts against the recorded ones.

    A deep run that was interrupted goes on where it was.
    """
    _one_thread_a_process()
    from analysis import verify as v
    from analysis.files import require_writable, write_text
    from fltheory.errors import processes
    from fltheory.verdicts import recorded

    recorded()  # a damaged file is told before the work, not after it
    claims = v.select(names or [])
    if workers is None:  # starting processes takes longer than a few checks
        workers = 1 if len(claims) < FEW_CLAIMS else os.cpu_count() or 1
    workers = processes("--workers", workers)
    if record:
        v.require_checkout(Path.cwd())
    if json_file is not None:
        require_writable(json_file)
    how_far: CheckDepth = depth.value
    if how_far == "deep":
        from analysis.resume import resumed
        from sims.data import cache_dir

        found = resumed(claims, how_far, workers, cache_dir() / "verify-deep.jsonl")
    else:
        found = v.run(claims, how_far, workers)
    results = _with_progress(found, len(claims))
    _print_results(results)
    if json_file is not None:
        write_text(json_file, v.to_json(results))
    crashed = [r for r in results if r.crash]
    for result in crashed:
        print(f"\n{result.claim.id}: a check crashed\n{result.crash}", file=sys.stderr)
    if record:
        v.record(results, Path.cwd())
        print("recorded in fltheory/data/verdicts.json and docs/verdicts.md")
    different = v.differences(results)
    lines = different or v.stale(claims)
    shown = lines if different else lines[:STALE_SHOWN]
    rest = [f"and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
    for line in (*shown, *rest):
        print(line, file=sys.stderr)
    if not names:
        _show_phone_activity()
    raise typer.Exit(DIFFERS if crashed or different else DONE)


@app.command()
def falsify(
    claim_id: Annotated[str, typer.Argument(metavar="ID")],
    budget: Annotated[str, typer.Option(help="How long to search: 60s, 10m; a late find may take 1/5 longer.")] = "60s",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Where a witness goes; ID.witness.json by default.")] = None,
) -> None:
    """Search for a counterexample to a claim; exit code 1 if there is one."""
    _one_thread_a_process()
    from analysis.falsify_command import falsify_claim

    text, found = falsify_claim(claim_id, budget=budget, seed=seed, out=out)
    print(text)
    raise typer.Exit(DIFFERS if found else DONE)


@app.command()
def replay(witness: Annotated[Path, typer.Argument(metavar="WITNESS.json")]) -> None:
    """Verify a witness again, exactly; exit code 1 if it is no counterexample (any more)."""
    _one_thread_a_process()
    from analysis.falsify_command import replay_file

    text, violated = replay_file(witness)
    print(text)
    raise typer.Exit(DONE if violated else DIFFERS)


@app.command("worst-case")
def worst_case(
    names: Annotated[list[str] | None, typer.Argument(metavar="[ID|PAPER]...")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute how far one-step lemmas are from tight (extra `pep`); exit code 1 if one is violated."""
    _one_thread_a_process()
    from analysis.worst_case_command import worst_cases

    text, violated = worst_cases(names or [], as_json=as_json)
    print(text)
    raise typer.Exit(DIFFERS if violated else DONE)


@app.command()
def graph(
    paper: Annotated[str | None, typer.Argument(metavar="[PAPER]")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the picture goes (.svg, .png, .pdf).")] = None,
) -> None:
    """Draw which claims rest on which, coloured by recorded verdict."""
    _one_thread_a_process()
    from analysis.graph import draw

    print(draw(paper, out))


@app.command()
def weights(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV or Parquet: client, round or timestamp, available.")],
    cutoff: Annotated[str, typer.Option(help="Cutoff K of the intervals, or inf.")],
    clients: Annotated[str | None, typer.Option(help="Number of clients, or a file with one client a line.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Number of rounds of the log.")] = None,
    round_length: Annotated[str | None, typer.Option(help="Length of a round, for timestamps: 1h, 15m, 1d.")] = None,
    out: Annotated[Path, typer.Option(help="Where the plot goes.")] = Path("weights.png"),
    as_json: JsonFlag = False,
) -> None:
    """Fit rates to a participation log and give FedAU's weights with their exact error.

    With a column `available` (1 or 0) each row is an observation, and rounds without a row are skipped. Without it
    each row is a participation, and all other rounds of the clients in the log count as off. Of `round` and
    `timestamp`, `timestamp` is read with --round-length and `round` without.
    """
    _one_thread_a_process()
    from analysis.files import require_writable
    from analysis.traces import read_log
    from analysis.weights_report import plot, weights_report
    from fltheory.errors import InputError
    from fltheory.errors import cutoff as valid_cutoff

    if out.suffix not in (".png", ".svg", ".pdf"):
        raise InputError("--out", str(out), "a name that ends in .png, .svg or .pdf")
    if clients is not None and not clients.strip():
        raise InputError("--clients", clients, "a number or a file")
    require_writable(out)
    inputs = [log] if clients is None or clients.isdecimal() else [log, Path(clients)]
    if any(path.exists() and out.exists() and out.samefile(path) for path in inputs):
        raise InputError("--out", str(out), "another file than what is read")
    limit = valid_cutoff("--cutoff", _number(cutoff))
    found = read_log(log, clients=clients, rounds=rounds, round_length=round_length)
    report = weights_report(found, limit)
    print(json.dumps(report.to_json(), indent=1, ensure_ascii=False) if as_json else report.to_text())
    plot(report, out)
    print(f"plot: {out}", file=sys.stderr)


def _folder(text: str | Path) -> Path:
    """A folder that was named; "" is none, as of a variable that is not set, where a path would be the current one."""
    if not str(text).strip():
        raise UsageError(f"--store must be a folder; got {str(text)!r}")
    return Path(text)


ScaleOption = Annotated[Scale | None, typer.Option(help="Scale of the file; without it the file as it stands.")]
EngineOption = Annotated[str | None, typer.Option(help="auto, layered, sequential or vmap.")]
DeviceOption = Annotated[str | None, typer.Option(help="Device of torch, such as cpu or cuda.")]
WorkersOption = Annotated[int, typer.Option(min=1, help="Processes.")]
BackendOption = Annotated[Backend, typer.Option(help="Where the processes are.")]
SchedulerOption = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, for --backend dask.")]
ResumeOption = Annotated[bool, typer.Option(help="Go on with what an interrupted run has finished.")]
StoreOption = Annotated[Path, typer.Option(parser=_folder, metavar="<path>", help="Folder of the results.")]


@app.command()
def simulate(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.toml")],
    scale: ScaleOption = None,
    store: StoreOption = Path("results"),
    workers: WorkersOption = 1,
    backend: BackendOption = Backend.loky,
    scheduler: SchedulerOption = None,
    resume: ResumeOption = True,
    as_json: JsonFlag = False,
) -> None:
    """Run a simulation experiment; the results go to the store under the experiment's key."""
    _one_thread_a_process()
    from analysis.simulate_command import simulate_file

    print(
        simulate_file(
            experiment,
            scale=scale and scale.value,
            store=store,
            workers=workers,
            backend=backend.value,
            scheduler=scheduler,
            resume=resume,
            as_json=as_json,
        )
    )


@app.command()
def train(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.toml")],
    scale: ScaleOption = None,
    engine: EngineOption = None,
    device: DeviceOption = None,
    store: StoreOption = Path("results"),
    workers: WorkersOption = 1,
    backend: BackendOption = Backend.loky,
    scheduler: SchedulerOption = None,
    resume: ResumeOption = True,
    checkpoint: Annotated[int | None, typer.Option(min=1, help="Rounds between checkpoints.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Train the algorithms of an experiment on its data; the results go to the store under the experiment's key."""
    _one_thread_a_process()
    from analysis.train_command import train_file

    options = {"store": store, "workers": workers, "backend": backend.value, "scheduler": scheduler}
    changes = _given(engine=engine, device=device)
    print(
        train_file(
            experiment,
            scale=scale and scale.value,
            changes=changes,
            as_json=as_json,
            resume=resume,
            checkpoint=checkpoint,
            **options,
        )
    )


@app.command()
def sweep(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.toml")],
    scale: ScaleOption = None,
    engine: EngineOption = None,
    device: DeviceOption = None,
    store: StoreOption = Path("results"),
    workers: WorkersOption = 1,
    backend: BackendOption = Backend.loky,
    scheduler: SchedulerOption = None,
    resume: ResumeOption = True,
    as_json: JsonFlag = False,
) -> None:
    """Search step sizes, local ones first, then global ones, as the file's table `sweep` says."""
    _one_thread_a_process()
    from analysis.train_command import sweep_file

    options = {"store": store, "workers": workers, "backend": backend.value, "scheduler": scheduler}
    changes = _given(engine=engine, device=device)
    print(
        sweep_file(experiment, scale=scale and scale.value, changes=changes, as_json=as_json, resume=resume, **options)
    )


@results_app.command("list")
def list_results(
    store: StoreOption = Path("results"),
    where: Annotated[list[str] | None, typer.Option(help="place=value, such as process.name=markov.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the runs of a store."""
    from analysis.simulate_command import results_table

    print(results_table(store, where or [], as_json=as_json))


@results_app.command("show")
def show_result(run: str, store: StoreOption = Path("results"), as_json: JsonFlag = False) -> None:
    """Show one run, by its folder or the beginning of its key."""
    from analysis.simulate_command import results_show

    print(results_show(run, store, as_json=as_json))


@results_app.command("export")
def export_result(run: str, path: Path, store: StoreOption = Path("results")) -> None:
    """Write a run to a .csv or .json file."""
    from analysis.simulate_command import results_export

    print(results_export(run, path, store))


@results_app.command("diff")
def diff_results(a: str, b: str, store: StoreOption = Path("results")) -> None:
    """Compare two runs: the same bits, or what differs (exit code 1)."""
    from analysis.simulate_command import results_diff

    text, same = results_diff(a, b, store)
    print(text)
    raise typer.Exit(DONE if same else DIFFERS)


@app.command()
def algorithms(
    clients: Annotated[int, typer.Option(min=1, help="Number of clients, for the memory.")] = 100,
    dimension: Annotated[int, typer.Option(min=1, help="Parameters of the model.")] = 1_000_000,
    itemsize: Annotated[int, typer.Option(min=1, help="Bytes a parameter.")] = 4,
    as_json: JsonFlag = False,
) -> None:
    """List the algorithms: source, exact memory, vectors sent, and what weighting rules minimise."""
    from analysis import algorithms_list as listed

    print(
        json.dumps(listed.as_json(clients, dimension, itemsize), indent=1)
        if as_json
        else listed.as_text(clients, dimension, itemsize)
    )


@app.command()
def figures(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures and their data.")] = Path("figures"),
) -> None:
    """Draw figures: one PNG and one CSV with the plotted data each. Without names, all of them."""
    _one_thread_a_process()
    from fltheory import plugins
    from fltheory.errors import InputError, one_of

    known = {
        f"{entry.name}.{name}": draw
        for entry in plugins.entries("fltheory.figures").values()
        for name, draw in plugins.load(entry).items()
    }
    for name in names or []:
        if name not in known:
            raise InputError("name of a figure", name, one_of(name, known))
    for name in names or known:
        for path in known[name](out):
            print(path)


def _given(**options: str | None) -> dict[str, str]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _one_thread_a_process() -> None:
    """Before numpy is imported: two spinning thread pools on two cores are far slower than one thread."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def _with_progress(results: object, total: int) -> list[Result]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done: list[Result] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("checking", total=total)
        for result in results:  # type: ignore[attr-defined]
            done.append(result)
            progress.update(task, advance=1, description=result.claim.id)
    return done


def _print_results(results: list[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    from analysis.evidence import ratio_text
    from fltheory.verdicts import because

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, how in (
        ("claim", "left"),
        ("verdict", "left"),
        ("largest ratio", "right"),
        ("seconds", "right"),
    ):
        table.add_column(heading, justify=how, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("finding", overflow="fold")
    for result in results:
        evidence = result.key_evidence
        ratio = ratio_text(evidence.largest) if evidence and evidence.largest is not None else ""
        finding = "a check crashed" if result.crash else because(result.to_json()) or result.claim.unchecked
        table.add_row(result.claim.id, result.verdict, ratio, f"{result.seconds:.2f}", finding)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table, markup=False)
    counts = Counter(result.verdict for result in results)
    print(f"{len(results)} claims: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))


def _show_phone_activity() -> None:
    """The real log, apart from the verdicts and only when it was fetched."""
    from sims.data import is_fetched, path
    from sims.data import verify as verify_data

    if not is_fetched("phone-activity"):
        return
    if not verify_data("phone-activity"):
        print("phone-activity is damaged: run `fltheory data fetch phone-activity`", file=sys.stderr)
        return
    from analysis.traces import read_log
    from analysis.weights_report import weights_report

    log = read_log(path("phone-activity"), round_length="1h")
    print("\nA real log, no verdict: phone-activity (stationary phones stand for available clients)")
    print(weights_report(log, 50).summary_text())


def _reader_left() -> None:
    """Exit as a command does whose output nobody reads any more (`| head`), not as one whose verdicts differ."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered goes nowhere
    os._exit(CLOSED_PIPE)


def _in_our_form(message: str, arguments: list[str]) -> str:
    """A complaint about the value of an option, as `option must be ...; got ...`."""
    import re

    found = re.fullmatch(r"Invalid value for '(--[\w-]+)'[^:]*: (.*)", message)
    if not found:
        return message
    option, why = found.groups()
    least = re.fullmatch(r"Input should be greater than or equal to (\d+)|.* is not in the range x>=(\d+)\.?", why)
    choice = re.fullmatch(r".*is not one of (.*?)\.?", why)
    given = [b for a, b in itertools.pairwise(arguments) if a == option]
    given += [a.partition("=")[2] for a in arguments if a.startswith(f"{option}=")]
    if not given or not (least or choice):
        return message
    from fltheory.errors import one_of

    if least:
        allowed = f"a whole number of at least {least[1] or least[2]}"
    else:
        assert choice is not None
        allowed = one_of(given[-1], re.findall(r"'([^']*)'", choice[1]))
    return f"{option} must be {allowed}; got {given[-1]!r}"


def main() -> None:
    """Run the command; bad input is one line on stderr and exit code 2."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: as if it were /dev/null
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except UsageError as error:
        message = _in_our_form(error.format_message(), sys.argv)  # type: ignore[attr-defined]
    except BrokenPipeError:
        _reader_left()
    except SystemExit as end:
        if end.code == 1 and type(sys.stdout).__name__ == "PacifyFlushWrapper":  # so typer takes a closed pipe
            _reader_left()
        raise
    except typer.Abort:
        sys.exit(130)
    except ValueError as error:
        from fltheory.errors import InputError

        if not isinstance(error, InputError):
            raise
        message = str(error)
    print(f"fltheory: {message}", file=sys.stderr)
    sys.exit(BAD_INPUT)
