"""The gate at speed: lines in place of quads, one judged claim for its like; both agree with what is slow."""

import random

import pytest

from shiyi.artefacts import artefact
from shiyi.ingest.gate import Gate, ProposedClaim, neighbourhood, results_against
from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import (
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Polarity,
    Source,
    Status,
    Tier,
)
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import Literal, NamedNode
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import ABOUT, QUALIFIERS, claim_blocks, claim_quads
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.shapes.validation import Result, shapes_graph, to_graph, validate
from shiyi.sparql.store.oxigraph import n_quads

PLACE = graph("candidates")
INDEX = LabelIndex.from_tables(artefact("ontology/concepts"))
SCHEMA = Schema.load()
HOSTILE = (
    "", "甘", 'a "quote"', "back\\slash", "line\nbreak\r\n", "tab\t", "\x07\x1f", "\u2028\u0085\ufffe",
    "> . <urn:x>", "\U0001f345", " ", "' <<( )>>", "500 mg", "unknown words", "\x7f", "a" * 5000,
)  # fmt: skip
RELATIONS = (
    "hasNature", "hasFlavour", "hasToxicity", "hasEfficacy", "indicatedFor", "isEffectiveFor",
    "interactsWith", "hasIngredient", "contraindicatedIn", "manufacturer", "background",
    "consumptionMethod", "opposes", "hasMeridianTropism", "safetyNote",
)  # fmt: skip


def source(rng: random.Random) -> Source:
    number = rng.randrange(3)
    text = rng.choice(HOSTILE)
    return Source(
        f"s{number}",
        f"书{text}",
        text or "B",
        rng.choice(list(Tier)),
        lineage=rng.choice(("", "l")),
    )


def thing(rng: random.Random) -> NamedNode:
    if rng.random() < 0.1:
        return resource("nothing-that-is-known")
    return NamedNode(rng.choice(INDEX_IRIS))


INDEX_IRIS = [concept.iri for concept in INDEX.concepts]


def made(rng: random.Random) -> Claim:
    """Make a claim that is right, or wrong in any of many ways."""
    predicate = getattr(SHIYI, rng.choice(RELATIONS))
    text: NamedNode | Literal = thing(rng)
    if rng.random() < 0.3:
        text = Literal(rng.choice(HOSTILE), language=rng.choice(("zh", "en", None)))
    if rng.random() < 0.1:
        predicate, text = SKOS.closeMatch, NamedNode("http://identifiers.org/umls/C0000001")
    qualifiers = tuple(
        sorted(
            (name, rng.choice((*HOSTILE, "likely", "3 g", "moderate")) if name != ABOUT else "a")
            for name in rng.sample(sorted(QUALIFIERS), rng.randrange(3))
        )
    )
    evidence = tuple(
        Evidence(
            source(rng),
            Confidence(rng.choice((0.0, 0.5, 0.63, 1.0))),
            rng.choice(HOSTILE),
            rng.choice(list(EvidenceKind)),
            rng.choice(HOSTILE),
            rng.choice((None, resource("passage/1"))),
            qualifiers,
            rng.choice(("rules-1", "mapping-2")),
        )
        for _ in range(rng.choice((1, 1, 2)))
    )
    return Claim(
        thing(rng), predicate, text, evidence, rng.choice(list(Polarity)), rng.choice(list(Status))
    )


@pytest.mark.parametrize("fused", [True, False])
def test_lines_say_what_quads_say_byte_by_byte(fused: bool) -> None:
    rng = random.Random(11)  # noqa: S311 - a seed
    for _ in range(1000):
        claim = made(rng)
        lines = "".join(claim_blocks(claim, PLACE, fused)).encode().splitlines(keepends=True)
        quads = n_quads(claim_quads(claim, PLACE, fused)).splitlines(keepends=True)
        assert sorted(lines) == sorted(quads)


def test_each_claim_is_validated_independently() -> None:
    rng = random.Random(5)  # noqa: S311 - a seed
    claims = [made(rng) for _ in range(20)]
    classes = {concept.iri: SCHEMA.superclasses(concept.kind) for concept in INDEX.concepts}
    shapes = shapes_graph()
    for each in Gate(INDEX).judge([ProposedClaim(claim) for claim in claims * 2]):
        claim = each.proposed.claim
        by_focus: dict[str, list[Result]] = {}
        for result in validate(to_graph(neighbourhood(claim, classes)), shapes):
            if result.severity == "Violation":
                by_focus.setdefault(result.focus, []).append(result)
        alone = {(r.component, r.path, r.message_en) for r in results_against(claim, by_focus)}
        assert {(r.component, r.path, r.message_en) for r in each.faults} == alone, claim
