"""Training of the reader: a linear margin for each class, on the utterances of the lexicon."""

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.understanding.frame import ALARMS, ASKS
from shiyi.answering.understanding.reader.alarms import alarm_of, find_slots
from shiyi.answering.understanding.reader.model import (
    BUCKETS,
    FORMAT,
    HEADS,
    SHIPPED,
    SentenceEncoder,
    Span,
    features,
)
from shiyi.artefacts import artefact
from shiyi.columnar.mapped_file import words, write
from shiyi.errors import MissingExtraError, TableError
from shiyi.linking.embedding.embedder import Embedder
from shiyi.linking.normalization import QuestionText
from shiyi.ontology.lexicon import rows
from shiyi.settings import Settings

_COLUMNS: Final = 10
_FOLDS: Final = 5
_PENALTY: Final = 1.0  # inverse; larger fits closer
_NEVER: Final = -20.0
_TEMPERATURES: Final = np.geomspace(0.05, 3.0, 120)
_LEVELS: Final = 127  # of a weight in eight bits
_UNNAMED: Final = 4  # one utterance of so many is trained on as if its names were not known


@dataclass(frozen=True, slots=True)
class Utterance:
    """A question of the lexicon with its annotation; ``family`` are those of like wording."""

    id: str
    family: str
    text: QuestionText
    labels: Mapping[str, str]  # of each head
    spans: tuple[Span, ...]  # what is named in it, as the linker found it; none in some

    @property
    def fold(self) -> int:
        """Return the part of the data in which all of a family lie."""
        return hashlib.sha256(self.family.encode()).digest()[0] % _FOLDS


@cache
def utterances() -> tuple[Utterance, ...]:
    """Read ``ontology/lexicon/utterances``; raise ``TableError`` for a row that is not right."""
    found = []
    for path in sorted(artefact("ontology/lexicon/utterances").glob("*.tsv")):
        for cells in rows(f"utterances/{path.stem}"):
            if len(cells) != _COLUMNS:
                raise TableError([f"{path.name}: {cells[0]} has not {_COLUMNS} columns"])
            labels = {"ask": cells[4], "polarity": cells[5], "who": cells[6]}
            labels["alarm"] = cells[4] if cells[4] in ALARMS else "none"
            for name, label in labels.items():
                if label not in HEADS[name]:
                    raise TableError([f"{path.name}, {cells[0]}: {label!r} is no {name}"])
            text = QuestionText.of(cells[3])
            spans = tuple(_span(part, path, cells[0]) for part in cells[9].split(";") if part)
            if zlib.crc32(cells[0].encode()) % _UNNAMED == 0:
                spans = ()
            found.append(Utterance(cells[0], f"{cells[4]}/{cells[2]}", text, labels, spans))
    return tuple(found)


def _span(cell: str, path: Path, row: str) -> Span:
    place, _, name = cell.partition(" ")
    start, dash, end = place.partition("-")
    if not (dash and start.isdigit() and end.isdigit() and name):
        raise TableError([f"{path.name}, {row}: {cell!r} is no name such as '0-2 Food'"])
    return int(start), int(end), name


@dataclass(frozen=True, slots=True)
class Measures:
    """How well families are read that were not trained on."""

    accuracy: Mapping[str, float]  # of each head
    alarm_recall: float
    false_alarm: float
    error: float  # expected, of the calibrated probability of the ask
    count: int


def train_reader(output: Path | None = None) -> tuple[Path, Measures]:
    """Train all heads, calibrated on families left out, and write them."""
    embedder = SentenceEncoder()
    all_utterances = utterances()
    features = _features(all_utterances, embedder)
    arrays: dict[str, Any] = {}
    texts: dict[str, str] = {}
    accuracy: dict[str, float] = {}
    asks = danger = np.zeros((0, 0))
    for name, classes in HEADS.items():
        gold = np.array([classes.index(utterance.labels[name]) for utterance in all_utterances])
        weight = "balanced" if name == "alarm" else None
        folds = [u.fold for u in all_utterances]
        scores = _scores_left_out(features, gold, folds, len(classes), weight)
        temperature = _temperature(scores, gold)
        weights, bias = _fit(features, gold, len(classes), weight)
        scale = np.maximum(np.abs(weights).max(axis=0), 1e-9) / _LEVELS
        arrays |= {
            f"{name}.weights": np.round(weights / scale).astype(np.int8),
            f"{name}.scale": scale.astype(np.float32),
            f"{name}.bias": bias.astype(np.float32),
            f"{name}.temperature": np.array([temperature], np.float32),
        }
        texts[name] = words(classes)
        accuracy[name] = float((scores.argmax(axis=1) == gold).mean())
        if name == "ask":
            asks = _softmax(scores / temperature)
        if name == "alarm":
            danger = 1 - _softmax(scores / temperature)[:, -1]
    path = write(output or SHIPPED, arrays, format=FORMAT, embedding=embedder.identity, **texts)
    return path, _measures(all_utterances, asks, danger, accuracy)


def _features(every: Sequence[Utterance], embedder: Embedder) -> Any:
    try:
        from scipy.sparse import csr_matrix, hstack
    except ImportError as fault:
        raise MissingExtraError("training the reader", "neural") from fault
    places, values, starts = list[Any](), list[Any](), [0]
    for each in every:
        found, weights = features(each.text, each.spans, find_slots(each.text.folded))
        places.append(found)
        values.append(weights)
        starts.append(starts[-1] + len(found))
    shape = (len(every), BUCKETS)
    grams = csr_matrix((np.concatenate(values), np.concatenate(places), starts), shape=shape)
    vectors = embedder.encode([each.text.raw for each in every])
    return hstack([grams, csr_matrix(vectors)]).tocsr()


def _fit(
    features: Any, gold: NDArray[Any], count: int, weight: str | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Fit one linear margin for each class; classes that are not there are never read."""
    from sklearn.svm import LinearSVC

    model = LinearSVC(C=_PENALTY, class_weight=weight, random_state=0).fit(features, gold)
    weights = np.zeros((features.shape[1], count))
    bias = np.full(count, _NEVER)
    weights[:, model.classes_] = model.coef_.T
    bias[model.classes_] = model.intercept_
    return weights, bias


def _scores_left_out(
    features: Any, gold: NDArray[Any], folds: Sequence[int], count: int, weight: str | None
) -> NDArray[Any]:
    """Score each utterance by heads that were trained on other families."""
    part = np.array(folds)
    scores = np.zeros((len(gold), count))
    for place in range(_FOLDS):
        weights, bias = _fit(features[part != place], gold[part != place], count, weight)
        scores[part == place] = features[part == place] @ weights + bias
    return scores


def _temperature(scores: NDArray[Any], gold: NDArray[Any]) -> float:
    """Return the temperature of the least surprise."""
    at = np.arange(len(gold))
    losses = [-np.log(_softmax(scores / t)[at, gold] + 1e-12).mean() for t in _TEMPERATURES]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def _softmax(scores: NDArray[Any]) -> NDArray[Any]:
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))


def _measures(
    every: Sequence[Utterance],
    asks: NDArray[Any],
    danger: NDArray[Any],
    accuracy: Mapping[str, float],
) -> Measures:
    gold = np.array([ASKS.index(utterance.labels["ask"]) for utterance in every])
    alarms = [ASKS.index(alarm) for alarm in ALARMS]
    alarming = np.isin(gold, alarms)
    stated = np.array([bool(alarm_of(find_slots(utterance.text.folded))) for utterance in every])
    raised = stated | (danger >= Settings().understanding.alarm_from)
    sure, right = asks.max(axis=1), asks.argmax(axis=1) == gold
    return Measures(
        accuracy,
        float(raised[alarming].mean()),
        float(raised[~alarming].mean()),
        sum(_gaps(sure, right)),
        len(every),
    )


def _gaps(sure: NDArray[Any], right: NDArray[Any]) -> Iterator[float]:
    """Yield the weighted gap between confidence and accuracy in each tenth of confidence."""
    tenth = np.minimum((sure * 10).astype(int), 9)
    for item in np.unique(tenth):
        there = tenth == item
        yield float(abs(sure[there].mean() - right[there].mean()) * there.mean())
