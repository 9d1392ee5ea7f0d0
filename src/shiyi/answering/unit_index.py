"""Texts as what they are put together of: parts, which many share, are kept, read and compared once.

A claim says the names of its ends and of its property again in both languages, as a thousand others
do. So a text is a list of parts; words lead to the parts that hold them, and parts to their texts.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import repeat
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.text_parts import Parts, words
from shiyi.answering.texts import CLAIM, Unit
from shiyi.errors import IndexMismatchError
from shiyi.linking.embedder import Embedder
from shiyi.linking.summed import Summed, Sums
from shiyi.model.mapped import Mapped, write
from shiyi.model.mapped import words as listed
from shiyi.model.steps import Steps, ranges
from shiyi.model.strings import Array, Strings, bounds_of, ends, least, narrow
from shiyi.model.trie import Trie

FILE: Final = "texts.safetensors"
_FORMAT: Final = "5"
_EARLIER: Final = "texts.sqlite"  # where older versions kept the words
_COMMON: Final = 0.25  # ours: words of more than this share of the units are not searched for
_FEWEST: Final = 200  # units below which no word is too common

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Others:
    """What is known of units that are not the text of a claim, in their order."""

    iris: Strings
    kinds: Sequence[str]
    sections: Sequence[str]
    kind: Array
    section: Array
    bounds: Array
    borne: Array  # places of the claims that each bears

    @classmethod
    def of(cls, units: Sequence[Unit], place: Mapping[str, int]) -> Self:
        """Take them from units, which bear claims at some places."""
        kinds = sorted({each.kind for each in units})
        sections = sorted({each.section for each in units})
        section = {each: i for i, each in enumerate(sections)}
        return cls(
            Strings.of(each.iri for each in units), kinds, sections,
            narrow([kinds.index(each.kind) for each in units]),
            narrow([section[each.section] for each in units]),
            np.cumsum([0, *(len(each.claims) for each in units)]),
            narrow([place[claim] for each in units for claim in each.claims]),
        )  # fmt: skip

    @classmethod
    def over(cls, said: Mapped) -> Self:
        """Take them from a file."""
        return cls(
            said.strings("other"), said.words("kinds"), said.strings("section"),
            said["other.kind"], said["other.section"], bounds_of(said["borne.ends"]), said["borne"],
        )  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """Give them as arrays to write, but for ``kinds``."""
        return self.iris.arrays("other") | Strings.of(self.sections).arrays("section") | {
            "other.kind": self.kind, "other.section": self.section, "borne": self.borne,
            "borne.ends": ends(self.bounds),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class UnitIndex:
    """The units of a moment, found by their words and their meaning; it never changes.

    The first units are the texts of ``claims``, in their order; ``absent`` ones have none.
    """

    claims: Strings
    absent: Array
    others: Others
    parts: Parts
    sums: Sums  # of the parts of each unit
    terms: Trie
    held: Steps  # the parts that hold each term
    sizes: Array  # words of each part
    common: Array  # terms that very many units hold
    compared: Callable[[], Summed] | None = None  # their vectors, where there are any

    @classmethod
    def of(cls, units: Iterable[Unit], embedder: Embedder | None) -> Self:
        """Index some units."""
        number: dict[str, int] = {}
        numbers, counts = array("i"), array("i")
        own, at, others = list[str](), array("i"), dict[int, Unit]()
        for place, unit in enumerate(units):
            parts = [
                each.replace("\0", "\ufffd") for each in unit.parts or (unit.text,)
            ]  # as packed
            numbers.extend(number.setdefault(each, len(number)) for each in parts)
            counts.append(len(parts))
            if unit.kind == CLAIM:
                own.append(unit.iri)
                at.append(place)
            else:
                others[place] = replace(unit, text="", parts=())
        borne = {claim for unit in others.values() for claim in unit.claims}
        own += borne.difference(own)  # these have no text
        rows = sorted(range(len(own)), key=own.__getitem__)
        table = [own[each] for each in rows]
        place_of = {table[i]: i for i in reversed(range(len(table))) if table[i] in borne}
        there = np.array([*at, *repeat(-1, len(own) - len(at))], np.int64)[rows]
        packed = Parts.of(number)
        turned = np.zeros(len(number), np.int64)
        for i in range(len(packed)):
            turned[number[packed[i]]] = i
        flat = turned[np.array(numbers, np.int64)]
        sizes = np.array([*counts, 0], np.int64)  # that of what has no text is last
        order = np.concatenate([there, np.array([*others], np.int64)])
        firsts = np.cumsum(sizes) - sizes
        laid = flat[ranges(firsts[order], sizes[order])]
        sums = Sums.flat(sizes[order], laid.astype(least(len(packed))))
        terms, held, spoken = _terms(packed)
        made = cls(
            Strings.of(table), narrow(np.flatnonzero(there < 0).tolist()),
            Others.of([*others.values()], place_of), packed, sums, terms, held, spoken,
            np.zeros(0, np.uint32),
            None if embedder is None else partial(Summed.of_parts, embedder, packed, sums),
        )  # fmt: skip
        return replace(made, common=made._too_common())

    def write(self, folder: Path, release: str, model: str) -> Path:
        """Write what :meth:`open` opens."""
        arrays = self.claims.arrays("claim") | {"absent": self.absent} | self.others.arrays()
        arrays |= self.parts.arrays() | self.terms.arrays("term")
        arrays |= self.held.arrays("held") | {"part.words": self.sizes, "common": self.common}
        vectors = self.vectors
        arrays |= self.sums.arrays("text") if vectors is None else vectors.arrays("text")
        about = {"format": _FORMAT, "release": release, "model": model}
        (folder / _EARLIER).unlink(missing_ok=True)
        return write(folder / FILE, arrays, **about, kinds=listed(self.others.kinds))

    @classmethod
    def open(cls, folder: Path, release: str, embedder: Embedder | None) -> Self:
        """Open what :meth:`write` wrote; IndexMismatchError where it is damaged or of another release."""
        said = Mapped.open(folder / FILE, format=_FORMAT, release=release)
        try:
            vectors = None
            if embedder is not None and said.about.get("model") == embedder.identity:
                vectors = partial(Summed.over, said, "text", embedder)
            sums = Sums.over(said, "text")
            return cls(
                said.strings("claim"), said["absent"], Others.over(said), Parts.over(said), sums,
                said.trie("term"),
                Steps.over(said.arrays, "held"), said["part.words"], said["common"], vectors,
            )  # fmt: skip
        except (KeyError, ValueError) as fault:
            raise IndexMismatchError(f"{said.path} is damaged ({fault!r}): build again") from fault

    def __len__(self) -> int:
        """Count the units."""
        return len(self.sums) - len(self.absent)

    @cached_property
    def vectors(self) -> Summed | None:
        """Give the vectors of the units, read when they are first asked for; None without a model."""
        return None if self.compared is None else self.compared()

    @property
    def last(self) -> int:
        """Count the places of units, of which some may be empty."""
        return len(self.sums)

    def unit(self, place: int) -> Unit:
        """Give the unit at a place."""
        text = " ".join(self.parts[each] for each in self.sums.numbers_of(place))
        if place < len(self.claims):
            iri = self.claims[place]
            return Unit(iri, CLAIM, text, (iri,))
        others, at = self.others, place - len(self.claims)
        borne = others.borne[others.bounds[at] : others.bounds[at + 1]].tolist()
        return Unit(
            others.iris[at], others.kinds[others.kind[at]], text,
            tuple(self.claims[each] for each in borne), others.sections[others.section[at]],
        )  # fmt: skip

    def own(self, claims: Iterable[str]) -> list[int]:
        """List the places of the texts of some claims."""
        found = list[int]()
        for claim in claims:
            place = self.claims.place(claim)
            while place is not None and place < len(self.claims) and self.claims[place] == claim:
                found.append(place)
                place += 1
        return found

    def bearing(self, claims: Iterable[str]) -> list[int]:
        """List the other units that bear some claims."""
        there = [place for place in map(self.claims.place, claims) if place is not None]
        found = np.flatnonzero(np.isin(self.others.borne, there))
        rows = np.searchsorted(self.others.bounds, found, side="right") - 1
        return (len(self.claims) + rows).tolist()  # type: ignore[no-any-return]

    def named(self, iris: Collection[str]) -> list[int]:
        """List the other units of some names."""
        if not iris:
            return []
        return [len(self.claims) + at for at, iri in enumerate(self.others.iris) if iri in iris]

    def of_kinds(self, kinds: Collection[str]) -> NDArray[np.bool_]:
        """Tell for every place whether the unit there is of one of some kinds."""
        found = np.zeros(self.last, bool)
        found[: len(self.claims)] = CLAIM in kinds
        meant = [self.others.kinds.index(each) for each in kinds if each in self.others.kinds]
        found[len(self.claims) :] = np.isin(self.others.kind, meant)
        return found

    def holding(self, word: str) -> tuple[Ints, Array]:
        """Give the places of the units that hold a word, and how often each does."""
        term = self.terms.place(word)
        times = np.bincount(self._units(term)) if term is not None else np.zeros(0, np.int64)
        found = np.flatnonzero(times)
        return found, times[found]

    def is_common(self, word: str) -> bool:
        """Tell whether so many units hold a word that it tells nothing apart."""
        return self.terms.place(word) in self._common

    def _units(self, term: int) -> NDArray[np.int32]:
        bounds, units = self._where
        parts = self.held.under(term)
        return units[ranges(bounds[parts], bounds[parts + 1] - bounds[parts])]

    @cached_property
    def _where(self) -> tuple[Array, NDArray[np.int32]]:
        """Give the units of each part, which takes a tenth of a second for two million."""
        return self.sums.holding(len(self.parts))

    @cached_property
    def _common(self) -> frozenset[int]:
        return frozenset(self.common.tolist())

    @cached_property
    def lengths(self) -> NDArray[np.float32]:
        """Give the words of every unit."""
        return self.sums.every(self.sizes.astype(np.float32)[:, None])[:, 0]

    def _too_common(self) -> NDArray[np.uint32]:
        """List the words that so many units hold that they tell nothing apart."""
        if len(self) < _FEWEST:
            return np.zeros(0, np.uint32)
        used = np.bincount(self.sums.numbers, minlength=len(self.parts))
        most = int(_COMMON * len(self))
        maybe = (t for t in range(len(self.terms)) if used[self.held.under(t)].sum() > most)
        return np.array([t for t in maybe if len(np.unique(self._units(t))) > most], np.uint32)


def _terms(parts: Parts) -> tuple[Trie, Steps, Array]:
    """Give the words of some parts, the parts that hold each, and how many words each part has."""
    held: dict[str, array[int]] = defaultdict(lambda: array("i"))
    sizes = list[int]()
    for place in range(len(parts)):
        found = words(parts[place])
        for each in found:
            held[each].append(place)
        sizes.append(len(found))
    terms = Trie.of(held)
    return terms, Steps.of(held[each] for each in terms), narrow(sizes)
