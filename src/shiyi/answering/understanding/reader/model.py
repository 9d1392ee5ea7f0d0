"""The trained reader of questions: linear heads over n-grams, slots, kinds and vectors.

The vectors come from a sentence encoder: a small transformer over word pieces, in eight bits.
"""

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from typing_extensions import override

from shiyi.answering.understanding.frame import (
    ALARMS,
    ASKS,
    POLARITIES,
    WHO,
    Frame,
    Intent,
    Patient,
)
from shiyi.answering.understanding.reader.alarms import alarm_of, find_slots
from shiyi.columnar.mapped_file import Memmap
from shiyi.errors import IndexMismatchError, MissingExtraError
from shiyi.linking.embedding.embedder import WEIGHTS, Embedder, Vectors
from shiyi.linking.normalization import QuestionText, fold

Floats = NDArray[np.float32]
Features = tuple[NDArray[np.int64], Floats]
Span = tuple[int, int, str]  # where something known is named, and its class

WORDS: Final = Path(__file__).parent / "words"  # by bench/sentence_encoder.py
ENCODER_FORMAT: Final = "encoder-1"
HALF_PIECES: Final = 32  # of the pieces that are read; of a longer text its first and its last ones
ATTENTION_HEADS: Final = 4
SHIPPED: Final = Path(__file__).parent / "reader.safetensors"
FORMAT: Final = "reader-4"
GRAMS: Final = 1 << 14  # buckets of n-grams
KINDS: Final = 1 << 13  # buckets of n-grams in which a name is replaced by its kind
SLOTS: Final = 1 << 12  # buckets of slots and of pairs of them
BUCKETS: Final = GRAMS + KINDS + SLOTS
KIND_WEIGHT: Final = 0.7  # beside the n-grams; 0 reads new families worse by 3 points of F1
SLOT_WEIGHT: Final = 0.7  # 0, 1 and 1.5 read new families worse
HEADS: Final[Mapping[str, tuple[str, ...]]] = {
    "ask": ASKS, "polarity": POLARITIES, "who": WHO, "alarm": (*ALARMS, "none"),
}  # fmt: skip

_TOKEN: Final = re.compile(r"[a-z']+|\d+|[\u3400-\u9fff]+|[?!]")
_LONGEST: Final = 4  # characters of an n-gram
_WORDS: Final = 3  # of an n-gram of English words
_FIRST: Final = 0x3400  # the characters from here on stand for kinds; no question has them
_CLASSES: Final = (  # of the vocabulary, those that are asked about alike
    "Food MFHSubstance Herb Dish DSIngredient DSProduct Formula Organism ChemicalEntity",
    "FoodGroup", "Drug DrugClass TherapeuticClass",
    "Symptom Disease Syndrome TCMDisease EmergencySign", "Population", "Constitution",
    "Nature Flavour Meridian", "Efficacy Therapy", "RegulatoryStatus Rule", "Season", "Method",
)  # fmt: skip
_KINDS: Final = {
    name: chr(_FIRST + place) for place, names in enumerate(_CLASSES) for name in names.split()
}
_MANY: Final = 2  # names of one kind; more are counted alike


def pieces(text: str) -> list[str]:
    """List the n-grams of a folded text: of characters, and of English words; digits count alike.

    >>> pieces("能吃")
    ['^能', '^能吃', '^能吃$', '能', '能吃', '能吃$', '吃', '吃$']
    """
    tokens = _TOKEN.findall(text)
    results: list[str] = []
    words: list[str] = []
    for place, token in enumerate(tokens):
        first, last = place == 0, place == len(tokens) - 1
        if ord(token[0]) >= _FIRST:
            results += _grams(("^" if first else "") + token + ("$" if last else ""), 1, _LONGEST)
            words.append(token if ord(token[0]) < _FIRST + len(_CLASSES) else "_")
        elif token[0].isdigit():
            results.append("0")
            words.append("0")
        else:
            results += [f"<{g}" for g in _grams(f" {token} ", 3, _LONGEST)]
            words.append(token)
    if any(word[0].isalpha() and word.isascii() for word in words):
        line = ["^", *words, "$"]
        results += [
            " ".join(line[start : start + size])
            for size in range(1, _WORDS + 1)
            for start in range(len(line) - size + 1)
        ]
    return results


def _grams(text: str, shortest: int, longest: int) -> list[str]:
    return [
        gram
        for start in range(len(text))
        for end in range(start + shortest, min(start + longest, len(text)) + 1)
        if (gram := text[start:end]) not in "^$"
    ]


def mask_names(text: str, spans: Sequence[Span]) -> tuple[str, list[str]]:
    """Return an aligned text with a character of its kind for each name, and these in order.

    >>> mask_names("goji for cough", [(0, 4, "Food"), (9, 14, "Symptom")])
    ('㐀 for 㐃', ['㐀', '㐃'])
    """
    done, place, kinds = "", 0, list[str]()
    for start, end, name in sorted(spans):
        if start >= place and (kind := _KINDS.get(name)):
            done += text[place:start] + kind
            kinds.append(kind)
            place = end
    return done + text[place:], kinds


def features(text: QuestionText, spans: Sequence[Span], slots: Sequence[str]) -> Features:
    """Return the buckets of a question's n-grams, kinds and slots, and their weights.

    The weights of the n-grams are of length 1 together, those of the others of their weight.
    """
    unnamed, kinds = mask_names(text.aligned, spans)
    counts = Counter(kinds)
    shown = [f"{kind}{min(count, _MANY)}" for kind, count in counts.items()] or ["no name"]
    shown += [f"has {kind}" for kind in counts] + ["order " + "".join(kinds[:4])]
    pairs = (f"{one} {other}" for one, other in combinations(slots, 2))
    parts = (
        (pieces(text.folded), 0, GRAMS, 1.0),
        (pieces(" ".join(unnamed.split())), GRAMS, KINDS, KIND_WEIGHT),
        ((*slots, *pairs, *shown), GRAMS + KINDS, SLOTS, SLOT_WEIGHT),
    )
    results = [_buckets(group, first, count, weight) for group, first, count, weight in parts]
    return np.concatenate([p for p, _ in results]), np.concatenate([w for _, w in results])


def _buckets(found: Iterable[str], first: int, count: int, length: float) -> Features:
    counts = Counter(zlib.crc32(each.encode()) % count for each in found)
    places = np.fromiter(counts, np.int64, len(counts)) + first
    weights = 1 + np.log(np.fromiter(counts.values(), np.float32, len(counts)))
    norm = float(np.sqrt((weights * weights).sum())) or 1.0
    return places, (weights * (length / norm)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Head:
    """Linear scores of some classes, and the temperature that calibrates them."""

    classes: tuple[str, ...]
    weights: NDArray[np.int8]  # a row for each feature: the buckets, then the vector
    scale: Floats  # of each class
    bias: Floats
    temperature: float

    def probabilities(self, found: Features, vector: Floats) -> Floats:
        """Return the calibrated probability of each class."""
        places, values = found
        scores = values @ self.weights[places] + vector @ self.weights[BUCKETS:]
        scores = (scores * self.scale + self.bias) / self.temperature
        grown = np.exp(scores - scores.max())
        return np.asarray(grown / grown.sum(), np.float32)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads what a question asks, for whom, and whether it tells of danger."""

    heads: Mapping[str, Head]
    embedder: Embedder

    @classmethod
    def open(cls, path: Path, embedder: Embedder) -> Self:
        """Open trained heads; ``IndexMismatchError`` where they are of another embedding."""
        file = Memmap.open(path, format=FORMAT, embedding=embedder.identity)
        heads = {
            name: Head(
                file.words(name),
                np.asarray(file[f"{name}.weights"], np.int8),
                np.asarray(file[f"{name}.scale"], np.float32),
                np.asarray(file[f"{name}.bias"], np.float32),
                float(file[f"{name}.temperature"][0]),
            )
            for name in HEADS
        }
        for name, head in heads.items():
            if head.classes != HEADS[name]:
                raise IndexMismatchError(
                    f"{path} has other classes of {name}: `shiyi train reader`"
                )
        return cls(heads, embedder)

    def read(self, text: QuestionText, spans: Sequence[Span] = ()) -> Frame:
        """Read a question in which ``spans`` name something known."""
        slots = find_slots(text.folded)
        results = features(text, spans, slots)
        vector = self.embedder.encode([text.raw])[0]
        polarity = self.heads["polarity"].probabilities(results, vector).argmax()
        calm = float(self.heads["alarm"].probabilities(results, vector)[-1])
        who = self.heads["who"].probabilities(results, vector).argmax()
        return Frame(
            text.raw,
            "zh" if text.language == "zh" else "en",
            self._asks(results, vector),
            POLARITIES[int(polarity)],  # type: ignore[arg-type]
            Patient(WHO[int(who)]),  # type: ignore[arg-type]
            danger=min(1.0, max(0.0, 1 - calm)),
            alarm=alarm_of(slots),  # type: ignore[arg-type]
            slots=slots,
        )

    def classify_clause(self, text: QuestionText) -> Intent:
        """Return what a clause asks most likely, without the rest of its frame."""
        results = features(text, (), find_slots(text.folded))
        return self._asks(results, self.embedder.encode([text.raw])[0])[0]

    def _asks(self, found: Features, vector: Floats) -> tuple[Intent, ...]:
        probabilities = self.heads["ask"].probabilities(found, vector).tolist()
        ranked = sorted(zip(ASKS, probabilities, strict=True), key=lambda row: -row[1])
        return tuple(Intent(name, p) for name, p in ranked)  # type: ignore[arg-type]


@cache
def shipped_reader() -> Reader:
    """Return the reader that comes with Shiyi.

    Raise ``MissingExtraError`` where its files were left out of the installation.
    """
    if not (SHIPPED.is_file() and WORDS.is_dir()):
        raise MissingExtraError("the reader of questions", "neural")
    return Reader.open(SHIPPED, SentenceEncoder())


class SentenceEncoder(Embedder):
    """What ``bench/sentence_encoder.py`` trained, run with NumPy."""

    def __init__(self, folder: Path = WORDS) -> None:
        parts = (folder / WEIGHTS, folder / "tokenizer.json")
        self._identity = hashlib.sha256(b"".join(path.read_bytes() for path in parts)).hexdigest()
        self._tokenizer = Tokenizer.from_file(str(parts[1]))
        stored = dict(Memmap.open(parts[0], format=ENCODER_FORMAT).arrays)
        self._words, self._scale = stored.pop("words"), stored.pop("words.scale")
        scaled = ((each, stored.get(f"{each}.scale", 1)) for each in stored)
        self._arrays = {each: stored[each].astype(np.float32) * scale for each, scale in scaled}

    @property
    @override
    def identity(self) -> str:
        """Return the digest of weights and tokenizer."""
        return f"sha256:{self._identity}"

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed the folded texts."""
        vectors = np.array([self._pool(fold(text)) for text in texts], np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def _pool(self, text: str) -> Vectors:
        ids, layer = self._tokenizer.encode(text).ids or [0], 0
        ids = ids if len(ids) <= 2 * HALF_PIECES else ids[:HALF_PIECES] + ids[-HALF_PIECES:]
        rows = _normalize(self._words[ids] * self._scale[ids] + self._arrays["places"][: len(ids)])
        rows = rows * self._arrays["first"] + self._arrays["first.bias"]
        while f"{layer}.qkv" in self._arrays:
            rows = rows + self._project(_attend(self._project(rows, f"{layer}.qkv")), f"{layer}.o")
            inner = np.maximum(self._project(rows, f"{layer}.f1"), 0)
            rows, layer = rows + self._project(inner, f"{layer}.f2"), layer + 1
        rows = _normalize(rows).mean(axis=0)
        return np.asarray(rows * self._arrays["last"] + self._arrays["last.bias"])

    def _project(self, rows: Vectors, name: str) -> Vectors:
        before = _normalize(rows) if name.endswith(("qkv", "f1")) else rows
        return np.asarray(before @ self._arrays[name] + self._arrays[f"{name}.bias"])


def _attend(joined: Vectors) -> Vectors:
    """Mix the values by how well keys meet queries, which are scaled already."""
    query, key, value = joined.reshape(len(joined), 3, ATTENTION_HEADS, -1).transpose(1, 2, 0, 3)
    weights = query @ key.transpose(0, 2, 1)
    weights = np.exp(weights - weights.max(axis=2, keepdims=True))
    mixed = (weights @ value) / weights.sum(axis=2, keepdims=True)
    return np.asarray(mixed.transpose(1, 0, 2).reshape(len(joined), -1))


def _normalize(rows: Vectors) -> Vectors:
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", centred, centred) / np.float32(rows.shape[1])
    return np.asarray(centred / np.sqrt(variance + np.float32(1e-5))[:, None])
