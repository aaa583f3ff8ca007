# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Is your own theorem true?
#
# Notebook 11 has an estimator that counts: $w_t = (t+1)/(n_t+1)$, with $n_t$ participations before round $t$. A
# first-order expansion suggests that its weight error $E[(p w_t - 1)^2]$ is at most $(1-p)/(p(t+1))$ under Bernoulli
# participation. How do you put such a statement into the ledger from outside, check it, and let the machine try to
# refute it?

# %%
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom

from analysis.figures.style import notebook_style

notebook_style()

# %% [markdown]
# ## A package of your own
# Claims and checks are found through entry points, so nothing in this project has to be touched. First the statement,
# with explicit constants and a unit. (Here the files are written by hand into a temporary folder; yours come with `pip
# install`, and the entry points stand in `pyproject.toml`, as CONTRIBUTING shows.)

# %%
CLAIMS = """
from sympy import Integer

from fltheory.ledger import Bound, Paper
from fltheory.symbols import quantity, rate
from fltheory.units import ONE

when = quantity("when", ONE, "whole number >= 0", "the round in which the weight is used")
paper = Paper("counting", "Weights from counting", edition="draft", letters={"rate": "p", "when": "t"})
error = paper.claim(
    "error",
    "The weight error of counting is at most (1 - p)/(p (t + 1))",
    kind="theorem",
    where="Theorem 1 of the draft",
    words="For w_t = (t + 1)/(n_t + 1), n_t the participations before round t, and Bernoulli participation.",
    bound=Bound("E[(p w_t - 1)^2]", (1 - rate) / (rate * (when + 1))),
)
"""

CHECKS = '''
from fractions import Fraction
from math import comb

from analysis.checks import CheckBook, times
from analysis.domains import Real, Whole
from analysis.evidence import Tally
from analysis.trials import Sides, right_side
from counting.claims import paper

checks = CheckBook()


def weight_error(p, t):
    """Exact in Fractions: n_t is binomial."""
    terms = ((n, comb(t, n) * p**n * (1 - p) ** (t - n)) for n in range(t + 1))
    return sum(chance * (p * (t + 1) / (n + 1) - 1) ** 2 for n, chance in terms)


def on_a_grid(claim, depth):
    """Exact rationals on a grid of rates and rounds."""
    tally = Tally()
    for p in (Fraction(1, 20), Fraction(1, 10)):
        for t in range(20):
            tally.at_most(weight_error(p, t), right_side(claim.bound, {"rate": p, "when": t}), p=p, t=t)
    return tally.evidence("exact", "exact rationals", "No violation.", domain="p in {1/20, 1/10}, t < 20", ratio=True)


def counted(claim, point):
    """A client that takes part with probability p in every round."""
    p, t = point["p"], point["t"]
    where = {"rate": p, "when": t}
    return Sides(weight_error(p, t), right_side(claim.bound, where), where)


for claim in paper.claims.values():
    checks(claim, mutants=[times("bound", "1/2")])(on_a_grid)
    checks.trial(claim, {"p": Real("1/100", 1), "t": Whole(0, 200)})(counted)
'''

ENTRY_POINTS = """
[fltheory.claims]
counting = counting.claims:paper
[fltheory.checks]
counting = counting.checks:checks
"""

folder = Path(tempfile.mkdtemp())
installed = {
    "counting/__init__.py": "",
    "counting/claims.py": CLAIMS,
    "counting/checks.py": CHECKS,
    "counting-0.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: counting\nVersion: 0.1\n",
    "counting-0.1.dist-info/entry_points.txt": ENTRY_POINTS,
}
for name, text in installed.items():
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def fltheory(command):
    """Run the command line, with the package above installed."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    done = subprocess.run(
        [sys.executable, "-c", "from analysis.cli import main; main()", *command.split()],
        cwd=folder,
        env=plain | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "110"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"$ fltheory {command}\n{done.stdout}{done.stderr}(exit code {done.returncode})")
    return done


# %% [markdown]
# ## Check it
# The check passes: all forty points of its grid, in exact fractions. So `verify` says `exact`, which means what the
# table of verdicts says: nothing is claimed beyond the grid.

# %%
checked = fltheory("verify counting")
assert "1 exact" in checked.stdout

# %% [markdown]
# ## Let the machine try
# `falsify` searches the whole space of the trial, all rates from 1/100 and 200 rounds. What it finds it makes exact
# and as simple as it can, and writes it to a file.

# %%
found = fltheory("falsify counting.error --budget 1s --seed 1")
assert "a counterexample" in found.stdout

# %% [markdown]
# The file can be verified by anybody in exact arithmetic, and checked by hand:

# %%
replayed = fltheory("replay counting.error.witness.json")
assert "violates the claim" in replayed.stdout
witness = json.loads((folder / "counting.error.witness.json").read_text())
print("the point:", witness["point"])

# %% [markdown]
# ## Look at it
# Where does the statement fail? For small $p$ from $p\,t \approx 3$ on, for large $p$ sooner: with few participations
# $1/(n+1)$ is far from linear in $n$. The grid of the check was too far to the left.

# %%
figure, axes = plt.subplots()
ratios = {}
for p in (0.02, 0.1, 0.5, 0.9):
    t = np.unique(np.geomspace(1, 3000, 80).astype(int))
    error = [binom.pmf(n := np.arange(s + 1), s, p) @ (p * (s + 1) / (n + 1) - 1) ** 2 for s in t]
    ratios[p] = np.array(error) * p * (t + 1) / (1 - p)
    axes.semilogx(t, ratios[p], label=f"p = {p}")
    print(f"p = {p}: more than the bound from about p t = {p * t[ratios[p] > 1][0]:.1f} on")
axes.axhline(1, color="black", linestyle="--", lw=1, label="Theorem 1 of the draft")
axes.axhline(2, color="black", linestyle=":", lw=1, label="repaired")
axes.set(
    xlabel="round t",
    ylabel="error times p (t + 1)/(1 - p)",
    title="the draft's bound is exceeded, by less than a factor 2",
)
axes.legend(bbox_to_anchor=(1.01, 1), loc="upper left")
largest = max(ratio.max() for ratio in ratios.values())
print(f"largest ratio seen: {largest:.3f}")
assert 1.5 < largest < 1.7

# %% [markdown]
# ## Repair it
# A factor 2 covers all that was seen, and in round $t = 1$ nothing smaller does as $p \to 1$: with probability $1 - p$
# the weight is 2. The repaired claim stands beside the first one, which now names it. Its check has a grid that
# includes what went wrong.

# %%
p = 0.999999
at_1 = p * (p - 1) ** 2 + (1 - p) * (2 * p - 1) ** 2
print(f"t = 1, p = {p}: error over the draft's bound {at_1 / ((1 - p) / (2 * p)):.6f}")
assert 1.9999 < at_1 / ((1 - p) / (2 * p)) < 2

REPAIRED = """
repaired = paper.claim(
    "error.repaired",
    "The weight error of counting is at most 2 (1 - p)/(p (t + 1))",
    kind="theorem",
    where="ours, in place of Theorem 1",
    words="As Theorem 1, with a factor 2.",
    bound=Bound("E[(p w_t - 1)^2]", Integer(2) * (1 - rate) / (rate * (when + 1))),
)
"""
claims = CLAIMS.replace("(when + 1))),\n)", '(when + 1))),\n    repaired_by="counting.error.repaired",\n)')
wider = CHECKS.replace("(Fraction(1, 20), Fraction(1, 10))", "(Fraction(n, 10) for n in range(1, 11))")
wider = wider.replace("range(20)", "range(60)").replace("p in {1/20, 1/10}, t < 20", "p = .1, .2, ..., 1, t < 60")
(folder / "counting/claims.py").write_text(claims + REPAIRED)
(folder / "counting/checks.py").write_text(wider)
both = fltheory("verify counting")
assert "1 refuted" in both.stdout
assert "1 exact" in both.stdout

# %%
searched = fltheory("falsify counting.error.repaired --budget 1s --seed 1")
assert "no counterexample" in searched.stdout

# %% [markdown]
# `exact` on a grid and a search without a find: that is evidence, not a proof. What the tool prints is all that may be
# said.

# %%
shutil.rmtree(folder)

# %% [markdown]
# ## Try this
# - Prove a bound of this order: $1/(n+1)^2 \le 1/((n+1)(n+2)) + 3/((n+1)(n+2)(n+3))$, and both terms have closed
#   means under the binomial law. `analysis.evidence.algebra` turns the steps into evidence with the word `proved`.
# - State the bound with a condition, `conditions={"late": rate * (when + 1) >= 8}`: what is the best factor then?
# - Mutants keep checks honest: multiply the bound of the repaired claim by 100. Does its check still notice the half?
