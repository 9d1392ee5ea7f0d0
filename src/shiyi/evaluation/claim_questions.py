"""Questions made from single claims of the base: which retrieved claims answer, and which is surest.

They measure retrieval, not knowledge: every answer is on record. What each switch takes away is
asked for by one kind of question at least.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shiyi.answering.facts import Fact, Facts
from shiyi.answering.roles import BENEFIT
from shiyi.answering.texts import CLAIM, units, verbalised
from shiyi.evaluation.generated import TEMPLATES
from shiyi.evaluation.items import Choice, QuestionSet
from shiyi.linking.labels import LabelIndex
from shiyi.linking.layers import euphemisms
from shiyi.linking.linker import Linker
from shiyi.model.rdf import NamedNode, local_name
from shiyi.reasoning.projection import accepted_edges
from shiyi.sparql.store import QuadStore

KINDS: Final = ("plain", "two", "described", "veiled")
EACH: Final = 50  # questions of a kind where no limit is set
_SURER: Final = 0.15  # ours: how far the surest claim lies above the others
_SHORTEST: Final = 12  # characters of a description
_BRACKETS: Final = re.compile(r"[(（].*?[)）]")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the claims that answer it; ``kind`` is one of :data:`KINDS`."""

    id: str
    question: str
    claims: frozenset[str]
    kind: str


def claim_questions(
    store: QuadStore, facts: Facts, linker: Linker, seed: int, limit: int | None = None
) -> tuple[Asked, ...]:
    """Make as many questions of each kind, as far as there are any.

    Plain asks one relation of a thing, two asks two of two things at once; described asks by the
    words of a note; veiled asks what is good for a state under a classical or everyday word.
    """
    each = EACH if limit is None else max(1, limit // len(KINDS))
    plain = _drawn(sorted(_plain(facts), key=lambda q: q.id), seed, 3 * each)
    others = plain[each:] or plain  # a small base asks the same again, two at once
    two = [
        Asked(f"{a.id}+{b.id}", a.question + b.question, a.claims | b.claims, "two")
        for a, b in zip(others[::2], others[1::2], strict=False)
        if a.id.split()[0] != b.id.split()[0]
    ]
    described = _drawn(list(_described(store, facts)), seed, each)
    veiled = _drawn(list(_veiled(facts, linker)), seed, each)
    return (*plain[:each], *two, *described, *veiled)


def _drawn(made: list[Asked], seed: int, count: int) -> list[Asked]:
    random.Random(seed).shuffle(made)  # noqa: S311 - a draw, no secret
    return made[:count]


def _plain(facts: Facts) -> Iterator[Asked]:
    for subject, found in facts.by_subject.items():
        grouped: dict[str, set[str]] = defaultdict(set)
        for fact in found:
            if fact.positive and not fact.derived and not fact.language:
                grouped[fact.predicate.value].add(fact.claim)
        name = facts.labels.get(subject, {}).get("zh")
        for predicate, claims in grouped.items():
            if name:
                label = _BRACKETS.sub("", facts.property_label(_property(found, predicate), "zh"))
                told = f"{local_name(subject)} {local_name(predicate)}"
                yield Asked(told, f"{name}的{label}是什么？", frozenset(claims), "plain")


def _property(found: Sequence[Fact], predicate: str) -> NamedNode:
    return next(each.predicate for each in found if each.predicate.value == predicate)


def _described(store: QuadStore, facts: Facts) -> Iterator[Asked]:
    """Ask for the claims that one note stands beside, by the words of the note."""
    known = {fact.claim: fact for found in facts.by_subject.values() for fact in found}
    bearing: dict[str, set[str]] = defaultdict(set)
    for unit in units(store, facts):
        if unit.kind == CLAIM and unit.iri in known:
            note = unit.text.removeprefix(verbalised(facts, known[unit.iri])).strip()
            if len(note) >= _SHORTEST:
                bearing[note].add(unit.iri)
    for number, (note, claims) in enumerate(sorted(bearing.items())):
        yield Asked(f"note {number}", note[:120], frozenset(claims), "described")


def _veiled(facts: Facts, linker: Linker) -> Iterator[Asked]:
    """Ask what is good for a state that is not called by one of its names."""
    good = {each.value for each in BENEFIT}
    names = {label.text for label in linker.index.labels}
    for expression, meant in sorted(euphemisms().items()):
        whole = [m.iri for m in linker.link(meant.term) if m.iri and m.text == meant.term]
        if expression in names or not whole:
            continue
        ends = (*facts.by_subject.get(whole[0], ()), *facts.by_object.get(whole[0], ()))
        claims = {f.claim for f in ends if f.predicate.value in good and f.positive and not f.derived}  # fmt: skip
        if claims:
            yield Asked(
                f"veiled {expression}", f"{expression}宜食什么？", frozenset(claims), "veiled"
            )


def surest_questions(
    store: QuadStore, index: LabelIndex, seed: int, limit: int | None = None
) -> QuestionSet:
    """Make multiple-choice questions all of whose options are on record, one surer than the others.

    Who holds every claim for equally sure can only draw.
    """
    concepts = {each.iri: each for each in index.concepts}
    grouped: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for edge in accepted_edges(store):
        verb = local_name(edge.predicate)
        if verb in TEMPLATES and edge.subject in concepts and edge.object in concepts:
            of_object = grouped[verb, edge.object]
            of_object[edge.subject] = max(edge.confidence, of_object.get(edge.subject, 0.0))
    draw = random.Random(seed)  # noqa: S311 - a draw, no secret
    made = []
    for (verb, wanted), subjects in sorted(grouped.items()):
        best = max(subjects, key=lambda iri: (subjects[iri], iri))
        less = sorted(iri for iri, c in subjects.items() if c <= subjects[best] - _SURER)
        if len(less) < 3:
            continue
        language = "zh" if TEMPLATES[verb][1].endswith("？") else "en"
        options = [best, *draw.sample(less, 3)]
        draw.shuffle(options)
        names = [getattr(concepts[iri], language) or concepts[iri].zh for iri in options]
        stem = TEMPLATES[verb][1].format(o=getattr(concepts[wanted], language))
        if len(set(names)) == len(names):
            gold = frozenset("ABCD"[options.index(best)])
            made.append(Choice(f"{local_name(wanted)} {verb}", stem, tuple(zip("ABCD", names, strict=True)), gold))  # fmt: skip
    draw.shuffle(made)
    return QuestionSet(tuple(made[:limit]))
