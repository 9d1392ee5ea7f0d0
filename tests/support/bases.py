"""A small hand-made knowledge base for tests of reasoning and answering."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.artefacts import artefact
from shiyi.ingest.batches import Report
from shiyi.ingest.gate import Gate
from shiyi.ingest.retraction import forget
from shiyi.ingest.run import Options, ingest
from shiyi.ingest.sources import ExtractorFactory, IngestRequest, open_batches
from shiyi.ingest.tables.concepts import concept_quads, read_concepts
from shiyi.ingest.tables.starter import vocabulary_quads
from shiyi.ingest.tables.tsv import Faults
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.model.claim import Claim, Confidence, Evidence, Polarity, Source, Status, Text, Tier
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Object, Quad, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import DCAT, RDF, SHIYI, SKOS
from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.derivation import derive_quads
from shiyi.settings import ModelSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.port import QuadStore
from tests.support.copies import copy_base
from tests.tables import cases

BATCH = 20
P = NamedNode("https://example.org/batch")


def batch(number: int) -> list[Quad]:
    value = Literal(str(number))
    return [Quad(NamedNode(f"https://example.org/b{number}-{i}"), P, value) for i in range(BATCH)]


def base(number: int) -> list[Quad]:
    return [quad for i in range(number, number + 100) for quad in batch(i)]


def batches(store: QuadStore) -> Counter[int]:
    return Counter(int(text(quad.object)) for quad in store.match(predicate=P))


def concept_base() -> Iterator[Quad]:
    """Yield the vocabulary and all concepts of the tables, without claims."""
    yield from vocabulary_quads()
    concepts = read_concepts(artefact("ontology/concepts"), Schema.load(), Faults())
    for concept in concepts.by_id.values():
        yield from concept_quads(concept, [], "")


def stored_quads(kb: Path) -> set[Quad]:
    """Return the quads of a base outside the default graph and the journal's."""
    with KnowledgeBase.open(kb) as base:
        return named_quads(base)


def named_quads(base: KnowledgeBase) -> set[Quad]:
    """Return the same of an open base."""
    rows = base.store.select("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")
    places = {row["g"] for row in rows} - {graph("journal")}
    return {
        quad
        for place in places
        if isinstance(place, NamedNode)
        for quad in base.store.match(graph=place)
    }


class Desk:
    """A base of the user's own, open for writing, and what reads cases into it."""

    def __init__(self, base: KnowledgeBase) -> None:
        self.base = base
        self.index = LabelIndex.load(base.folder / "index", base.release)
        self.extracting = ExtractorFactory(
            "rules", self.index, Gate(self.index), Settings(), base.path
        )

    def take(
        self, path: Path, extracting: ExtractorFactory | None = None, school: str = ""
    ) -> Report:
        reader, report = extracting or self.extracting, Report()
        request = IngestRequest("cases", school=school)
        dataset, batches = open_batches(request, path, reader, self.base, report)
        return ingest(dataset, batches, report, reader.gate, self.base.writer, Options())

    def forget(self, report: Report) -> dict[str, int]:
        return forget(self.base.writer, report.dataset.partition("@")[0])

    def with_model(self) -> ExtractorFactory:
        settings = replace(Settings(), models=ModelSettings(extract="scripted", wait=0.01))
        factory = ExtractorFactory(
            "llm", self.index, self.extracting.gate, settings, self.base.path
        )
        factory._linker = self.extracting._linker  # opening another takes seconds
        return factory

    def quads(self) -> set[Quad]:
        """Return what the graphs of cases, schools and their sources hold."""
        store = self.base.store
        kinds = (SHIYI.PatientCase, SHIYI.School, DCAT.Dataset)
        places = {q.graph_name for kind in kinds for q in store.match(None, RDF.type, kind)}
        return {
            quad
            for place in places
            if isinstance(place, NamedNode)
            for quad in store.match(graph=place)
        }


@pytest.fixture(scope="module")
def desk(starter_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    copy = tmp_path_factory.mktemp("cases") / "kb"
    copy_base(starter_kb, copy)
    with KnowledgeBase.open(copy, write=True) as base:
        yield Desk(base)


BOOK = Source("book", "书", "Book", Tier.TEXTBOOK)
PAPER = Source("paper", "文", "Paper", Tier.PAPER)
GOJI, DATE, WARFARIN = (resource(n) for n in ("substance-goji", "food-date", "drug-warfarin"))
SWEET, WARM, TIRED = (resource(n) for n in ("flavour-sweet", "nature-warm", "symptom-tired"))
NAMES = {
    GOJI: ("枸杞子", "goji", SHIYI.MFHSubstance), DATE: ("大枣", "jujube", SHIYI.MFHSubstance),
    WARFARIN: ("华法林", "warfarin", SHIYI.Drug), SWEET: ("甘", "sweet", SHIYI.Flavour),
    WARM: ("温", "warm", SHIYI.Nature), TIRED: ("乏力", "tiredness", SHIYI.Symptom),
}  # fmt: skip


def claim(
    subject: NamedNode,
    predicate: NamedNode,
    object_: NamedNode,
    *sure: float,
    status: Status = Status.ACCEPTED,
    polarity: Polarity = Polarity.POSITIVE,
) -> Claim:
    """Make a claim with one piece of evidence for each number."""
    evidence = tuple(
        Evidence(source, Confidence(value), f"p. {i}")
        for i, (source, value) in enumerate(zip((BOOK, PAPER), sure, strict=False), 1)
    )
    return Claim(subject, predicate, object_, evidence, polarity, status)


SWEETNESS = claim(GOJI, SHIYI.hasFlavour, SWEET, 0.8)
WARMTH = claim(DATE, SHIYI.hasNature, WARM, 0.6, 0.5)
INTERACTION = claim(GOJI, SHIYI.interactsWith, WARFARIN, 0.7)
RELIEF = claim(DATE, SHIYI.relieves, TIRED, 0.55, status=Status.CANDIDATE)
HARM = claim(DATE, SHIYI.interactsWith, WARFARIN, 0.4, status=Status.CANDIDATE)
COLD = claim(DATE, SHIYI.hasNature, WARM, 0.5, polarity=Polarity.NEGATIVE)
CLAIMS = (SWEETNESS, WARMTH, INTERACTION, RELIEF, HARM, COLD)


def quads() -> list[Quad]:
    """Return the base's quads."""
    found_quads: list[Quad] = []
    for each in CLAIMS:
        candidate = each.status is Status.CANDIDATE
        found_quads += claim_quads(each, graph("candidates") if candidate else DefaultGraph())
    for source, place in ((BOOK, DefaultGraph()), (PAPER, DefaultGraph())):
        found_quads += source_quads(source, place)
    for node, (zh, en, kind) in NAMES.items():
        found_quads.append(Quad(node, RDF.type, kind, DefaultGraph()))
        found_quads += [
            Quad(node, SKOS.prefLabel, Literal(word, language=language), DefaultGraph())
            for word, language in ((zh, "zh"), (en, "en"))
        ]
    for one, other in ((WARMTH, COLD), (COLD, WARMTH)):
        found_quads.append(Quad(one.iri, SHIYI.conflictsWith, other.iri, DefaultGraph()))
    return found_quads


def build(kb: Path) -> Path:
    """Build the base and give its folder."""
    build_generation(kb, quads(), {"claims": len(CLAIMS)})
    return kb


DEFAULT = DefaultGraph()
KITCHEN_BOOK = Source("book", "教材", "Textbook", Tier.TEXTBOOK)
DIET = Source("diet", "食疗书", "Diet book", Tier.TEXTBOOK)
CASE = Source("case", "病例", "Case", Tier.CASE_REPORT)
LAW = Source("law", "规定", "Provisions", Tier.REGULATION)

CONCEPTS = {name: (kind, zh, en) for name, kind, zh, en in cases("support", "kitchen_concepts")}
BROADER = {"drug-warfarin": "drug-anticoagulants"}
_TRUST = {KITCHEN_BOOK: 0.9, DIET: 0.8, CASE: 0.5, LAW: 0.95}


def iri(name: str) -> str:
    return resource(name).value


def kitchen_claim(
    subject: str,
    predicate: str,
    object_: Object | Text,
    source: Source = KITCHEN_BOOK,
    confidence: float | None = None,
    polarity: Polarity = Polarity.POSITIVE,
    status: Status = Status.ACCEPTED,
) -> Claim:
    present = Confidence(_TRUST[source] if confidence is None else confidence)
    term: NamedNode = getattr(SHIYI, predicate)
    evidence = (Evidence(source, present),)
    made = Claim.create(resource(subject), term, object_, evidence, polarity)
    return replace(made, status=status)


def claims() -> list[Claim]:
    joined_claims: dict[str, Claim] = {}
    sources = {source.id: source for source in _TRUST}
    made_claims = [
        kitchen_claim(s, p, resource(o), sources[source])
        for s, p, o, source in cases("support", "kitchen_claims")
    ]
    made_claims += [
        kitchen_claim(subject, predicate, Text(zh, en))
        for subject, predicate, zh, en in cases("support", "kitchen_texts")
    ]
    for each in made_claims:
        known = joined_claims.get(each.iri.value)
        joined_claims[each.iri.value] = known.join(each) if known else each
    return list(joined_claims.values())


def kitchen_quads(extra: Iterable[Claim] = ()) -> Iterator[Quad]:
    for name, (kind, zh, en) in CONCEPTS.items():
        yield Quad(resource(name), RDF.type, getattr(SHIYI, kind), DEFAULT)
        yield Quad(resource(name), RDF.type, SKOS.Concept, DEFAULT)
        yield Quad(resource(name), SKOS.prefLabel, Literal(zh, language="zh"), DEFAULT)
        yield Quad(resource(name), SKOS.prefLabel, Literal(en, language="en"), DEFAULT)
    for name, above in BROADER.items():
        yield Quad(resource(name), SKOS.broader, resource(above), DEFAULT)
    for source in _TRUST:
        yield from source_quads(source)
    for each in (*claims(), *extra):
        yield from claim_quads(each)


def stored(extra: Iterable[Claim] = ()) -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.change(add=list(kitchen_quads(extra)))
    store.change(add=list(derive_quads(store, Settings())))
    return store


def runtime(extra: Iterable[Claim] = (), settings: Settings | None = None) -> Runtime:
    store = stored(extra)
    linker = Linker(LabelIndex.from_store(store, "test"))
    projection = Projection.from_store(store, "test")
    return Runtime.over(store, linker, projection, settings or Settings())
