"""TransE and RotatE: embeddings of a graph without confidences, for the baselines of Yaoshi-RAG.

TransE: Bordes et al. 2013, NIPS 26. RotatE and the loss of both, self-adversarial negative
sampling: Sun et al. 2019, arXiv:1902.10197, equations 3 to 6.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from shiyi.errors import FormatError, IndexMismatchError, MissingExtraError, RangeError
from shiyi.reasoning.triples import Floats, Longs, Names, Numbered, Row

KINDS: Final = ("transe", "rotate")
_MARGIN: Final = 6.0  # gamma; Sun et al. search 3 to 30
_EDGE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class TranslationSettings:
    """How the baselines are trained; ours, for graphs of some ten thousand triples."""

    dim: int = 48
    epochs: int = 15
    batch: int = 1024
    negatives: int = 8
    learning_rate: float = 0.03
    temperature: float = 1.0  # alpha of Sun et al., equation 4
    threads: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Translation:
    """Vectors of entities and relations; the nearer h + r (or h turned by r) to t, the likelier."""

    kind: str
    names: Names
    entities: Floats
    relations: Floats
    release: str = ""
    _numbers: tuple[dict[str, int], dict[str, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FormatError("embedding", self.kind, KINDS)
        if not (np.isfinite(self.entities).all() and np.isfinite(self.relations).all()):
            raise RangeError("the embedding holds NaN or infinity; train it anew")
        entity, relation = self.names.places()
        object.__setattr__(self, "_numbers", (dict(entity), dict(relation)))

    def distances(self, triples: Longs) -> Floats:
        """Give the distance of each numbered triple (head, relation, tail); 0 is surest."""
        ends = self.entities[triples[:, 0]], self.entities[triples[:, 2]]
        return _numpy_distance(self.kind, ends[0], self.relations[triples[:, 1]], ends[1])

    def distance(self, head: str, relation: str, tail: str) -> float:
        """Give the distance of a triple of names; infinite where one was never trained on."""
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
        about = {"release": self.release, "entities": self.names.entities,
                 "relations": self.names.relations}  # fmt: skip
        text = json.dumps(about, ensure_ascii=False)
        (folder / f"{self.kind}.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, kind: str, release: str) -> Self:
        """Read what :meth:`save` wrote; ``IndexMismatchError`` where there is none of the release."""
        from safetensors.numpy import load_file

        try:
            about = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
            arrays = load_file(folder / f"{kind}.safetensors")
        except FileNotFoundError as fault:
            raise IndexMismatchError(f"{folder} holds no {kind}; run shiyi train {kind}") from fault
        if about["release"] != release:
            raise IndexMismatchError(
                f"the {kind} in {folder} was trained on {about['release']}, not on {release}; "
                f"run shiyi train {kind}"
            )
        names = Names(tuple(about["entities"]), tuple(about["relations"]))
        return cls(kind, names, arrays["entities"], arrays["relations"], release)


def train_translation(
    rows: Sequence[Row],
    kind: str,
    settings: TranslationSettings = TranslationSettings(),
    seed: int = 0,
    release: str = "",
) -> Translation:
    """Train on rows of head, relation, tail, confidence; the confidence is not looked at.

    Equal input and seed give an equal model. Raises ``UsageError`` for an empty graph and
    ``MissingExtraError`` without torch.
    """
    if kind not in KINDS:
        raise FormatError("embedding", kind, KINDS)
    try:
        import torch
    except ImportError as fault:
        raise MissingExtraError(f"training {kind}", "neural") from fault
    names = Names.of(rows)
    triples = Numbered.of(rows, names).triples
    torch.set_num_threads(settings.threads)
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    turned = settings.dim // 2 if kind == "rotate" else settings.dim
    entities = torch.nn.Embedding(len(names.entities), settings.dim)
    relations = torch.nn.Embedding(len(names.relations), turned)
    reach = (_MARGIN + 2.0) / settings.dim
    torch.nn.init.uniform_(entities.weight, -reach, reach)
    torch.nn.init.uniform_(
        relations.weight, *((-3.14, 3.14) if turned < settings.dim else (-reach, reach))
    )
    optimiser = torch.optim.Adam([entities.weight, relations.weight], lr=settings.learning_rate)
    for _ in range(settings.epochs):
        order = random.permutation(len(triples))
        for start in range(0, len(order), settings.batch):
            true = triples[order[start : start + settings.batch]]
            loss = _loss(kind, entities, relations, true, random, settings)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    vectors = [np.asarray(each.weight.detach().numpy().copy(), np.float32)
               for each in (entities, relations)]  # fmt: skip
    return Translation(kind, names, vectors[0], vectors[1], release)


def _loss(
    kind: str,
    entities: Any,
    relations: Any,
    true: Longs,
    random: np.random.Generator,
    settings: TranslationSettings,
) -> Any:
    import torch

    false = np.repeat(true[:, None, :], settings.negatives, axis=1)
    end = np.where(random.random(false.shape[:2]) < 0.5, 0, 2)
    drawn = random.integers(entities.num_embeddings, size=false.shape[:2])
    np.put_along_axis(false, end[:, :, None], drawn[:, :, None], axis=2)

    def distance(rows: Longs) -> Any:
        said = torch.from_numpy(rows)
        return _torch_distance(
            kind, entities(said[..., 0]), relations(said[..., 1]), entities(said[..., 2])
        )

    near, far = distance(true), distance(false)
    log_sigmoid = torch.nn.functional.logsigmoid
    weight = torch.softmax(-settings.temperature * far.detach(), dim=1)
    positive = log_sigmoid(_MARGIN - near)
    negative = (weight * log_sigmoid(far - _MARGIN)).sum(dim=1)
    return -(positive + negative).mean() / 2


def _torch_distance(kind: str, head: Any, relation: Any, tail: Any) -> Any:
    import torch

    if kind == "transe":
        return (head + relation - tail).abs().sum(dim=-1)
    half = head.shape[-1] // 2
    cos, sin = torch.cos(relation), torch.sin(relation)
    one = head[..., :half] * cos - head[..., half:] * sin - tail[..., :half]
    other = head[..., :half] * sin + head[..., half:] * cos - tail[..., half:]
    return torch.sqrt(one**2 + other**2 + _EDGE).sum(dim=-1)


def _numpy_distance(kind: str, head: Floats, relation: Floats, tail: Floats) -> Floats:
    if kind == "transe":
        return np.asarray(np.abs(head + relation - tail).sum(axis=-1), np.float32)
    half = head.shape[-1] // 2
    turn = np.exp(1j * relation)
    one = (head[:, :half] + 1j * head[:, half:]) * turn
    other = tail[:, :half] + 1j * tail[:, half:]
    return np.asarray(np.abs(one - other).sum(axis=-1), np.float32)
