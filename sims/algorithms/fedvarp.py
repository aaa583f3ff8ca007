"""FedVARP: the participants' mean, less what sampling them added to it, corrected by a table of latest updates.

Source: Jhunjhunwala et al., FedVARP: Tackling the Variance Due to Partial Client Participation in Federated
Learning (UAI 2022), and FedAU's public code, which agrees with it:

    v = (1/|S|) sum over S (Delta_i - y_i) + (1/N) sum_j y_j,     x += global_lr v,     then y_i = Delta_i on S.

The y_j are zero at the start and stored divided by the local step size, so that they survive its schedule. The
paper's cohorts are never empty; with nobody there is no mean, and nothing changes.
"""

from __future__ import annotations

from sims.algorithms.fedavg import Hyper, work
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, mean
from sims.arrays import Array, array_namespace, beside, client_rows, put_rows, sum_rows, take_rows, zeros


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({"x": x0, "latest": client_rows(n_clients, x0)})


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    xp = array_namespace(local.delta)
    x, latest, fresh = state.linear["x"], state.linear["latest"], local.delta / hyper.local_lr
    direction = mean(fresh - take_rows(latest, cohort.clients), cohort.valid)
    direction = direction + beside(sum_rows(latest), x) / cohort.n_clients
    direction = xp.where(xp.any(cohort.valid, axis=-1)[..., None], direction, zeros(x.shape, x))
    latest = put_rows(latest, cohort.clients, cohort.valid, fresh)
    return State({"x": x + hyper.global_lr * hyper.local_lr * direction, "latest": latest})


fedvarp = Algorithm(
    "fedvarp", "FedVARP (UAI 2022)", Hyper, init, work, apply, server_vectors=lambda n_clients: n_clients + 1
)
