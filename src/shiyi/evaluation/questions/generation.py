"""Questions generated from claims.

The source is withheld from retrieval; a question is *covered* where another source has its fact.

As many questions for symptoms, diseases and syndromes, and for each of the nine constitutions. The
claims that answer a question at once are withheld, so that only paths over other claims lead to it.

They measure retrieval, not knowledge: every answer is on record. What each switch takes away is
asked for by one kind of question at least.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Final

from shiyi.answering.knowledge.facts import BENEFIT, Facts
from shiyi.answering.knowledge.overlay import overlay_of_releases
from shiyi.answering.retrieval.passages import CLAIM, units, verbalize_claim
from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.bench import EvaluationContext
from shiyi.evaluation.items import Choice, Prescription, QuestionSet, Skips
from shiyi.evaluation.questions.prescriptions import Prescriptions
from shiyi.evaluation.scorers.graph import is_of_release, sources_of
from shiyi.linking.case_terms import euphemisms
from shiyi.linking.labels import Concept, LabelIndex
from shiyi.linking.linker import Linker
from shiyi.model.rdf import NamedNode, local_name, text
from shiyi.ontology.lexicon import rows
from shiyi.ontology.terms import RDF
from shiyi.reasoning.adjacency import Edge, load_edges
from shiyi.sparql.store.port import QuadStore


@cache
def templates() -> Mapping[str, tuple[str, str]]:
    """Return the statement and the question of each relation, in the language of its sources."""
    return {
        relation: (statement, question) for relation, statement, question in rows("exam-statements")
    }


_Triple = tuple[str, str, str]  # subject, predicate, object
NONE_OF = {"en": "None of the above", "zh": "以上都不是"}


@dataclass(frozen=True, slots=True)
class QuestionGenerator:
    """Draws statements and questions; what is false is joined by no claim of any source."""

    concepts: Mapping[str, Concept]
    true: frozenset[_Triple]
    covered: frozenset[_Triple]
    pool: dict[str, list[str]]
    draw: random.Random

    def statements(self, edges: Sequence[Edge]) -> Iterator[Choice]:
        """Yield one true and one false statement for each edge."""
        for place, edge in enumerate(edges):
            verb = local_name(edge.predicate)
            stratum = self._stratum(edge)
            yield self._statement(f"{place}t", edge.subject, verb, edge.object, "true", stratum)
            other = self._draw_other_subject(edge)
            if other:
                yield self._statement(f"{place}f", other, verb, edge.object, "false", stratum)

    def choices(self, edges: Sequence[Edge]) -> Iterator[Choice]:
        """Yield one question for each edge: the subject among others of its kind."""
        for place, edge in enumerate(edges):
            wrong = self._draw_others(edge, 9) or self._draw_others(edge, 36)  # of few, again
            if not wrong:
                continue
            language, verb = self._language(edge), local_name(edge.predicate)
            subjects = [edge.subject, *wrong]
            self.draw.shuffle(subjects)
            texts = [self._name(subject, language) for subject in subjects] + [NONE_OF[language]]
            options = tuple(zip("ABCDE", texts, strict=True))
            gold = frozenset("ABCD"[subjects.index(edge.subject)])
            stem = templates()[verb][1].format(o=self._name(edge.object, language))
            yield Choice(str(place), stem, options, gold, self._stratum(edge))

    def _draw_others(self, edge: Edge, draws: int) -> list[str]:
        others = dict.fromkeys(filter(None, (self._draw_other_subject(edge) for _ in range(draws))))
        return list(others)[:3] if len(others) >= 3 else []

    def _statement(
        self, name: str, one: str, verb: str, other: str, truth: str, stratum: str
    ) -> Choice:
        language = "zh" if templates()[verb][0][-1] == "。" else "en"
        text = templates()[verb][0].format(
            s=self._name(one, language), o=self._name(other, language)
        )
        return Choice(name, text, (), frozenset({truth}), f"{stratum}-{truth}")

    def _draw_other_subject(self, edge: Edge) -> str:
        """Draw a subject of the same kind that no claim joins so to the object."""
        kind = self.concepts[edge.subject].kind
        drawn = self.draw.sample(self.pool[kind], min(20, len(self.pool[kind])))
        for each in drawn:
            if (each, edge.predicate, edge.object) not in self.true:
                return each
        return ""

    def _stratum(self, edge: Edge) -> str:
        key = edge.subject, edge.predicate, edge.object
        return "covered" if key in self.covered else "uncovered"

    def _language(self, edge: Edge) -> str:
        return "zh" if templates()[local_name(edge.predicate)][1].endswith("？") else "en"

    def _name(self, iri: str, language: str) -> str:
        concept = self.concepts[iri]
        return (concept.zh if language == "zh" else concept.en) or concept.zh or concept.en


def generate_questions(
    bench: EvaluationContext, source: str, task: str, seed: int, limit: int | None
) -> QuestionSet:
    """Make questions from the relations of ``source``; ``limit`` draws that many relations.

    Of a release that no curator accepted they are made from candidates. Raise ``FormatError``
    for a source without a relation that fits a template.
    """
    store = bench.base.store
    bearing = sources_of(store)
    edges = list(load_edges(store))
    stated = [e for e in edges if source in bearing.get(e.claim, ())]
    concepts, others = bench.view.concepts, dict[str, list[str]]()
    if not stated:
        stated, concepts, others = _read_release(bench, source)
    own_edges = [
        e
        for e in stated
        if local_name(e.predicate) in templates() and e.subject in concepts and e.object in concepts
    ]
    if not own_edges:
        known = sorted({name for group in bearing.values() for name in group})
        raise FormatError("source with relations to ask about", source, known)
    projection = bench.view.projection
    covered = {
        (projection.nodes[s], projection.predicates[k], projection.nodes[t])
        for s, k, t in zip(projection.source, projection.kind, projection.target, strict=True)
    }
    pool: dict[str, list[str]] = defaultdict(list)
    for subject in sorted({e.subject for e in own_edges}):
        pool[concepts[subject].kind].append(subject)
    draw = random.Random(seed)  # noqa: S311 - a draw, no secret
    draw.shuffle(own_edges)
    true = {(e.subject, e.predicate, e.object) for e in (*edges, *stated)}
    joined, there = _rename(true, others), _rename(covered, others)
    maker = QuestionGenerator(concepts, joined, there, dict(pool), draw)
    make = maker.statements if task == "truefalse" else maker.choices
    return QuestionSet(tuple(make(own_edges[:limit])), Skips())


def _read_release(
    bench: EvaluationContext, name: str
) -> tuple[list[Edge], dict[str, Concept], dict[str, list[str]]]:
    """Return what a loaded release states, its concepts, and which match each of the base."""
    store, facts = bench.base.store, bench.runtime.facts
    quads = store.match(None, RDF.type, None, None)
    typed = {text(q.subject) for q in quads if is_of_release(q, name)}
    nodes = typed.intersection(chain.from_iterable(bench.runtime.release_names.values()))
    overlay = overlay_of_releases(store, nodes, facts)
    over, others = overlay.over(facts), defaultdict[str, list[str]](list)
    for iri in nodes:
        for match in (overlay.broader or {}).get(iri, ()):
            others[match].append(iri)
    concepts = {
        iri: Concept(iri, over.classes[iri], *(over.label(iri, each) for each in ("zh", "en")))
        for iri in nodes
    }
    stated = [f for f in overlay.facts if f.positive and not f.language]
    edges = [Edge(f.subject, f.predicate.value, f.object, f.claim, f.confidence) for f in stated]
    edges.sort(key=attrgetter("subject", "predicate", "object"))  # one order for one seed
    return edges, concepts, others


def _rename(triples: set[_Triple], others: Mapping[str, list[str]]) -> frozenset[_Triple]:
    """Return triples with those that they are between the concepts of a release."""
    return frozenset(
        (one, verb, two)
        for s, verb, o in triples
        for one in (s, *others.get(s, ()))
        for two in (o, *others.get(o, ()))
    )


EDIBLE: Final = frozenset({"Food", "MFHSubstance", "Dish"})
CONDITIONS: Final = ("Symptom", "Disease", "Syndrome")
CONSTITUTION: Final = "Constitution"
LEAST: Final = 3  # things that must be good for a condition that is asked about; Shiyi's
_GOOD: Final = {
    "suitableFood": True,
    "relieves": False,
    "indicatedFor": False,
}  # True: of the state
_BAD: Final = {"unsuitableFood": True, "cautionIn": False, "contraindicatedIn": False}

Joined = dict[str, dict[str, set[str]]]  # state, then thing, then claims


def mfh_questions(
    store: QuadStore, index: LabelIndex, seed: int, limit: int | None = None
) -> tuple[Prescriptions, frozenset[str]]:
    """Return balanced questions, a condition and a constitution each, and the claims to withhold.

    Right is what is good for the condition and not stored bad for the constitution.
    Raises ``UsageError`` for a base that says nothing of the kind.
    """
    kinds = {concept.iri: concept.kind for concept in index.concepts}
    names = {concept.iri: concept.zh or concept.en for concept in index.concepts}
    edges = list(load_edges(store))
    good, bad = _pairs(edges, _GOOD, kinds), _pairs(edges, _BAD, kinds)
    constitutions = sorted(iri for iri, kind in kinds.items() if kind == CONSTITUTION)
    questions, withheld = list[Prescription](), set[str]()
    draw = random.Random(seed)  # noqa: S311 - a draw, no secret
    for place, condition in enumerate(_balance_kinds(good, kinds, draw)):
        if limit is not None and len(questions) >= limit:
            break
        constitution = constitutions[place % len(constitutions)]
        right = good[condition].keys() - bad.get(constitution, {}).keys()
        if right:
            symptoms = names[condition], names[constitution]
            gold = frozenset(names[each] for each in right)
            questions.append(Prescription(local_name(condition), symptoms, gold, kinds[condition]))
            withheld |= {claim for claims in good[condition].values() for claim in claims}
    if not questions:
        raise UsageError("the base says of too few conditions what is good to eat in them")
    things = sorted({names[thing] for record in good.values() for thing in record})
    return Prescriptions(tuple(questions), tuple(things)), frozenset(withheld)


def _pairs(edges: Iterable[Edge], relations: dict[str, bool], kinds: dict[str, str]) -> Joined:
    results: Joined = defaultdict(lambda: defaultdict(set))
    for edge in edges:
        of_state = relations.get(local_name(edge.predicate))
        if of_state is None:
            continue
        state, thing = (edge.subject, edge.object) if of_state else (edge.object, edge.subject)
        if kinds.get(thing) in EDIBLE and kinds.get(state) in {*CONDITIONS, CONSTITUTION}:
            results[state][thing].add(edge.claim)
    return results


def _balance_kinds(good: Joined, kinds: dict[str, str], draw: random.Random) -> Iterator[str]:
    """Yield conditions, of each kind in turn, as long as every kind has one left."""
    listed = []
    for kind in CONDITIONS:
        of_kind = sorted(iri for iri in good if kinds[iri] == kind and len(good[iri]) >= LEAST)
        draw.shuffle(of_kind)
        listed.append(of_kind)
    for several in zip(*listed, strict=False):
        yield from several


KINDS: Final = ("plain", "two", "described", "veiled")
EACH: Final = 50  # questions of a kind where no limit is set
_SURER: Final = 0.15  # Shiyi's: how far the surest claim lies above the others
_SHORTEST: Final = 12  # characters of a description
_BRACKETS: Final = re.compile(r"[(（].*?[)）]")


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A question and the claims that answer it; ``kind`` is one of :data:`KINDS`."""

    id: str
    question: str
    claims: frozenset[str]
    kind: str


def claim_questions(
    store: QuadStore, facts: Facts, linker: Linker, seed: int, limit: int | None = None
) -> tuple[GeneratedQuestion, ...]:
    """Make as many questions of each kind, as far as there are any.

    Plain asks one relation of a thing, two asks two of two things at once; described asks by the
    words of a note; veiled asks what is good for a state under a classical or everyday word.
    """
    number = EACH if limit is None else max(1, limit // len(KINDS))
    plain = _sample_questions(sorted(_plain(facts), key=lambda q: q.id), seed, 3 * number)
    questions = plain[number:] or plain  # a small base repeats a question, two at once
    two = [
        GeneratedQuestion(f"{a.id}+{b.id}", a.question + b.question, a.claims | b.claims, "two")
        for a, b in zip(questions[::2], questions[1::2], strict=False)
        if a.id.split()[0] != b.id.split()[0]
    ]
    described_questions = _sample_questions(list(_ask_by_note(store, facts)), seed, number)
    veiled = _sample_questions(list(_ask_by_synonym(facts, linker)), seed, number)
    return (*plain[:number], *two, *described_questions, *veiled)


def _sample_questions(
    questions: list[GeneratedQuestion], seed: int, count: int
) -> list[GeneratedQuestion]:
    random.Random(seed).shuffle(questions)  # noqa: S311 - a draw, no secret
    return questions[:count]


def _plain(facts: Facts) -> Iterator[GeneratedQuestion]:
    for subject, found_facts in facts.by_subject.items():
        grouped: dict[str, set[str]] = defaultdict(set)
        for fact in found_facts:
            if fact.positive and not fact.derived and not fact.language:
                grouped[fact.predicate.value].add(fact.claim)
        name = facts.labels.get(subject, {}).get("zh")
        for predicate, claims in grouped.items():
            if name:
                label = _BRACKETS.sub("", facts.property_label(NamedNode(predicate), "zh"))
                name_of = f"{local_name(subject)} {local_name(predicate)}"
                yield GeneratedQuestion(
                    name_of, f"{name}的{label}是什么？", frozenset(claims), "plain"
                )


def _ask_by_note(store: QuadStore, facts: Facts) -> Iterator[GeneratedQuestion]:
    """Ask for the claims that one note stands beside, by the words of the note."""
    known_facts = {fact.claim: fact for row in facts.by_subject.values() for fact in row}
    bearing: dict[str, set[str]] = defaultdict(set)
    for unit in units(store, facts):
        if unit.kind == CLAIM and unit.iri in known_facts:
            note = unit.text.removeprefix(verbalize_claim(facts, known_facts[unit.iri])).strip()
            if len(note) >= _SHORTEST:
                bearing[note].add(unit.iri)
    for number, (note, claims) in enumerate(sorted(bearing.items())):
        yield GeneratedQuestion(f"note {number}", note[:120], frozenset(claims), "described")


def _ask_by_synonym(facts: Facts, linker: Linker) -> Iterator[GeneratedQuestion]:
    """Ask what is good for a state that is not called by one of its names."""
    good = {node.value for node in BENEFIT}
    names = {label.text for label in linker.index.labels}
    for expression, euphemism in sorted(euphemisms().items()):
        whole = [m.iri for m in linker.link(euphemism.term) if m.iri and m.text == euphemism.term]
        if expression in names or not whole:
            continue
        ends = (*facts.by_subject.get(whole[0], ()), *facts.by_object.get(whole[0], ()))
        claims = {
            f.claim for f in ends if f.predicate.value in good and f.positive and not f.derived
        }
        if claims:
            yield GeneratedQuestion(
                f"veiled {expression}", f"{expression}宜食什么？", frozenset(claims), "veiled"
            )


def surest_questions(
    store: QuadStore, index: LabelIndex, seed: int, limit: int | None = None
) -> QuestionSet:
    """Make multiple-choice questions with recorded options, one of higher confidence.

    Who holds every claim for equally sure can only draw.
    """
    concepts = {concept.iri: concept for concept in index.concepts}
    grouped: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for edge in load_edges(store):
        verb = local_name(edge.predicate)
        if verb in templates() and edge.subject in concepts and edge.object in concepts:
            of_object = grouped[verb, edge.object]
            of_object[edge.subject] = max(edge.confidence, of_object.get(edge.subject, 0.0))
    draw = random.Random(seed)  # noqa: S311 - a draw, no secret
    questions = []
    for (verb, wanted), subjects in sorted(grouped.items()):
        best = max(subjects, key=lambda iri: (subjects[iri], iri))
        less = sorted(iri for iri, c in subjects.items() if c <= subjects[best] - _SURER)
        if len(less) < 3:
            continue
        language = "zh" if templates()[verb][1].endswith("？") else "en"
        options = [best, *draw.sample(less, 3)]
        draw.shuffle(options)
        names = [getattr(concepts[iri], language) or concepts[iri].zh for iri in options]
        stem = templates()[verb][1].format(o=getattr(concepts[wanted], language))
        if len(set(names)) == len(names):
            gold = frozenset("ABCD"[options.index(best)])
            questions.append(
                Choice(
                    f"{local_name(wanted)} {verb}",
                    stem,
                    tuple(zip("ABCD", names, strict=True)),
                    gold,
                )
            )
    draw.shuffle(questions)
    return QuestionSet(tuple(questions[:limit]))
