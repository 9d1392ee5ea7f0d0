"""Concepts as editable values."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Final

from shiyi.curation.changes import Edit
from shiyi.curation.editing.form import fault
from shiyi.errors import Fault, FormError
from shiyi.ingest.tables.concepts import (
    ID_FORM,
    KINDS,
    LISTS,
    RETIRED,
    Concept,
    concept_pinyin,
    concept_quads,
)
from shiyi.model.iris import ID, VOCAB, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore, text_value

DEFAULT = DefaultGraph()
LONGEST: Final = 1000  # characters of a field
_FIELDS: Final = tuple(field.name for field in fields(Concept) if field.name != "place")
_TCM_SIGN = resource("scheme-tcm-sign")
_WRITTEN = frozenset({
    RDF.type, SKOS.inScheme, SKOS.prefLabel, SKOS.altLabel, SHIYI.latinName, SKOS.notation,
    SHIYI.pinyin, SKOS.definition, SKOS.scopeNote, SKOS.broader,
})  # fmt: skip


def quads_of(concept: Concept) -> Iterator[Quad]:
    """Yield what the base says of a concept."""
    yield from concept_quads(concept, concept.broader, concept_pinyin(concept))
    if not concept.broader:
        scheme = resource(f"scheme-{KINDS[concept.class_name]}")
        yield Quad(scheme, SKOS.hasTopConcept, concept.iri, DEFAULT)


def load_concept(store: QuadStore, iri: str) -> Concept | None:
    """Read a concept of the base; None where it holds none of that name."""
    node = NamedNode(iri)
    kinds = [
        local_name(text(q.object))
        for q in store.match(node, RDF.type, None, DEFAULT)
        if text(q.object).startswith(VOCAB)
    ]
    known = sorted((kind for kind in kinds if kind in KINDS), key=list(KINDS).index)
    if not iri.startswith(ID) or not known:
        return None

    def texts(predicate: NamedNode, language: str | None) -> tuple[str, ...]:
        quads = (q.object for q in store.match(node, predicate, None, DEFAULT))
        return tuple(
            sorted(
                term.value
                for term in quads
                if isinstance(term, Literal) and (term.language or None) == language
            )
        )

    def first(predicate: NamedNode, language: str | None) -> str:
        return next(iter(texts(predicate, language)), "")

    broader = (text(q.object) for q in store.match(node, SKOS.broader, None, DEFAULT))
    concept = Concept(
        iri.removeprefix(ID),
        known[0],
        first(SKOS.prefLabel, "zh"),
        first(SKOS.prefLabel, "en"),
        texts(SKOS.altLabel, "zh"),
        texts(SKOS.altLabel, "en"),
        text_value(store, node, SHIYI.pinyin, DEFAULT),
        texts(SHIYI.latinName, None),
        texts(SKOS.notation, None),
        tuple(sorted(each.removeprefix(ID) for each in broader)),
        first(SKOS.definition, "zh"),
        first(SKOS.definition, "en"),
        first(SKOS.scopeNote, "zh"),
        first(SKOS.scopeNote, "en"),
        any(store.match(node, SKOS.inScheme, _TCM_SIGN, DEFAULT)),
    )
    bare = replace(concept, pinyin="")
    return bare if concept_pinyin(bare) == concept.pinyin else concept


def add_concept(concept: Concept) -> Edit:
    """Write a new concept."""
    return Edit("add-concept", (concept.iri.value,), added=tuple(quads_of(concept)))


def change_concept(store: QuadStore, concept: Concept) -> Edit:
    """Write the changed fields of a concept; quads that no form covers stay."""
    quads, new_quads = difference(store, concept)
    if not (quads or new_quads):
        raise FormError([fault("zh", "unchanged")])
    return Edit("edit-concept", (concept.iri.value,), removed=tuple(quads), added=tuple(new_quads))


def difference(store: QuadStore, concept: Concept) -> tuple[list[Quad], list[Quad]]:
    """Return the quads to remove and to add so that the base has this concept."""
    after = set(quads_of(concept))
    before = form_quads(store, concept.iri)
    return sorted(before - after, key=str), sorted(after - before, key=str)


def form_quads(store: QuadStore, node: NamedNode) -> set[Quad]:
    """Return the quads of a concept that a form covers."""
    results = {q for q in store.match(node, None, None, DEFAULT) if q.predicate in _WRITTEN}
    return results | set(store.match(None, SKOS.hasTopConcept, node, DEFAULT))


def find_faults(store: QuadStore, concept: Concept, is_new: bool) -> tuple[Fault, ...]:
    """List the faults of a concept apart from those of the shapes."""
    return (*_names(store, concept, is_new), *_texts(concept), *_broader_faults(store, concept))


def _names(store: QuadStore, concept: Concept, is_new: bool) -> Iterator[Fault]:
    kind = KINDS.get(concept.class_name, "")
    if not kind:
        yield fault("class_name", "unknown_class", words=concept.class_name[:60])
        return
    if not ID_FORM.fullmatch(concept.id) or not concept.id.startswith(f"{kind}-"):
        yield fault("id", "id_form", words=f"{kind}-…")
    elif is_new and (
        load_concept(store, concept.iri.value) or any(store.match(concept.iri, None, None, RETIRED))
    ):
        yield fault("id", "id_taken")
    for language, label in (("zh", concept.zh), ("en", concept.en)):
        if not label:
            yield fault(language, "no_label", language=language)
        for other in _find_namesakes(store, label, language, kind) if label else ():
            if other != concept.id:
                yield fault(language, "label_taken", words=label, names=other)


def _find_namesakes(store: QuadStore, label: str, language: str, kind: str) -> Iterator[str]:
    """Yield the concepts of a kind that have a preferred label."""
    for quad in store.match(None, SKOS.prefLabel, Literal(label, language=language), DEFAULT):
        name = text(quad.subject).removeprefix(ID)
        if name.partition("-")[0] == kind:
            yield name


def _texts(concept: Concept) -> Iterator[Fault]:
    for name in _FIELDS:
        value = getattr(concept, name)
        for part in value if isinstance(value, tuple) else (str(value),):
            if len(part) > LONGEST:
                yield fault(name, "too_long")
            elif (not part.isprintable() and part) or (name in LISTS and "|" in part):
                yield fault(name, "control")


def _broader_faults(store: QuadStore, concept: Concept) -> Iterator[Fault]:
    kind = KINDS.get(concept.class_name, "")
    for each in concept.broader:
        above = load_concept(store, ID + each) if each.isascii() else None
        if above is None or KINDS[above.class_name] != kind:
            yield fault("broader", "unknown_concept", words=each[:80])
        elif concept.id in ancestors(store, each) | {each}:
            yield fault("broader", "cycle", words=each)


def ancestors(store: QuadStore, name: str) -> set[str]:
    """Return the ids of everything broader than a concept."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for quad in store.match(resource(waiting.pop()), SKOS.broader, None, DEFAULT):
            above = text(quad.object).removeprefix(ID)
            if above not in seen:
                seen.add(above)
                waiting.append(above)
    return seen


def narrower(store: QuadStore, node: NamedNode) -> list[NamedNode]:
    """List what stands directly below a concept."""
    quads: Iterable[Quad] = store.match(None, SKOS.broader, node, DEFAULT)
    return sorted((q.subject for q in quads if isinstance(q.subject, NamedNode)), key=str)
