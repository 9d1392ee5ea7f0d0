"""The trained reader of questions: linear heads over n-grams, slots and the shipped vectors."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.understanding.frames.frame import (
    ALARMS,
    ASKS,
    POLARITIES,
    WHO,
    Ask,
    Frame,
    Patient,
    State,
)
from shiyi.answering.understanding.frames.slots import alarm_of, slots_in
from shiyi.answering.understanding.person import age_in
from shiyi.answering.understanding.text import QuestionText
from shiyi.columnar.mapped_file import Mapped
from shiyi.errors import IndexMismatchError, UsageError
from shiyi.linking.embedding.embedder import Embedder, shipped
from shiyi.linking.normalization import fold, language_of
from shiyi.ontology.lexicon import Cues, cues
from shiyi.settings import Settings, UnderstandingSettings

Floats = NDArray[np.float32]

SHIPPED: Final = Path(__file__).parent / "reader.safetensors"
FORMAT: Final = "reader-2"
GRAMS: Final = 1 << 14  # buckets of n-grams
SLOTS: Final = 1 << 12  # buckets of slots and of pairs of them
BUCKETS: Final = GRAMS + SLOTS
SLOT_WEIGHT: Final = 0.7  # beside the n-grams; 0, 1 and 1.5 read new families worse
VECTOR_WEIGHT: Final = 0.25  # of the vector beside the n-grams; 0 and 1 read new families worse
HEADS: Final[Mapping[str, tuple[str, ...]]] = {
    "ask": ASKS, "polarity": POLARITIES, "who": WHO, "alarm": (*ALARMS, "none"),
}  # fmt: skip

_TOKEN: Final = re.compile(r"[a-z']+|\d+|[\u3400-\u9fff]+|[?!]")
_LONGEST: Final = 4  # characters of an n-gram
_WORDS: Final = 3  # of an n-gram of English words
_PEOPLE: Final = Cues("people")


def pieces(text: str) -> list[str]:
    """List the n-grams of a folded text: of characters, and of English words; digits count alike.

    >>> pieces("能吃")
    ['^能', '^能吃', '^能吃$', '能', '能吃', '能吃$', '吃', '吃$']
    """
    tokens = _TOKEN.findall(text)
    found: list[str] = []
    words: list[str] = []
    for place, token in enumerate(tokens):
        first, last = place == 0, place == len(tokens) - 1
        if token[0] >= "\u3400":
            found += _grams(("^" if first else "") + token + ("$" if last else ""), 1, _LONGEST)
            words.append("_")
        elif token[0].isdigit():
            found.append("0")
            words.append("0")
        else:
            found += [f"<{g}" for g in _grams(f" {token} ", 3, _LONGEST)]
            words.append(token)
    if any(word[0].isalpha() for word in words):
        line = ["^", *words, "$"]
        found += [
            " ".join(line[start : start + size])
            for size in range(1, _WORDS + 1)
            for start in range(len(line) - size + 1)
        ]
    return found


def _grams(text: str, shortest: int, longest: int) -> list[str]:
    return [
        gram
        for start in range(len(text))
        for end in range(start + shortest, min(start + longest, len(text)) + 1)
        if (gram := text[start:end]) not in "^$"
    ]


def hashed(text: str, slots: Iterable[str]) -> tuple[NDArray[np.int64], Floats]:
    """Return the buckets of the n-grams of a folded text and of its slots, and their weights.

    The weights of the n-grams are of length 1 together, those of the slots of ``SLOT_WEIGHT``.
    """
    here = tuple(slots)
    pairs = (f"{one} {other}" for one, other in combinations(here, 2))
    grams, grams_weights = _buckets(pieces(text), GRAMS, 1.0)
    filled, filled_weights = _buckets((*here, *pairs), SLOTS, SLOT_WEIGHT)
    places = np.concatenate([grams, filled + GRAMS])
    return places, np.concatenate([grams_weights, filled_weights])


def _buckets(found: Iterable[str], count: int, length: float) -> tuple[NDArray[np.int64], Floats]:
    counts = Counter(zlib.crc32(each.encode()) % count for each in found)
    places = np.fromiter(counts, np.int64, len(counts))
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

    def probabilities(self, grams: tuple[NDArray[np.int64], Floats], vector: Floats) -> Floats:
        """Return the calibrated probability of each class."""
        places, values = grams
        scores = values @ self.weights[places] + VECTOR_WEIGHT * vector @ self.weights[BUCKETS:]
        scores = (scores * self.scale + self.bias) / self.temperature
        grown = np.exp(scores - scores.max())
        return np.asarray(grown / grown.sum(), np.float32)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads questions as frames."""

    heads: Mapping[str, Head]
    embedder: Embedder

    @classmethod
    def open(cls, path: Path, embedder: Embedder) -> Self:
        """Open trained heads; ``IndexMismatchError`` where they are of another embedding."""
        file = Mapped.open(path, format=FORMAT, embedding=embedder.identity)
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

    def read(
        self, text: str, context: Frame | None = None, language: str = "", folded: str = ""
    ) -> Frame:
        """Read a question; a follow-up keeps the person of the ``context`` where it names none."""
        folded = folded or fold(text)
        slots = slots_in(folded)
        grams, vector = hashed(folded, slots), self.embedder.encode([text])[0]
        asks = self.heads["ask"].probabilities(grams, vector)
        ranked = sorted(zip(ASKS, asks.tolist(), strict=True), key=lambda each: -each[1])
        polarity = POLARITIES[int(self.heads["polarity"].probabilities(grams, vector).argmax())]
        calm = float(self.heads["alarm"].probabilities(grams, vector)[-1])
        who = WHO[int(self.heads["who"].probabilities(grams, vector).argmax())]
        patient = Patient(who, age_in(folded), states_in(folded))
        frame = Frame(
            text,
            language or language_of(text),
            tuple(Ask(name, p) for name, p in ranked),
            polarity,
            patient,
            danger=1 - calm,
            alarm=alarm_of(slots),
            slots=slots,
        )
        return frame if context is None else _following(frame, context)


def _following(frame: Frame, context: Frame) -> Frame:
    """Keep the person of the turn before where the words name nobody."""
    mine, before = frame.patient, context.patient
    if mine.who not in {"self", "general"} or before.who in {"self", "general"}:
        return frame if mine.age is not None or mine.states else _with(frame, before, mine.who)
    return _with(frame, before, before.who)


def _with(frame: Frame, before: Patient, who: str) -> Frame:
    mine = frame.patient
    age = before.age if mine.age is None else mine.age
    return replace(frame, patient=Patient(who, age, mine.states or before.states))


def states_in(text: str) -> tuple[State, ...]:
    """List the states that folded words name, each affirmed, denied, past or planned.

    >>> [(state.label, state.assertion) for state in states_in("not pregnant, but breastfeeding")]
    [('pregnant', 'denied'), ('breastfeeding', 'affirmed')]
    """
    found = []
    for label, cue in cues("states").items():
        if hit := cue.search(text):
            found.append(State(label, assertion_of(text[: hit.start()], text[hit.end() :])))
    return tuple(found)


def assertion_of(before: str, after: str) -> str:
    """Return how words are asserted by the folded words before and after them.

    >>> assertion_of("i am not ", ""), assertion_of("i had surgery last year, ", "")
    ('denied', 'affirmed')
    """
    clause = re.split(r"[,，。;；.]", before)[-1]
    if _PEOPLE["no"].search(before):
        return "denied"
    if _PEOPLE["coming"].search(clause[-8:]):
        return "planned"
    if _PEOPLE["long-ago"].search(clause) or _PEOPLE["done-after"].match(after):
        return "past"
    return "affirmed"


def read_frame(
    text: QuestionText, settings: UnderstandingSettings, context: Frame | None = None
) -> Frame | None:
    """Read a question by the shipped reader; nothing where it is switched off or not there."""
    reader = shipped_reader() if settings.reader == "trained" else None
    return reader.read(text.raw, context, text.language, text.folded) if reader else None


def open_reader(settings: Settings) -> "Reader":
    """Return the shipped reader; it refuses texts that no question may be.

    Raise ``UsageError`` where it is switched off or its files were left out.
    """
    reader = shipped_reader() if settings.understanding.reader == "trained" else None
    if reader is None:
        raise UsageError("no reader of questions: understanding.reader is off, or no files of it")
    return reader


@cache
def shipped_reader() -> Reader | None:
    """Return the reader that comes with Shiyi; nothing where its files were left out."""
    embedder = shipped()
    return Reader.open(SHIPPED, embedder) if embedder and SHIPPED.is_file() else None
