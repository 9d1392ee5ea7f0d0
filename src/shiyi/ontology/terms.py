"""Terms of the vocabulary as Python names.

A misspelt name is an ``AttributeError``; a test holds the names to the Turtle.
"""

from typing import get_type_hints

from typing_extensions import override

from shiyi.model.iris import VOCAB
from shiyi.model.rdf import NamedNode


class Vocabulary:
    """Names of one namespace, each a :class:`NamedNode` declared by its annotation."""

    @override
    def __init_subclass__(cls, base: str) -> None:
        for name in get_type_hints(cls):
            setattr(cls, name, NamedNode(base + name.rstrip("_")))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """List the declared names, without the underscore that keeps off a Python keyword."""
        return tuple(name.rstrip("_") for name in get_type_hints(cls))


class SHIYI(Vocabulary, base=VOCAB):
    """The project's own terms."""

    # what is eaten, drunk or taken
    DietaryMaterial: NamedNode
    WarmingMaterial: NamedNode
    CoolingMaterial: NamedNode
    ToxicSubstance: NamedNode
    PregnancyTaboo: NamedNode
    PreparationTabooInPregnancy: NamedNode
    Food: NamedNode
    MFHSubstance: NamedNode
    Herb: NamedNode
    Dish: NamedNode
    Formula: NamedNode
    DSIngredient: NamedNode
    DSProduct: NamedNode
    Drug: NamedNode
    DrugClass: NamedNode
    ChemicalEntity: NamedNode
    Organism: NamedNode
    OrganismPart: NamedNode
    FoodGroup: NamedNode
    # people and what ails them
    Condition: NamedNode
    Disease: NamedNode
    TCMDisease: NamedNode
    Syndrome: NamedNode
    Symptom: NamedNode
    EmergencySign: NamedNode
    Constitution: NamedNode
    Population: NamedNode
    CausalFactor: NamedNode
    # small schemes
    Nature: NamedNode
    Flavour: NamedNode
    Meridian: NamedNode
    ToxicityLevel: NamedNode
    Efficacy: NamedNode
    Therapy: NamedNode
    Text: NamedNode
    Method: NamedNode
    Season: NamedNode
    RegulatoryStatus: NamedNode
    Rule: NamedNode
    TherapeuticClass: NamedNode
    SystemOrganClass: NamedNode
    # claims and texts
    Claim: NamedNode
    Evidence: NamedNode
    EvidenceKind: NamedNode
    Read: NamedNode
    Row: NamedNode
    Recalled: NamedNode
    Inferred: NamedNode
    Predicted: NamedNode
    Source: NamedNode
    Passage: NamedNode
    Section: NamedNode
    School: NamedNode
    PatientCase: NamedNode
    CaseMention: NamedNode
    Review: NamedNode
    # material
    hasNature: NamedNode
    hasFlavour: NamedNode
    hasMeridianTropism: NamedNode
    hasToxicity: NamedNode
    hasEfficacy: NamedNode
    directedAt: NamedNode
    derivedFromOrganism: NamedNode
    usesPart: NamedNode
    hasActiveConstituent: NamedNode
    hasNutrient: NamedNode
    regulatoryStatus: NamedNode
    hasFoodGroup: NamedNode
    excludesFoodGroup: NamedNode
    confusedWith: NamedNode
    # composition and use
    hasIngredient: NamedNode
    hasPart: NamedNode
    preparedBy: NamedNode
    suitableSeason: NamedNode
    complementsInUse: NamedNode
    # constitution and advice
    relatedConstitution: NamedNode
    suitableFood: NamedNode
    unsuitableFood: NamedNode
    predisposesTo: NamedNode
    # clinical chain
    hasManifestation: NamedNode
    hasSyndrome: NamedNode
    hasTreatmentPrinciple: NamedNode
    realisedBy: NamedNode
    hasCause: NamedNode
    hasDiseaseLocation: NamedNode
    hasThermalNature: NamedNode
    impliesSyndrome: NamedNode
    judgedAs: NamedNode
    hasRedFlag: NamedNode
    warrantsCheckFor: NamedNode
    # benefit
    indicatedFor: NamedNode
    isEffectiveFor: NamedNode
    studiedFor: NamedNode
    relieves: NamedNode
    # safety
    contraindicatedIn: NamedNode
    cautionIn: NamedNode
    aggravates: NamedNode
    incompatibleWith: NamedNode
    opposes: NamedNode
    fears: NamedNode
    interactsWith: NamedNode
    hasAdverseReaction: NamedNode
    hasAdverseEffectOn: NamedNode
    hasTherapeuticClass: NamedNode
    # derived, never in source data
    derivedCaution: NamedNode
    potentiallyInteractsWith: NamedNode
    # layers
    theReferenceOf: NamedNode
    recordedIn: NamedNode
    supportedByText: NamedNode
    partOfSection: NamedNode
    belongsToSchool: NamedNode
    writtenFrom: NamedNode
    writtenTo: NamedNode
    dynasty: NamedNode
    genre: NamedNode
    dateBasis: NamedNode
    placeBasis: NamedNode
    conflictsWith: NamedNode
    # texts about concepts
    cookingMethod: NamedNode
    consumptionMethod: NamedNode
    dietaryBenefit: NamedNode
    primaryEffect: NamedNode
    processing: NamedNode
    useRestriction: NamedNode
    background: NamedNode
    mechanismOfAction: NamedNode
    safetyNote: NamedNode
    sourceMaterial: NamedNode
    ruleText: NamedNode
    questionText: NamedNode
    guidance: NamedNode
    # what a product label says
    manufacturer: NamedNode
    manufacturerAddress: NamedNode
    productPurpose: NamedNode
    productRisk: NamedNode
    recommendedIntake: NamedNode
    maximumIntake: NamedNode
    sourceDatabase: NamedNode
    # names and codes
    latinName: NamedNode
    pinyin: NamedNode
    umlsCui: NamedNode
    # claims and evidence
    status: NamedNode
    polarity: NamedNode
    confidence: NamedNode
    evidence: NamedNode
    extractionConfidence: NamedNode
    sourceTier: NamedNode
    sourceLocator: NamedNode
    evidenceKind: NamedNode
    suggestedSource: NamedNode
    lineage: NamedNode
    quote: NamedNode
    quoteStart: NamedNode
    quoteEnd: NamedNode
    knowledgeLevel: NamedNode
    agentType: NamedNode
    evidenceType: NamedNode
    amount: NamedNode
    grade: NamedNode
    rating: NamedNode
    severity: NamedNode
    population: NamedNode
    dose: NamedNode
    duration: NamedNode
    noteText: NamedNode
    topic: NamedNode
    about: NamedNode
    verdict: NamedNode
    pageRank: NamedNode
    derivedBy: NamedNode
    appliedThrough: NamedNode
    # changes of curators, in the reviews graph
    changeNumber: NamedNode
    removedQuads: NamedNode
    addedQuads: NamedNode
    reverses: NamedNode
    agreement: NamedNode
    homeStatus: NamedNode
    statusOnEntry: NamedNode
    madeUp: NamedNode
    # what a claim's fused confidence is made of, in the derived graph
    textPart: NamedNode
    entityPart: NamedNode
    relationPart: NamedNode
    pathPart: NamedNode
    fusedConfidence: NamedNode
    # values of status and polarity
    accepted: NamedNode
    candidate: NamedNode
    quarantined: NamedNode
    rejected: NamedNode
    retracted: NamedNode
    predicted: NamedNode
    positive: NamedNode
    negative: NamedNode
    # how a property's claims are inherited
    inheritsToNarrower: NamedNode
    inheritsFromIngredient: NamedNode
    inheritsToMember: NamedNode
    inheritsAlongImplication: NamedNode

    # what is read with a model, cases and schools
    PassageSummary: NamedNode
    QuestionAnswer: NamedNode
    EntityDescription: NamedNode
    RelationDescription: NamedNode
    ParkedPassage: NamedNode
    RefusedStatement: NamedNode
    ReasoningChain: NamedNode
    ReasoningText: NamedNode
    describes: NamedNode
    entityLayer: NamedNode
    answerText: NamedNode
    mentionedIn: NamedNode
    mentionKind: NamedNode
    leadsTo: NamedNode
    ageGroup: NamedNode
    sex: NamedNode
    medicalHistory: NamedNode
    hasStep: NamedNode
    reasonedIn: NamedNode


class RDF(Vocabulary, base="http://www.w3.org/1999/02/22-rdf-syntax-ns#"):
    """RDF 1.2."""

    type: NamedNode
    reifies: NamedNode
    subject: NamedNode
    predicate: NamedNode
    object: NamedNode
    value: NamedNode


class RDFS(Vocabulary, base="http://www.w3.org/2000/01/rdf-schema#"):
    """RDF Schema."""

    label: NamedNode
    subClassOf: NamedNode
    subPropertyOf: NamedNode
    domain: NamedNode
    range: NamedNode
    comment: NamedNode
    isDefinedBy: NamedNode


class SKOS(Vocabulary, base="http://www.w3.org/2004/02/skos/core#"):
    """SKOS."""

    Concept: NamedNode
    ConceptScheme: NamedNode
    prefLabel: NamedNode
    altLabel: NamedNode
    hiddenLabel: NamedNode
    notation: NamedNode
    broader: NamedNode
    narrower: NamedNode
    related: NamedNode
    inScheme: NamedNode
    hasTopConcept: NamedNode
    definition: NamedNode
    scopeNote: NamedNode
    exactMatch: NamedNode
    closeMatch: NamedNode
    broadMatch: NamedNode
    narrowMatch: NamedNode
    relatedMatch: NamedNode


class PROV(Vocabulary, base="http://www.w3.org/ns/prov#"):
    """PROV-O."""

    wasDerivedFrom: NamedNode
    wasGeneratedBy: NamedNode
    wasAttributedTo: NamedNode
    generatedAtTime: NamedNode
    Agent: NamedNode
    wasRevisionOf: NamedNode


class DCTERMS(Vocabulary, base="http://purl.org/dc/terms/"):
    """Dublin Core terms."""

    title: NamedNode
    creator: NamedNode
    date: NamedNode
    identifier: NamedNode
    license: NamedNode
    source: NamedNode
    isReplacedBy: NamedNode
    replaces: NamedNode
    spatial: NamedNode
    subject: NamedNode
    type: NamedNode
    audience: NamedNode


class OWL(Vocabulary, base="http://www.w3.org/2002/07/owl#"):
    """OWL 2, as far as the base itself says it."""

    deprecated: NamedNode


class OA(Vocabulary, base="http://www.w3.org/ns/oa#"):
    """Web Annotation: what readers report, and what somebody proposes."""

    Annotation: NamedNode
    hasTarget: NamedNode
    bodyValue: NamedNode
    motivatedBy: NamedNode
    editing: NamedNode
    moderating: NamedNode


class DCAT(Vocabulary, base="http://www.w3.org/ns/dcat#"):
    """Data Catalog Vocabulary."""

    Dataset: NamedNode
    distribution: NamedNode
    landingPage: NamedNode
    version: NamedNode


PREFIXES = {
    "shiyi": VOCAB,
    "id": "https://w3id.org/shiyi/id/",
    "graph": "https://w3id.org/shiyi/graph/",
    "umls": "http://identifiers.org/umls/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "prov": "http://www.w3.org/ns/prov#",
    "dcterms": "http://purl.org/dc/terms/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "void": "http://rdfs.org/ns/void#",
    "sh": "http://www.w3.org/ns/shacl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "sssom": "https://w3id.org/sssom/",
    "semapv": "https://w3id.org/semapv/vocab/",
    "biolink": "https://w3id.org/biolink/vocab/",
    "obo": "http://purl.obolibrary.org/obo/",
    "schema": "https://schema.org/",
}
