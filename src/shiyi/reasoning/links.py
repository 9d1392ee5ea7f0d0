"""Which tails a head and relation have: ComplEx, trained to rank and not to tell confidences.

ComplEx: Trouillon et al. 2016, arXiv:1606.06357. Softmax over all entities, relations turned round and the
N3 regulariser: Lacroix et al. 2018, arXiv:1806.07297. A model of confidence that sees one unstated triple
for each stated one learns little of what is not stated; this one sees all of them in every step.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from shiyi.errors import MissingExtraError, RangeError, UsageError
from shiyi.reasoning.link_prediction import filtered_places
from shiyi.reasoning.triples import Floats, Longs, Names, Numbered, Row

if TYPE_CHECKING:
    import torch

_LEAST: Final = 20  # triples
_WATCHED: Final = 2_000  # triples held out to stop by, or a twentieth where that is fewer
_CELLS: Final = 4_000_000  # scores of one step at most: some 100 MB with their gradients


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """How ranks are trained; chosen on triples held out of PPI5k's training part alone."""

    dim: int = 256  # numbers an entity: 128 complex ones
    epochs: int = 15  # at most; the steps shrink to nothing over them
    batch: int = 256  # pairs of head and relation in a step
    learning_rate: float = 0.01
    regularisation: float = 0.1  # N3
    patience: int = 4  # epochs without a better MRR before training stops
    threads: int = 1

    def __post_init__(self) -> None:
        if self.dim < 2 or self.dim % 2 or min(self.epochs, self.batch, self.threads) < 1:
            raise RangeError("dim is an even number from 2; epochs, batch and threads are from 1")


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Complex vectors of entities and relations, real half first; the higher, the likelier.

    >>> one = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    >>> Links(Names(("a", "b"), ("r",)), one, one[1:]).tails(0, 0).tolist()  # 1 times i is i
    [0.0, 1.0]
    """

    names: Names
    entities: Floats
    relations: Floats

    def __post_init__(self) -> None:
        if not (np.isfinite(self.entities).all() and np.isfinite(self.relations).all()):
            raise RangeError("the ranks hold NaN or infinity; train them anew")

    def tails(self, head: int, relation: int) -> Floats:
        """Score every entity as the tail, by its number; scores of one pair compare, no others."""
        return np.asarray(
            self.entities @ _turned(self.entities[head], self.relations[relation], np),
            dtype=np.float32,
        )


def train_links(
    rows: Sequence[Row],
    settings: LinkSettings = LinkSettings(),
    seed: int = 0,
    limit_seconds: float | None = None,
) -> Links:
    """Train on rows of head, relation, tail, confidence; all count alike, whatever their confidence.

    Some rows are held out, and the epoch that ranks their tails best is kept. Stops early when that no
    longer improves, or after ``limit_seconds``. Equal input and seed give equal ranks where no limit cuts in.
    Raises ``UsageError`` for fewer than 20 rows, ``MissingExtraError`` without torch.
    """
    if len(rows) < _LEAST:
        raise UsageError(f"{len(rows)} triples are too few to learn from; {_LEAST} are wanted")
    run = _Run.begin(rows, settings, seed)
    ends = time.monotonic() + (limit_seconds or float("inf"))
    return run.to_end(ends)


@dataclass(slots=True)
class _Run:
    names: Names
    asked: "_Pairs"
    watched: Numbered
    known: Longs
    settings: LinkSettings
    random: np.random.Generator
    entities: "torch.nn.Embedding"
    relations: "torch.nn.Embedding"  # then the same turned round
    device: str
    best: tuple[float, Links | None] = field(default=(-1.0, None))

    @classmethod
    def begin(cls, rows: Sequence[Row], settings: LinkSettings, seed: int) -> Self:
        try:
            import torch
        except ImportError as fault:
            raise MissingExtraError("training links", "neural") from fault
        torch.set_num_threads(settings.threads)
        torch.manual_seed(seed)
        random = np.random.default_rng(seed)
        names = Names.of(rows)
        every = Numbered.of(rows, names)
        order = random.permutation(len(rows))
        held = order[: max(1, min(_WATCHED, len(rows) // 20))]
        kept = every.triples[np.setdiff1d(order, held)]
        device = "cuda" if torch.cuda.is_available() else "cpu"
        entities = torch.nn.Embedding(len(names.entities), settings.dim, device=device)
        relations = torch.nn.Embedding(2 * len(names.relations), settings.dim, device=device)
        for each in (entities, relations):
            torch.nn.init.normal_(each.weight, std=0.1)
        return cls(
            names, _Pairs.of(kept, names), Numbered(every.triples[held], every.confidence[held]),
            every.triples, settings, random, entities, relations, device,
        )  # fmt: skip

    def to_end(self, ends: float) -> Links:
        import torch

        rate = self.settings.learning_rate
        optimiser = torch.optim.Adam([self.entities.weight, self.relations.weight], lr=rate)
        waited = 0
        for epoch in range(self.settings.epochs):
            optimiser.param_groups[0]["lr"] = rate * (1.0 - epoch / self.settings.epochs)
            self._epoch(optimiser, ends)
            now = self._model()
            places = np.array(filtered_places(now, self.watched, self.known))
            found = float((1.0 / places).mean())
            waited = 0 if found > self.best[0] else waited + 1
            self.best = max(self.best, (found, now), key=lambda each: each[0])
            if waited > self.settings.patience or time.monotonic() > ends:
                break
        return self.best[1] or self._model()

    def _epoch(self, optimiser: "torch.optim.Optimizer", ends: float) -> None:
        order = self.random.permutation(len(self.asked.keys))
        size = max(1, min(self.settings.batch, _CELLS // len(self.names.entities)))
        for start in range(0, len(order), size):
            if time.monotonic() > ends:
                return
            loss = self._loss(order[start : start + size])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def _loss(self, pairs: Longs) -> Any:
        import torch

        heads, relations, row, tails = (
            torch.from_numpy(each).to(self.device) for each in self.asked.at(pairs)
        )
        head, relation = self.entities(heads), self.relations(relations)
        scores = _turned(head, relation, torch) @ self.entities.weight.T
        missed = (torch.logsumexp(scores, dim=1)[row] - scores[row, tails]).sum()
        size = _cubed(head) + _cubed(relation)
        return (missed + self.settings.regularisation * size) / len(pairs)

    def _model(self) -> Links:
        entities, relations = (
            np.asarray(each.weight.detach().cpu().numpy().copy(), dtype=np.float32)
            for each in (self.entities, self.relations)
        )
        return Links(self.names, entities, relations[: len(self.names.relations)])


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Each head and relation, relations turned round among them, with all its tails."""

    keys: Longs  # head * width + relation
    starts: Longs
    tails: Longs
    width: int

    @classmethod
    def of(cls, triples: Longs, names: Names) -> Self:
        count = len(names.relations)
        back = np.column_stack([triples[:, 2], triples[:, 1] + count, triples[:, 0]])
        both = np.concatenate([triples, back])
        keys = both[:, 0] * 2 * count + both[:, 1]
        order = np.argsort(keys, kind="stable")
        found, first = np.unique(keys[order], return_index=True)
        starts = np.r_[first, len(keys)].astype(np.int64)
        return cls(found, starts, both[order, 2], 2 * count)

    def at(self, pairs: Longs) -> tuple[Longs, Longs, Longs, Longs]:
        """Give heads and relations of some pairs; then, for each tail, its pair's row and itself."""
        counts = self.starts[pairs + 1] - self.starts[pairs]
        row = np.repeat(np.arange(len(pairs)), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        tails = self.tails[np.repeat(self.starts[pairs], counts) + within]
        return self.keys[pairs] // self.width, self.keys[pairs] % self.width, row, tails


def _turned(head: Any, relation: Any, of: Any) -> Any:
    """Multiply complex vectors; ``of`` is the library they are of."""
    half = head.shape[-1] // 2
    a, b, c, d = head[..., :half], head[..., half:], relation[..., :half], relation[..., half:]
    return of.concatenate([a * c - b * d, a * d + b * c], -1)


def _cubed(vectors: Any) -> Any:
    half = vectors.shape[-1] // 2
    return ((vectors[:, :half] ** 2 + vectors[:, half:] ** 2 + 1e-12) ** 1.5).sum()
