"""The facts of a build as one file: a base of any size opens at once, each fact is read when asked for."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.facts import Fact, Facts
from shiyi.model.listed import Listed
from shiyi.model.mapped import Mapped, words, write
from shiyi.model.rdf import NamedNode
from shiyi.model.strings import (
    Array,
    Picked,
    Strings,
    bounds_of,
    ends,
    narrow,
    told_apart,
)  # fmt: skip
from shiyi.ontology.vocabulary import Schema

FILE: Final = "facts.safetensors"
_FORMAT: Final = "3"
_POSITIVE, _DERIVED, _LANGUAGE = 1, 2, 4  # bits of a flag, above which the language is counted
_KEPT: Final = 4096  # concepts and claims whose facts stay as they were read last (ours)
Ints = NDArray[np.int32]


def save_facts(
    facts: Facts, folder: Path, release: str, through: int = 0, derivation: str = "",
    *, texts: bool = True,
) -> Strings:  # fmt: skip
    """Write what :func:`open_facts` reads; give every claim that is in it, in order.

    ``through`` is the last change of the journal they hold, ``derivation`` the note of what was
    derived, and ``texts`` tells that the library is of the same moment.
    """
    rows = list(chain.from_iterable(facts.by_subject.values()))
    ends = chain.from_iterable((f.subject, f.object) for f in rows if not f.language)
    named = {
        *(f.subject for f in rows), *ends, *facts.labels, *facts.classes, *facts.cuis,
        *facts.broader, *chain.from_iterable(facts.broader.values()),
    }  # fmt: skip
    claims = {f.claim for f in rows} | facts.premises.keys()
    claims |= set(chain.from_iterable(facts.premises.values()))
    packing = _Packing(sorted(named), sorted(claims))
    cuis = Picked.of(list(facts.cuis.values()))
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
        | packing.links("broader", facts.broader) | packing.links("narrower", facts.narrower)
        | packing.premises(facts.premises)
        | packing.column("class", facts.classes, kinds)
        | {"cui.key": packing.terms(facts.cuis), "cui": cuis.places} | cuis.table.arrays("cui")
        | Strings.of(packing.named).arrays("names") | table.arrays("claims")
    )  # fmt: skip
    write(
        folder / FILE, arrays, format=_FORMAT, release=release, through=str(through),
        predicates=words(predicates), languages=words(languages), classes=words(kinds),
        joins=json.dumps([[*key, count] for key, count in facts.joins.items()]),
        derivation=derivation, texts=str(int(texts)),
    )  # fmt: skip
    return table


class _Packing:
    """Turns names into their places."""

    def __init__(self, named: list[str], claimed: list[str]) -> None:
        self.named, self.claimed = named, claimed
        self._name = {each: i for i, each in enumerate(named)}
        self._claim = {each: i for i, each in enumerate(claimed)}

    def terms(self, names: Iterable[str]) -> Ints:
        """Give the places of concepts."""
        return np.fromiter((self._name[each] for each in names), np.int32)

    def claims(self, names: Iterable[str]) -> Ints:
        """Give the places of claims."""
        return np.fromiter((self._claim[each] for each in names), np.int32)

    def rows(
        self, rows: Sequence[Fact], predicates: list[str], languages: list[str]
    ) -> dict[str, Array]:
        """Give the columns of the facts; a text as object is counted down from -1."""
        texts = [f.object for f in rows if f.language]
        below = iter(range(-1, -len(texts) - 1, -1))
        predicate = {each: i for i, each in enumerate(predicates)}
        language = {each: i for i, each in enumerate(languages)}
        columns: dict[str, Array] = {
            "fact.predicate": narrow([predicate[f.predicate.value] for f in rows]),
            "fact.object": np.array(
                [next(below) if f.language else self._name[f.object] for f in rows], np.int32
            ),
            "fact.claim": self.claims(f.claim for f in rows),
            "fact.flags": narrow([
                _POSITIVE * f.positive + _DERIVED * f.derived + _LANGUAGE * language[f.language]
                for f in rows
            ]),
        }  # fmt: skip
        columns |= told_apart("fact.confidence", np.array([f.confidence for f in rows], np.float64))
        return columns | Strings.of(texts).arrays("texts")

    def ends(self, name: str, groups: Mapping[str, Sized]) -> dict[str, Array]:
        """Give the concepts that have groups, and how many are in each."""
        bounds = np.cumsum([0, *map(len, groups.values())])
        return {f"{name}.key": self.terms(groups), f"{name}.ends": ends(bounds)}

    def among(
        self, name: str, side: Mapping[str, tuple[Fact, ...]], rows: Sequence[Fact]
    ) -> dict[str, Array]:
        """Give which rows each end has; those of a subject lie together."""
        place = {fact: i for i, fact in enumerate(rows)}
        held = (place[fact] for found in side.values() for fact in found)
        return {f"{name}.rows": np.fromiter(held, np.int32)}

    def labels(
        self, labels: Mapping[str, Mapping[str, str]], languages: list[str]
    ) -> dict[str, Array]:
        """Give the labels of each concept."""
        language = {each: i for i, each in enumerate(languages)}
        said = [pair for each in labels.values() for pair in each.items()]
        texts = Strings.of(value for _, value in said).arrays("label.text")
        languages_ = {"label.language": narrow([language[each] for each, _ in said])}
        return self.ends("label", labels) | languages_ | texts

    def links(self, name: str, links: Mapping[str, tuple[str, ...]]) -> dict[str, Array]:
        """Give what each concept leads to."""
        return self.ends(name, links) | {name: self.terms(chain.from_iterable(links.values()))}

    def premises(self, links: Mapping[str, tuple[str, ...]]) -> dict[str, Array]:
        """Give what each derived claim rests on."""
        return {
            "premise.key": self.claims(links),
            "premise.ends": ends(np.cumsum([0, *map(len, links.values())])),
            "premise": self.claims(chain.from_iterable(links.values())),
        }  # fmt: skip

    def column(self, name: str, held: Mapping[str, str], values: list[str]) -> dict[str, Array]:
        """Give one of a few values for each concept."""
        place = {each: i for i, each in enumerate(values)}
        return {
            f"{name}.key": self.terms(held),
            name: narrow([place[each] for each in held.values()]),
        }


@dataclass(frozen=True, slots=True)
class Held:
    """The facts of a build, and what of the store they hold."""

    facts: Facts
    through: int
    derivation: str
    derived: tuple[str, ...]  # claims that were derived
    texts: bool  # whether the library is of the same moment
    claims: Strings  # every claim of theirs, in order


def open_facts(folder: Path, release: str, schema: Schema) -> Held:
    """Give the facts as they were at the build.

    Raises ``IndexMismatchError`` where there are none, or those of another release.
    """
    said = Mapped.open(folder / FILE, format=_FORMAT, release=release)
    names, claims = said.strings("names"), said.strings("claims")
    fact = _reader(said, names, claims)
    kinds, held_kind = said.words("classes"), said["class"].data
    cuis = Picked(said.strings("cui"), said["cui"])
    order = np.argsort(said["fact.claim"], kind="stable").astype(np.int32)
    held, starts = np.unique(said["fact.claim"][order], return_index=True)
    facts = Facts(
        _sides(said, "subject", names, fact), _sides(said, "object", names, fact),
        Listed(names, said["label.key"], _labels(said)),
        Listed(names, said["class.key"], lambda at: kinds[held_kind[at]]),
        _links(said, "broader", names), Listed(names, said["cui.key"], cuis.__getitem__),
        _links(said, "premise", claims),
        Listed(claims, held, _groups(np.r_[starts, len(order)], order, fact), _KEPT), schema,
    )  # fmt: skip
    facts.__dict__["narrower"] = _links(said, "narrower", names)
    facts.__dict__["_of_class"] = _members(said, names, kinds)
    joins = json.loads(said.about["joins"])
    facts.__dict__["joins"] = {(one, name, other): count for one, name, other, count in joins}
    derived = np.unique(said["fact.claim"][(said["fact.flags"] & _DERIVED) > 0])
    return Held(
        facts, int(said.about["through"]), said.about["derivation"],
        tuple(claims[each] for each in derived.tolist()), said.about["texts"] == "1", claims,
    )  # fmt: skip


def _reader(said: Mapped, names: Strings, claims: Strings) -> Callable[[int], Fact]:
    predicates = [NamedNode(each) for each in said.words("predicates")]
    languages, texts = said.words("languages"), said.strings("texts")
    subject = np.repeat(said["subject.key"], np.diff(bounds_of(said["subject.ends"]))).data
    predicate, object_, claim, confidence, flags = (
        said[f"fact.{name}"].data
        for name in ("predicate", "object", "claim", "confidence", "flags")
    )
    sure = said["fact.confidence.values"].data

    def fact(row: int) -> Fact:
        there, flag = object_[row], flags[row]
        return Fact(  # a name is in very many facts, and a claim is listed under both of its ends
            intern(names[subject[row]]), predicates[predicate[row]],
            intern(names[there]) if there >= 0 else texts[-1 - there], intern(claims[claim[row]]),
            sure[confidence[row]], bool(flag & _POSITIVE), bool(flag & _DERIVED),
            languages[flag // _LANGUAGE],
        )  # fmt: skip

    return fact


def _groups(
    bounds: Array, rows: Array, fact: Callable[[int], Fact]
) -> Callable[[int], tuple[Fact, ...]]:
    ends, held = bounds.data, rows.data
    return lambda at: tuple(map(fact, held[ends[at] : ends[at + 1]]))


def _sides(
    said: Mapped, name: str, names: Strings, fact: Callable[[int], Fact]
) -> Listed[tuple[Fact, ...]]:
    bounds = bounds_of(said[f"{name}.ends"])
    rows = said.arrays.get(f"{name}.rows", np.arange(bounds[-1], dtype=np.int32))
    read = _groups(bounds, rows, fact)
    return Listed(names, said[f"{name}.key"], read, _KEPT)


def _labels(said: Mapped) -> Callable[[int], Mapping[str, str]]:
    languages, texts = said.words("languages"), said.strings("label.text")
    bounds, language = bounds_of(said["label.ends"]).data, said["label.language"].data
    return lambda at: {
        languages[language[each]]: texts[each] for each in range(bounds[at], bounds[at + 1])
    }


def _links(said: Mapped, name: str, names: Strings) -> Listed[tuple[str, ...]]:
    bounds, held = bounds_of(said[f"{name}.ends"]).data, said[name].data

    def read(at: int) -> tuple[str, ...]:
        return tuple(names[each] for each in held[bounds[at] : bounds[at + 1]])

    return Listed(names, said[f"{name}.key"], read)


def _members(said: Mapped, names: Strings, kinds: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Give the concepts of each class, in the order they were read."""
    keys, held = said["class.key"], said["class"]

    def read(at: int) -> tuple[str, ...]:
        return tuple(names[each] for each in keys[held == at].data)

    return Listed(Strings.of(kinds), np.arange(len(kinds), dtype=np.int32), read)
