"""FedAU: S. Wang, M. Ji, "A Lightweight Method for Tackling Unknown Participation Statistics in Federated
Averaging", ICLR 2024.

`setting` has the objective, the algorithm and the assumptions, `weights` how well weights are estimated, `descent`
the convergence theorems, `limits` where runs settle, `experiments` stated numbers and tables.

Constants are explicit, recovered from the printed proofs; the published order stands beside each bound.
"""

from fltheory.papers.fedau.attained import *  # noqa: F403
from fltheory.papers.fedau.descent import *  # noqa: F403
from fltheory.papers.fedau.experiments import *  # noqa: F403
from fltheory.papers.fedau.limits import *  # noqa: F403
from fltheory.papers.fedau.setting import *  # noqa: F403
from fltheory.papers.fedau.setting import paper as paper
from fltheory.papers.fedau.weights import *  # noqa: F403
