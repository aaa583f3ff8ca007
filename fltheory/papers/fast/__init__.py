"""FAST: anonymous authors, "FAST: Federated Average with Snapshot Unleashes Arbitrary Client Participation",
under double-blind review in the edition that was read.

`setting` has the objective, the assumptions and the algorithm; `nonconvex` Theorem 1, `printed_proof` its proof and
`corrected` what is true in its place; `convex` Theorem 2; `corollaries` the rates of both; `adaptive` Algorithm 2;
`experiments` stated numbers and tables.

Constants are explicit, recovered from the printed proofs; the published order stands beside each bound.
"""

from fltheory.papers.fast.adaptive import *  # noqa: F403
from fltheory.papers.fast.convex import *  # noqa: F403
from fltheory.papers.fast.corollaries import *  # noqa: F403
from fltheory.papers.fast.corrected import *  # noqa: F403
from fltheory.papers.fast.experiments import *  # noqa: F403
from fltheory.papers.fast.nonconvex import *  # noqa: F403
from fltheory.papers.fast.printed_proof import *  # noqa: F403
from fltheory.papers.fast.setting import *  # noqa: F403
from fltheory.papers.fast.setting import paper as paper
