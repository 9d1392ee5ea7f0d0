"""Training UKGE and PASSLEAF."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiyi.errors import FormatError, MissingExtraError, RangeError, UsageError
from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.embeddings.model import KINDS, Model
from shiyi.reasoning.embeddings.ranking import Errors, confidence_errors
from shiyi.reasoning.embeddings.triples import Floats, Longs, Names, Row, TripleArray
from shiyi.settings import ReasoningSettings

if TYPE_CHECKING:
    import torch

_MARGIN = 6.0  # RotatE's gamma, as in reasoning/embeddings/model.py
_LEAST = 20  # triples
_ABSOLUTE = (
    0.1  # of MAE beside MSE in what validation compares: MSE alone stops too early (Shiyi's)
)
_SPARSE_FROM = 16  # entities for each triple of a batch (measured: 2.7 times faster dense at 5)

BENCHMARK = (
    ReasoningSettings(  # what the figures on PPI5k in docs/explanation/reasoning.md were made with
        embedding_dim=256, epochs=40, negatives=1, negative_weight=0.3, regularisation=0.0
    )
)


def train(
    train_rows: Sequence[Row],
    valid_rows: Sequence[Row],
    settings: ReasoningSettings = ReasoningSettings(),  # noqa: B008 - frozen
    seed: int = 0,
    limit_seconds: float | None = None,
    release: str = "",
) -> Model:
    """Train on rows of head, relation, tail, confidence; the epoch best on validation is stored.

    Stops early when validation (MSE + MAE / 10) no longer improves, or after ``limit_seconds``;
    where the limit comes before the last epoch the steps shrink to nothing towards it instead.
    Equal input and seed
    give an equal model where no limit cuts in. Raise ``UsageError`` for an empty graph,
    ``RangeError`` for a confidence outside [0, 1] or NaN, ``MissingExtraError`` without torch.
    """
    if settings.embedding not in KINDS:
        raise FormatError("embedding", settings.embedding, KINDS)
    names = Names.of(train_rows)
    array = TripleArray.of(train_rows, names)
    valid = TripleArray.of(valid_rows, names) if valid_rows else array
    run = _Run.begin(names, array, valid, settings, seed)
    return run.to_end(_Clock.of(limit_seconds), release)


@dataclass(frozen=True, slots=True)
class _Clock:
    """How much of the time given has gone."""

    started: float
    limit: float

    @classmethod
    def of(cls, limit_seconds: float | None) -> "_Clock":
        return cls(time.monotonic(), limit_seconds or float("inf"))

    @property
    def elapsed_share(self) -> float:
        return (time.monotonic() - self.started) / self.limit


@dataclass(slots=True)
class _Run:
    names: Names
    observed: TripleArray
    valid: TripleArray
    settings: ReasoningSettings
    random: np.random.Generator
    entities: "torch.nn.Embedding"
    relations: "torch.nn.Embedding"
    line: "torch.nn.Parameter"
    keys: Longs  # observed triples as numbers, sorted
    device: str

    @classmethod
    def begin(
        cls,
        names: Names,
        observed: TripleArray,
        valid: TripleArray,
        settings: ReasoningSettings,
        seed: int,
    ) -> "_Run":
        torch = _torch()
        torch.set_num_threads(settings.threads)
        torch.manual_seed(seed)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        size = settings.embedding_dim
        if size < 2 or size % 2:
            raise RangeError(f"reasoning.embedding_dim is an even number from 2, not {size}")
        # on few entities a step touches most rows, and collecting sparse gradients costs more
        sparse = len(names.entities) > _SPARSE_FROM * settings.batch
        entities = torch.nn.Embedding(len(names.entities), size, sparse=sparse, device=device)
        relations = torch.nn.Embedding(len(names.relations), size, device=device)
        for item in (entities, relations):
            torch.nn.init.normal_(item.weight, std=size**-0.5 if item is entities else 1.0)
        if settings.embedding == "passleaf_rotate":
            torch.nn.init.uniform_(relations.weight, -0.1, 0.1)
        line = torch.nn.Parameter(torch.tensor([1.0, 0.0], device=device))
        keys = np.unique(_keys(observed.triples, names))
        return cls(
            names,
            observed,
            valid,
            settings,
            np.random.default_rng(seed),
            entities,
            relations,
            line,
            keys,
            device,
        )

    def to_end(self, clock: _Clock, release: str) -> Model:
        torch = _torch()
        rate, few = self.settings.learning_rate, [self.relations.weight, self.line]
        kind = torch.optim.SparseAdam if self.entities.sparse else torch.optim.Adam
        optimisers = [kind([self.entities.weight], lr=rate), torch.optim.Adam(few, lr=rate)]
        best, lowest, waited = self.model(release), float("inf"), 0
        for epoch in range(self.settings.epochs):
            share = max(epoch / self.settings.epochs, min(clock.elapsed_share, 1.0))
            self._slow_down(optimisers, share)
            self._epoch(optimisers, epoch, clock)
            now = self.model(release)
            errors = confidence_errors(now, self.valid)
            error = errors.mse + _ABSOLUTE * errors.mae
            if error < lowest:
                best, lowest, waited = now, error, 0
            else:
                waited += 1
            if waited > self.settings.patience or clock.elapsed_share > 1:
                break
        return best

    def _slow_down(self, optimisers: Sequence[Any], share: float) -> None:
        """Decrease the learning rate linearly to 0; without it MAE stays high."""
        for group in (g for item in optimisers for g in item.param_groups):
            group["lr"] = self.settings.learning_rate * (1.0 - share)

    def model(self, release: str) -> Model:
        """Return the vectors of this moment; ``RangeError`` where they left the numbers."""
        weight, bias = self.line.detach().cpu().tolist()
        entities, relations = (
            np.asarray(item.weight.detach().cpu().numpy().copy(), dtype=np.float32)
            for item in (self.entities, self.relations)
        )
        kind = self.settings.embedding
        return Model(kind, self.names, entities, relations, weight, bias, release)

    def _epoch(self, optimisers: Sequence[Any], epoch: int, clock: _Clock) -> None:
        order = self.random.permutation(len(self.observed.triples))
        size = self.settings.batch
        now = self.model("") if epoch >= self.settings.soft_after else None
        for start in range(0, len(order), size):
            if clock.elapsed_share > 1:
                return
            chosen = order[start : start + size]
            triples = self.observed.triples[chosen]
            false, soft = self._corrupt(triples, now)
            loss: Any = self._loss(triples, self.observed.confidence[chosen], 1.0)
            if len(false):
                loss = loss + self._loss(false, soft, self.settings.negative_weight)
            for item in optimisers:
                item.zero_grad()
            loss.backward()
            for item in optimisers:
                item.step()

    def _loss(self, triples: Longs, target: Floats, weight: float) -> Any:
        torch = _torch()
        rows = torch.from_numpy(triples).to(self.device)
        wanted = torch.from_numpy(target).to(self.device)
        head, tail = self.entities(rows[:, 0]), self.entities(rows[:, 2])
        relation = self.relations(rows[:, 1])
        kind = self.settings.embedding
        value = self.line[0] * _plausible(kind, head, relation, tail) + self.line[1]
        if kind == "ukge_rect":  # unclipped, so that there is a gradient outside [0, 1]
            right = ((value > 1) & (wanted >= 1)) | ((value < 0) & (wanted <= 0))
            missed = torch.where(right, 0.0, value - wanted)
        else:
            missed = torch.sigmoid(value) - wanted
        size = (head**2).mean(dim=1) + (tail**2).mean(dim=1)
        loss = (missed**2).sum() + self.settings.regularisation * size.sum()
        return weight * loss / self.settings.batch

    def _corrupt(self, triples: Longs, now: Model | None) -> tuple[Longs, Floats]:
        """Return triples with another head or tail that nobody states, and what to believe of them.

        Belief is 0; once half trained, for half of them what the model itself thought when the
        epoch began (PASSLEAF's semi-supervision), since unstated is not false.
        """
        false = np.repeat(triples, self.settings.negatives, axis=0)
        end = np.where(self.random.random(len(false)) < 0.5, 0, 2)
        drawn = self.random.integers(len(self.names.entities), size=len(false))
        false[np.arange(len(false)), end] = drawn
        keys = _keys(false, self.names)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        false = false[self.keys[place] != keys]
        target = np.zeros(len(false), dtype=np.float32)
        if now is not None and len(false):
            half = len(false) // 2
            target[:half] = now.confidences(false[:half])
        return false, target


def _plausible(kind: str, head: Any, relation: Any, tail: Any) -> Any:
    torch = _torch()
    if kind.startswith("ukge"):
        return (head * relation * tail).sum(dim=-1)
    half = head.shape[-1] // 2
    a, b, c, d = head[:, :half], head[:, half:], tail[:, :half], tail[:, half:]
    r, i = relation[:, :half], relation[:, half:]
    if kind == "passleaf_complex":
        return ((a * r - b * i) * c + (a * i + b * r) * d).sum(dim=-1)
    cos, sin = torch.cos(r), torch.sin(r)
    one, other = a * cos - b * sin - c, a * sin + b * cos - d
    return _MARGIN - torch.sqrt(one**2 + other**2 + 1e-12).sum(dim=-1)


def _keys(triples: Longs, names: Names) -> Longs:
    wide = len(names.entities)
    return np.asarray((triples[:, 1] * wide + triples[:, 0]) * wide + triples[:, 2], dtype=np.int64)


def _torch() -> Any:
    try:
        import torch
    except ImportError as fault:
        raise MissingExtraError("training an embedding", "neural") from fault
    return torch


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """A model, and its errors on claims held out of its training."""

    model: Model
    errors: Errors


def train_graph(
    graph: Projection, settings: ReasoningSettings, seed: int, limit_seconds: float | None = None
) -> TrainedModel:
    """Train on a base's claims, a twentieth held out to stop by; raise ``UsageError`` for few."""
    training, held_out = holdout(list_rows(graph), seed)
    model = train(training, held_out, settings, seed, limit_seconds, graph.release)
    return TrainedModel(model, confidence_errors(model, TripleArray.of(held_out, model.names)))


def list_rows(graph: Projection) -> list[Row]:
    """Write the edges of a base as rows of names."""
    return [
        (graph.nodes[h], graph.predicates[k], graph.nodes[t], confidence)
        for h, k, t, confidence in zip(
            graph.source.tolist(),
            graph.kind.tolist(),
            graph.target.tolist(),
            graph.confidence.tolist(),
            strict=True,
        )
    ]


def holdout(rows: Sequence[Row], seed: int) -> tuple[list[Row], list[Row]]:
    """Keep a twentieth of some rows out; raise ``UsageError`` where there are fewer than 20."""
    if len(rows) < _LEAST:
        raise UsageError(f"{len(rows)} triples are too few to learn from; {_LEAST} are wanted")
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = max(1, len(rows) // 20)
    training = [rows[i] for i in order[cut:]]
    seen = {name for h, r, t, _ in training for name in (h, r, t)}
    validation = [row for row in (rows[i] for i in order[:cut]) if seen >= set(row[:3])]
    return training, validation or training[:1]
