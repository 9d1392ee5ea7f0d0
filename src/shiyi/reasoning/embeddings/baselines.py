"""TransE, RotatE and ComplEx, trained by PyKEEN.

TransE: Bordes et al. 2013, NIPS 26. RotatE and the loss of both, self-adversarial negative
sampling: Sun et al. 2019, arXiv:1902.10197, equations 3 to 6. ComplEx: Trouillon et al. 2016,
arXiv:1606.06357, with a softmax over all entities, inverse relations and the N3 regulariser of
Lacroix et al. 2018, arXiv:1806.07297. What was trained is read without PyKEEN or torch.
"""

import gc
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.errors import FormatError, IndexMismatchError, MissingExtraError, RangeError, UsageError
from shiyi.reasoning.embeddings.ranking import filtered_ranks
from shiyi.reasoning.embeddings.triples import Floats, Longs, Names, Row, TripleArray

KINDS: Final = ("transe", "rotate")
_MARGIN: Final = 6.0  # gamma; Sun et al. search 3 to 30
_FEWEST_ROWS: Final = 20
_VALIDATION: Final = 2_000  # triples to stop by, or a twentieth where that is fewer
_SCORES: Final = 4_000_000  # scores of one step at most: some 100 MB with their gradients

Complexes = NDArray[np.complex64]


@dataclass(frozen=True, slots=True)
class TranslationSettings:
    """How TransE and RotatE are trained; Shiyi's, for graphs of some ten thousand triples."""

    dim: int = 48
    epochs: int = 15
    batch: int = 1024
    negatives: int = 8
    learning_rate: float = 0.03
    temperature: float = 1.0  # alpha of Sun et al., equation 4
    threads: int = 1


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """How ComplEx is trained; chosen on triples left out of PPI5k's training part alone."""

    dim: int = 256  # numbers an entity: 128 complex ones
    epochs: int = 15  # at most; the steps shrink to nothing over them
    batch: int = 256  # pairs of head and relation in a step
    learning_rate: float = 0.01
    regularisation: float = 0.03  # N3
    patience: int = 4  # epochs without a better MRR before training stops
    threads: int = 1

    def __post_init__(self) -> None:
        if self.dim < 2 or self.dim % 2 or min(self.epochs, self.batch, self.threads) < 1:
            raise RangeError("dim is an even number from 2; epochs, batch and threads are from 1")


@dataclass(frozen=True, slots=True, eq=False)
class Translation:
    """Vectors of entities and relations; the nearer h + r (or h times r) to t, the likelier.

    RotatE's vectors are complex, their real and imaginary parts in turns.
    """

    kind: str
    names: Names
    entities: Floats
    relations: Floats
    release: str = ""
    _numbers: tuple[dict[str, int], dict[str, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FormatError("embedding", self.kind, KINDS)
        _check_finite(self.entities, self.relations)
        entity, relation = self.names.places()
        object.__setattr__(self, "_numbers", (dict(entity), dict(relation)))

    def distances(self, triples: Longs) -> Floats:
        """Return the distance of each numbered triple (head, relation, tail); 0 is surest."""
        head, tail = self.entities[triples[:, 0]], self.entities[triples[:, 2]]
        relation = self.relations[triples[:, 1]]
        if self.kind == "transe":
            return np.asarray(np.abs(head + relation - tail).sum(axis=-1), np.float32)
        gap = head.view(np.complex64) * relation.view(np.complex64) - tail.view(np.complex64)
        return np.asarray(np.linalg.norm(gap, axis=-1), np.float32)

    def distance(self, head: str, relation: str, tail: str) -> float:
        """Return the distance of a triple of names; infinite where one was never trained on."""
        entity, known = self._numbers
        try:
            row = [[entity[head], known[relation], entity[tail]]]
        except KeyError:
            return float("inf")
        return float(self.distances(np.array(row, dtype=np.int64))[0])

    def save(self, folder: Path) -> None:
        """Write vectors (safetensors) and names, stamped with the release."""
        from safetensors.numpy import save_file

        folder.mkdir(parents=True, exist_ok=True)
        arrays = {"entities": self.entities, "relations": self.relations}
        save_file(arrays, folder / f"{self.kind}.safetensors")
        names = {"entities": self.names.entities, "relations": self.names.relations}
        about = {"release": self.release, "trainer": "pykeen"} | names
        text = json.dumps(about, ensure_ascii=False)
        (folder / f"{self.kind}.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, kind: str, release: str) -> Self:
        """Read what :meth:`save` wrote.

        Raise ``IndexMismatchError`` where there is none of the release, or of an older version.
        """
        from safetensors.numpy import load_file

        try:
            about = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
            arrays = load_file(folder / f"{kind}.safetensors")
        except FileNotFoundError as fault:
            raise IndexMismatchError(f"{folder} has no {kind}; run shiyi train {kind}") from fault
        if about["release"] != release or "trainer" not in about:
            raise IndexMismatchError(
                f"the {kind} in {folder} was trained on {about['release']} and this is {release}, "
                f"or an older version trained it; run shiyi train {kind}"
            )
        names = Names(tuple(about["entities"]), tuple(about["relations"]))
        return cls(kind, names, arrays["entities"], arrays["relations"], release)


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """ComplEx: complex vectors of entities and relations; the higher the score, the likelier.

    >>> one = np.array([[1], [1j]], dtype=np.complex64)
    >>> Links(Names(("a", "b"), ("r",)), one, one[1:]).tails(0, 0).tolist()  # 1 times i is i
    [0.0, 1.0]
    """

    names: Names
    entities: Complexes
    relations: Complexes

    def __post_init__(self) -> None:
        _check_finite(self.entities, self.relations)

    def tails(self, head: int, relation: int) -> Floats:
        """Return the score of every entity as the tail; only scores of one pair compare."""
        turned = self.entities[head] * self.relations[relation]
        return np.asarray((self.entities.conj() @ turned).real, dtype=np.float32)


def train_translation(
    rows: Sequence[Row],
    kind: str,
    settings: TranslationSettings = TranslationSettings(),
    seed: int = 0,
    release: str = "",
) -> Translation:
    """Train on rows of head, relation, tail, confidence; the confidence is not looked at.

    Equal input and seed give an equal model. Raise ``UsageError`` for an empty graph and
    ``MissingExtraError`` without PyKEEN.
    """
    if kind not in KINDS:
        raise FormatError("embedding", kind, KINDS)
    torch = _import_torch(f"training {kind}", settings.threads, seed)
    from pykeen.losses import NSSALoss
    from pykeen.models import RotatE, TransE
    from pykeen.training import SLCWATrainingLoop
    from pykeen.triples import CoreTriplesFactory

    names = Names.of(rows)
    factory = CoreTriplesFactory(
        torch.from_numpy(TripleArray.of(rows, names).triples),
        len(names.entities),
        len(names.relations),
    )
    loss = NSSALoss(_MARGIN, settings.temperature)
    model: Any = (
        TransE(
            embedding_dim=settings.dim,
            scoring_fct_norm=1,
            triples_factory=factory,
            loss=loss,
            random_seed=seed,
        )
        if kind == "transe"
        else RotatE(
            embedding_dim=settings.dim // 2, triples_factory=factory, loss=loss, random_seed=seed
        )
    )
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer=torch.optim.Adam(model.parameters(), lr=settings.learning_rate),
        negative_sampler_kwargs={"num_negs_per_pos": settings.negatives},
        automatic_memory_optimization=False,
    )
    with _freeze_collection():
        loop.train(
            triples_factory=factory,
            num_epochs=settings.epochs,
            batch_size=settings.batch,
            use_tqdm=False,
            pin_memory=False,
        )
    entities, relations = (vector.view(np.float32) for vector in _vectors(model))
    return Translation(kind, names, entities, relations, release)


def train_links(
    rows: Sequence[Row],
    settings: LinkSettings = LinkSettings(),
    seed: int = 0,
    limit_seconds: float | None = None,
) -> Links:
    """Train ComplEx on rows of head, relation, tail, confidence, which all count alike.

    The vectors are those of the epoch that ranks the tails of some rows left out best. Training
    stops when that no longer improves, or after ``limit_seconds``. Equal input and seed give equal
    ranks where no limit cuts in. Raise ``UsageError`` for fewer than 20 rows and
    ``MissingExtraError`` without PyKEEN.
    """
    if len(rows) < _FEWEST_ROWS:
        raise UsageError(
            f"{len(rows)} triples are too few to learn from; {_FEWEST_ROWS} are wanted"
        )
    torch = _import_torch("training links", settings.threads, seed)
    from pykeen.losses import CrossEntropyLoss
    from pykeen.models import ComplEx
    from pykeen.regularizers import PowerSumRegularizer
    from pykeen.training import LCWATrainingLoop, TrainingCallback
    from pykeen.triples import CoreTriplesFactory

    ends = time.monotonic() + (limit_seconds or float("inf"))
    names = Names.of(rows)
    triples = TripleArray.of(rows, names).triples
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = max(1, min(_VALIDATION, len(rows) // 20))
    validation = TripleArray(triples[order[:cut]], np.ones(cut, np.float32))
    factory = CoreTriplesFactory(
        torch.from_numpy(triples[order[cut:]]),
        len(names.entities),
        len(names.relations),
        create_inverse_triples=True,
    )
    small = partial(torch.nn.init.normal_, std=0.1)
    model: Any = ComplEx(
        embedding_dim=settings.dim // 2,
        triples_factory=factory,
        loss=CrossEntropyLoss(),
        regularizer=PowerSumRegularizer,
        regularizer_kwargs={"p": 3.0, "weight": settings.regularisation},
        entity_initializer=small,
        relation_initializer=small,
        random_seed=seed,
    )
    loop: Any = LCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer=torch.optim.Adam(model.parameters(), lr=settings.learning_rate),
        automatic_memory_optimization=False,
    )
    best: list[tuple[float, int, Links]] = []  # the MRR of the best epoch, its number, its vectors

    class Stopping(TrainingCallback):
        @override
        def post_batch(self, epoch: int, batch: object, **kwargs: object) -> None:
            if time.monotonic() > ends:
                raise TimeoutError

        @override
        def post_epoch(self, epoch: int, epoch_loss: float, **kwargs: object) -> None:
            left = 1.0 - epoch / settings.epochs
            self.optimizer.param_groups[0]["lr"] = settings.learning_rate * left
            now = _links(model, names)
            measured = float(np.mean(1.0 / np.array(filtered_ranks(now, validation, triples))))
            if not best or measured > best[0][0]:
                best[:] = [(measured, epoch, now)]
            elif epoch - best[0][1] > settings.patience:
                raise TimeoutError

    with suppress(TimeoutError), _freeze_collection():
        loop.train(
            triples_factory=factory,
            num_epochs=settings.epochs,
            batch_size=max(1, min(settings.batch, _SCORES // len(names.entities))),
            callbacks=Stopping,
            use_tqdm=False,
            pin_memory=False,
        )
    return best[0][2] if best else _links(model, names)


def _import_torch(purpose: str, threads: int, seed: int) -> Any:
    try:
        import pykeen  # noqa: F401
        import torch
    except ImportError as fault:
        raise MissingExtraError(purpose, "neural") from fault
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    return torch


@contextmanager
def _freeze_collection() -> Iterator[None]:
    """Freeze garbage collection: PyKEEN collects after each epoch."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _vectors(model: Any) -> list[Any]:
    """Return the vectors of entities and relations, as they are scored with."""
    model.eval()
    return [
        item[0](indices=None).detach().cpu().numpy().copy()
        for item in (model.entity_representations, model.relation_representations)
    ]


def _links(model: Any, names: Names) -> Links:
    entities, relations = _vectors(model)
    return Links(names, entities, relations[::2])  # every other one is an inverse relation


def _check_finite(*vectors: NDArray[Any]) -> None:
    if not all(np.isfinite(vector).all() for vector in vectors):
        raise RangeError("the embedding has NaN or infinity; train it again")
