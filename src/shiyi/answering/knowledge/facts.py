"""Accepted and derived claims in memory."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Final, Self, TypeGuard

from typing_extensions import override

from shiyi.model.answer import Labelled
from shiyi.model.claim import confidence_value
from shiyi.model.iris import VOCAB, graph, is_text
from shiyi.model.path import Hop, Path, Step
from shiyi.model.rdf import (
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Term,
    Triple,
    local_name,
    text,
)
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore, is_own, match_own

COUNTLESS: Final = frozenset({"Claim", "Evidence", "Text"})  # classes of very many things
_DEFAULT, _DERIVED = DefaultGraph(), graph("derived")
_Graph = NamedNode | DefaultGraph
BILINGUAL: Final = "mul"  # as BCP 47 marks what is in several languages
_CACHED: Final = 4096  # concepts with cached groups of facts


@dataclass(frozen=True, slots=True)
class Fact:
    """One claim; ``language`` is set where the object is a text.

    It is :data:`BILINGUAL` where the object names a text, which has labels in both languages.
    ``origin`` is the school or source that states it, where no curator has accepted it.
    """

    subject: str
    predicate: NamedNode
    object: str
    claim: str
    confidence: float
    positive: bool = True
    derived: bool = False
    language: str = ""
    origin: str = ""

    def other(self, iri: str) -> str:
        """Return the end that is not ``iri``."""
        return self.object if self.subject == iri else self.subject

    def path(self, start: str) -> Path:
        """Return the claim as a path of one hop that leaves ``start``."""
        hop = Hop(
            self.subject,
            self.predicate.value,
            self.object,
            self.claim,
            self.confidence,
            forward=self.subject == start,
        )
        return Path((hop,))


@dataclass(frozen=True)
class Facts:
    """Accepted and derived claims by either end, with labels, classes and hierarchies."""

    by_subject: Mapping[str, tuple[Fact, ...]]
    by_object: Mapping[str, tuple[Fact, ...]]
    labels: Mapping[str, Mapping[str, str]]
    classes: Mapping[str, str]
    broader: Mapping[str, tuple[str, ...]]
    cuis: Mapping[str, str]
    premises: Mapping[str, tuple[str, ...]]
    by_claim: Mapping[str, tuple[Fact, ...]]
    schema: Schema = field(repr=False)

    @classmethod
    def read(cls, store: QuadStore, schema: Schema) -> Self:
        """Read the accepted view and the derived graph."""
        once = dict[str, str]()  # each name is in memory once, however many claims have it
        facts = [fact for place in (_DEFAULT, _DERIVED) for fact in _facts(store, place, once)]
        premises: dict[str, list[str]] = defaultdict(list)
        for quad in match_own(store, None, PROV.wasDerivedFrom, None, _DERIVED):
            premises[text(quad.subject)].append(text(quad.object))
        return cls(
            _group_by_key((f.subject, f) for f in facts),
            _group_by_key((f.object, f) for f in facts if not f.language),
            _labels(store),
            _classes(store, schema),
            {k: tuple(sorted(v)) for k, v in _links(store, SKOS.broader).items()},
            {k: min(v) for k, v in _links(store, SHIYI.umlsCui).items()},
            {k: tuple(sorted(v)) for k, v in premises.items()},
            _group_by_key((f.claim, f) for f in facts),
            schema,
        )

    def label(self, iri: str, language: str) -> str:
        """Return the preferred label in ``language``, else in the other one, else the name."""
        names = self.labels.get(iri, {})
        return names.get(language) or next(iter(names.values()), "") or local_name(iri)

    def property_label(self, predicate: NamedNode, language: str) -> str:
        """Return a property's label."""
        known = self.schema.properties.get(local_name(predicate.value))
        if known is None:
            return local_name(predicate.value)
        return known.label_zh if language == "zh" else known.label_en

    def concept(self, iri: str, language: str) -> Labelled:
        """Return a concept as an answer shows it."""
        return Labelled(iri, self.label(iri, language), self.cuis.get(iri, ""))

    def is_a(self, iri: str, *classes: NamedNode) -> bool:
        """Return whether a concept belongs to one of the classes or to one below them."""
        own = self.classes.get(iri)
        return own is not None and self._lies_below(own, classes)

    def _lies_below(self, own: str, classes: tuple[NamedNode, ...]) -> bool:
        key = (own, classes)
        known = self._belongs.get(key)
        if known is None:
            above = self.schema.above.get(own, frozenset((own,)))
            known = any(local_name(node.value) in above for node in classes)
            self._belongs[key] = known
        return known

    def of(self, subject: str, *predicates: NamedNode) -> tuple[Fact, ...]:
        """List asserted facts about ``subject``, surest first."""
        about = self._facts_by_class(subject)
        return _merge_sorted([about.get(node, ()) for node in predicates])

    def inverse(self, object_: str, *predicates: NamedNode) -> tuple[Fact, ...]:
        """List asserted facts with the object ``object_``, highest confidence first."""
        toward = self._toward(object_)
        return _merge_sorted([toward.get(node, ()) for node in predicates])

    def siblings(self, iri: str) -> tuple[str, ...]:
        """List the supplements made of the organism of a material, or the materials of its."""
        extract = self.is_a(iri, SHIYI.DSIngredient)
        node = SHIYI.DietaryMaterial if extract else SHIYI.DSIngredient
        results = (
            f.subject
            for origin in self.of(iri, SHIYI.derivedFromOrganism)
            for f in self.inverse(origin.object, SHIYI.derivedFromOrganism)
        )
        return tuple(
            result
            for result in dict.fromkeys(results)
            if result != iri
            and self.is_a(result, node)
            and self.is_a(result, SHIYI.DSIngredient) != extract
        )

    def texts(self, subject: str, predicate: NamedNode, language: str) -> tuple[Fact, ...]:
        """List texts about ``subject`` in ``language``, or in the other one if there is none."""
        facts = self.of(subject, predicate)
        return tuple(f for f in facts if f.language in (language, BILINGUAL)) or facts

    def words(self, fact: Fact, language: str) -> str:
        """Return the object of a fact in words: a label in ``language``, or the text itself."""
        if fact.language and fact.language != BILINGUAL:
            return fact.object
        return self.label(fact.object, language)

    def between(self, one: str, other: str) -> tuple[Fact, ...]:
        """List all claims, negative and derived ones too, that join two concepts."""
        return self._facts_by_pair(one).get(other, ())

    def above(self, iri: str) -> tuple[str, ...]:
        """List ``iri`` and all broader concepts, nearest first."""
        return self._ancestors(iri)

    def medicines_in(self, iri: str) -> tuple[str, ...]:
        """List a medicine and the single medicines that it combines; nothing for a class."""
        near = self.above(iri) if self.is_a(iri, SHIYI.Drug) else ()
        return tuple(each for each in near if not self.is_a(each, SHIYI.DrugClass))

    def below(self, iri: str) -> tuple[str, ...]:
        """List ``iri`` and all narrower concepts, nearest first."""
        return self._descendants(iri)

    @cached_property
    def _belongs(self) -> dict[tuple[str, tuple[NamedNode, ...]], bool]:
        return {}

    @cached_property
    def _ancestors(self) -> Callable[[str], tuple[str, ...]]:
        return lru_cache(_CACHED)(partial(_reach, self.broader))

    @cached_property
    def _descendants(self) -> Callable[[str], tuple[str, ...]]:
        return lru_cache(_CACHED)(partial(_reach, self.narrower))

    @cached_property
    def _facts_by_class(self) -> Callable[[str], Mapping[NamedNode, tuple[Fact, ...]]]:
        return lru_cache(_CACHED)(partial(_by_predicate, self.by_subject))

    @cached_property
    def _toward(self) -> Callable[[str], Mapping[NamedNode, tuple[Fact, ...]]]:
        return lru_cache(_CACHED)(partial(_by_predicate, self.by_object))

    @cached_property
    def _facts_by_pair(self) -> Callable[[str], Mapping[str, tuple[Fact, ...]]]:
        return lru_cache(_CACHED)(partial(_by_other, self.by_subject, self.by_object))

    @cached_property
    def joins(self) -> Mapping[tuple[str, str, str], int]:
        """Count the accepted claims by class of the subject, property and class of the object."""
        counted: Counter[tuple[str, str, str]] = Counter()
        for facts in self.by_subject.values():
            counted.update(filter(None, map(self.join_key, facts)))
        return counted

    def join_key(self, fact: Fact) -> tuple[str, str, str] | None:
        """Return which classes a fact joins by which property; None where it joins none."""
        one, other = self.classes.get(fact.subject), self.classes.get(fact.object)
        if not (one and other and fact.positive and not fact.derived):
            return None
        return one, fact.predicate.value, other

    @cached_property
    def narrower(self) -> Mapping[str, tuple[str, ...]]:
        """Return the narrower concepts of each concept."""
        turned: dict[str, list[str]] = defaultdict(list)
        for node, above in self.broader.items():
            for broader in above:
                turned[broader].append(node)
        return {node: tuple(sorted(below)) for node, below in turned.items()}

    @cached_property
    def incompatible(self) -> tuple[Fact, ...]:
        """Return the claims that two things do not go together."""
        facts = (row[0] for row in self.by_claim.values())
        return tuple(fact for fact in facts if fact.predicate in INCOMPATIBLE)

    @cached_property
    def _of_class(self) -> Mapping[str, tuple[str, ...]]:
        """Return the concepts of each class that some concept has."""
        results: dict[str, list[str]] = defaultdict(list)
        for iri, name in self.classes.items():
            results[name].append(iri)
        return {name: tuple(every) for name, every in results.items()}

    def members(self, *classes: NamedNode) -> tuple[str, ...]:
        """List the concepts of some classes."""
        found = [every for name, every in self._of_class.items() if self._lies_below(name, classes)]
        return tuple(sorted(iri for row in found for iri in row))


def _by_predicate(
    side: Mapping[str, tuple[Fact, ...]], end: str
) -> Mapping[NamedNode, tuple[Fact, ...]]:
    """Group the asserted, positive facts at one end by predicate, surest first."""
    found: dict[NamedNode, list[Fact]] = defaultdict(list)
    for fact in side.get(end, ()):
        if fact.positive and not fact.derived:
            found[fact.predicate].append(fact)
    return {predicate: tuple(sorted(facts, key=_sureness)) for predicate, facts in found.items()}


def _by_other(
    by_subject: Mapping[str, tuple[Fact, ...]], by_object: Mapping[str, tuple[Fact, ...]], one: str
) -> Mapping[str, tuple[Fact, ...]]:
    """Group all facts between concepts by what they join one concept with, its own first."""
    return _group_by_key(
        (f.other(one), f)
        for f in (
            *by_subject.get(one, ()),
            *(f for f in by_object.get(one, ()) if f.subject != one),
        )
        if not f.language
    )


def _sureness(fact: Fact) -> tuple[float, str]:
    return -fact.confidence, fact.claim


def _merge_sorted(lists: list[tuple[Fact, ...]]) -> tuple[Fact, ...]:
    """Join lists that are sorted already."""
    if len(lists) == 1:
        return lists[0]
    return tuple(sorted((fact for facts in lists for fact in facts), key=_sureness))


def _reach(links: Mapping[str, tuple[str, ...]], iri: str) -> tuple[str, ...]:
    seen = dict.fromkeys([iri])
    queue = [iri]
    while queue:
        for following in links.get(queue.pop(0), ()):
            if following not in seen:
                seen[following] = None
                queue.append(following)
    return tuple(seen)


def _group_by_key(pairs: Iterable[tuple[str, Fact]]) -> dict[str, tuple[Fact, ...]]:
    facts: dict[str, list[Fact]] = defaultdict(list)
    for key, fact in pairs:
        facts[key].append(fact)
    return {key: tuple(found_facts) for key, found_facts in facts.items()}


def _facts(store: QuadStore, place: _Graph, once: dict[str, str]) -> Iterator[Fact]:
    sure = _accepted_confidences(store, place)
    negative = {
        text(q.subject) for q in match_own(store, None, SHIYI.polarity, SHIYI.negative, place)
    }
    for quad in match_own(store, None, RDF.reifies, None, place):
        claim, triple = text(quad.subject), quad.object
        if not is_fact(triple) or (confidence := sure.get(claim)) is None:
            continue
        subject, object_ = text(triple.subject), text(triple.object)
        language = language_of(triple.object)
        yield Fact(
            once.setdefault(subject, subject),
            triple.predicate,
            once.setdefault(object_, object_) if language in ("", BILINGUAL) else object_,
            claim,
            confidence,
            claim not in negative,
            place == _DERIVED,
            language,
        )


def _accepted_confidences(store: QuadStore, place: _Graph) -> dict[str, float]:
    """Return the confidence of each accepted claim that has an IRI and a confidence."""
    confidences: dict[Term, float | None] = {
        q.subject: confidence_value(q.object)
        for q in match_own(store, None, SHIYI.confidence, None, place)
        if isinstance(q.subject, NamedNode)
    }
    sure = dict[str, float]()
    for quad in match_own(store, None, SHIYI.status, SHIYI.accepted, place):
        if not isinstance(quad.subject, NamedNode):
            continue
        if (confidence := confidences.get(quad.subject)) is not None:
            sure[quad.subject.value] = confidence
    return sure


def is_fact(term: Term | None) -> TypeGuard[Triple]:
    """Return whether a triple term states something of a concept, about another or as a text."""
    return (
        isinstance(term, Triple)
        and isinstance(term.subject, NamedNode)
        and isinstance(term.object, NamedNode | Literal)
    )


def count_unread(store: QuadStore) -> dict[str, int]:
    """Count the accepted claims that :meth:`Facts.read` passes over, by reason."""
    counts: Counter[str] = Counter()
    for place in (_DEFAULT, _DERIVED):
        terms = {
            q.subject for q in store.match(None, RDF.reifies, None, place) if is_fact(q.object)
        }
        sure = {
            q.subject
            for q in store.match(None, SHIYI.confidence, None, place)
            if confidence_value(q.object) is not None
        }
        for quad in store.match(None, SHIYI.status, SHIYI.accepted, place):
            if not is_own(quad):
                counts["not named by the base"] += 1
            elif quad.subject not in terms:
                counts["without a statement"] += 1
            elif quad.subject not in sure:
                counts["without a confidence from 0 to 1"] += 1
    return dict(counts)


def derived_claims(store: QuadStore) -> Iterator[str]:
    """Name the claims that the derived graph holds."""
    return (text(quad.subject) for quad in match_own(store, None, RDF.reifies, None, _DERIVED))


def language_of(term: Term) -> str:
    """Return the language of an object that is a text; empty for a concept."""
    if isinstance(term, Literal):
        return term.language or "und"
    return BILINGUAL if isinstance(term, NamedNode) and is_text(term.value) else ""


def _labels(store: QuadStore) -> dict[str, dict[str, str]]:
    labels: dict[str, dict[str, str]] = defaultdict(dict)
    for predicate in (RDFS.label, SKOS.prefLabel):
        for quad in match_own(store, None, predicate, None, _DEFAULT):
            if isinstance(quad.object, Literal) and isinstance(quad.subject, NamedNode):
                labels[text(quad.subject)][quad.object.language or "und"] = quad.object.value
    return dict(labels)


def _classes(store: QuadStore, schema: Schema) -> dict[str, str]:
    """Return the most specific Shiyi class of each concept."""
    results: dict[str, str] = {}
    for name in sorted(schema.parents.keys() - COUNTLESS):
        for quad in match_own(store, None, RDF.type, NamedNode(VOCAB + name), _DEFAULT):
            if not isinstance(quad.subject, NamedNode):
                continue
            iri = quad.subject.value
            known = results.get(iri)
            if known is None or known in schema.superclasses(name):
                results[iri] = name
    return results


def _links(store: QuadStore, predicate: NamedNode) -> dict[str, set[str]]:
    links: dict[str, set[str]] = defaultdict(set)
    for quad in match_own(store, None, predicate, None, _DEFAULT):
        if isinstance(quad.subject, NamedNode) and not isinstance(quad.object, BlankNode | Triple):
            links[quad.subject.value].add(text(quad.object))
    return links


BENEFIT: Final = (
    SHIYI.suitableFood, SHIYI.relieves, SHIYI.indicatedFor, SHIYI.isEffectiveFor, SHIYI.realisedBy,
)  # fmt: skip
_RELATED: Final = Step(SHIYI.relatedConstitution.value)
_SHOWN_BY: Final = Step(SHIYI.hasManifestation.value, forward=False)
_SYNDROME: Final = Step(SHIYI.hasSyndrome.value)
_PRINCIPLE: Final = Step(SHIYI.hasTreatmentPrinciple.value)
_SOUGHT: Final = Step(SHIYI.directedAt.value, forward=False)
# the only directions that lead to advice: from a sign to the patterns it may belong to, never
# from a sign, a syndrome or a constitution to a disease, which would make a patient of the asker
BRIDGES: Final[tuple[tuple[NamedNode, Step, NamedNode], ...]] = (
    (SHIYI.Symptom, _RELATED, SHIYI.Constitution), (SHIYI.Symptom, _SHOWN_BY, SHIYI.Syndrome),
    (SHIYI.Symptom, _SHOWN_BY, SHIYI.Constitution), (SHIYI.Symptom, _SOUGHT, SHIYI.Efficacy),
    (SHIYI.Disease, _RELATED, SHIYI.Constitution), (SHIYI.Disease, _SYNDROME, SHIYI.Syndrome),
    (SHIYI.TCMDisease, _RELATED, SHIYI.Constitution), (SHIYI.TCMDisease, _SYNDROME, SHIYI.Syndrome),
    (SHIYI.Syndrome, _PRINCIPLE, SHIYI.Therapy),
)  # fmt: skip
# only at the start, where a principle of treatment is asked for: the patterns it treats
FIRST_BRIDGES: Final[tuple[tuple[NamedNode, Step, NamedNode], ...]] = (
    (SHIYI.Therapy, Step(SHIYI.hasTreatmentPrinciple.value, forward=False), SHIYI.Syndrome),
)
# from an effect that is asked for, such as 补血, or that is for the sign asked about: what has it
WITH_EFFECT: Final = Step(SHIYI.hasEfficacy.value, forward=False)
CAUTION: Final = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.aggravates, SHIYI.derivedCaution,
)  # fmt: skip
INTERACTION: Final = (SHIYI.interactsWith, SHIYI.potentiallyInteractsWith)
INCOMPATIBLE: Final = (SHIYI.opposes, SHIYI.fears, SHIYI.incompatibleWith)
COMPOSITION: Final = (  # what is in a thing, and what it is made from
    SHIYI.hasIngredient, SHIYI.hasActiveConstituent, SHIYI.hasNutrient,
    SHIYI.derivedFromOrganism, SHIYI.usesPart,
)  # fmt: skip
ADVERSE: Final = (SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn)
TOXIC: Final = (SHIYI.hasToxicity, SHIYI.regulatoryStatus)
PROFILE: Final = (
    SHIYI.hasNature, SHIYI.hasFlavour, SHIYI.hasMeridianTropism, SHIYI.hasEfficacy,
)  # fmt: skip

MATERIAL: Final = (
    SHIYI.DietaryMaterial, SHIYI.Dish, SHIYI.Formula, SHIYI.DSIngredient, SHIYI.DSProduct,
)  # fmt: skip
EDIBLE: Final = (SHIYI.Food, SHIYI.Dish)
SUPPLEMENT: Final = (SHIYI.DSIngredient,)
AILMENT: Final = (SHIYI.Disease, SHIYI.TCMDisease, SHIYI.Syndrome, SHIYI.Symptom)


class AssertedClaims(Mapping[str, Fact]):
    """The claims that were read, by their IRI, without those derived from them."""

    def __init__(self, by_claim: Mapping[str, tuple[Fact, ...]]) -> None:
        """Look claims up in ``by_claim``."""
        self._by_claim = by_claim

    @override
    def __getitem__(self, claim: str) -> Fact:
        if (fact := _asserted_fact(self._by_claim.get(claim, ()))) is None:
            raise KeyError(claim)
        return fact

    @override
    def __iter__(self) -> Iterator[str]:
        return (claim for claim, facts in self._by_claim.items() if _asserted_fact(facts))

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)


def _asserted_fact(facts: Iterable[Fact]) -> Fact | None:
    return next((fact for fact in facts if not fact.derived), None)
