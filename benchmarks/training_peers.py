"""Work card W2 in pfl, where it is installed: its own loop, paused between blocks of rounds by a callback.

Cohorts and batches are pfl's own draws, so that its model is another one; the work of a round is the same.
"""

import multiprocessing
import os
import resource
import time
from contextlib import redirect_stdout
from multiprocessing.connection import Connection
from typing import Any


class Done(Exception):
    """Nothing more is asked for."""


def pfl(pipe: Connection, block: int) -> None:
    """Blocks of rounds whenever the other end of the pipe asks for one, as in `training.run`."""
    began = time.perf_counter()
    multiprocessing.current_process().name = "MainProcess"  # pfl sets itself up in a process of this name alone
    import numpy as np
    import torch
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
    from pfl.metrics import Metrics, Weighted
    from pfl.model.pytorch import PyTorchModel

    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002, pfl draws from it

    class Mlp(torch.nn.Sequential):
        def loss(self, x: Any, y: Any, eval: bool = False) -> Any:
            return torch.nn.functional.cross_entropy(self(x), y)

        def metrics(self, x: Any, y: Any, eval: bool = False) -> Any:
            return {"loss": Weighted(0.0, 1)}

    class Pause(TrainingProcessCallback):
        """Tells how long the last block took, and waits for the next to be asked for."""

        rounds = 0

        def begin(self) -> None:
            if not pipe.recv():
                raise Done
            self.clock, self.processor = time.perf_counter(), time.process_time()

        def after_central_iteration(self, metrics: Any, model: Any, *, central_iteration: int) -> tuple[bool, Any]:
            self.rounds += 1
            if self.rounds == 1:
                self.first = time.perf_counter() - began
            elif self.rounds == 1 + block:
                pipe.send((self.first, None, None, "pfl"))
                self.begin()
            elif self.rounds % block == 1:
                spent = time.perf_counter() - self.clock, time.process_time() - self.processor
                pipe.send((*spent, 25 * 5 * block))
                self.begin()
            return False, Metrics()

    net = Mlp(torch.nn.Linear(784, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
    model = PyTorchModel(net, torch.optim.SGD, torch.optim.SGD(net.parameters(), 1.0))
    inputs, targets = torch.randn((100, 80, 784)), torch.randint(0, 10, (100, 80))
    data = FederatedDataset(
        lambda user: Dataset((inputs[user], targets[user]), user_id=str(user)),
        get_user_sampler("minimize_reuse", list(range(100))),
    )
    try:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):  # it prints every round
            FederatedAveraging().run(
                NNAlgorithmParams(
                    central_num_iterations=10**6, evaluation_frequency=10**6, train_cohort_size=25, val_cohort_size=None
                ),
                SimulatedBackend(data, None),
                model,
                NNTrainHyperParams(local_num_epochs=1, local_learning_rate=0.05, local_batch_size=16),
                NNEvalHyperParams(local_batch_size=None),
                callbacks=[Pause()],
            )
    except Done:
        pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)
