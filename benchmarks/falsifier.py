"""The falsifier against statements that are false, and against statements that stand.

Run `python benchmarks/falsifier.py [--budget 600]`: for each claim whether a counterexample was found, the seconds it
took, the points tried, and the witness or the largest ratio found. The budget is that of a single claim, in seconds.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

FALSE = (
    "fast.thm1",
    "fast.thm1.q1",
    "fast.thm2.mixed",
    "fedamd.thm44",
    "fedamd.lemE3",
    "fedamd.cor412",
    "fedlaavg.thm3",
    "fedlaavg.eq46",
    "amplified.prop41",
    "fedau.eqB68b_conditional",
)
STANDING = (
    "fedau.thm2",
    "fedau.thm3",
    "amplified.thm31",
    "fedlaavg.lem1.full",
    "fast.thm1.averages",
    "fast.thm1.repaired-A",
    "fast.thm1.repaired-B",
    "fedamd.thm48",
    "fedamd.thm411",
)


def main() -> None:
    from analysis.checks import all_trials
    from analysis.falsify import falsify
    from fltheory.ledger import ledger

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds a claim")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    trials = all_trials()
    for title, ids in (("false as read", FALSE), ("standing", STANDING)):
        print(title)
        print(f"{'claim':<28} {'found':<6} {'seconds':>8} {'points':>8} {'admitted':>9}  witness or largest ratio")
        for id_ in ids:
            if id_ not in trials:
                print(f"{id_:<28} no trial")
                continue
            search = falsify(ledger[id_], list(trials[id_]), seconds=options.budget, seed=options.seed)
            found = search.found
            facts = ", ".join(f"{k} = {v}" for k, v in found.point.items()) if found else f"{search.largest:.4g}"
            print(
                f"{id_:<28} {'yes' if found else 'no':<6} {search.seconds:8.1f} {search.tried:8} {search.admitted:9}"
                f"  {facts[:160]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
