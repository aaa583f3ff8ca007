"""Theory beside practice: the explicit bound of an algorithm's theorem, at constants estimated along a run of it.

    frame = beside(run)       # one row for each algorithm, replicate and record: measured, bound, and what it rests on
    draw(frame, path)

The run should have recorded what `wanted` names (`sims.training.estimates`). A row at round t is about a run of T = t
rounds: what the theorem bounds (an average of ||grad f||^2 over rounds before t, as it is there) and the bound, both
of that one run. Suprema over all models are the largest of the whole record, so samples and lower bounds stand where
the theorem has suprema, and one run where it has an expectation: the number is no bound. It tells by how much theory
exceeds practice at least, and which of its conditions the run keeps.

A statement is used only if its recorded verdict lets it stand; where it does not, its repaired twin is used instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.figures.style import BLACK, ORANGE, house_style, new_figure, save
from analysis.trials import conditions_at
from fltheory import plugins, verdicts
from fltheory.errors import InputError
from fltheory.ledger import Claim, ledger
from fltheory.participation import ParticipationProcess, family
from fltheory.symbols import Constants
from sims.catalogue import TRAINING, setup_of
from sims.store import Run
from sims.training.estimates import ESTIMATES

FloatArray = npt.NDArray[np.float64]
Contestant = Mapping[str, Any]  # an algorithm in the canonical form of an experiment

STANDS = ("conditional", "supported", "exact", "proved")
SAMPLED = "samples and lower bounds stand for suprema, one run for an expectation: an indication, no bound"
TOTAL = "participation weights that add up to 1"  # a condition on the run, where the ledger's are on constants
PAST = ("fedau", "exponential_average", "known_rates", "average_all")  # weights that do not look at the round


@dataclass(frozen=True)
class Theorem:
    """How a statement is held beside a run.

    claim      its id
    needs      constant of the bound -> the metric that estimates it
    given      constants that the experiment gives, of the number of rounds
    period     rounds from one model of the average to the next: 1 for all rounds
    between    whether an interval is what lies between two records, the last of which may be shorter
    idle       rounds that are multiples of it leave the model where it is, and are not averaged over; 0 for none
    caveats    what the run does not share with the statement
    """

    claim: str
    needs: Mapping[str, str]
    given: Callable[[int], Mapping[str, float]]
    period: int = 1
    between: bool = False
    idle: int = 0
    caveats: tuple[str, ...] = ()


def _fedau(contestant: Contestant, experiment: Mapping[str, Any]) -> Theorem:
    process = experiment["process"]["name"]
    caveats = [] if process == "bernoulli" else [f"Assumption 4 asks for independent rounds, the process is {process}"]
    needs = {
        "smoothness": "smoothness",
        "noise_std": "noise_std",
        "heterogeneity": "heterogeneity",
        "objective_gradient_bound": "squared_gradient",
        "mean_weight_error": "mean_weight_error",
        "weight_square": "largest_weight_square",
    }
    given = {name: contestant[name] for name in ("local_lr", "global_lr", "local_steps")}
    return Theorem("fedau.thm2", needs, lambda rounds: given, caveats=tuple(caveats))


def _amplified(contestant: Contestant, experiment: Mapping[str, Any]) -> Theorem:
    """FedAvg is the same with amplification 1 and any interval, or with its global_lr and intervals of one round."""
    every = experiment["record"]["every"]
    amplification = contestant.get("amplification", contestant.get("global_lr"))
    period = contestant.get("interval", every if amplification == 1 else 1)
    needs = {
        "smoothness": "smoothness",
        "noise_std": "noise_std",
        "round_divergence": "round_divergence",
        "cohort_divergence": "cohort_divergence",
        "interval_divergence": "interval_divergence" if period > 1 else "round_divergence",
        "participation_norm": "largest_participation_norm",
    }
    given = {
        "local_lr": contestant["local_lr"],
        "local_steps": contestant["local_steps"],
        "amplification": amplification,
        "interval": period,
    }
    return Theorem("amplified.thm31.average", needs, lambda rounds: given, period, between="interval" not in contestant)


def _fast(contestant: Contestant, experiment: Mapping[str, Any]) -> Theorem:
    selection = contestant["selection"]
    needs = {name: name for name in ("smoothness", "noise_std", "heterogeneity")}

    def given(rounds: int) -> dict[str, float]:
        every = selection["interval"]
        return {
            "local_lr": contestant["local_lr"],
            "local_steps": contestant["local_steps"],
            "snapshot_rate": selection["probability"] if every is None else -(-rounds // every) / rounds,
            "snapshot_clients": selection["size"],
            "arbitrary_clients": 1,
        }

    return Theorem("fast.thm1", needs, given, caveats=("arbitrary rounds are counted with one client, the fewest",))


def _fedlaavg(contestant: Contestant, experiment: Mapping[str, Any]) -> Theorem:
    needs = {
        "smoothness": "smoothness",
        "noise_std": "noise_std",
        "gradient_bound": "gradient_moment",
        "staleness": "longest_absence",
    }
    given = {"local_lr": contestant["local_lr"], "local_steps": contestant["local_steps"]}
    caveats = ["rounds before every client took part count as the others"]
    if contestant["local_steps"] > 1:
        caveats.append("the statement is about virtual models, the measured gradients about those of the server")
    return Theorem("fedlaavg.thm4", needs, lambda rounds: given, caveats=tuple(caveats))


def _fedamd(contestant: Contestant, experiment: Mapping[str, Any]) -> Theorem | str:
    """In the theorems' samples a stochastic gradient is one, whatever batch it has."""
    process, roles = experiment["process"], contestant["roles"]
    whole = contestant["selection"]["name"] == "all_available" and not experiment["dropout"]
    if process["name"] != "uniform-subset" or not whole:
        return "FedAMD's theorems ask for uniform cohorts of one size: process uniform-subset, no selection, no dropout"
    if not contestant.get("warm"):
        return "FedAMD's theorems ask for caches that all clients filled before the first round: warm = true"
    if roles["name"] not in ("constant", "sequential"):
        return f"FedAMD's theorems are about roles constant and sequential, not {roles['name']}"
    needs = {name: name for name in ("smoothness", "noise_std", "noise_smoothness")}
    anchors = None if contestant["batch"] == "all" else contestant["batch"]
    given = {
        **{name: contestant[name] for name in ("local_lr", "global_lr", "local_steps")},
        "cohort_size": process["cohort_size"],
        "batch_size": 1,
        "anchor_batch": anchors or 1,
        "subsampled": int(anchors is not None),
    }
    if roles["name"] == "constant":
        given["anchor_probability"] = roles["probability"]
        return Theorem("fedamd.thm48.repaired", needs, lambda rounds: given)
    period = roles["period"]
    given["anchor_period"] = period
    alike = experiment["record"]["every"] % period == 0
    caveats = ("anchor rounds stand for the miner rounds after them, which have the same model",) if alike else ()
    # Its sum ends with round T, ours with T - 1.
    return Theorem(
        "fedamd.thm46.repaired",
        needs,
        lambda rounds: {**given, "rounds": rounds - 1},
        idle=0 if alike else period,
        caveats=caveats,
    )


def theorem_of(contestant: Contestant, experiment: Mapping[str, Any]) -> Theorem | str:
    """The theorem about an algorithm of an experiment, both in canonical form; in words why there is none."""
    name, selection = contestant["name"], contestant["selection"]["name"]
    if contestant["schedule"]["name"] != "constant":
        return "the step size changes along the run, the theorems have one"
    if name == "fedlaavg" and contestant["weights"] is None:
        return _fedlaavg(contestant, experiment)
    if name == "fedlaavg":
        return "FedLaAvg with weights minimises another mean of the clients' objectives than the one that is recorded"
    if name in ("fedamd", "fedamd_massive"):
        return _fedamd(contestant, experiment)
    if name not in ("fedavg", "amplified"):
        return f"none of the five papers has a theorem about {name}"
    weighting = contestant["weighting"]["name"]
    if weighting == "average_participating":
        fast = name == "fedavg" and selection == "snapshot" and contestant["global_lr"] == 1
        return (_fast if fast else _amplified)(contestant, experiment)
    if name == "amplified":
        return _amplified(contestant, experiment)
    if weighting in PAST and selection == "all_available":
        return _fedau(contestant, experiment)
    return f"FedAU's Theorem 2 asks for rates, which are not known with selection {selection}"


def standing(id_: str) -> tuple[Claim, str, str]:
    """The statement to use for an id, its verdict, and what is to be said if it is another.

    Raises InputError if neither it nor a twin stands.
    """
    recorded = verdicts.recorded()
    seen: list[str] = []
    claim: Claim | None = ledger[id_]
    while claim is not None:
        verdict = str(recorded.get(claim.id, {}).get("verdict", "not checked"))
        twin = ledger[claim.repaired_by] if claim.repaired_by else None
        if verdict in STANDS and (verdict != "conditional" or twin is None):
            return claim, verdict, "".join(f"{old}, so that {claim.id} stands in its place" for old in seen[-1:])
        seen.append(f"{claim.id} is {verdict}")
        claim = twin
    raise InputError("claim", id_, f"one that stands, or has a repaired twin that does ({', '.join(seen)})")


def wanted(experiment: Mapping[str, Any]) -> tuple[str, ...]:
    """The metrics that `beside` needs of an experiment in canonical form, of those that all its algorithms can record.

    A statement that needs others as well is left out with all of its metrics; `beside` says so.
    """
    theorems = [theorem_of(contestant, experiment) for contestant in experiment["algorithm"]]
    used = [one for one in theorems if isinstance(one, Theorem) and not _left_out(one, experiment)]
    return tuple(sorted(set().union({"squared_gradient"}, *map(_metrics, used))))


def _left_out(theorem: Theorem, experiment: Mapping[str, Any]) -> str:
    """Why a statement cannot be held beside this experiment: a file records the same metrics of all its algorithms."""
    needed = sorted(name for name in _metrics(theorem) if name in ESTIMATES and ESTIMATES[name].needs_rates)
    unknown = [one["label"] for one in experiment["algorithm"] if not _knows_rates(one, experiment)]
    if not needed or not unknown:
        return ""
    return (
        f"{theorem.claim} is left out: it needs {', '.join(needed)}, and participation rates are not known of "
        f"{', '.join(unknown)} in the same file"
    )


def _knows_rates(contestant: Contestant, experiment: Mapping[str, Any]) -> bool:
    """Whether an algorithm of an experiment has exact participation rates: with neither selection nor a reaction."""
    entry = plugins.entries("fltheory.processes").get(experiment["process"]["name"].partition(".")[0])
    oblivious = entry is not None and issubclass(family(entry), ParticipationProcess)
    return oblivious and contestant["selection"]["name"] == "all_available"


def _metrics(theorem: Theorem) -> set[str]:
    total = {"largest_total_error"} if theorem.claim.startswith("amplified") else set()
    return {"squared_gradient", "objective"} | set(theorem.needs.values()) | total


def beside(run: Run) -> pl.DataFrame:
    """What was measured and what theory says of it: one row for each algorithm, replicate and record after round 0.

    round        t, the rounds that the row is about
    measured     average of ||grad f||^2 over the recorded rounds before t that the theorem averages over; null if none
    bound        the right-hand side at the constants beside it; null where there is none
    statement    the claim, with its recorded `verdict`; null where no theorem is known
    conditions   whether all conditions hold at these constants; `broken` names those that do not; null where none is
                 broken and one cannot be told, as a constant of it was not measured
    estimates    what each estimated constant is
    remarks      what else the number rests on

    and a column for each constant of a bound. Raises InputError for a run without squared_gradient; where another
    metric is missing there is no bound, and the remarks name it.
    """
    experiment, data = run.experiment, run.data()
    if "squared_gradient" not in data.columns:
        raise InputError("record.what", experiment["record"]["what"], "with squared_gradient, which is what is bounded")
    frames = []
    for index, contestant in enumerate(experiment["algorithm"]):
        theorem = theorem_of(contestant, experiment)
        if isinstance(theorem, Theorem) and (missing := sorted(_metrics(theorem) - set(data.columns))):
            theorem = _left_out(theorem, experiment) or f"{theorem.claim} needs {', '.join(missing)} recorded"
        metrics = {"squared_gradient"} | (_metrics(theorem) if isinstance(theorem, Theorem) else set())
        for (replicate,), rows in data.filter(pl.col("algorithm") == contestant["label"]).group_by(
            "replicate", maintain_order=True
        ):
            values = {name: rows[name].cast(pl.Float64).to_numpy() for name in sorted(metrics)}
            found = _rows(experiment, index, int(replicate), theorem, rows["round"].to_list(), values)
            named = {"algorithm": contestant["label"], "replicate": replicate}
            frames.append(pl.DataFrame([named | row for row in found], infer_schema_length=None))
    frames = [frame for frame in frames if frame.height]
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def _rows(
    experiment: Mapping[str, Any],
    index: int,
    replicate: int,
    theorem: Theorem | str,
    at: list[int],
    values: Mapping[str, FloatArray],
) -> Iterator[dict[str, Any]]:
    squares, rounds = values["squared_gradient"], np.array(at)
    if isinstance(theorem, str):
        for place in range(1, len(at)):
            yield {"round": at[place], "measured": squares[:place].mean(), "bound": None, "statement": None,
                   "verdict": None, "conditions": None, "broken": "", "estimates": "", "remarks": theorem}  # fmt: skip
        return
    claim, verdict, remark = standing(theorem.claim)
    gap, about_gap = _initial_gap(experiment, index, float(values["objective"][0]))
    sources = {name: f"{name}: {_is(metric)}" for name, metric in theorem.needs.items()}
    estimates = "; ".join([*sources.values(), f"initial_gap: {about_gap}"])
    remarks = [SAMPLED, *theorem.caveats, *([remark] if remark else [])]
    if experiment["record"]["every"] > theorem.period:
        remarks.append(f"averages are over one round in {experiment['record']['every']}, those recorded")
    largest = {name: _supremum(theorem, name, rounds, values) for name in theorem.needs}
    fixed = {"initial_gap": gap, "n_clients": _clients(experiment, index, replicate)}
    for place in range(1, len(at)):
        whole = at[place] // theorem.period * theorem.period  # in whole intervals
        average = (rounds[:place] % theorem.period == 0) & (rounds[:place] < whole)
        if theorem.idle:
            average &= rounds[:place] % theorem.idle != 0
        counted = squares[:place][average]
        constants = {
            **fixed,
            "rounds": at[place],
            **theorem.given(at[place]),
            **{name: series[place] for name, series in largest.items()},
        }
        bound, holds, why = _evaluated(claim, constants)
        broken = [name for name, held in holds.items() if not held]
        if values.get("largest_total_error", np.zeros(len(at)))[place] > 1e-9 and theorem.claim.startswith("amplified"):
            broken.append(TOTAL)
            why.append(f"the theorem asks for {TOTAL}, and they do not in every round")
        if not counted.size:
            why.append(f"nothing is measured: the theorem averages over no recorded round before round {at[place]}")
        yield {
            "round": at[place],
            "measured": counted.mean() if counted.size else None,
            "bound": bound,
            "statement": claim.id,
            "verdict": verdict,
            "conditions": False if broken else True if len(holds) == len(claim.conditions) else None,
            "broken": ", ".join(broken),
            "estimates": estimates,
            "remarks": "; ".join([*remarks, *why]),
            **{name: float(value) for name, value in constants.items() if name != "rounds"},
        }


def _supremum(
    theorem: Theorem, name: str, rounds: npt.NDArray[np.int64], values: Mapping[str, FloatArray]
) -> FloatArray:
    """The estimate of a constant at every record: what covers all rounds so far as it is, else the largest there is."""
    metric = theorem.needs[name]
    series = values[metric]
    if metric in ESTIMATES and ESTIMATES[metric].follows and metric != "interval_divergence":
        return series
    if metric == "interval_divergence" and theorem.between:
        series = series[rounds % theorem.period == 0]
    known = series[np.isfinite(series)]
    largest = known.max() if known.size else np.nan
    return np.full(len(rounds), math.sqrt(largest) if metric == "squared_gradient" else largest)


def _is(metric: str) -> str:
    if metric == "squared_gradient":
        return "sample of a supremum, largest ||grad f(x_t)|| of the record"
    one = ESTIMATES[metric]
    kind = "sample of a supremum" if one.kind == "sample" and metric != "mean_weight_error" else one.kind
    return f"{kind}, {one.about}"


def _evaluated(claim: Claim, constants: Mapping[str, float]) -> tuple[float | None, dict[str, bool], list[str]]:
    """The bound, whether each condition holds that can be told, and why there is no bound."""
    assert claim.bound is not None
    known: dict[str, float] = {}
    why = []
    for name in sorted({s.name for part in (claim.bound.rhs, *claim.conditions.values()) for s in part.free_symbols}):
        value = float(constants[name])
        try:
            known |= Constants(**{name: value})
        except InputError as error:
            why.append(f"no record has a value of {name}" if math.isnan(value) else str(error))
    told = {name: one for name, one in claim.conditions.items() if {s.name for s in one.free_symbols} <= known.keys()}
    holds = conditions_at(replace(claim, conditions=told), known)
    try:
        return None if why else claim.bound.at(Constants(**known)), holds, why
    except InputError as error:
        return None, holds, [str(error)]


def _initial_gap(experiment: Mapping[str, Any], index: int, first: float) -> tuple[float, str]:
    if experiment["problem"]["name"] == TRAINING:
        return first, "upper bound, f(x_0), as no loss is negative"
    minimum = setup_of(experiment, index).problem.constants.minimum
    return (math.inf if minimum is None else first - float(minimum)), "exact, f(x_0) - f*"


def _clients(experiment: Mapping[str, Any], index: int, replicate: int) -> int:
    partition = experiment["problem"].get("partition")
    if isinstance(partition, Mapping) and isinstance(partition.get("n_clients"), int):
        return int(partition["n_clients"])
    return int(setup_of(json.loads(json.dumps(experiment)), index, replicate, outlined=True).problem.n_clients)


def draw(frame: pl.DataFrame, path: Path) -> Path:
    """The table of `beside` as a picture, a panel for each algorithm; dashed where a condition of the bound fails.

    Raises InputError for a table without rows.
    """
    if frame.is_empty():
        raise InputError("frame", "one without rows", "of a run with a record after round 0")
    labels = frame["algorithm"].unique(maintain_order=True).to_list()
    columns = min(3, len(labels))
    lines = -(-len(labels) // columns)
    with house_style():
        figure = new_figure(0.7 + 2.2 * lines)
        panels = figure.subplots(lines, columns, sharey=True, squeeze=False)
        for axes in panels.flat[len(labels) :]:
            axes.set_axis_off()
        for axes, label in zip(panels.flat, labels, strict=False):
            rows = frame.filter(pl.col("algorithm") == label)
            for _, one in rows.group_by("replicate", maintain_order=True):
                axes.plot(one["round"], one["measured"].to_numpy(), color=BLACK)
                bound, holds = one["bound"].cast(pl.Float64).to_numpy(), one["conditions"].fill_null(False).to_numpy()
                axes.plot(one["round"], bound, "--", color=ORANGE, alpha=0.6)
                axes.plot(one["round"], np.where(holds, bound, np.nan), ".-", ms=3, color=ORANGE)
            statement = rows["statement"][0]
            axes.set(title=f"{label}\n{statement or 'no bound'}", yscale="log", xlabel="rounds $T$")
        for line in panels:
            line[0].set_ylabel(r"average $\|\nabla f\|^2$")
        first = panels[0, 0]
        first.plot([], [], color=BLACK, label="measured")
        first.plot([], [], ".-", ms=3, color=ORANGE, label="the theorem at estimated constants (no bound)")
        first.plot([], [], "--", color=ORANGE, alpha=0.6, label="where a condition fails")
        figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return save(figure, path)
