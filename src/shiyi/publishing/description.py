"""VoID and DCAT: what the data set holds, counted, and where it can be had."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from shiyi.model.names import ID, UMLS, VOCAB, content_hash
from shiyi.model.rdf import XSD_DATE, XSD_INTEGER, Literal, NamedNode, Quad, Triple, text
from shiyi.ontology.terms import DCTERMS, PREFIXES, RDF, SKOS

VOID: Final = PREFIXES["void"]
DCAT: Final = PREFIXES["dcat"]
PUBLISHER: Final = NamedNode("https://w3id.org/shiyi/")
LICENCE: Final = "https://creativecommons.org/licenses/by/4.0/"
_FOAF: Final = "http://xmlns.com/foaf/0.1/"
_MATCHES: Final = (
    SKOS.exactMatch,
    SKOS.closeMatch,
    SKOS.broadMatch,
    SKOS.narrowMatch,
    SKOS.relatedMatch,
)
_LINKS: Final = f"""SELECT ?p ?space (COUNT(*) AS ?n) {{
  VALUES ?p {{ {" ".join(map(str, _MATCHES))} }} ?s ?p ?o FILTER isIRI(?o)
  BIND(REPLACE(STR(?o), "[^#/_]*$", "") AS ?space)
}} GROUP BY ?p ?space"""
_WHOLE: Final = ("triples", "subjects", "objects")
_BY_NAME: Final = ("classes", "properties", "property_subjects")
_DISTINCT: Final = "SELECT (COUNT(*) AS ?n) {{ SELECT DISTINCT ?{0} {{ ?s ?p ?o }} }}"
Ask = Callable[[str], Iterable[Mapping[str, str]]]  # the rows of a query, as texts
TITLES: Final = (
    Literal("Shiyi 食医：药食同源、中医药与膳食补充剂知识库", language="zh"),
    Literal("Shiyi 食医: knowledge of medicine-food homology, Chinese medicine and dietary "
            "supplements", language="en"),
)  # fmt: skip


@dataclass(slots=True)
class Counts:
    """What a graph holds: triples, subjects, instances by class, uses by property, links out."""

    triples: int = 0
    subjects: int | None = None  # None where they were not told apart
    objects: int | None = None
    classes: Counter[str] = field(default_factory=Counter)
    properties: Counter[str] = field(default_factory=Counter)
    property_subjects: Counter[str] = field(default_factory=Counter)
    links: Counter[tuple[str, str]] = field(default_factory=Counter)  # predicate, target

    @classmethod
    def of(cls, quads: Iterable[Quad]) -> Self:
        """Count the quads of one graph in one pass; those of a subject need not stand together."""
        made = cls()
        subjects, objects = dict[str, int](), set[int]()
        by_property: dict[str, set[int]] = defaultdict(set)
        for quad in quads:
            predicate, said = quad.predicate.value, quad.object
            made.triples += 1
            subject = subjects.setdefault(text(quad.subject), len(subjects))
            objects.add(hash(said))
            made.properties[predicate] += 1
            by_property[predicate].add(subject)
            if isinstance(said, NamedNode):
                if quad.predicate == RDF.type:
                    made.classes[said.value] += 1
                elif quad.predicate in _MATCHES:
                    made.links[predicate, _space(said.value)] += 1
        made.subjects, made.objects = len(subjects), len(objects)
        made.property_subjects.update({key: len(found) for key, found in by_property.items()})
        return made

    @classmethod
    def asked(cls, ask: Ask, distinct: bool = True) -> Self:
        """Let an endpoint count its default graph; without ``distinct`` nothing is told apart.

        Telling subjects and objects apart takes the engine some 60 bytes for each of them.
        """
        made = cls()
        apart = "(COUNT(DISTINCT ?s) AS ?subjects)" if distinct else ""
        for row in ask(f"SELECT ?p (COUNT(*) AS ?n) {apart} {{ ?s ?p ?o }} GROUP BY ?p"):
            made.properties[row["p"]] = int(row["n"])
            if distinct:
                made.property_subjects[row["p"]] = int(row["subjects"])
        made.triples = made.properties.total()
        for row in ask("SELECT ?kind (COUNT(*) AS ?n) { ?s a ?kind } GROUP BY ?kind"):
            made.classes[row["kind"]] = int(row["n"])
        for row in ask(_LINKS):
            made.links[row["p"], row["space"]] = int(row["n"])
        if distinct:
            [subjects], [objects] = (ask(_DISTINCT.format(each)) for each in "so")
            made.subjects, made.objects = int(subjects["n"]), int(objects["n"])
        return made

    def to_json(self) -> dict[str, Any]:
        """Write the counts for a file."""
        counted: dict[str, Any] = {name: dict(getattr(self, name)) for name in _BY_NAME}
        counted |= {name: getattr(self, name) for name in _WHOLE}
        return counted | {"links": [[*key, count] for key, count in self.links.items()]}

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        links = Counter({(link, space): int(count) for link, space, count in said["links"]})
        classes, properties, subjects = (Counter(said[name]) for name in _BY_NAME)
        return cls(
            said["triples"], said["subjects"], said["objects"], classes, properties, subjects, links
        )


@dataclass(frozen=True, slots=True)
class Distribution:
    """One file of a release: its address, media type, size in bytes and SHA-256."""

    url: str
    media_type: str
    bytes: int
    sha256: str
    title: str
    packed: bool = False


@dataclass(frozen=True, slots=True)
class Described:
    """What is said of a data set beside its counts; empty texts are left out."""

    iri: str
    identifier: str
    uri_space: str = ID
    endpoint: str = ""
    version: str = ""
    issued: str = ""
    previous: str = ""
    page: str = ""
    distributions: tuple[Distribution, ...] = ()
    examples: tuple[str, ...] = ()
    subsets: Mapping[str, int] = field(default_factory=dict)  # named graphs and their sizes


def void_triples(about: Described, counts: Counts) -> Iterator[Triple]:
    """Yield the description; partitions and linksets are named under the data set's own IRI."""
    node = NamedNode(about.iri)
    yield from (Triple(node, NamedNode(predicate), value) for predicate, value in _said(about))
    yield from _counted(node, counts)
    yield from _partitions(about.iri, counts)
    yield from _linksets(about.iri, counts)
    for name, size in sorted(about.subsets.items()):
        yield Triple(node, NamedNode(f"{VOID}subset"), NamedNode(name))
        yield Triple(NamedNode(name), NamedNode(f"{VOID}triples"), _number(size))
    for each in about.distributions:
        yield from _distribution(node, each)


def _said(about: Described) -> Iterator[tuple[str, NamedNode | Literal]]:
    dcterms = PREFIXES["dcterms"]
    for kind in (VOID, DCAT):
        yield RDF.type.value, NamedNode(f"{kind}Dataset")
    for title in TITLES:
        yield f"{dcterms}title", title
    yield f"{dcterms}license", NamedNode(LICENCE)
    yield f"{dcterms}identifier", Literal(about.identifier)
    yield f"{dcterms}publisher", PUBLISHER
    for language in ("zh", "en"):
        yield f"{dcterms}language", Literal(language)
    yield f"{VOID}uriSpace", Literal(about.uri_space)
    for vocabulary in (VOCAB, *(PREFIXES[name] for name in ("skos", "prov", "dcterms"))):
        yield f"{VOID}vocabulary", NamedNode(vocabulary)
    for predicate, address in (
        (f"{VOID}sparqlEndpoint", about.endpoint), (f"{DCAT}landingPage", about.page),
        (f"{_FOAF}homepage", about.page), (f"{DCAT}previousVersion", about.previous),
        *((f"{VOID}exampleResource", each) for each in about.examples),
    ):  # fmt: skip
        if address:
            yield predicate, NamedNode(address)
    if about.version:
        yield f"{DCAT}version", Literal(about.version)
    if about.issued:
        yield f"{dcterms}issued", Literal(about.issued, datatype=XSD_DATE)


def _counted(node: NamedNode, counts: Counts) -> Iterator[Triple]:
    for name, value in (
        ("triples", counts.triples), ("distinctSubjects", counts.subjects),
        ("distinctObjects", counts.objects), ("classes", len(counts.classes)),
        ("properties", len(counts.properties)), ("entities", counts.classes[SKOS.Concept.value]),
    ):  # fmt: skip
        if value is not None:
            yield Triple(node, NamedNode(VOID + name), _number(value))


def _partitions(iri: str, counts: Counts) -> Iterator[Triple]:
    node = NamedNode(iri)
    for name, count in sorted(counts.classes.items()):
        part = _part(iri, "class", name)
        yield Triple(node, NamedNode(f"{VOID}classPartition"), part)
        yield Triple(part, NamedNode(f"{VOID}class"), NamedNode(name))
        yield Triple(part, NamedNode(f"{VOID}entities"), _number(count))
    for name, count in sorted(counts.properties.items()):
        part = _part(iri, "property", name)
        yield Triple(node, NamedNode(f"{VOID}propertyPartition"), part)
        yield Triple(part, NamedNode(f"{VOID}property"), NamedNode(name))
        yield Triple(part, NamedNode(f"{VOID}triples"), _number(count))
        if name in counts.property_subjects:
            subjects = _number(counts.property_subjects[name])
            yield Triple(part, NamedNode(f"{VOID}distinctSubjects"), subjects)


def _linksets(iri: str, counts: Counts) -> Iterator[Triple]:
    node = NamedNode(iri)
    for (predicate, space), count in sorted(counts.links.items()):
        part, target = _part(iri, "links", predicate + space), _part(iri, "target", space)
        yield Triple(node, NamedNode(f"{VOID}subset"), part)
        yield Triple(part, RDF.type, NamedNode(f"{VOID}Linkset"))
        yield Triple(part, NamedNode(f"{VOID}linkPredicate"), NamedNode(predicate))
        yield Triple(part, NamedNode(f"{VOID}subjectsTarget"), node)
        yield Triple(part, NamedNode(f"{VOID}objectsTarget"), target)
        yield Triple(part, NamedNode(f"{VOID}triples"), _number(count))
        yield Triple(target, RDF.type, NamedNode(f"{VOID}Dataset"))
        yield Triple(target, NamedNode(f"{VOID}uriSpace"), Literal(space))


def _distribution(node: NamedNode, each: Distribution) -> Iterator[Triple]:
    part = NamedNode(each.url)
    checksum = NamedNode(f"{each.url}#checksum")
    spdx = "http://spdx.org/rdf/terms#"
    if each.packed:
        yield Triple(node, NamedNode(f"{VOID}dataDump"), part)
    yield Triple(node, NamedNode(f"{DCAT}distribution"), part)
    yield Triple(part, RDF.type, NamedNode(f"{DCAT}Distribution"))
    yield Triple(part, DCTERMS.title, Literal(each.title, language="en"))
    yield Triple(part, NamedNode(f"{DCAT}downloadURL"), part)
    kind = NamedNode(f"https://www.iana.org/assignments/media-types/{each.media_type}")
    yield Triple(part, NamedNode(f"{DCAT}mediaType"), kind)
    if each.packed:
        packing = NamedNode("https://www.iana.org/assignments/media-types/application/gzip")
        yield Triple(part, NamedNode(f"{DCAT}compressFormat"), packing)
    yield Triple(part, NamedNode(f"{DCAT}byteSize"), _number(each.bytes))
    yield Triple(part, NamedNode(f"{spdx}checksum"), checksum)
    yield Triple(
        checksum, NamedNode(f"{spdx}algorithm"), NamedNode(f"{spdx}checksumAlgorithm_sha256")
    )
    yield Triple(checksum, NamedNode(f"{spdx}checksumValue"), Literal(each.sha256))


def _part(iri: str, kind: str, name: str) -> NamedNode:
    base = iri if "#" in iri else f"{iri}#"
    return NamedNode(f"{base}-{kind}-{content_hash(name)[:12]}" if "#" in iri else
                     f"{base}{kind}-{content_hash(name)[:12]}")  # fmt: skip


def _number(value: int) -> Literal:
    return Literal(str(value), datatype=XSD_INTEGER)


def _space(iri: str) -> str:
    """Give the name space of an IRI: up to its last ``#``, ``/`` or ``_``.

    >>> _space("http://identifiers.org/umls/C0000001")
    'http://identifiers.org/umls/'
    """
    if iri.startswith(UMLS):
        return UMLS
    cut = max(iri.rfind(mark) for mark in "#/_") + 1
    return iri[:cut]
