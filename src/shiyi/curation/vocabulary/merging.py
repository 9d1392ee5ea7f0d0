"""Merging, splitting and retiring of concepts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from shiyi.curation.changes import Edit
from shiyi.curation.editing.changes import ACCEPT, MEND, changed_quads, retirement_quads
from shiyi.curation.editing.claims import ACCEPTED, StoredClaim, load_claim, load_labels
from shiyi.curation.editing.form import fault
from shiyi.curation.vocabulary.concepts import (
    DEFAULT,
    difference,
    form_quads,
    load_concept,
    narrower,
    quads_of,
)
from shiyi.curation.vocabulary.mappings import list_mappings_of
from shiyi.errors import FormError, UsageError
from shiyi.ingest.gate import CANDIDATES
from shiyi.ingest.tables.concepts import KINDS, Concept, RetiredConcept, retired_quads
from shiyi.ingest.tables.mappings import LINKS, MAPPINGS, row_quads
from shiyi.model.claim import Claim, Polarity
from shiyi.model.iris import ID, VOCAB, resource
from shiyi.model.rdf import NamedNode, Quad, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore

MOST = 5000  # claims that one move takes along


def merge_concepts(store: QuadStore, source: str, target: str, reason: str) -> Edit:
    """Merge one concept into another: names become aliases, claims and mappings move.

    The old IRI then leads to the new by 301. ``UsageError`` where the two are of different kinds.
    """
    one, other = _entry(store, source), _entry(store, target)
    if one.id == other.id:
        raise FormError([fault("target", "itself_concept")])
    if KINDS[one.class_name] != KINDS[other.class_name]:
        raise FormError([fault("target", "other_kind", **_kinds(store, one, other))])
    after = replace(
        other,
        alt_zh=_union(other.alt_zh, (one.zh, *one.alt_zh), other.zh),
        alt_en=_union(other.alt_en, (one.en, *one.alt_en), other.en),
        latin=_union(other.latin, one.latin),
        notation=_union(other.notation, one.notation),
        broader=tuple(x for x in _union(other.broader, one.broader) if x not in (one.id, other.id)),
    )
    quads, new_quads = difference(store, after)
    moved_claims = _moved_claims(store, list_claims_about(store, source), one.iri, other.iri)
    quads += [*moved_claims[0], *_removed_quads(store, one)]
    new_quads += [
        *moved_claims[1],
        *_moved_mappings(store, one.iri, other.iri),
        *_narrower_quads(store, one.iri, other.iri),
    ]
    new_quads += retired_quads(RetiredConcept(one.id, one.zh, one.en, other.id, reason))
    return _edit("merge", (source, target), quads, new_quads)


def split_concept(store: QuadStore, source: str, part: Concept, claims: Iterable[str]) -> Edit:
    """Make a new concept of some claims of another, which stays with the rest."""
    one, chosen = _entry(store, source), list(claims)
    about = set(list_claims_about(store, source))
    if not chosen or not set(chosen) <= about:
        raise FormError([fault("claims", "own_claims")])
    quads, moved_quads = _moved_claims(store, chosen, one.iri, part.iri)
    new_quads = [*quads_of(part), *moved_quads]
    return _edit("split-concept", (source, part.iri.value), quads, new_quads)


def deprecate_concept(store: QuadStore, source: str, replacement: str, reason: str) -> Edit:
    """Retire a concept without claims: 301 to its replacement, or 410 without one."""
    one = _entry(store, source)
    if replacement:
        _entry(store, replacement)
    if replacement == source:
        raise FormError([fault("target", "itself_concept")])
    about = list_claims_about(store, source)
    if about:
        raise FormError([fault("target", "has_claims", words=str(len(about)))])
    if narrower(store, one.iri) and not replacement:
        raise FormError([fault("target", "has_narrower")])
    quads = list(_removed_quads(store, one))
    stone = RetiredConcept(one.id, one.zh, one.en, replacement.removeprefix(ID), reason)
    new_quads = [*retired_quads(stone)]
    if replacement:
        new_quads += _narrower_quads(store, one.iri, NamedNode(replacement))
    return _edit("deprecate", (source,), quads, new_quads)


def list_claims_about(store: QuadStore, iri: str) -> list[str]:
    """List the accepted claims and candidates that speak of a concept, as subject or object."""
    node, results = NamedNode(iri), dict[str, None]()
    for quad in (
        *store.match(node, None, None, ACCEPTED),
        *store.match(None, None, node, ACCEPTED),
    ):
        for known in store.match(None, RDF.reifies, quad.triple, ACCEPTED):
            results[text(known.subject)] = None
    for place in (ACCEPTED, CANDIDATES):
        for role in (RDF.subject, RDF.object):
            for quad in store.match(None, role, node, place):
                results[text(quad.subject)] = None
    if len(results) > MOST:
        raise UsageError(f"{len(results):,} claims speak of it; at most {MOST:,} go along at once")
    return sorted(results)


def _moved_claims(
    store: QuadStore, claims: Iterable[str], old: NamedNode, new: NamedNode
) -> tuple[list[Quad], list[Quad]]:
    """Restate every claim for another concept; the old claims are retracted in its favour."""
    quads: list[Quad] = []
    new_quads: list[Quad] = []
    for iri in claims:
        claim = load_claim(store, iri)
        if claim is None:
            continue
        value = _moved_claim(claim, old, new)
        heirs = []
        if value is not None:
            outcome = ACCEPT if claim.home == ACCEPTED else MEND
            fresh, lost_quads = changed_quads(store, value, outcome, claim)
            quads, new_quads, heirs = quads + lost_quads, new_quads + fresh, [value.iri]
        remaining_quads, lost_quads = retirement_quads(store, claim, heirs)
        quads, new_quads = quads + lost_quads, new_quads + remaining_quads
    return quads, new_quads


def _moved_claim(stored: StoredClaim, old: NamedNode, new: NamedNode) -> Claim | None:
    """Return a claim about the new concept; None where it would then speak of one thing twice."""
    claim = stored.claim
    subject = new if claim.subject == old else claim.subject
    target = new if claim.object == old else claim.object
    if subject == target and claim.polarity is Polarity.POSITIVE:
        return None
    return replace(claim, subject=subject, object=target)


def _removed_quads(store: QuadStore, one: Concept) -> Iterator[Quad]:
    """Yield the accepted quads of a concept to be removed: itself, its links, links from below."""
    yield from form_quads(store, one.iri)
    for link in (*LINKS.values(), SHIYI.umlsCui, SKOS.related):
        yield from store.match(one.iri, link, None, DEFAULT)
    yield from store.match(None, SKOS.related, one.iri, DEFAULT)
    yield from store.match(None, SKOS.broader, one.iri, DEFAULT)
    for mapping in list_mappings_of(store, one.iri.value):
        yield from store.match(NamedNode(mapping.iri), None, None, MAPPINGS)


def _moved_mappings(store: QuadStore, old: NamedNode, new: NamedNode) -> Iterator[Quad]:
    """Yield the mappings of a concept for another one, as candidates: two CUIs may now differ."""
    for mapping in list_mappings_of(store, old.value):
        cells = dict(mapping.row.cells) | {"subject_id": f"shiyi:{new.value.removeprefix(ID)}"}
        place = NamedNode(mapping.mapping_set) if mapping.mapping_set else resource("mappings-desk")
        yield from row_quads(cells, place, SHIYI.candidate, new.value, mapping.object)


def _narrower_quads(store: QuadStore, old: NamedNode, new: NamedNode) -> Iterator[Quad]:
    for node in narrower(store, old):
        if node != new:
            yield Quad(node, SKOS.broader, new, DEFAULT)


def _entry(store: QuadStore, iri: str) -> Concept:
    result = load_concept(store, iri)
    if result is None:
        raise UsageError(f"{iri[:200]} is no concept that a table holds")
    return result


def _kinds(store: QuadStore, one: Concept, other: Concept) -> dict[str, tuple[str, str]]:
    """Return the names and classes of two concepts in both languages."""

    def label(name: str) -> tuple[str, str]:
        labels = load_labels(store, NamedNode(VOCAB + name), home=DEFAULT)
        return labels.get("zh", name), labels.get("en", name)

    names = {"one": (one.zh, one.en), "other": (other.zh, other.en)}
    return names | {"one_kind": label(one.class_name), "other_kind": label(other.class_name)}


def _union(known: tuple[str, ...], more: tuple[str, ...], but: str = "") -> tuple[str, ...]:
    return tuple(each for each in dict.fromkeys((*known, *more)) if each != but)


def _edit(kind: str, about: tuple[str, ...], gone: list[Quad], come: list[Quad]) -> Edit:
    return Edit(kind, about, "", tuple(dict.fromkeys(gone)), tuple(dict.fromkeys(come)))
