"""F. Wu, S. Guo, Z. Qu, S. He, Z. Liu, J. Gao, "Anchor Sampling for Federated Learning with Partial Client
Participation", ICML 2023.

`setting` has the objective, the algorithm and the assumptions, `steps` the lemmas on one round, `full` and
`sequential` the theorems for anchors every tau rounds with all and with some of the clients, `constant` and `pl`
those for a constant anchor probability, `caches` what is known of the cached gradients, `experiments` costs, tables
and remarks.

Constants are explicit, recovered from the printed proofs; the published order stands beside each bound.
"""

from fltheory.papers.fedamd.attained import *  # noqa: F403
from fltheory.papers.fedamd.caches import *  # noqa: F403
from fltheory.papers.fedamd.constant import *  # noqa: F403
from fltheory.papers.fedamd.experiments import *  # noqa: F403
from fltheory.papers.fedamd.full import *  # noqa: F403
from fltheory.papers.fedamd.pl import *  # noqa: F403
from fltheory.papers.fedamd.sequential import *  # noqa: F403
from fltheory.papers.fedamd.setting import *  # noqa: F403
from fltheory.papers.fedamd.setting import paper as paper
from fltheory.papers.fedamd.steps import *  # noqa: F403
