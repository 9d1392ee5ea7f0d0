"""VoID and DCAT descriptions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from shiyi.model.iris import GRAPH, ID, ROOT, UMLS, VOCAB, content_hash, resource
from shiyi.model.rdf import (
    XSD_DATE,
    XSD_INTEGER,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Term,
    Triple,
    local_name,
    text,
)
from shiyi.ontology.terms import DCTERMS, PREFIXES, RDF, SHIYI, SKOS
from shiyi.publishing.tables import concept_rows
from shiyi.sparql.queries.named import Query
from shiyi.sparql.store.port import QuadStore

VOID: Final = PREFIXES["void"]
DCAT: Final = PREFIXES["dcat"]
PUBLISHER: Final = NamedNode("https://w3id.org/shiyi/")
LICENCE: Final = "https://creativecommons.org/licenses/by/4.0/"
_FOAF: Final = "http://xmlns.com/foaf/0.1/"
_MATCHES: Final = (
    SKOS.exactMatch, SKOS.closeMatch, SKOS.broadMatch, SKOS.narrowMatch, SKOS.relatedMatch,
)  # fmt: skip
_KINDS: Final = "SELECT ?kind (COUNT(*) AS ?n) { ?s a ?kind FILTER isIRI(?kind) } GROUP BY ?kind"
_LINKS: Final = f"""SELECT ?p ?space (COUNT(*) AS ?n) {{
  VALUES ?p {{ {" ".join(map(str, _MATCHES))} }} ?s ?p ?o FILTER isIRI(?o)
  BIND(REPLACE(STR(?o), "[^#/_]*$", "") AS ?space)
}} GROUP BY ?p ?space"""
SUMMARY: Final = (
    "Claims with evidence and confidence about medicine-food homology (药食同源), traditional "
    "Chinese medicine and dietary supplements, keyed to an OWL vocabulary and UMLS concepts. "
    "For research; no medical advice."
)
SUMMARIES: Final = (
    Literal(SUMMARY, language="en"),
    Literal("关于药食同源、中医药与膳食补充剂的论断，每条有证据与置信度，"
            "概念对应 OWL 词汇表与 UMLS。供研究使用，不作诊疗依据。", language="zh"),
)  # fmt: skip
CREATOR: Final = "The Shiyi contributors"
KEYWORDS: Final = (
    "medicine-food homology", "traditional Chinese medicine", "dietary supplements",
    "knowledge graph", "RDF", "uncertain knowledge",
)  # fmt: skip
_LANGUAGES: Final = "http://publications.europa.eu/resource/authority/language/"
_MEDIA: Final = "https://www.iana.org/assignments/media-types/"
_GZIP: Final = f"{_MEDIA}application/gzip"
_XSD: Final = PREFIXES["xsd"]
_SPDX: Final = "http://spdx.org/rdf/terms#"
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
    """Counts of a graph: triples, subjects, instances by class, uses by property, links out."""

    triples: int = 0
    subjects: int | None = None  # None where they were not distinguished
    objects: int | None = None
    classes: Counter[str] = field(default_factory=Counter)
    properties: Counter[str] = field(default_factory=Counter)
    property_subjects: Counter[str] = field(default_factory=Counter)
    links: Counter[tuple[str, str]] = field(default_factory=Counter)  # predicate, target

    @classmethod
    def of(cls, quads: Iterable[Quad]) -> Self:
        """Count the quads of one graph in one pass; those of a subject need not stand together."""
        created = cls()
        subjects, objects = dict[str, int](), set[int]()
        by_property: dict[str, set[int]] = defaultdict(set)
        for quad in quads:
            predicate, values = quad.predicate.value, quad.object
            created.triples += 1
            subject = subjects.setdefault(text(quad.subject), len(subjects))
            objects.add(hash(values))
            created.properties[predicate] += 1
            by_property[predicate].add(subject)
            if isinstance(values, NamedNode):
                if quad.predicate == RDF.type:
                    created.classes[values.value] += 1
                elif quad.predicate in _MATCHES:
                    created.links[predicate, _space(values.value)] += 1
        created.subjects, created.objects = len(subjects), len(objects)
        created.property_subjects.update({key: len(result) for key, result in by_property.items()})
        return created

    @classmethod
    def of_endpoint(cls, ask: Ask, distinct: bool = True) -> Self:
        """Count the default graph of an endpoint; without ``distinct`` no subjects are counted.

        Telling subjects and objects apart takes the engine some 60 bytes for each of them.
        """
        created = cls()
        apart = "(COUNT(DISTINCT ?s) AS ?subjects)" if distinct else ""
        for row in ask(f"SELECT ?p (COUNT(*) AS ?n) {apart} {{ ?s ?p ?o }} GROUP BY ?p"):
            created.properties[row["p"]] = int(row["n"])
            if distinct:
                created.property_subjects[row["p"]] = int(row["subjects"])
        created.triples = created.properties.total()
        for row in ask(_KINDS):
            created.classes[row["kind"]] = int(row["n"])
        for row in ask(_LINKS):
            created.links[row["p"], row["space"]] = int(row["n"])
        if distinct:
            [subjects], [objects] = (ask(_DISTINCT.format(each)) for each in "so")
            created.subjects, created.objects = int(subjects["n"]), int(objects["n"])
        return created

    def to_json(self) -> dict[str, Any]:
        """Write the counts for a file."""
        counted: dict[str, Any] = {name: dict(getattr(self, name)) for name in _BY_NAME}
        counted |= {name: getattr(self, name) for name in _WHOLE}
        return counted | {"links": [[*key, count] for key, count in self.links.items()]}

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        links = Counter({(link, space): int(count) for link, space, count in values["links"]})
        classes, properties, subjects = (Counter(values[name]) for name in _BY_NAME)
        return cls(
            values["triples"],
            values["subjects"],
            values["objects"],
            classes,
            properties,
            subjects,
            links,
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
class DatasetDescription:
    """The description of a data set beside its counts; empty texts are left out."""

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


def void_triples(about: DatasetDescription, counts: Counts) -> Iterator[Triple]:
    """Yield the description; partitions and linksets are named under the data set's own IRI."""
    node = NamedNode(about.iri)
    yield from (
        Triple(node, NamedNode(predicate), value) for predicate, value in _statements(about)
    )
    yield from _count_triples(node, counts)
    yield from _partitions(about.iri, counts)
    yield from _linksets(about.iri, counts)
    for name, size in sorted(about.subsets.items()):
        yield Triple(node, NamedNode(f"{VOID}subset"), NamedNode(name))
        yield Triple(NamedNode(name), NamedNode(f"{VOID}triples"), _number(size))
    yield from _classes(about)
    yield Triple(PUBLISHER, NamedNode(f"{_FOAF}name"), Literal(CREATOR, language="en"))
    for each in about.distributions:
        yield from _distribution(node, each)
    if about.endpoint:
        yield from _service(node, about.endpoint)


def _statements(about: DatasetDescription) -> Iterator[tuple[str, NamedNode | Literal]]:
    dcterms = PREFIXES["dcterms"]
    for kind in (VOID, DCAT):
        yield RDF.type.value, NamedNode(f"{kind}Dataset")
    yield from ((f"{dcterms}title", title) for title in TITLES)
    yield from ((f"{dcterms}description", description) for description in SUMMARIES)
    yield from ((f"{DCAT}keyword", Literal(each, language="en")) for each in KEYWORDS)
    yield f"{dcterms}license", NamedNode(LICENCE)
    yield f"{dcterms}identifier", Literal(about.identifier)
    yield f"{dcterms}publisher", PUBLISHER
    for language in ("ZHO", "ENG"):
        yield f"{dcterms}language", NamedNode(_LANGUAGES + language)
    yield f"{VOID}uriSpace", Literal(about.uri_space)
    for vocabulary in (VOCAB, *(PREFIXES[name] for name in ("skos", "prov", "dcterms"))):
        yield f"{VOID}vocabulary", NamedNode(vocabulary)
    for predicate, address in (
        (f"{VOID}sparqlEndpoint", about.endpoint),
        (f"{DCAT}landingPage", about.page),
        (f"{_FOAF}homepage", about.page),
        (f"{DCAT}previousVersion", about.previous),
        *((f"{VOID}exampleResource", each) for each in about.examples),
    ):
        if address:
            yield predicate, NamedNode(address)
    if about.version:
        yield f"{DCAT}version", Literal(about.version)
    if about.issued:
        yield f"{dcterms}issued", Literal(about.issued, datatype=XSD_DATE)


def _classes(about: DatasetDescription) -> Iterator[Triple]:
    """Yield the classes that DCAT-AP expects of licence, languages, page and publisher."""
    dcterms = PREFIXES["dcterms"]
    for iri, kind in (
        (PUBLISHER.value, f"{_FOAF}Agent"),
        (LICENCE, f"{dcterms}LicenseDocument"),
        (f"{_LANGUAGES}ZHO", f"{dcterms}LinguisticSystem"),
        (f"{_LANGUAGES}ENG", f"{dcterms}LinguisticSystem"),
        (about.page, f"{_FOAF}Document"),
        *((media, f"{dcterms}MediaType") for media in sorted(_media_types(about))),
        *((f"{each.url}#checksum", f"{_SPDX}Checksum") for each in about.distributions),
    ):
        if iri:
            yield Triple(NamedNode(iri), RDF.type, NamedNode(kind))


def _media_types(about: DatasetDescription) -> set[str]:
    """Return the IRIs of the media types of the files."""
    types = {_MEDIA + each.media_type for each in about.distributions}
    return types | {_GZIP} if any(each.packed for each in about.distributions) else types


def _count_triples(node: NamedNode, counts: Counts) -> Iterator[Triple]:
    for name, value in (
        ("triples", counts.triples),
        ("distinctSubjects", counts.subjects),
        ("distinctObjects", counts.objects),
        ("classes", len(counts.classes)),
        ("properties", len(counts.properties)),
        ("entities", counts.classes[SKOS.Concept.value]),
    ):
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


def _service(node: NamedNode, endpoint: str) -> Iterator[Triple]:
    """Yield the SPARQL endpoint as a data service, and as one way to get at the data set."""
    service, part = NamedNode(f"{endpoint}#service"), NamedNode(f"{endpoint}#distribution")
    address = NamedNode(endpoint)
    yield Triple(service, RDF.type, NamedNode(f"{DCAT}DataService"))
    yield Triple(part, RDF.type, NamedNode(f"{DCAT}Distribution"))
    for each in (service, part):
        yield Triple(each, DCTERMS.title, Literal("SPARQL endpoint", language="en"))
        yield Triple(each, DCTERMS.license, NamedNode(LICENCE))
        for description in SUMMARIES:
            yield Triple(each, NamedNode(f"{PREFIXES['dcterms']}description"), description)
    yield Triple(service, NamedNode(f"{DCAT}endpointURL"), address)
    yield Triple(service, NamedNode(f"{DCAT}endpointDescription"), address)
    yield Triple(service, NamedNode(f"{DCAT}servesDataset"), node)
    yield Triple(node, NamedNode(f"{DCAT}distribution"), part)
    yield Triple(part, NamedNode(f"{DCAT}accessURL"), address)
    yield Triple(part, NamedNode(f"{DCAT}accessService"), service)


def _distribution(node: NamedNode, each: Distribution) -> Iterator[Triple]:
    part = NamedNode(each.url)
    checksum = NamedNode(f"{each.url}#checksum")
    if each.packed:
        yield Triple(node, NamedNode(f"{VOID}dataDump"), part)
    yield Triple(node, NamedNode(f"{DCAT}distribution"), part)
    yield Triple(part, RDF.type, NamedNode(f"{DCAT}Distribution"))
    yield Triple(part, DCTERMS.title, Literal(each.title, language="en"))
    yield Triple(part, NamedNode(f"{DCAT}downloadURL"), part)
    yield Triple(part, NamedNode(f"{DCAT}accessURL"), part)
    yield Triple(part, DCTERMS.license, NamedNode(LICENCE))
    kind = NamedNode(_MEDIA + each.media_type)
    yield Triple(part, NamedNode(f"{DCAT}mediaType"), kind)
    size = Literal(str(each.bytes), datatype=NamedNode(f"{_XSD}nonNegativeInteger"))
    if each.packed:
        yield Triple(part, NamedNode(f"{DCAT}compressFormat"), NamedNode(_GZIP))
    yield Triple(part, NamedNode(f"{DCAT}byteSize"), size)
    yield Triple(part, NamedNode(f"{_SPDX}checksum"), checksum)
    yield Triple(
        checksum, NamedNode(f"{_SPDX}algorithm"), NamedNode(f"{_SPDX}checksumAlgorithm_sha256")
    )
    digest = Literal(each.sha256, datatype=NamedNode(f"{_XSD}hexBinary"))
    yield Triple(checksum, NamedNode(f"{_SPDX}checksumValue"), digest)


def _part(iri: str, kind: str, name: str) -> NamedNode:
    base = iri if "#" in iri else f"{iri}#"
    return NamedNode(
        f"{base}-{kind}-{content_hash(name)[:12]}"
        if "#" in iri
        else f"{base}{kind}-{content_hash(name)[:12]}"
    )


def _number(value: int) -> Literal:
    return Literal(str(value), datatype=XSD_INTEGER)


def _space(iri: str) -> str:
    """Return the name space of an IRI: up to its last ``#``, ``/`` or ``_``.

    >>> _space("http://identifiers.org/umls/C0000001")
    'http://identifiers.org/umls/'
    """
    if iri.startswith(UMLS):
        return UMLS
    cut = max(iri.rfind(mark) for mark in "#/_") + 1
    return iri[:cut]


# the base as its own default graph describes it
DATASET: Final = NamedNode(f"{ROOT}.well-known/void#dataset")


def schema_triples(quads: Sequence[Quad]) -> Iterator[Triple]:
    """Yield which classes have which properties with values of which classes, in VoID.

    A class partition has property partitions, and these have class or datatype partitions, each
    with its number of triples, as SPARQL generators read them. ``quads`` are of one graph.
    """
    uses = _uses(quads)
    seen = set[str]()
    for (subject, predicate, kind, name), count in sorted(uses.items()):
        outer = _part(DATASET.value, "class", subject)
        inner = _part(DATASET.value, "property", f"{subject} {predicate}")
        if outer.value not in seen:
            seen.add(outer.value)
            yield Triple(DATASET, NamedNode(f"{VOID}classPartition"), outer)
            yield Triple(outer, NamedNode(f"{VOID}class"), NamedNode(subject))
        if inner.value not in seen:
            seen.add(inner.value)
            yield Triple(outer, NamedNode(f"{VOID}propertyPartition"), inner)
            yield Triple(inner, NamedNode(f"{VOID}property"), NamedNode(predicate))
        if name:
            last = _part(DATASET.value, kind, f"{subject} {predicate} {name}")
            yield Triple(inner, NamedNode(f"{VOID}{kind}Partition"), last)
            yield Triple(last, NamedNode(f"{VOID}{kind}"), NamedNode(name))
            yield Triple(last, NamedNode(f"{VOID}triples"), _number(count))


def _uses(quads: Sequence[Quad]) -> Counter[tuple[str, str, str, str]]:
    """Count triples by class of the subject, predicate, and class or datatype of the object."""
    classes: dict[Term, list[str]] = defaultdict(list)
    for quad in quads:
        if quad.predicate == RDF.type and isinstance(quad.object, NamedNode):
            classes[quad.subject].append(quad.object.value)
    uses = Counter[tuple[str, str, str, str]]()
    unknown: tuple[str, ...] = ("",)
    for quad in quads:
        value, predicate = quad.object, quad.predicate.value
        if quad.predicate == RDF.type or isinstance(value, Triple):
            continue
        is_text = isinstance(value, Literal)
        names = (value.datatype.value,) if isinstance(value, Literal) else classes.get(value)
        kind = "datatype" if is_text else "class"
        for subject in classes.get(quad.subject, ()):
            for name in names or unknown:
                uses[subject, predicate, kind, name] += 1
    return uses


TCM_SIGNS = resource("scheme-tcm-sign")


def coverage(store: QuadStore) -> dict[str, dict[str, int]]:
    """Count concepts by class, those that may have a CUI, and those with one.

    Signs that only Chinese medicine names are counted, but expected to have none.
    """
    concepts, expected, mapped = Counter[str](), Counter[str](), Counter[str]()
    signs = {text(quad.subject) for quad in store.match(None, SKOS.inScheme, TCM_SIGNS)}
    for iri, each in concept_rows(store).items():
        concepts[each["class"]] += 1
        mapped[each["class"]] += bool(each.get("cui"))
        expected[each["class"]] += iri not in signs or bool(each.get("cui"))
    return {
        name: {"concepts": count, "expected": expected[name], "with_cui": mapped[name]}
        for name, count in sorted(concepts.items())
    }


def evidence(store: QuadStore) -> dict[str, dict[str, int]]:
    """Count pieces of evidence by tier of the source, then by kind."""
    results: dict[str, dict[str, int]] = {}
    for row in store.select(Query.named("evidence-by-tier").text):
        tier = local_name(text(row["tier"])).removeprefix("tier-")
        results.setdefault(tier, {})[local_name(text(row["kind"])).lower()] = int(
            text(row["pieces"])
        )
    return results


def relations(store: QuadStore) -> dict[str, int]:
    """Count claims of the accepted view by property, the most frequent first."""
    reified = store.match(None, RDF.reifies, None, DefaultGraph())
    return dict(
        Counter(
            local_name(quad.object.predicate.value)
            for quad in reified
            if isinstance(quad.object, Triple)
        ).most_common()
    )


def count_ingested(store: QuadStore) -> dict[str, dict[str, int]]:
    """Count, by graph, what was ingested: passages of each release, candidates, quarantine."""
    results: dict[str, dict[str, int]] = {}
    for row in store.select(Query.named("ingested").text):
        place = text(row["graph"]).removeprefix(GRAPH)
        results.setdefault(place, {})[local_name(text(row["class"]))] = int(text(row["things"]))
    return results


def disagreements(store: QuadStore) -> int:
    """Count pairs of claims that are recorded as disagreeing; each is stored both ways."""
    return sum(1 for _ in store.match(None, SHIYI.conflictsWith, None, DefaultGraph())) // 2
