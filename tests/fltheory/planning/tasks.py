"""Constants with which every statement has a plan, and the plan by one statement."""

from __future__ import annotations

from dataclasses import replace

from fltheory.planning import STATEMENTS, Outcome, Statement, Task, plan

CONSTANTS = {
    "n_clients": 20, "initial_gap": 1.5, "smoothness": 0.7, "noise_std": 0.5, "heterogeneity": 0.2, "local_steps": 4,
    "gradient_bound": 0.6, "objective_gradient_bound": 0.3, "staleness": 6, "selected_share": 0.25,
    "participation_norm": 0.4, "weight_variance": 0.002, "snapshot_clients": 8, "arbitrary_clients": 5,
    "cohort_size": 5, "anchor_batch": 30, "batch_size": 4, "subsampled": 1, "noise_smoothness": 1.1,
    "strong_convexity": 0.3, "polyak_lojasiewicz": 0.4, "start_distance_square": 5.0,
}  # fmt: skip
CHOICES = {
    "global_lr": [1, 5], "cutoff": [6, 12], "interval": [4, 16], "amplification": [2, 8], "snapshot_rate": [0.9, 0.95],
    "anchor_period": [2, 3], "anchor_probability": [0.3, 0.6],
}  # fmt: skip
TASK = Task(0.1, CONSTANTS, CHOICES, [0.5, 0.7] * 10)


def task_of(statement: Statement) -> Task:
    """Amplified FedAvg has its interval divergence from Proposition 4.7, which is about equal means."""
    rates = [0.6] if statement.algorithm == "amplified" else TASK.rates
    return replace(TASK, measure=statement.measure, rates=rates)


def only(claim: str, **changes: object) -> Outcome:
    (statement,) = [statement for statement in STATEMENTS if statement.claim == claim]
    return plan(replace(task_of(statement), **changes), [statement])[0]
