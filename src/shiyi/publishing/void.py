"""VoID and DCAT descriptions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from shiyi.model.iris import GRAPH, ID, ROOT, UMLS, VOCAB, content_hash, resource
from shiyi.model.rdf import (
    XSD_INTEGER,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Term,
    Triple,
    local_name,
    parse_turtle,
    text,
)
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI, SKOS
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


_HEAD: Final = "".join(
    f"@prefix {name}: <{iri}> .\n"
    for name, iri in (
        ("dcat", DCAT), ("dcterms", PREFIXES["dcterms"]), ("foaf", _FOAF), ("spdx", _SPDX),
        ("void", VOID), ("xsd", _XSD),
    )
)  # fmt: skip
_CLASSES: Final = f"""<{PUBLISHER.value}> a foaf:Agent ; foaf:name "{CREATOR}"@en .
<{LICENCE}> a dcterms:LicenseDocument .
<{_LANGUAGES}ZHO> a dcterms:LinguisticSystem . <{_LANGUAGES}ENG> a dcterms:LinguisticSystem ."""
_SERVICE: Final = """<{0}#service> a dcat:DataService ; {1} ; dcat:servesDataset <{2}> ;
  dcat:endpointURL <{0}> ; dcat:endpointDescription <{0}> .
<{2}> void:sparqlEndpoint <{0}> ; dcat:distribution <{0}#distribution> .
<{0}#distribution> a dcat:Distribution ; {1} ;
  dcat:accessURL <{0}> ; dcat:accessService <{0}#service> ."""


def void_triples(about: DatasetDescription, counts: Counts) -> Iterator[Triple]:
    """Yield the description; partitions and linksets are named under the data set's own IRI."""
    parts = [_HEAD, _CLASSES, *_dataset(about), *_count_lines(about.iri, counts)]
    for name, size in sorted(about.subsets.items()):
        parts.append(f"<{about.iri}> void:subset <{name}> . <{name}> void:triples {size} .")
    parts += [_distribution(about.iri, distribution) for distribution in about.distributions]
    if about.endpoint:
        named = f'dcterms:title "SPARQL endpoint"@en ; dcterms:license <{LICENCE}>'
        named += f" ; dcterms:description {_list(SUMMARIES)}"
        parts.append(_SERVICE.format(about.endpoint, named, about.iri))
    return iter(dict.fromkeys(quad.triple for quad in parse_turtle("\n".join(parts))))


def _list(terms: Iterable[Term]) -> str:
    return ", ".join(map(str, terms))


def _dataset(about: DatasetDescription) -> Iterator[str]:
    vocabularies = (VOCAB, *(PREFIXES[name] for name in ("skos", "prov", "dcterms")))
    yield f"""<{about.iri}> a void:Dataset, dcat:Dataset ;
  dcterms:title {_list(TITLES)} ; dcterms:description {_list(SUMMARIES)} ;
  dcat:keyword {_list(Literal(term, language="en") for term in KEYWORDS)} ;
  dcterms:license <{LICENCE}> ; dcterms:identifier {Literal(about.identifier)} ;
  dcterms:publisher {PUBLISHER} ; dcterms:language <{_LANGUAGES}ZHO>, <{_LANGUAGES}ENG> ;
  void:uriSpace {Literal(about.uri_space)} ; void:vocabulary {_list(map(NamedNode, vocabularies))}
."""
    for predicate, address in (
        ("dcat:landingPage", about.page),
        ("foaf:homepage", about.page),
        ("dcat:previousVersion", about.previous),
        *(("void:exampleResource", example) for example in about.examples),
    ):
        if address:
            yield f"<{about.iri}> {predicate} <{address}> ."
    if about.page:
        yield f"<{about.page}> a foaf:Document ."
    if about.version:
        yield f"<{about.iri}> dcat:version {Literal(about.version)} ."
    if about.issued:
        yield f'<{about.iri}> dcterms:issued "{about.issued}"^^xsd:date .'


def _count_lines(iri: str, counts: Counts) -> Iterator[str]:
    for name, value in (
        ("triples", counts.triples),
        ("distinctSubjects", counts.subjects),
        ("distinctObjects", counts.objects),
        ("classes", len(counts.classes)),
        ("properties", len(counts.properties)),
        ("entities", counts.classes[SKOS.Concept.value]),
    ):
        if value is not None:
            yield f"<{iri}> void:{name} {value} ."
    for name, count in sorted(counts.classes.items()):
        part = _part(iri, "class", name)
        yield f"<{iri}> void:classPartition {part} . {part} void:class <{name}> ; "
        yield f"  void:entities {count} ."
    for name, count in sorted(counts.properties.items()):
        part = _part(iri, "property", name)
        yield f"<{iri}> void:propertyPartition {part} ."
        yield f"{part} void:property <{name}> ; void:triples {count} ."
        if name in counts.property_subjects:
            yield f"{part} void:distinctSubjects {counts.property_subjects[name]} ."
    for (predicate, space), count in sorted(counts.links.items()):
        part, target = _part(iri, "links", predicate + space), _part(iri, "target", space)
        yield f"""<{iri}> void:subset {part} . {part} a void:Linkset ;
  void:linkPredicate <{predicate}> ; void:subjectsTarget <{iri}> ; void:objectsTarget {target} ;
  void:triples {count} . {target} a void:Dataset ; void:uriSpace {Literal(space)} ."""


def _distribution(dataset: str, each: Distribution) -> str:
    """Describe a file, with the classes that DCAT-AP expects of what is named."""
    media, packed = f"<{_MEDIA}{each.media_type}>", ""
    if each.packed:
        packed = f"""<{dataset}> void:dataDump <{each.url}> . <{_GZIP}> a dcterms:MediaType .
<{each.url}> dcat:compressFormat <{_GZIP}> ."""
    return f"""<{dataset}> dcat:distribution <{each.url}> . {media} a dcterms:MediaType .
<{each.url}> a dcat:Distribution ; dcterms:title {Literal(each.title, language="en")} ;
  dcat:downloadURL <{each.url}> ; dcat:accessURL <{each.url}> ; dcterms:license <{LICENCE}> ;
  dcat:mediaType {media} ; dcat:byteSize "{each.bytes}"^^xsd:nonNegativeInteger ;
  spdx:checksum <{each.url}#checksum> .
<{each.url}#checksum> a spdx:Checksum ; spdx:algorithm spdx:checksumAlgorithm_sha256 ;
  spdx:checksumValue "{each.sha256}"^^xsd:hexBinary .
{packed}"""


def _part(iri: str, kind: str, name: str) -> NamedNode:
    start = f"{iri}-" if "#" in iri else f"{iri}#"
    return NamedNode(f"{start}{kind}-{content_hash(name)[:12]}")


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
            yield Triple(
                last, NamedNode(f"{VOID}triples"), Literal(str(count), datatype=XSD_INTEGER)
            )


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
    for iri, record in concept_rows(store).items():
        concepts[record["class"]] += 1
        mapped[record["class"]] += bool(record.get("cui"))
        expected[record["class"]] += iri not in signs or bool(record.get("cui"))
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
    quads = store.match(None, RDF.reifies, None, DefaultGraph())
    return dict(
        Counter(
            local_name(quad.object.predicate.value)
            for quad in quads
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
