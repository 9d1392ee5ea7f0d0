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
from shiyi.ingest.sources import ExtractorFactory, IngestRequest, batches_of
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
from shiyi.reasoning.derivation import derived_quads
from shiyi.settings import ModelSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.port import QuadStore
from tests.support.copies import copy_base

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
    for each in concepts.by_id.values():
        yield from concept_quads(each, [], "")


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
        dataset, batches = batches_of(request, path, reader, self.base, report)
        return ingest(dataset, batches, report, reader.gate, self.base.writer, Options())

    def forget(self, report: Report) -> dict[str, int]:
        return forget(self.base.writer, report.dataset.partition("@")[0])

    def with_model(self) -> ExtractorFactory:
        settings = replace(Settings(), models=ModelSettings(extract="scripted", wait=0.01))
        made = ExtractorFactory("llm", self.index, self.extracting.gate, settings, self.base.path)
        made._linker = self.extracting._linker  # opening another takes seconds
        return made

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
    found: list[Quad] = []
    for each in CLAIMS:
        candidate = each.status is Status.CANDIDATE
        found += claim_quads(each, graph("candidates") if candidate else DefaultGraph())
    for source, place in ((BOOK, DefaultGraph()), (PAPER, DefaultGraph())):
        found += source_quads(source, place)
    for node, (zh, en, kind) in NAMES.items():
        found.append(Quad(node, RDF.type, kind, DefaultGraph()))
        found += [
            Quad(node, SKOS.prefLabel, Literal(word, language=language), DefaultGraph())
            for word, language in ((zh, "zh"), (en, "en"))
        ]
    for one, other in ((WARMTH, COLD), (COLD, WARMTH)):
        found.append(Quad(one.iri, SHIYI.conflictsWith, other.iri, DefaultGraph()))
    return found


def build(kb: Path) -> Path:
    """Build the base and give its folder."""
    build_generation(kb, quads(), {"claims": len(CLAIMS)})
    return kb


DEFAULT = DefaultGraph()
KITCHEN_BOOK = Source("book", "教材", "Textbook", Tier.TEXTBOOK)
DIET = Source("diet", "食疗书", "Diet book", Tier.TEXTBOOK)
CASE = Source("case", "病例", "Case", Tier.CASE_REPORT)
LAW = Source("law", "规定", "Provisions", Tier.REGULATION)

CONCEPTS = {
    "symptom-stomach": ("Symptom", "胃不适", "upset stomach"),
    "symptom-warmth": ("Symptom", "喜温", "better with warmth"),
    "symptom-thirst": ("Symptom", "口渴", "thirst"),
    "symptom-sleep": ("Symptom", "失眠", "insomnia"),
    "symptom-black-stools": ("EmergencySign", "黑便", "black stools"),
    "syndrome-cold": ("Syndrome", "脾胃虚寒证", "spleen-stomach cold pattern"),
    "syndrome-heat": ("Syndrome", "胃热证", "stomach heat pattern"),
    "syndrome-spleen-yang": ("Syndrome", "脾阳虚证", "spleen yang deficiency pattern"),
    "constitution-yin-deficiency": ("Constitution", "阴虚质", "yin-deficiency constitution"),
    "constitution-qi-deficiency": ("Constitution", "气虚质", "qi-deficiency constitution"),
    "nature-cold": ("Nature", "寒", "cold"),
    "nature-cool": ("Nature", "凉", "cool"),
    "nature-warm": ("Nature", "温", "warm"),
    "nature-hot": ("Nature", "热", "hot"),
    "season-summer": ("Season", "夏季", "summer"),
    "method-decoction-tea": ("Method", "煎汤代茶", "decocting as tea"),
    "substance-mung": ("Food", "绿豆", "mung bean"),
    "substance-ginger": ("MFHSubstance", "生姜", "ginger"),
    "substance-goji": ("MFHSubstance", "枸杞子", "goji berry"),
    "substance-lily": ("MFHSubstance", "百合", "lily bulb"),
    "substance-yam": ("MFHSubstance", "山药", "Chinese yam"),
    "substance-lilu": ("Herb", "藜芦", "false hellebore"),
    "substance-ginseng": ("MFHSubstance", "西洋参", "American ginseng"),
    "substance-peanut": ("Food", "花生", "peanut"),
    "dish-mung": ("Dish", "绿豆汤", "mung bean soup"),
    "dish-ginger": ("Dish", "姜茶", "ginger tea"),
    "dish-peanut": ("Dish", "花生百合粥", "peanut lily congee"),
    "drug-anticoagulants": ("DrugClass", "抗凝药", "anticoagulants"),
    "drug-warfarin": ("Drug", "华法林", "warfarin"),
    "drug-metformin": ("Drug", "二甲双胍", "metformin"),
    "population-pregnant": ("Population", "孕妇", "pregnant women"),
    "population-infant": ("Population", "婴儿", "infants under 12 months"),
    "status-mfh": ("RegulatoryStatus", "药食同源目录", "medicine-food list"),
    "rule-constitution": ("Rule", "体质判定规则", "constitution questionnaire"),
    "disease-anemia": ("Disease", "贫血", "anemia"),
}  # fmt: skip
BROADER = {"drug-warfarin": "drug-anticoagulants"}
KITCHEN_CLAIMS = [
    ("syndrome-cold", "hasManifestation", "symptom-stomach", KITCHEN_BOOK),
    ("syndrome-cold", "hasManifestation", "symptom-warmth", KITCHEN_BOOK),
    ("syndrome-heat", "hasManifestation", "symptom-stomach", KITCHEN_BOOK),
    ("syndrome-heat", "hasManifestation", "symptom-thirst", KITCHEN_BOOK),
    ("syndrome-cold", "hasThermalNature", "nature-cold", KITCHEN_BOOK),
    ("syndrome-heat", "hasThermalNature", "nature-hot", KITCHEN_BOOK),
    ("syndrome-cold", "impliesSyndrome", "syndrome-spleen-yang", KITCHEN_BOOK),
    ("syndrome-cold", "suitableFood", "dish-ginger", DIET),
    ("syndrome-heat", "suitableFood", "dish-mung", DIET),
    ("substance-mung", "contraindicatedIn", "syndrome-cold", KITCHEN_BOOK),
    ("substance-mung", "contraindicatedIn", "syndrome-cold", DIET),
    ("substance-mung", "hasNature", "nature-cold", KITCHEN_BOOK),
    ("substance-mung", "hasNature", "nature-cool", DIET),
    ("substance-ginger", "hasNature", "nature-warm", KITCHEN_BOOK),
    ("dish-mung", "hasIngredient", "substance-mung", DIET),
    ("dish-ginger", "hasIngredient", "substance-ginger", DIET),
    ("dish-peanut", "hasIngredient", "substance-peanut", DIET),
    ("dish-peanut", "hasIngredient", "substance-lily", DIET),
    ("dish-mung", "suitableSeason", "season-summer", DIET),
    ("dish-ginger", "suitableSeason", "season-summer", DIET),
    ("dish-mung", "preparedBy", "method-decoction-tea", DIET),
    ("dish-ginger", "preparedBy", "method-decoction-tea", DIET),
    ("symptom-stomach", "hasRedFlag", "symptom-black-stools", KITCHEN_BOOK),
    ("symptom-sleep", "relatedConstitution", "constitution-yin-deficiency", KITCHEN_BOOK),
    ("symptom-sleep", "relatedConstitution", "constitution-qi-deficiency", CASE),
    ("symptom-sleep", "warrantsCheckFor", "disease-anemia", KITCHEN_BOOK),
    ("constitution-yin-deficiency", "suitableFood", "substance-lily", DIET),
    ("constitution-yin-deficiency", "suitableFood", "substance-goji", DIET),
    ("constitution-yin-deficiency", "suitableFood", "dish-peanut", DIET),
    ("constitution-qi-deficiency", "suitableFood", "substance-yam", DIET),
    ("substance-goji", "interactsWith", "drug-warfarin", CASE),
    ("substance-ginger", "interactsWith", "drug-anticoagulants", KITCHEN_BOOK),
    ("substance-ginseng", "opposes", "substance-lilu", KITCHEN_BOOK),
    ("substance-lily", "cautionIn", "population-pregnant", KITCHEN_BOOK),
    ("dish-peanut", "contraindicatedIn", "population-infant", LAW),
]  # fmt: skip
TEXTS = [
    ("symptom-stomach", "questionText", "喜热还是喜凉？", "Is warmth or cold better?"),
    ("status-mfh", "ruleText", "名单是身份，不是疗效证据。", "A legal identity, no evidence of efficacy."),
    ("rule-constitution", "ruleText", "问卷转化分≥40为是，30–39为倾向。",
     "Questionnaire score 40 or more is yes, 30-39 a tendency."),
    ("dish-ginger", "cookingMethod", "姜片煮水。", "Simmer sliced ginger."),
]  # fmt: skip
_HELD = {KITCHEN_BOOK: 0.9, DIET: 0.8, CASE: 0.5, LAW: 0.95}


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
    present = Confidence(_HELD[source] if confidence is None else confidence)
    term: NamedNode = getattr(SHIYI, predicate)
    evidence = (Evidence(source, present),)
    made = Claim.stating(resource(subject), term, object_, evidence, polarity)
    return replace(made, status=status)


def claims() -> list[Claim]:
    joined: dict[str, Claim] = {}
    made = [kitchen_claim(s, p, resource(o), source) for s, p, o, source in KITCHEN_CLAIMS]
    made += [
        kitchen_claim(subject, predicate, Text(zh, en)) for subject, predicate, zh, en in TEXTS
    ]
    for each in made:
        known = joined.get(each.iri.value)
        joined[each.iri.value] = known.joined(each) if known else each
    return list(joined.values())


def kitchen_quads(extra: Iterable[Claim] = ()) -> Iterator[Quad]:
    for name, (kind, zh, en) in CONCEPTS.items():
        yield Quad(resource(name), RDF.type, getattr(SHIYI, kind), DEFAULT)
        yield Quad(resource(name), RDF.type, SKOS.Concept, DEFAULT)
        yield Quad(resource(name), SKOS.prefLabel, Literal(zh, language="zh"), DEFAULT)
        yield Quad(resource(name), SKOS.prefLabel, Literal(en, language="en"), DEFAULT)
    for name, above in BROADER.items():
        yield Quad(resource(name), SKOS.broader, resource(above), DEFAULT)
    for source in _HELD:
        yield from source_quads(source)
    for each in (*claims(), *extra):
        yield from claim_quads(each)


def stored(extra: Iterable[Claim] = ()) -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.change(add=list(kitchen_quads(extra)))
    store.change(add=list(derived_quads(store, Settings())))
    return store


def runtime(extra: Iterable[Claim] = (), settings: Settings | None = None) -> Runtime:
    store = stored(extra)
    linker = Linker(LabelIndex.from_store(store, "test"))
    projection = Projection.from_store(store, "test")
    return Runtime.over(store, linker, projection, settings or Settings())
