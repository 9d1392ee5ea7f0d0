"""A concept page."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from shiyi.model.iris import VOCAB, graph
from shiyi.model.rdf import NamedNode, local_name, text
from shiyi.ontology.lexicon import rows
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import TOPICS
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.server.views.graph import Drawing, local_graph
from shiyi.server.views.links import href
from shiyi.server.views.overview import TAKEN, filter_by_language
from shiyi.server.views.reader import Reader, SourceView, Statement, Thing

THEMES = {theme: tuple(names.split()) for theme, names in rows("themes")}
_PROPERTIES = Schema.load().properties
SYMMETRIC = frozenset(
    name
    for name, each in _PROPERTIES.items()
    if each.symmetric or name == "potentiallyInteractsWith"
)
SINGLE = frozenset({"hasNature", "hasToxicity", "hasThermalNature"})  # one value is to be expected
_MATCHES = (SKOS.exactMatch, SKOS.closeMatch, SKOS.broadMatch, SKOS.narrowMatch, SKOS.relatedMatch)
TEXTS = frozenset(name for name, each in _PROPERTIES.items() if each.is_text)


@dataclass(frozen=True, slots=True)
class Group:
    """All claims of one relation in one direction."""

    predicate: str
    forward: bool
    statements: tuple[Statement, ...]
    heading: str  # the vocabulary's label in the reader's language
    topic: str = ""  # of guidance

    @property
    def is_text(self) -> bool:
        """Return whether the objects are texts rather than concepts."""
        return self.predicate in TEXTS

    @property
    def key(self) -> str:
        """Name the heading in the catalogue."""
        return self.predicate if self.forward else f"{self.predicate}-inverse"


@dataclass(frozen=True, slots=True)
class Side:
    """One of several values, with its sources."""

    statement: Statement
    sources: tuple[SourceView, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A relation on which sources differ: every value with its sources."""

    heading: str
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A match to another vocabulary."""

    relation: str
    iri: str
    cui: str


@dataclass(frozen=True, slots=True)
class ConceptView:
    """A concept with everything its page shows."""

    iri: str
    name: Thing
    kinds: tuple[Thing, ...]
    aliases: tuple[str, ...]
    pinyin: str
    latin: str
    notation: tuple[str, ...]
    definition: str
    broader: tuple[Thing, ...]
    narrower: tuple[Thing, ...]
    themes: tuple[tuple[str, tuple[Group, ...]], ...]
    cuis: tuple[str, ...]
    mappings: tuple[Mapping, ...]
    importance: float
    claims: int
    conflicts: tuple[Conflict, ...]
    drawing: Drawing
    statements: tuple[Statement, ...]
    linked_data: dict[str, Any]

    @property
    def further(self) -> tuple[tuple[str, tuple[Group, ...]], ...]:
        """Return the themes without what the overview of the page shows."""
        left = (
            (name, tuple(g for g in groups if not _is_above(g))) for name, groups in self.themes
        )
        return tuple((name, groups) for name, groups in left if groups)


def concept_view(reader: Reader, node: NamedNode) -> ConceptView:
    """Read what the page of ``node`` shows."""
    statements = _unique(reader, node)
    themes = tuple(_themes(reader, statements))
    groups = [group for _, found_groups in themes for group in found_groups]
    return ConceptView(
        iri=node.value,
        name=reader.thing(node),
        kinds=tuple(reader.thing(kind) for kind in (*reader.kinds(node), *_infer(reader, node))),
        aliases=_aliases(reader, node),
        pinyin=reader.value(node, SHIYI.pinyin),
        latin=reader.value(node, SHIYI.latinName),
        notation=reader.texts(node, SKOS.notation),
        definition=reader.value(node, SKOS.definition),
        broader=_things(reader, node, forward=True),
        narrower=_things(reader, node, forward=False),
        themes=themes,
        cuis=reader.texts(node, SHIYI.umlsCui),
        mappings=_mappings(reader, node),
        importance=reader.share(node, SHIYI.pageRank, graph("derived")),
        claims=_count(statements),
        conflicts=tuple(_conflicts(reader, groups)),
        drawing=local_graph(
            reader.thing(node),
            [(each.heading, each.statements) for each in groups if not each.is_text],
        ),
        statements=tuple(statements),
        linked_data=linked_data(reader, node),
    )


def _is_above(group: Group) -> bool:
    """Return whether the overview of the page already shows these claims."""
    symmetric = group.predicate in SYMMETRIC or group.predicate == "derivedCaution"
    return group.predicate in TAKEN and (group.forward or symmetric)


def _infer(reader: Reader, node: NamedNode) -> Iterator[NamedNode]:
    """Yield the defined classes that a concept belongs to by its claims."""
    terms = (term for term in reader.values(node, RDF.type, graph("entailed")))
    yield from sorted((each for each in terms if isinstance(each, NamedNode)), key=str)


def _count(statements: list[Statement]) -> int:
    """Count the claims, including those not shown."""
    cut = {(each.predicate, each.forward, each.derived): each.of for each in statements if each.of}
    shown = [s for s in statements if (s.predicate, s.forward, s.derived) not in cut]
    return len(shown) + sum(cut.values())


def _unique(reader: Reader, node: NamedNode) -> list[Statement]:
    statements: dict[str, Statement] = {}
    for statement in reader.statements(node):
        statements.setdefault(statement.claim, statement)
    return list(statements.values())


def _aliases(reader: Reader, node: NamedNode) -> tuple[str, ...]:
    """List the other names, those in the reader's language first."""
    known = set(reader.labels(node).values())
    results = {
        (getattr(term, "language", "") != reader.language, text(term))
        for term in reader.values(node, SKOS.altLabel)
    }
    return tuple(dict.fromkeys(name for _, name in sorted(results) if name not in known))


def _things(reader: Reader, node: NamedNode, *, forward: bool) -> tuple[Thing, ...]:
    if forward:
        terms = list(reader.values(node, SKOS.broader))
    else:
        terms = [quad.subject for quad in reader.store.match(None, SKOS.broader, node)]
    return tuple(sorted({reader.thing(thing) for thing in terms}, key=lambda thing: thing.label))


def _mappings(reader: Reader, node: NamedNode) -> tuple[Mapping, ...]:
    return tuple(
        Mapping(local_name(relation.value), text(term), local_name(text(term)))
        for relation in _MATCHES
        for term in reader.values(node, relation)
        if href(text(term))
    )


def _themes(reader: Reader, statements: list[Statement]) -> list[tuple[str, tuple[Group, ...]]]:
    grouped_statements: dict[tuple[str, bool], list[Statement]] = defaultdict(list)
    for statement in filter_by_language(reader, statements):
        forward = statement.forward or statement.predicate in SYMMETRIC
        grouped_statements[statement.predicate, forward].append(statement)
    reader.describe(NamedNode(VOCAB + name) for name, _ in grouped_statements)
    for found in grouped_statements.values():
        found.sort(key=lambda each: (each.derived, -each.confidence, each.other.label))
    known = {name for names in THEMES.values() for name in names}
    rest = tuple(sorted({predicate for predicate, _ in grouped_statements} - known))
    themes = []
    for theme, names in (*THEMES.items(), ("other", rest)):
        groups = tuple(
            Group(name, forward, tuple(grouped_statements[name, forward]), heading(reader, name))
            for name in names
            for forward in (True, False)
            if (name, forward) in grouped_statements
        )
        if theme == "guidance":
            groups = tuple(each for group in groups for each in _by_topic(reader, group))
        if groups:
            themes.append((theme, groups))
    return themes


def _by_topic(reader: Reader, group: Group) -> Iterator[Group]:
    """Yield the guidance of each topic, in the order of the topics."""
    statements: dict[str, list[Statement]] = defaultdict(list)
    reader.load_grounds(statement.claim for statement in group.statements)
    for statement in group.statements:
        grounds = reader.grounds(NamedNode(statement.claim))
        given = (value for e in grounds for name, value in e.qualifiers if name == "topic")
        statements[next(given, "")].append(statement)
    for topic in sorted(statements, key=lambda name: TOPICS.index(name) if name in TOPICS else -1):
        yield replace(group, statements=tuple(statements[topic]), topic=topic)


def heading(reader: Reader, name: str) -> str:
    """Return the label of a property or class of the vocabulary."""
    return reader.thing(NamedNode(VOCAB + name)).label


def _conflicts(reader: Reader, groups: list[Group]) -> Iterator[Conflict]:
    """Return conflicts: several values of a functional relation, or a denial."""
    for group in groups:
        single = group.predicate in SINGLE and group.forward and len(group.statements) > 1
        denied = {statement.other.iri for statement in group.statements if statement.negative}
        values = {statement.other.iri for statement in group.statements if not statement.negative}
        if single or denied & values:
            yield Conflict(
                group.heading,
                tuple(
                    Side(statement, _sources(reader, statement))
                    for statement in group.statements
                    if single or statement.other.iri in denied & values
                ),
            )


def _sources(reader: Reader, statement: Statement) -> tuple[SourceView, ...]:
    grounds = reader.grounds(NamedNode(statement.claim))
    views = {view.source.iri: view.source for view in grounds}
    return tuple(sorted(views.values(), key=lambda view: view.title))


def linked_data(reader: Reader, node: NamedNode) -> dict[str, Any]:
    """Return schema.org JSON-LD of a concept."""
    labels = reader.labels(node)
    matches = [
        text(term)
        for relation in (SKOS.exactMatch, SKOS.closeMatch)
        for term in reader.values(node, relation)
        if href(text(term))
    ]
    fields = {
        "@context": "https://schema.org", "@type": "DefinedTerm", "@id": node.value,
        "name": list(dict.fromkeys(labels.values())), "alternateName": list(_aliases(reader, node)),
        "description": reader.value(node, SKOS.definition),
        "termCode": list(reader.texts(node, SHIYI.umlsCui)), "sameAs": matches,
        "inDefinedTermSet": "https://w3id.org/shiyi/vocab",
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value}


def is_concept(reader: Reader, node: NamedNode) -> bool:
    """Return whether the store names ``node`` as a concept."""
    return next(reader.values(node, SKOS.prefLabel), None) is not None


def is_source(reader: Reader, node: NamedNode) -> bool:
    """Return whether ``node`` is a source."""
    return SHIYI.Source in reader.values(node, RDF.type)


def is_evidence(reader: Reader, node: NamedNode) -> bool:
    """Return whether ``node`` is a piece of evidence."""
    return SHIYI.Evidence in reader.values(node, RDF.type, None)
