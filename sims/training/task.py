"""Training a network on the clients' data as a problem, so that the one round loop and every algorithm run on it.

F_n is the mean cross-entropy of a module over the samples of client n (plus weight_decay ||x||^2 / 2), f the plain
mean of the F_n; with client_weights = "data_size" the cross-entropy counts N n_i / n times, so that f is that of all
samples. A model is all parameters in one flat vector. Data live on the device of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fltheory.errors import InputError, count
from sims.algorithms.arguments import not_negative
from sims.algorithms.protocol import Cohort, Work
from sims.arrays import on_host, widened
from sims.problems.base import Constants, Draws
from sims.training import augment, engines, precision, tables
from sims.training.accepted import largest_of, require_parameters, require_tensors, require_trainable
from sims.training.buffers import stepping
from sims.training.copies import copied, in_own_memory
from sims.training.evaluation import Evaluation, class_mixes, evaluated, unmeasured
from sims.training.layout import Layout
from sims.training.models.layers import masks_from
from sims.training.partition import Partition
from sims.training.rehearsal import (
    INPUTS_STAY,
    putting_back,
    rehearsing,
    require_plain_steps,
    told_by_the_loop,
    with_own_inputs,
)
from sims.training.samples import Sampler
from sims.training.watch import Reader, generators, refusing, stopping, unwritten, with_gradients

AT_ONCE = 512  # samples of one pass in an exact gradient
GATHERED = 2**30  # bytes of inputs that are gathered for several steps ahead

UNKNOWN = Constants(
    smoothness=None,
    strong_convexity=0,
    polyak_lojasiewicz=0,
    noise_std=None,
    noise_smoothness=None,
    heterogeneity=None,
    gradient_bound=None,
    minimum=None,
    minimiser=None,
)


class Task:
    """A module to train, and the clients who hold the data.

    module         any module that gives logits (B, classes) for inputs (B, ...); a copy of it is trained
    inputs         (n, ...) all samples, of the module's dtype or integer tokens
    targets        (n,) classes, whole numbers of any type
    parts          for each client the indices of its samples; every client has some
    test           inputs and classes of test samples, if there are any
    partition      how the parts came about, if that is known: for rates of participation that depend on labels
    batch          samples of a stochastic gradient
    replacement    whether samples of one batch are drawn independently; else a client's samples come in random order
                   within a round, over again when they are used up
    augmentation   of a batch's images, one of `sims.training.augment.kinds`; a choice for each image, or one for all
                   of a batch (per_image); colours need to know how images were normalised (mean, std)
    engine         "auto", or one of `sims.training.engines.ENGINES`
    device         of torch
    memory         where tables with a row for each client are kept, one of `sims.training.tables.PLACES`
    buffers        what becomes of the module's buffers, one of `sims.training.buffers.POLICIES`
    short          products of the clients' gradients in "tf32" or "bf16" (`sims.training.precision`)
    client_weights what clients count in f, one of `sims.training.samples.CLIENT_WEIGHTS`

    Raises InputError for a module that cannot be trained here (`sims.training.accepted`), or not with this engine and
    batch, data that are no tensors, inputs that are not finite, classes that are none, an empty client, and a device
    that is not there.
    """

    constants = UNKNOWN
    source_bytes = 0  # of data that the samples were taken from: not this task's

    def __init__(
        self,
        module: nn.Module,
        inputs: Tensor,
        targets: Tensor,
        parts: Sequence[npt.NDArray[np.int64]],
        *,
        test: tuple[Tensor, Tensor] | None = None,
        partition: Partition | None = None,
        batch: int = 16,
        replacement: bool = True,
        augmentation: str = "none",
        per_image: bool = True,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        weight_decay: float = 0.0,
        engine: str = "auto",
        device: str = "cpu",
        memory: str = "device",
        buffers: str = "refuse",
        short: str | None = None,
        client_weights: str = "uniform",
    ) -> None:
        require_tensors(module, inputs, targets, test)
        tables.require_place(memory)
        self.device, self.memory = a_device(device), memory
        self.inputs, self.targets = inputs.detach().to(self.device), targets.to(self.device, torch.int64)
        self.test = None if test is None else (test[0].to(self.device), test[1].to(self.device, torch.int64))
        with with_gradients(), in_own_memory(module):
            with refusing(module, "one that works with", "these data"):
                require_parameters(module)
                self.module = own = copied(module).to(self.device)
                given = own if _elsewhere(module, self.device) else module
                self._evaluating = require_trainable(own, given, module, self.inputs, self.targets, buffers, self.test)
            self.partition = partition
            self._evaluated: tuple[Tensor, Evaluation] | None = None
            self.buffers, self.layout = buffers, Layout(own, buffers)
            self.sampler = Sampler(parts, len(inputs), count("batch", batch), replacement, client_weights)
            self.n_clients, self.dimension = len(self.sampler.sizes), sum(self.layout.sizes)
            self.client_weights = client_weights
            self.augmentation, self.per_image = augmentation, per_image
            self._augment_width, self._normalised = augment.width(augmentation), {"mean": mean, "std": std}
            if self._augment_width and inputs.ndim != 4:
                allowed = f"none for samples {tuple(inputs.shape[1:])}, which are no images (C, H, W)"
                raise InputError("augmentation", augmentation, allowed)
            self._mask_shapes = getattr(own, "mask_shapes", lambda batch: ())
            self._drops = bool(self._mask_shapes(1))
            not_negative(weight_decay=weight_decay)
            self.weight_decay = float(weight_decay)
            precision.require_short(short, self.device, self.start.dtype)
            self.short, self.engine = short, engines.make(engine, own, self.device, short == "bf16", buffers)
            self._full = self.engine if short is None else engines.make(engine, own, self.device, buffers=buffers)
            at_once = self.engine.at_once(self.itemsize)
            self.slots_at_once = at_once if self.device.type == "cpu" or engine == "sequential" else None
            self._readers = generators(own, self.device)
            self._require_steps(given, module)
            self.put_back = putting_back(own)  # before a run: another may have left something in it

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise InputError(
            "copy.deepcopy", "a task", "of its module, for another task: engines hold the module they have"
        )

    @property
    def samples(self) -> tuple[int, npt.NDArray[np.int64]]:
        """Samples of a stochastic gradient, and of the exact gradient of each client."""
        return self.sampler.batch, self.sampler.sizes

    @cached_property
    def table(self) -> tables.Maker | None:
        """What makes the zeros of a table with a row for each client; None where it is with the model."""
        return tables.maker(self.memory, self.device, self.start.dtype)

    @property
    def itemsize(self) -> int:
        """Bytes of a parameter."""
        return self.start.element_size()

    @property
    def data_bytes(self) -> int:
        """Bytes of all samples, on the device."""
        return sum(tensor.nbytes for tensor in (self.inputs, self.targets, *(self.test or ())))

    @cached_property
    def start(self) -> Tensor:
        """The parameters that the module has, and its averaged buffers, (d,)."""
        return self.layout.of(self.module)

    def draw(self, rng: np.random.Generator, cohort: Cohort, work: Work) -> Draws:
        """Samples of every batch, numbers for their augmentation, and a seed where there is dropout."""
        clients = np.asarray(cohort.clients.cpu())
        steps = gradient = None
        if work.steps:
            steps = self._draw(rng, clients, work.steps, self.sampler.batch)
        if work.gradient_at is not None and work.batch is not None:
            gradient = self._draw(rng, clients, 1, work.batch * self.sampler.batch)[0]
        return Draws(steps, gradient)

    def _draw(self, rng: np.random.Generator, clients: npt.NDArray[np.int64], steps: int, size: int) -> Tensor:
        shape = (steps, *clients.shape)
        parts = [self.sampler.draw(rng, clients, steps, size)]
        if self._augment_width:
            changes = augment.draw(self.augmentation, rng, (*shape, size if self.per_image else 1))
            parts.append(changes.reshape(*shape, -1))
        if self._drops:
            parts.append(rng.integers(2**62, size=(*shape, 1)))
        return torch.from_numpy(np.concatenate(parts, axis=-1)).to(self.device)

    def _require_steps(self, given: nn.Module, original: nn.Module) -> None:
        """Raise InputError unless the engine takes right steps of the module, on batches as they will be."""
        size, most = self.sampler.batch, np.argsort(-self.sampler.sizes, kind="stable")[:2]
        clients = np.resize(most, (1, 2))  # those of most samples: of one alone many a gradient is 0 but for rounding
        draws = self._draw(np.random.default_rng(0), clients, 2, size)
        draws[1, 0, :, :size] = self._telling(size)
        batches = self._batches(draws.flatten(1, -2))
        both = self.start.expand(2, -1)
        instead = ', or one for engine = "sequential"' if self.engine.name == "vmap" else ""
        allowed = f"one that the engine {self.engine.name!r} can train with"
        with refusing(self.module, allowed, f"batches of {size}", instead):
            for policy in dict.fromkeys((self.buffers, "keep")):  # in the modes of local steps and of evaluation
                if policy == "refuse":
                    continue
                with stepping(self.module, policy), rehearsing(self.module, given, self.device) as back:
                    told = told_by_the_loop(given, self.layout, self.start, batches, self._readers)
                    with told, precision.products(self.device, self.short):
                        self.engine.descend(both.clone(), both, [with_own_inputs(batches)], 0.0, 0.0)
                    with precision.products(self.device):
                        require_plain_steps(
                            self.module, given, self._full, self.layout, both, batches, self._readers, back, original
                        )

    def _telling(self, size: int) -> Tensor:
        """So many samples: those with the largest numbers, and some of each class."""
        firsts = np.unique(self.targets.cpu().numpy(), return_index=True)[1]
        largest = largest_of(self.inputs, (size + 1) // 2)
        return torch.from_numpy(np.resize([*largest, *firsts], size)).to(self.device)

    def stochastic_gradient(self, y: Tensor, clients: Tensor, draw: Tensor | None) -> Tensor:
        """Gradients (..., S, d) on the batches of a draw (..., S, width); without a draw the exact ones."""
        if draw is None:
            return self.gradient(y, clients)
        if self.buffers == "average":
            allowed = "another policy for what takes gradients and not only plain local steps: buffers have none"
            raise InputError("buffers", self.buffers, allowed)
        models = y.reshape(-1, self.dimension)
        with stopping(self.module, "the local steps", clients), precision.products(self.device, self.short):
            gradients = self.engine.gradients(models, *self._batch(draw.reshape(len(models), -1)))
        return self._whole(gradients, models, clients).reshape(y.shape)

    def working(self, cohort: Cohort) -> AbstractContextManager[None]:
        """Around the local work of a cohort. Raises Stopped if random numbers are drawn in it but those of the task."""
        readers = self._watched(self.engine)
        return stopping(self.module, "the local steps", cohort.clients, readers) if readers else nullcontext()

    def _watched(self, engine: engines.Engine) -> Sequence[Reader]:
        """The generators from which passes of this engine may draw: none, if it does not call the module."""
        return () if engine.name == "layered" else self._readers

    def descend(self, start: Tensor, clients: Tensor, draws: Tensor, step_size: Any) -> Tensor:
        """How far plain steps lead from `start` (..., S, d), one step for each of the draws: (..., S, d).

        Clients step in groups of one size, at most `slots_at_once`; the batches of a group are gathered in one call,
        or in several where they would need more than GATHERED bytes.
        """
        precision.require_step(float(step_size), self.weight_decay, self.start.dtype)
        begin = start.reshape(-1, self.dimension)
        result = torch.empty_like(begin, memory_format=torch.contiguous_format)
        draws = draws.flatten(1, -2)
        if not len(begin):
            return result.reshape(start.shape)
        groups, scales = -(-len(begin) // (self.slots_at_once or len(begin))), self._scales(clients)
        parts = [array.chunk(groups, dim=-2) for array in (result, begin, draws)]
        of_groups = [None] * len(parts[0]) if scales is None else scales.chunk(groups)
        who = clients.reshape(-1).chunk(groups)
        for moves, models, drawn, scale, these in zip(*parts, of_groups, who, strict=True):
            needed = len(models) * self.sampler.batch * self.inputs[0].nbytes
            pieces = map(self._batches, torch.split(drawn, max(1, GATHERED // max(1, needed))))
            mode = precision.products(self.device, self.short), stepping(self.module, self.buffers)
            with stopping(self.module, "the local steps", these), mode[0], mode[1]:
                self.engine.descend(moves, models, pieces, float(step_size), self.weight_decay, scale)
        return result.reshape(start.shape)

    def gradient(self, y: Tensor, clients: Tensor) -> Tensor:
        """Exact gradients of the clients (..., S), each at its own point (..., S, d): (..., S, d)."""
        models, result = y.reshape(-1, self.dimension), torch.zeros_like(y.reshape(-1, self.dimension))
        with stopping(self.module, "the exact gradient", clients, self._watched(self._full)):
            for s, client in enumerate(clients.reshape(-1).tolist()):
                own = torch.from_numpy(self.sampler.of(client)).to(self.device)
                for part in torch.split(own, AT_ONCE):
                    whose = stopping(self.module, "the exact gradient", client)
                    with whose, precision.products(self.device):
                        one = self._full.gradients(models[s : s + 1], self.inputs[part][None], self.targets[part][None])
                    result[s] += one[0] * (len(part) / len(own))
        return self._whole(result, models, clients).reshape(y.shape)

    def objective(self, x: Tensor) -> Tensor:
        """f at models (..., d): (...)."""
        trained = widened(x[..., : self.layout.trained])
        weights = torch.from_numpy(self.sampler.weights).to(self.device, trained.dtype)
        values = [torch.sum(weights * self.losses(model)[0]) for model in x.reshape(-1, self.dimension)]
        penalty = self.weight_decay / 2 * torch.sum(trained * trained, dim=-1)
        return torch.stack(values).reshape(x.shape[:-1]) + penalty

    def evaluation(self, x: Tensor) -> Evaluation:
        """How well models (R, d) do, (R,) each; kept for the next call with the same tensor."""
        if self._evaluated is None or self._evaluated[0] is not x:
            each = [self._evaluation(model) for model in x]
            values = {f.name: np.array([getattr(one, f.name) for one in each]) for f in fields(Evaluation)}
            self._evaluated = x, Evaluation(**values)
        return self._evaluated[1]

    def unmeasured(self, name: str) -> str:
        """Why this part of an evaluation is NaN, in words; "" where it is a number."""
        classes = self.test[1].cpu().numpy() if self.test else np.zeros(0, np.int64)
        return unmeasured(name, self._mixes, classes)

    def train_accuracy(self, x: Tensor) -> npt.NDArray[np.float64]:
        """Share of all training samples whose class is right, for models (R, d): (R,)."""
        return np.array([on_host(self.losses(model)[1])[self.sampler.order].mean() for model in x])

    def _evaluation(self, model: Tensor) -> Evaluation:
        losses, right = map(on_host, self.losses(model))
        if self.test is None:
            return evaluated(self.sampler, self._mixes, losses, right)
        test_losses, test_right = map(on_host, self.losses(model, self.test))
        test = test_losses, test_right, on_host(self.test[1])
        return evaluated(self.sampler, self._mixes, losses, right, test)

    @cached_property
    def _mixes(self) -> npt.NDArray[np.float64]:
        return class_mixes(self.sampler, self.targets.cpu().numpy())

    def losses(self, model: Tensor, data: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Cross-entropy and whether the class is right, for every sample of the data, by default the clients': (n,)."""
        inputs, targets = data or (self.inputs, self.targets)
        losses, right = [], []
        with (
            stopping(self.module, "the evaluation", readers=self._readers),
            self._evaluating(),
            precision.products(self.device),
            self.layout.held(self.module, model) as own,
            unwritten(self.module, own, numbers=True),
        ):
            for some, classes in zip(torch.split(inputs, 2 * AT_ONCE), torch.split(targets, 2 * AT_ONCE), strict=True):
                given = some.clone()  # so that the data stay, whatever is written
                logits = engines.logits_of(self.module, self.module(given)).detach()
                if given._version:
                    raise InputError("module", f"{type(self.module).__name__}, which writes to its input", INPUTS_STAY)
                losses.append(torch.nn.functional.cross_entropy(logits, classes, reduction="none"))
                right.append(logits.argmax(dim=-1) == classes)
        return torch.cat(losses), torch.cat(right)

    def _batches(self, draws: Tensor) -> engines.Batches:
        """The batches of draws (K, S, width)."""
        steps, clients, _ = draws.shape
        inputs, targets, masks = self._batch(draws.transpose(0, 1).flatten(0, 1))

        def by_steps(rows: Tensor) -> Tensor:
            return rows.reshape(clients, steps, *rows.shape[1:])

        return by_steps(inputs), by_steps(targets), tuple(map(by_steps, masks))

    def _batch(self, draw: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Inputs (S, B, ...), classes (S, B) and dropout masks of a draw (S, width)."""
        seeds: list[int] = []
        if self._drops:
            draw, seeds = draw[:, :-1], draw[:, -1].tolist()
        width = self._augment_width
        size = draw.shape[1] // (1 + width) if self.per_image else draw.shape[1] - width
        index = draw[:, :size]
        inputs = self.inputs.index_select(0, index.reshape(-1)).reshape(*index.shape, *self.inputs.shape[1:])
        if width:
            changes = draw[:, size:].reshape(len(draw), -1, width)
            inputs = augment.apply(self.augmentation, inputs, changes, **self._normalised)
        return inputs, self.targets[index], self._masks(seeds, size) if seeds else ()

    def _masks(self, seeds: list[int], size: int) -> tuple[Tensor, ...]:
        generators = [torch.Generator(self.device).manual_seed(seed) for seed in seeds]
        device, dtype = self.device, self.start.dtype
        uniforms = [
            torch.stack([torch.rand(shape, generator=g, device=device, dtype=dtype) for g in generators])
            for shape in self._mask_shapes(size)
        ]
        return masks_from(self.module, uniforms)

    def _scales(self, clients: Tensor) -> Tensor | None:
        """What the losses of clients (..., S) are multiplied by, as one row; None for nothing."""
        if self.sampler.scales is None:
            return None
        scales = torch.from_numpy(self.sampler.scales).to(self.device, self.start.dtype)
        return scales[clients.reshape(-1).to(self.device)]

    def _whole(self, gradients: Tensor, models: Tensor, clients: Tensor) -> Tensor:
        """Gradients of the F_n at models (S, d), from those of the mean cross-entropy of each of the clients."""
        scales = self._scales(clients)
        if scales is not None:
            gradients = scales[:, None] * gradients
        if not self.weight_decay:
            return gradients
        decay = self.weight_decay * models
        decay[:, self.layout.trained :] = 0  # buffers
        return gradients + decay


def _elsewhere(module: nn.Module, device: torch.device) -> bool:
    return any(part.device != device for _, part in (*module.named_parameters(), *module.named_buffers()))


def a_device(name: str) -> torch.device:
    """The device of this name; InputError unless it is there."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InputError("device", name, f"one that is there ({str(error).splitlines()[0]})") from None
    if device.type == "meta":
        raise InputError("device", name, "one that computes, such as cpu or cuda: this one knows shapes and no numbers")
    return device
