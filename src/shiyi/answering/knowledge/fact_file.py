"""Accepted and derived claims in a memory-mapped file."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.columnar.mapped_file import Memmap, words, write
from shiyi.columnar.strings import Array, LazyMap, Selection, Strings
from shiyi.model.rdf import NamedNode
from shiyi.ontology.schema import Schema

FILE: Final = "facts.safetensors"
_FORMAT: Final = "4"
_POSITIVE, _DERIVED, _LANGUAGE = 1, 2, 4  # bits of a flag, above which the language is counted
_CACHED: Final = 4096  # concepts and claims with cached facts (Shiyi's)
Ints = NDArray[np.int32]


def save_facts(
    facts: Facts,
    folder: Path,
    release: str,
    through: int = 0,
    derivation: str = "",
    *,
    texts: bool = True,
) -> Strings:
    """Write what :func:`open_facts` reads; return every claim that is in it, in order.

    ``through`` is the last change of the journal they hold, ``derivation`` the note of what was
    derived, and ``texts`` states that the library is of the same moment.
    """
    rows = list(chain.from_iterable(facts.by_subject.values()))
    ends = chain.from_iterable((f.subject, f.object) for f in rows if not f.language)
    named = {
        *(f.subject for f in rows),
        *ends,
        *facts.labels,
        *facts.classes,
        *facts.cuis,
        *facts.broader,
        *chain.from_iterable(facts.broader.values()),
    }
    claims = {f.claim for f in rows} | facts.premises.keys()
    claims |= set(chain.from_iterable(facts.premises.values()))
    packing = _NameEncoder(sorted(named), sorted(claims))
    cuis = Selection.of(list(facts.cuis.values()))
    kinds = sorted(set(facts.classes.values()))
    predicates = sorted({f.predicate.value for f in rows})
    languages = sorted({f.language for f in rows} | set(chain.from_iterable(facts.labels.values())))
    table = Strings.of(packing.claimed)
    arrays = (
        packing.rows(rows, predicates, languages)
        | packing.ends("subject", facts.by_subject)
        | packing.ends("object", facts.by_object)
        | packing.among("object", facts.by_object, rows)
        | packing.labels(facts.labels, languages)
        | packing.links("broader", facts.broader)
        | packing.links("narrower", facts.narrower)
        | packing.premises(facts.premises)
        | packing.column("class", facts.classes, kinds)
        | {"cui.key": packing.terms(facts.cuis), "cui": cuis.places}
        | cuis.table.arrays("cui")
        | Strings.of(packing.named).arrays("names")
        | table.arrays("claims")
    )
    write(
        folder / FILE,
        arrays,
        format=_FORMAT,
        release=release,
        through=str(through),
        predicates=words(predicates),
        languages=words(languages),
        classes=words(kinds),
        joins=json.dumps([[*key, count] for key, count in facts.joins.items()]),
        derivation=derivation,
        texts=str(int(texts)),
    )
    return table


class _NameEncoder:
    """Turns names into their places."""

    def __init__(self, names: list[str], claimed: list[str]) -> None:
        self.named, self.claimed = names, claimed
        self._name = {each: i for i, each in enumerate(names)}
        self._claim = {each: i for i, each in enumerate(claimed)}

    def terms(self, names: Iterable[str]) -> Ints:
        """Return the places of concepts."""
        return np.fromiter((self._name[name] for name in names), np.int32)

    def claims(self, names: Iterable[str]) -> Ints:
        """Return the places of claims."""
        return np.fromiter((self._claim[name] for name in names), np.int32)

    def rows(
        self, rows: Sequence[Fact], predicates: list[str], languages: list[str]
    ) -> dict[str, Array]:
        """Return the columns of the facts; a text as object is counted down from -1."""
        texts = [f.object for f in rows if f.language]
        below = iter(range(-1, -len(texts) - 1, -1))
        predicate = {each: i for i, each in enumerate(predicates)}
        language = {each: i for i, each in enumerate(languages)}
        columns: dict[str, Array] = {
            "fact.predicate": _ints(predicate[f.predicate.value] for f in rows),
            "fact.object": np.array(
                [next(below) if f.language else self._name[f.object] for f in rows], np.int32
            ),
            "fact.claim": self.claims(f.claim for f in rows),
            "fact.flags": _ints(
                _POSITIVE * f.positive + _DERIVED * f.derived + _LANGUAGE * language[f.language]
                for f in rows
            ),
            "fact.confidence": np.array([f.confidence for f in rows], np.float64),
        }
        return columns | Strings.of(texts).arrays("texts")

    def ends(self, name: str, groups: Mapping[str, Sized]) -> dict[str, Array]:
        """Return the concepts that have groups, and how many are in each."""
        return {f"{name}.key": self.terms(groups), f"{name}.bounds": _bounds(groups)}

    def among(
        self, name: str, side: Mapping[str, tuple[Fact, ...]], rows: Sequence[Fact]
    ) -> dict[str, Array]:
        """Return which rows each end has; those of a subject lie together."""
        place = {fact: i for i, fact in enumerate(rows)}
        places = (place[fact] for facts in side.values() for fact in facts)
        return {f"{name}.rows": np.fromiter(places, np.int32)}

    def labels(
        self, labels: Mapping[str, Mapping[str, str]], languages: list[str]
    ) -> dict[str, Array]:
        """Return the labels of each concept."""
        language = {each: i for i, each in enumerate(languages)}
        pairs = [pair for label in labels.values() for pair in label.items()]
        texts = Strings.of(value for _, value in pairs).arrays("label.text")
        languages_ = {"label.language": _ints(language[each] for each, _ in pairs)}
        return self.ends("label", labels) | languages_ | texts

    def links(self, name: str, links: Mapping[str, tuple[str, ...]]) -> dict[str, Array]:
        """Return what each concept leads to."""
        return self.ends(name, links) | {name: self.terms(chain.from_iterable(links.values()))}

    def premises(self, links: Mapping[str, tuple[str, ...]]) -> dict[str, Array]:
        """Return what each derived claim rests on."""
        return {
            "premise.key": self.claims(links),
            "premise.bounds": _bounds(links),
            "premise": self.claims(chain.from_iterable(links.values())),
        }

    def column(self, name: str, column: Mapping[str, str], values: list[str]) -> dict[str, Array]:
        """Return one of a few values for each concept."""
        place = {each: i for i, each in enumerate(values)}
        return {
            f"{name}.key": self.terms(column),
            name: _ints(place[each] for each in column.values()),
        }


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, np.int32)


def _bounds(groups: Mapping[str, Sized]) -> NDArray[np.int64]:
    """Return where each group begins, and where the last ends."""
    return np.cumsum([0, *map(len, groups.values())], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class FactFile:
    """The facts of a build, and the state of the store they were read from."""

    facts: Facts
    through: int
    derivation: str
    derived: tuple[str, ...]  # claims that were derived
    texts: bool  # whether the library is of the same moment
    claims: Strings  # every claim of theirs, in order
    accepted: Array  # the place among them of each fact of the accepted view
    confidences: Array  # of each of these facts


def open_facts(folder: Path, release: str, schema: Schema) -> FactFile:
    """Return the facts as they were at the build.

    Raise ``IndexMismatchError`` where there are none, or those of another release.
    """
    memmap = Memmap.open(folder / FILE, format=_FORMAT, release=release)
    names, claims = memmap.strings("names"), memmap.strings("claims")
    fact = _reader(memmap, names, claims)
    kinds, kind_numbers = memmap.words("classes"), memmap["class"].data
    cuis = Selection(memmap.strings("cui"), memmap["cui"])
    order = np.argsort(memmap["fact.claim"], kind="stable").astype(np.int32)
    unique, starts = np.unique(memmap["fact.claim"][order], return_index=True)
    facts = Facts(
        _sides(memmap, "subject", names, fact),
        _sides(memmap, "object", names, fact),
        LazyMap(names, memmap["label.key"], _labels(memmap)),
        LazyMap(names, memmap["class.key"], lambda at: kinds[kind_numbers[at]]),
        _links(memmap, "broader", names),
        LazyMap(names, memmap["cui.key"], cuis.__getitem__),
        _links(memmap, "premise", claims),
        LazyMap(claims, unique, _groups(np.r_[starts, len(order)], order, fact), _CACHED),
        schema,
    )
    facts.__dict__["narrower"] = _links(memmap, "narrower", names)
    facts.__dict__["_of_class"] = _members(memmap, names, kinds)
    joins = json.loads(memmap.about["joins"])
    facts.__dict__["joins"] = {(one, name, other): count for one, name, other, count in joins}
    inferred = (memmap["fact.flags"] & _DERIVED) > 0
    derived = np.unique(memmap["fact.claim"][inferred])
    return FactFile(
        facts,
        int(memmap.about["through"]),
        memmap.about["derivation"],
        tuple(claims[item] for item in derived.tolist()),
        memmap.about["texts"] == "1",
        claims,
        memmap["fact.claim"][~inferred],
        memmap["fact.confidence"][~inferred],
    )


def _reader(mapped: Memmap, names: Strings, claims: Strings) -> Callable[[int], Fact]:
    predicates = [NamedNode(word) for word in mapped.words("predicates")]
    languages, texts = mapped.words("languages"), mapped.strings("texts")
    subject = np.repeat(mapped["subject.key"], np.diff(mapped["subject.bounds"])).data
    predicate, object_, claim, confidence, flags = (
        mapped[f"fact.{name}"].data
        for name in ("predicate", "object", "claim", "confidence", "flags")
    )

    def fact(row: int) -> Fact:
        there, flag = object_[row], flags[row]
        return Fact(  # a name is in very many facts, and a claim is listed under both of its ends
            intern(names[subject[row]]),
            predicates[predicate[row]],
            intern(names[there]) if there >= 0 else texts[-1 - there],
            intern(claims[claim[row]]),
            confidence[row],
            bool(flag & _POSITIVE),
            bool(flag & _DERIVED),
            languages[flag // _LANGUAGE],
        )

    return fact


def _groups(
    bounds: Array, rows: Array, fact: Callable[[int], Fact]
) -> Callable[[int], tuple[Fact, ...]]:
    ends, numbers = bounds.data, rows.data
    return lambda at: tuple(map(fact, numbers[ends[at] : ends[at + 1]]))


def _sides(
    mapped: Memmap, name: str, names: Strings, fact: Callable[[int], Fact]
) -> LazyMap[tuple[Fact, ...]]:
    bounds = mapped[f"{name}.bounds"]
    rows = mapped.arrays.get(f"{name}.rows", np.arange(bounds[-1], dtype=np.int32))
    read = _groups(bounds, rows, fact)
    return LazyMap(names, mapped[f"{name}.key"], read, _CACHED)


def _labels(mapped: Memmap) -> Callable[[int], Mapping[str, str]]:
    languages, texts = mapped.words("languages"), mapped.strings("label.text")
    bounds, language = mapped["label.bounds"].data, mapped["label.language"].data
    return lambda at: {
        languages[language[number]]: texts[number] for number in range(bounds[at], bounds[at + 1])
    }


def _links(mapped: Memmap, name: str, names: Strings) -> LazyMap[tuple[str, ...]]:
    bounds, targets = mapped[f"{name}.bounds"].data, mapped[name].data

    def read(at: int) -> tuple[str, ...]:
        return tuple(names[target] for target in targets[bounds[at] : bounds[at + 1]])

    return LazyMap(names, mapped[f"{name}.key"], read)


def _members(mapped: Memmap, names: Strings, kinds: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the concepts of each class, in the order they were read."""
    keys, kind = mapped["class.key"], mapped["class"]

    def read(at: int) -> tuple[str, ...]:
        return tuple(names[item] for item in keys[kind == at].data)

    return LazyMap(Strings.of(kinds), np.arange(len(kinds), dtype=np.int32), read)
