"""A small hand-made knowledge base for tests of reasoning and answering."""

from collections.abc import Iterable, Iterator

from shiyi.answering import Runtime
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.model.claim import Claim, Evidence, Polarity, Source, Status, Tier
from shiyi.model.confidence import Confidence
from shiyi.model.names import resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Object, Quad
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.reasoning.derive import derived_quads
from shiyi.reasoning.projection import Projection
from shiyi.settings import Settings
from shiyi.sparql.oxigraph import OxigraphStore

DEFAULT = DefaultGraph()
BOOK = Source("book", "教材", "Textbook", Tier.TEXTBOOK)
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
CLAIMS = [
    ("syndrome-cold", "hasManifestation", "symptom-stomach", BOOK),
    ("syndrome-cold", "hasManifestation", "symptom-warmth", BOOK),
    ("syndrome-heat", "hasManifestation", "symptom-stomach", BOOK),
    ("syndrome-heat", "hasManifestation", "symptom-thirst", BOOK),
    ("syndrome-cold", "hasThermalNature", "nature-cold", BOOK),
    ("syndrome-heat", "hasThermalNature", "nature-hot", BOOK),
    ("syndrome-cold", "impliesSyndrome", "syndrome-spleen-yang", BOOK),
    ("syndrome-cold", "suitableFood", "dish-ginger", DIET),
    ("syndrome-heat", "suitableFood", "dish-mung", DIET),
    ("substance-mung", "contraindicatedIn", "syndrome-cold", BOOK),
    ("substance-mung", "contraindicatedIn", "syndrome-cold", DIET),
    ("substance-mung", "hasNature", "nature-cold", BOOK),
    ("substance-mung", "hasNature", "nature-cool", DIET),
    ("substance-ginger", "hasNature", "nature-warm", BOOK),
    ("dish-mung", "hasIngredient", "substance-mung", DIET),
    ("dish-ginger", "hasIngredient", "substance-ginger", DIET),
    ("dish-peanut", "hasIngredient", "substance-peanut", DIET),
    ("dish-peanut", "hasIngredient", "substance-lily", DIET),
    ("dish-mung", "suitableSeason", "season-summer", DIET),
    ("dish-ginger", "suitableSeason", "season-summer", DIET),
    ("dish-mung", "preparedBy", "method-decoction-tea", DIET),
    ("dish-ginger", "preparedBy", "method-decoction-tea", DIET),
    ("symptom-stomach", "hasRedFlag", "symptom-black-stools", BOOK),
    ("symptom-sleep", "relatedConstitution", "constitution-yin-deficiency", BOOK),
    ("symptom-sleep", "relatedConstitution", "constitution-qi-deficiency", CASE),
    ("symptom-sleep", "warrantsCheckFor", "disease-anemia", BOOK),
    ("constitution-yin-deficiency", "suitableFood", "substance-lily", DIET),
    ("constitution-yin-deficiency", "suitableFood", "substance-goji", DIET),
    ("constitution-yin-deficiency", "suitableFood", "dish-peanut", DIET),
    ("constitution-qi-deficiency", "suitableFood", "substance-yam", DIET),
    ("substance-goji", "interactsWith", "drug-warfarin", CASE),
    ("substance-ginger", "interactsWith", "drug-anticoagulants", BOOK),
    ("substance-ginseng", "opposes", "substance-lilu", BOOK),
    ("substance-lily", "cautionIn", "population-pregnant", BOOK),
    ("dish-peanut", "contraindicatedIn", "population-infant", LAW),
]  # fmt: skip
TEXTS = [
    ("symptom-stomach", "questionText", "喜热还是喜凉？", "Is warmth or cold better?"),
    ("status-mfh", "ruleText", "名单是身份，不是疗效证据。", "A legal identity, no evidence of efficacy."),
    ("rule-constitution", "ruleText", "问卷转化分≥40为是，30–39为倾向。",
     "Questionnaire score 40 or more is yes, 30-39 a tendency."),
    ("dish-ginger", "cookingMethod", "姜片煮水。", "Simmer sliced ginger."),
]  # fmt: skip
_HELD = {BOOK: 0.9, DIET: 0.8, CASE: 0.5, LAW: 0.95}


def iri(name: str) -> str:
    return resource(name).value


def claim(
    subject: str,
    predicate: str,
    object_: Object,
    source: Source = BOOK,
    confidence: float | None = None,
    polarity: Polarity = Polarity.POSITIVE,
    status: Status = Status.ACCEPTED,
) -> Claim:
    held = Confidence(_HELD[source] if confidence is None else confidence)
    term: NamedNode = getattr(SHIYI, predicate)
    evidence = (Evidence(source, held),)
    return Claim(resource(subject), term, object_, evidence, polarity, status)


def claims() -> list[Claim]:
    joined: dict[str, Claim] = {}
    made = [claim(s, p, resource(o), source) for s, p, o, source in CLAIMS]
    for subject, predicate, zh, en in TEXTS:
        made += [
            claim(subject, predicate, Literal(t, language=x)) for t, x in ((zh, "zh"), (en, "en"))
        ]
    for each in made:
        known = joined.get(each.iri.value)
        joined[each.iri.value] = known.joined(each) if known else each
    return list(joined.values())


def quads(extra: Iterable[Claim] = ()) -> Iterator[Quad]:
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
    store.change(add=list(quads(extra)))
    store.change(add=list(derived_quads(store, Settings())))
    return store


def runtime(extra: Iterable[Claim] = (), settings: Settings | None = None) -> Runtime:
    store = stored(extra)
    linker = Linker(LabelIndex.from_store(store, "test"))
    projection = Projection.from_store(store, "test")
    return Runtime.over(store, linker, projection, settings or Settings())
