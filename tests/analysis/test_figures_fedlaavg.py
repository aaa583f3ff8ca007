"""FedLaAvg's figures: the plotted data against the experiment files, made-up runs and closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.exhibits import Given
from analysis.figures.fedlaavg import example1, figures
from analysis.figures.fedlaavg.availability import TWEETS
from analysis.figures.fedlaavg.training import HERE, MNIST, SEQUENTIAL
from analysis.stored_runs import runs_of
from sims.experiment import read_without_data
from tests.analysis.runs import made_up

NOTHING = Given("laptop", {})


def drawn(name: str, scale: str, store: Path, *files: str):
    return figures[name].make(Given(scale, runs_of(files, scale, store)))


@pytest.mark.parametrize("held", [1, 3, 5])
def test_days_and_nights_are_those_of_the_experiment_files(held: int) -> None:
    """A client of each digit in the file, and when its group is on."""
    rows = figures["fig2"].make(NOTHING).rows
    process = read_without_data(f"{HERE}/mnist-E100-D{held}.toml")["process"]
    groups = process["groups"][:: len(process["groups"]) // 10]
    own = [r for r in rows if str(r["setting"]).startswith(f"D = {held}:")]
    assert len(own) == 10 * 400
    for r in own:
        turn = int(str(r["round"])) - groups[int(str(r["digit held"]))] * process["on"]
        assert r["available"] == (turn % process["period"] < process["on"])


def test_a_day_of_tweets_is_that_of_the_run(tmp_path: Path) -> None:
    made_up(TWEETS, "paper", tmp_path)
    rows = drawn("fig3", "paper", tmp_path, TWEETS).rows
    assert len(rows) == 3 * 120
    assert all(r["available"] == (int(str(r["round"])) // 40 == r["block"]) for r in rows)


@pytest.mark.parametrize(("name", "metric", "unit"), [("fig4", "training loss", 1), ("fig8", "test accuracy, %", 100)])
def test_every_availability_has_a_panel_with_sequential_sgd(
    tmp_path: Path, name: str, metric: str, unit: float
) -> None:
    for n, file in enumerate([*MNIST, SEQUENTIAL]):
        made_up(file, "smoke", tmp_path, lambda k, seed, t, n=n: n + 0.1 * k)  # type: ignore[misc]
    picture = drawn(name, "smoke", tmp_path, *MNIST, SEQUENTIAL)
    assert [axes.get_title() for axes in picture.figure.axes] == list(MNIST.values())
    for n, (axes, title) in enumerate(zip(picture.figure.axes, MNIST.values(), strict=True)):
        ends = {str(line.get_label()): line.get_ydata()[-1] for line in axes.lines}  # type: ignore[index]
        names = ["FedLaAvg, C = 10", "FedLaAvg, C = 1", "FedAvg", "FedProx", "FedSGD"]
        wanted = {line: unit * (n + 0.1 * k) for k, line in enumerate(names)} | {"sequential SGD": unit * 5}
        assert ends == pytest.approx(wanted)
        assert axes.get_xlabel() == "round (n = 1 seed)"
        own = [r for r in picture.rows if r["data"] == title]
        assert {r["metric"] for r in own} == {metric}
        assert {r.get("line", r["algorithm"]): r["mean"] for r in own if r["round"] == 4} == pytest.approx(wanted)
    (legend,) = picture.figure.legends
    assert len(legend.get_texts()) == 6


def test_sequential_sgd_alone_is_drawn(tmp_path: Path) -> None:
    made_up(SEQUENTIAL, "smoke", tmp_path)
    picture = drawn("fig4", "smoke", tmp_path, SEQUENTIAL)
    assert {r["algorithm"] for r in picture.rows} == {"sequential SGD"}


def test_numbers_of_clients_and_shares_stand_in_panels_of_their_own(tmp_path: Path) -> None:
    """FedLaAvg alone of each file; the file with both defaults is in both panels, a file that was not run in none."""
    files = [f"{HERE}/mnist-{name}.toml" for name in ("N200", "E100-D1", "beta005")]
    for n, file in enumerate(files):
        made_up(file, "laptop", tmp_path, lambda k, seed, t, n=n: n + 10 * k + 0.1 * seed)  # type: ignore[misc]
    picture = drawn("fig5", "laptop", tmp_path, *files)
    means = {(r["data"], r["line"], r["algorithm"]): r["mean"] for r in picture.rows}
    assert means == pytest.approx(
        {
            ("number of clients", "N = 200", "FedLaAvg"): 0.1,
            ("number of clients", "N = 1000", "FedLaAvg"): 1.1,
            ("share of them selected", "β = 0.05", "FedLaAvg"): 2.1,
            ("share of them selected", "β = 0.1", "FedLaAvg"): 1.1,
        }
    )
    assert all(r["seeds"] == 3 for r in picture.rows)
    only = drawn("fig9", "laptop", tmp_path, f"{HERE}/mnist-N200.toml")
    assert [axes.get_title() for axes in only.figure.axes] == ["number of clients"]


def test_the_run_with_200_clients(tmp_path: Path) -> None:
    """The one that comes with the project: after a day and a night FedAvg swings, FedLaAvg does not."""
    rows = drawn("mnist_200", "laptop", Path("results"), f"{HERE}/mnist-N200-E50-D1.toml").rows
    late = {
        name: np.array(
            [r["mean"] for r in rows if r.get("line", r["algorithm"]) == name and r["metric"] == "training loss"]
        )[50:]
        for name in ("FedAvg", "FedLaAvg, C = 10")
    }
    rises = {name: np.diff(loss).max() for name, loss in late.items()}
    assert rises["FedAvg"] > 10 * rises["FedLaAvg, C = 10"]


def test_orbits_of_example_1() -> None:
    """FedAvg from (1) and (2), FedLaAvg from its pseudo-code, both by hand; the range of a period from a long run."""
    (one, two), (first, second) = example1.CENTRES, example1.BLOCKS
    picture = figures["thm1"].make(NOTHING)
    shown = {
        name: [r["x"] for r in picture.rows if (r["panel"], r["algorithm"]) == ("rounds", name)]
        for name in ("FedAvg", "FedLaAvg")
    }
    x, y, latest = [example1.START], [example1.START], [0.0, 0.0]
    for t in range(example1.ROUNDS):
        who = int(t % (first + second) >= first)
        x.append(x[-1] - 2 * example1.STEP * (x[-1] - (one, two)[who]))
        latest[who] = 2 * (y[-1] - (one, two)[who])
        y.append(y[-1] - example1.STEP * sum(latest) / 2)
    assert shown["FedAvg"] == pytest.approx(x, rel=1e-9)
    assert shown["FedLaAvg"] == pytest.approx(y, rel=1e-9)
    settled = [r for r in picture.rows if (r["panel"], r["algorithm"]) == ("step sizes", "FedAvg, X")]
    assert settled[0]["x"] == pytest.approx(example1.LIMIT, abs=0.1)
    for step in (0.02, 0.3):
        z = [example1.START]
        for t in range(100 * (first + second)):
            z.append(z[-1] - 2 * step * (z[-1] - (one if t % (first + second) < first else two)))
        period = z[-(first + second) - 1 :]
        assert example1.cycle(step, z[-1]) == pytest.approx((min(period), max(period)), rel=1e-9)
    ends = {
        r["step"]: (r["lowest"], r["highest"])
        for r in picture.rows
        if r.get("lowest") is not None and r["algorithm"] == "FedLaAvg"
    }
    assert ends[min(ends)] == pytest.approx((5, 5), abs=0.2)  # type: ignore[type-var]
    low, high = ends[max(ends)]  # type: ignore[type-var]
    assert low < 3
    assert high > 7


def test_theorem_2_holds_and_is_tighter_for_short_blocks() -> None:
    rows = figures["thm2.final"].make(NOTHING).rows
    ratio = {}
    for r in rows:
        t1, t2, T, exact, bound = (float(str(r[name])) for name in ("t1", "t2", "T", "exact", "bound"))
        assert bound == pytest.approx(1 / np.sqrt(T) + max(t1, t2) ** 2 / T, rel=1e-12)  # z_0 = 1, G = 2
        assert 0 < exact <= bound
        ratio[t1, t2, T] = exact / bound
    assert ratio[1, 1, 100] == pytest.approx(0.060401 / 0.11, rel=1e-4)
    assert ratio[5, 20, 100] == pytest.approx(0.098432 / 4.1, rel=1e-4)
