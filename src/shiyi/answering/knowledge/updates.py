"""Incremental updates of the in-memory facts from the journal."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shiyi.answering.knowledge.fact_file import FILE, FactFile, open_facts, save_facts
from shiyi.answering.knowledge.facts import (
    COUNTLESS,
    Fact,
    Facts,
    derived_claims,
    is_fact,
    language_of,
)
from shiyi.columnar.mapped_file import log_rebuild
from shiyi.columnar.strings import PatchedMap
from shiyi.errors import IndexMismatchError
from shiyi.model.claim import confidence_value
from shiyi.model.iris import ID, graph
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.reasoning.adjacency import FILE as ADJACENCY
from shiyi.reasoning.adjacency import Edge, Projection, update_edges
from shiyi.reasoning.derivation import derivation
from shiyi.settings import PageRankSettings
from shiyi.sparql.base.digests import update_digests
from shiyi.sparql.base.journal import Record, read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.base.writer import JOURNAL_FILE, last_applied
from shiyi.sparql.store.port import QuadStore, is_own

_PLACES = ((DefaultGraph(), False), (graph("derived"), True))
_CLAIM, _EVIDENCE = f"{ID}claim/", f"{ID}evidence/"
_OF_CLAIMS = frozenset({RDF.reifies, SHIYI.status, SHIYI.confidence})
_OF_CONCEPTS = frozenset({
    SKOS.prefLabel, SKOS.altLabel, SKOS.hiddenLabel, SHIYI.latinName, RDFS.label, SKOS.broader,
    RDF.type, SHIYI.umlsCui,
})  # fmt: skip
_HIERARCHIES = ("narrower", "_above", "_below")
_CLASSES = ("_of_class", "joins")
Joined = tuple[str, str, str]
Ended = tuple[str, Fact]  # a fact, and the end it is listed under


def swap_claims(facts: Facts, old: Collection[Fact], new: Collection[Fact]) -> Facts:
    """Return the facts without ``old`` and with ``new``."""
    gone = {fact.claim for fact in (*old, *new)}
    by_subject = _side(
        facts.by_subject, gone, [(f.subject, f) for f in old], [(f.subject, f) for f in new]
    )
    by_object = _side(
        facts.by_object,
        gone,
        [(f.object, f) for f in old if not f.language],
        [(f.object, f) for f in new if not f.language],
    )
    by_claim = _side(facts.by_claim, gone, [(f.claim, f) for f in old], [(f.claim, f) for f in new])
    made_facts = replace(facts, by_subject=by_subject, by_object=by_object, by_claim=by_claim)
    _copy_cached(made_facts, facts, *_HIERARCHIES, *_CLASSES)
    made_facts.__dict__["joins"] = _joins(facts, old, made_facts, new)
    return made_facts


def _side(
    side: Mapping[str, tuple[Fact, ...]], gone: set[str], old: list[Ended], new: list[Ended]
) -> Mapping[str, tuple[Fact, ...]]:
    facts: dict[str, list[Fact]] = defaultdict(list)
    for end, fact in new:
        facts[end].append(fact)
    return PatchedMap(
        side,
        {
            end: (*(f for f in side.get(end, ()) if f.claim not in gone), *facts[end]) or None
            for end in dict.fromkeys(end for end, _ in (*old, *new))
        },
    )


def _copy_cached(facts: Facts, before: Facts, *names: str) -> None:
    """Copy cached properties to the new facts: the class hierarchy, and those in ``names``."""
    facts.__dict__.update(
        {name: before.__dict__[name] for name in ("_belongs", *names) if name in before.__dict__}
    )


def _joins(before: Facts, old: Iterable[Fact], now: Facts, new: Iterable[Fact]) -> Counter[Joined]:
    joins = Counter(before.joins)
    joins.subtract(filter(None, map(before.join_key, old)))
    joins.update(filter(None, map(now.join_key, new)))
    return +joins


def candidates(store: QuadStore) -> Iterator[Fact]:
    """Yield the claims that wait for a reviewer."""
    place = graph("candidates")
    for quad in store.match(None, SHIYI.status, SHIYI.candidate, place):
        yield from facts_of(store, text(quad.subject), ((place, False),), SHIYI.candidate)


def facts_of(
    store: QuadStore,
    claim: str,
    places: Iterable[tuple[NamedNode | DefaultGraph, bool]] = _PLACES,
    status: NamedNode = SHIYI.accepted,
) -> tuple[Fact, ...]:
    """Read what the accepted view and the derived graph, or other places, hold of one claim."""
    facts = []
    for place, derived in places:
        quads = list(store.match(NamedNode(claim), None, None, place))
        values = {quad.predicate: quad.object for quad in quads}
        stated = {(quad.predicate, quad.object) for quad in quads}
        confidence = confidence_value(values.get(SHIYI.confidence))
        if (SHIYI.status, status) not in stated or confidence is None:
            continue
        positive = (SHIYI.polarity, SHIYI.negative) not in stated
        for triple in (quad.object for quad in quads if quad.predicate == RDF.reifies):
            if is_fact(triple):
                ends = text(triple.subject), triple.predicate, text(triple.object)
                language = language_of(triple.object)
                facts.append(Fact(*ends, claim, confidence, positive, derived, language))
    return tuple(facts)


def edge_of(fact: Fact) -> Edge:
    """Return a fact as the adjacency holds it."""
    return Edge(fact.subject, fact.predicate.value, fact.object, fact.claim, fact.confidence)


def is_edge(fact: Fact) -> bool:
    """Return whether the adjacency holds a fact: accepted, positive, between two concepts."""
    return fact.positive and not fact.derived and not fact.language


def edges_of(facts: Facts) -> list[Edge]:
    """List what the adjacency should hold."""
    return [edge_of(f) for row in facts.by_subject.values() for f in row if is_edge(f)]


def level(projection: Projection, facts: Facts) -> Projection:
    """Return the adjacency of the build, brought up to date with the facts."""
    edges = {edge.claim: edge for edge in edges_of(facts)}
    before = dict(zip(projection.claims, projection.confidence.tolist(), strict=True))
    gone = before.keys() - edges.keys()
    new_edges = [e for claim, e in edges.items() if before.get(claim) != e.confidence]
    return update_edges(projection, gone, new_edges) if gone or new_edges else projection


def apply_changes(
    facts: Facts,
    projection: Projection,
    store: QuadStore,
    claims: Collection[str],
    concepts: Collection[str],
) -> tuple[Facts, Projection]:
    """Return both as the ``store`` has some claims and concepts by now."""
    old = [fact for claim in claims for fact in facts.by_claim.get(claim, ())]
    new = [fact for claim in claims for fact in facts_of(store, claim)]
    made_facts = reread_premises(swap_claims(facts, old, new), store, tuple(claims))
    made_facts = reread_concepts(made_facts, store, tuple(concepts))
    return made_facts, update_edges(projection, claims, [edge_of(f) for f in new if is_edge(f)])


def reread_premises(facts: Facts, store: QuadStore, claims: tuple[str, ...]) -> Facts:
    """Reload the premises of derived claims."""
    results: dict[str, tuple[str, ...]] = {}
    for claim in claims:
        links = store.match(NamedNode(claim), PROV.wasDerivedFrom, None, graph("derived"))
        results[claim] = tuple(sorted(text(quad.object) for quad in links))
    if all(facts.premises.get(claim, ()) == grounds for claim, grounds in results.items()):
        return facts
    made_facts = replace(
        facts, premises=PatchedMap(facts.premises, {k: v or None for k, v in results.items()})
    )
    _copy_cached(made_facts, facts, *_HIERARCHIES, *_CLASSES)
    return made_facts


def reread_concepts(facts: Facts, store: QuadStore, concepts: tuple[str, ...]) -> Facts:
    """Reload the names, classes and places of some concepts."""
    if not concepts:
        return facts
    labels: dict[str, Mapping[str, str] | None] = {}
    classes: dict[str, str | None] = {}
    broader: dict[str, tuple[str, ...] | None] = {}
    cuis: dict[str, str | None] = {}
    default = DefaultGraph()
    for iri in concepts:
        quads = list(store.match(NamedNode(iri), None, None, default))
        named = [q for p in (RDFS.label, SKOS.prefLabel) for q in quads if q.predicate == p]
        labels[iri] = {
            q.object.language or "und": q.object.value
            for q in named
            if isinstance(q.object, Literal)
        } or None
        kinds = {local_name(text(q.object)) for q in quads if q.predicate == RDF.type}
        known = [k for k in kinds if k in facts.schema.parents and k not in COUNTLESS]
        classes[iri] = (
            max(known, key=lambda name: (len(facts.schema.superclasses(name)), name), default="")
            or None
        )
        broader[iri] = (
            tuple(sorted(text(q.object) for q in quads if q.predicate == SKOS.broader)) or None
        )
        cuis[iri] = min(
            (text(q.object) for q in quads if q.predicate == SHIYI.umlsCui), default=None
        )
    made_facts = replace(
        facts,
        labels=PatchedMap(facts.labels, labels),
        classes=PatchedMap(facts.classes, classes),
        broader=PatchedMap(facts.broader, broader),
        cuis=PatchedMap(facts.cuis, cuis),
    )
    _follow_hierarchy(made_facts, facts, broader)
    _follow_classes(made_facts, facts, classes)
    return made_facts


def _follow_hierarchy(
    facts: Facts, before: Facts, broader: Mapping[str, tuple[str, ...] | None]
) -> None:
    if all(before.broader.get(iri) == above for iri, above in broader.items()):
        _copy_cached(facts, before, *_HIERARCHIES)
    elif "narrower" in before.__dict__:
        facts.__dict__["narrower"] = _invert_links(before.narrower, before.broader, broader)


def _follow_classes(facts: Facts, before: Facts, classes: Mapping[str, str | None]) -> None:
    _copy_cached(facts, before, *_CLASSES)
    moved = [iri for iri, name in classes.items() if name != before.classes.get(iri)]
    if not moved:
        return
    around = {
        f
        for iri in moved
        for side in (facts.by_subject, facts.by_object)
        for f in side.get(iri, ())
    }
    facts.__dict__["joins"] = _joins(before, around, facts, around)
    if "_of_class" in before.__dict__:
        old = {iri: (name,) for iri in moved if (name := before.classes.get(iri))}
        new = {iri: (name,) if (name := classes[iri]) else None for iri in moved}
        facts.__dict__["_of_class"] = _invert_links(before._of_class, old, new)


def _invert_links(
    links: Mapping[str, tuple[str, ...]],
    old: Mapping[str, tuple[str, ...]],
    new: Mapping[str, tuple[str, ...] | None],
) -> Mapping[str, tuple[str, ...]]:
    """Return what was turned round after some entries changed from ``old`` to ``new``."""
    changes: dict[str, set[str]] = {}
    for key, ends in new.items():
        for end in {*old.get(key, ())} ^ {*(ends or ())}:
            changes.setdefault(end, {*links.get(end, ())}).symmetric_difference_update((key,))
    return PatchedMap(links, {end: tuple(sorted(keys)) or None for end, keys in changes.items()})


def changes_in(quads: Iterable[Quad]) -> tuple[list[str], list[str]]:
    """Return which claims and which concepts of the base some quads are about."""
    claims: dict[str, None] = {}
    concepts: dict[str, None] = {}
    for quad in quads:
        if not is_own(quad):
            continue
        iri = text(quad.subject)
        if iri.startswith(_CLAIM) or quad.predicate in _OF_CLAIMS:
            claims[iri] = None
        elif not iri.startswith(_EVIDENCE) and quad.predicate in _OF_CONCEPTS:
            concepts[iri] = None
    return list(claims), list(concepts)


def concepts_since(base: KnowledgeBase, number: int) -> frozenset[str]:
    """Return the concepts that the changes after ``number`` are about."""
    path, through = base.path / JOURNAL_FILE, last_applied(base.store)
    records = _records(path, number, through)
    return frozenset(iri for each in records for iri in changes_in((*each.removed, *each.added))[1])


_FEW, _SHARE = 500, 8  # Shiyi's: claims read one by one, at most so many and that part of all


@dataclass(frozen=True, slots=True)
class LiveState:
    """Facts and adjacency, and which claims changed since the build, where that is known."""

    facts: Facts
    projection: Projection
    changed: Collection[str] | None = None


def open_state(
    base: KnowledgeBase, schema: Schema, store: QuadStore, hidden: Collection[str] = ()
) -> LiveState:
    """Return both as ``store`` has them, which lacks what is ``hidden`` of the base.

    They are opened from the files of the build, and what changed since is read from the store;
    where there are none, or where much changed, all of it is read.
    """
    try:
        return _open_state(base, schema, store, hidden)
    except IndexMismatchError as reason:
        with log_rebuild("the index of claims", reason):
            facts = Facts.read(store, schema)
            return LiveState(facts, Projection.from_edges(edges_of(facts), base.release))


def _open_state(
    base: KnowledgeBase, schema: Schema, store: QuadStore, hidden: Collection[str]
) -> LiveState:
    file = open_facts(base.folder / "index", base.release, schema)
    projection = Projection.load(base.folder / "index", base.release, file.claims)
    claims, concepts = _list_changed(base, file, hidden)
    changed = claims if file.texts else None
    facts = file.facts
    if claims or concepts:
        facts, projection = apply_changes(file.facts, projection, store, claims, concepts)
    if base.is_shared:
        _check_own_writes(base.store, file, facts, {*claims}.difference(hidden))
    return LiveState(facts, projection, changed)


_FIRST = len(_CLAIM) + 1  # the IRI of a claim goes on with a digest of what it states
_STATED = f"""SELECT ?part (COUNT(?c) AS ?n) (SUM(?sure) AS ?sum) WHERE {{
  ?c {SHIYI.status} {SHIYI.accepted} ; {SHIYI.confidence} ?sure
  BIND(SUBSTR(STR(?c), {_FIRST}, 2) AS ?part) }} GROUP BY ?part"""
_LEAST = 0.005  # half of the least step of a confidence
_PARTS = tuple(f"{each:02x}" for each in range(256))
_ELSEWHERE = "others have written to the remote store, so it is read"
Stated = dict[str, tuple[int, float]]  # how many claims, and the sum of their confidences


def _check_own_writes(
    store: QuadStore, file: FactFile, facts: Facts, claims: Collection[str]
) -> None:
    """Raise ``IndexMismatchError`` where others have written claims to a remote store."""
    expected = _counted_claims(file)
    for sign, of in ((-1, file.facts), (1, facts)):
        for fact in (f for claim in claims for f in of.by_claim.get(claim, ()) if not f.derived):
            part = fact.claim[_FIRST - 1 : _FIRST + 1]
            count, total = expected.get(part, (0, 0.0))
            expected[part] = (count + sign, total + sign * fact.confidence)
    try:
        found = {
            text(row["part"]): (int(float(text(row["n"]))), float(text(row["sum"])))
            for row in store.select(_STATED)
        }
    except (KeyError, ValueError) as fault:  # no sum: what stands there is no number
        raise IndexMismatchError(_ELSEWHERE) from fault
    for part in expected.keys() | found.keys():
        (count, total), (now, sum_) = expected.get(part, (0, 0.0)), found.get(part, (0, 0.0))
        if count != now or abs(total - sum_) > _LEAST:
            raise IndexMismatchError(_ELSEWHERE)


def _counted_claims(file: FactFile) -> Stated:
    """Return what the engine should count of a build; the claims of a file are in order."""
    starts = [bisect_left(file.claims, f"{_CLAIM}{part}") for part in _PARTS]
    starts.append(bisect_left(file.claims, f"{_CLAIM}g"))
    part_of = np.searchsorted(starts, file.accepted, side="right") - 1
    inside = (part_of >= 0) & (part_of < len(_PARTS))
    counts = np.bincount(part_of[inside], minlength=len(_PARTS))
    sums = np.bincount(part_of[inside], file.confidences[inside], minlength=len(_PARTS))
    stated: Stated = dict(
        zip(_PARTS, zip(counts.tolist(), sums.tolist(), strict=True), strict=True)
    )
    for place, sure in zip(file.accepted[~inside], file.confidences[~inside], strict=True):
        part = file.claims[int(place)][_FIRST - 1 : _FIRST + 1]  # named by others
        count, total = stated.get(part, (0, 0.0))
        stated[part] = (count + 1, total + float(sure))
    return stated


def refresh_files(base: KnowledgeBase, schema: Schema) -> bool:
    """Rewrite the files where they do not open, or much changed since; return whether."""
    try:
        _open_state(base, schema, base.store, ())
    except IndexMismatchError:
        write_state(base, schema, texts=False)
        update_digests(base.folder, (FILE, ADJACENCY))
        return True
    return False


def write_state(
    base: KnowledgeBase,
    schema: Schema,
    ranking: PageRankSettings | None = None,
    *,
    texts: bool = True,
) -> None:
    """Write the files that :func:`open_state` opens.

    The importance is written for the settings ``ranking``, else for the default ones. ``texts``
    states that the library is written of the same moment.
    """
    folder, store = base.folder / "index", base.store
    through, note = last_applied(store), derivation(store)
    facts = Facts.read(store, schema)
    claims = save_facts(facts, folder, base.release, through, note, texts=texts)
    projection = Projection.from_edges(edges_of(facts), base.release)
    projection.save(folder, ranking or PageRankSettings(), claims)


def _list_changed(
    base: KnowledgeBase, file: FactFile, hidden: Collection[str]
) -> tuple[list[str], list[str]]:
    """List claims and concepts to reload; ``IndexMismatchError`` for too many."""
    claims = dict.fromkeys(iri for iri in hidden if iri.startswith(f"{ID}claim/"))
    concepts = dict.fromkeys(iri for iri in hidden if iri not in claims)
    if derivation(base.store) != file.derivation:
        claims |= dict.fromkeys((*file.derived, *derived_claims(base.store)))
    through = last_applied(base.store)
    if through < file.through:
        raise IndexMismatchError("an older store was put back")
    limit = _FEW + len(file.facts.by_claim) // _SHARE
    _check_few(claims, concepts, limit)
    for record in _records(base.path / JOURNAL_FILE, file.through, through):
        touched_claims, touched_concepts = changes_in((*record.removed, *record.added))
        claims |= dict.fromkeys(touched_claims)
        concepts |= dict.fromkeys(touched_concepts)
        _check_few(claims, concepts, limit)
    return [*claims], [*concepts]


def _check_few(claims: Sized, concepts: Sized, limit: int) -> None:
    if len(claims) + len(concepts) > limit:
        raise IndexMismatchError("much changed since the build")


def _records(path: Path, after_: int, through: int) -> Iterator[Record]:
    if after_ < through:
        for record in read_journal(path, after_):
            if record.sequence > through:  # came after this reader's snapshot
                return
            yield record
