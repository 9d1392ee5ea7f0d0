"""The made-up claims of benchmarks have the form of real ones."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from shiyi.ingest.starter import vocabulary_quads
from shiyi.model.rdf import Literal, NamedNode, Quad, text
from shiyi.ontology.terms import PROV, RDF, SHIYI, SKOS
from shiyi.shapes.validation import lowered, shapes_graph, validate
from shiyi.sparql.oxigraph import parse_n_quads

MADE = Path(__file__).parents[1] / "bench" / "made_up.py"
CLAIMS = 600
LISTED = (SHIYI.Constitution, SHIYI.MFHSubstance)  # those of the base; none is made up


@pytest.fixture(scope="module")
def made_up() -> ModuleType:
    spec = importlib.util.spec_from_file_location("made_up", MADE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["made_up"] = module
    spec.loader.exec_module(module)
    return module


def written(made_up: ModuleType) -> bytes:
    pools = made_up.Pools()
    for kind in LISTED:
        pools.iris[kind.value.rpartition("#")[2]] = [f"{kind.value}-{n}" for n in range(9)]
        pools.names |= dict.fromkeys((f"{kind.value}-{n}" for n in range(9)), ("甲", "one"))
    return b"".join((*made_up.concepts(pools, 300), *made_up.claims(pools, set(), CLAIMS)))


@pytest.fixture(scope="module")
def quads(made_up: ModuleType) -> tuple[Quad, ...]:
    return parse_n_quads(written(made_up))


def test_made_up_claims_conform_to_every_shape(quads: tuple[Quad, ...]) -> None:
    beside = [Quad(NamedNode(f"{kind.value}-{n}"), RDF.type, kind)
              for kind in LISTED for n in range(9)]  # fmt: skip
    every = [*vocabulary_quads(), *beside, *quads]
    results = [*map(str, validate(lowered(every), shapes_graph()))]
    listed = tuple(
        f"{level}: {kind.value}-" for level in ("Violation", "Warning") for kind in LISTED
    )
    assert [each for each in results if not each.startswith(listed)] == []
    broken = [q for q in every if q.predicate != SHIYI.sourceTier]
    assert any("tier" in str(each) for each in validate(lowered(broken), shapes_graph()))


def test_made_up_claims_have_evidence_of_several_sources_and_passages(
    quads: tuple[Quad, ...],
) -> None:
    count = Counter(text(q.object) for q in quads if q.predicate == RDF.type)
    pieces = Counter(q.subject for q in quads if q.predicate == SHIYI.evidence)
    assert count[SHIYI.Claim.value] == len(pieces) == CLAIMS
    assert set(pieces.values()) == {1, 2, 3}
    assert count[SHIYI.Evidence.value] == sum(pieces.values())
    rated = {text(q.object) for q in quads if q.predicate == SHIYI.rating}
    assert len(rated) > 3
    names = {q.object.language for q in quads if q.predicate == SKOS.prefLabel if isinstance(q.object, Literal)}  # fmt: skip
    assert names == {"zh", "en"}
    per_claim = len([q for q in quads if "scheme-made" not in text(q.object)]) / CLAIMS
    assert 18 < per_claim < 28  # of the starter base, 25


def test_a_quote_stands_in_its_passage(quads: tuple[Quad, ...]) -> None:
    texts: dict[object, str] = {
        q.subject: text(q.object) for q in quads if q.predicate == RDF.value
    }
    passage_of = {q.subject: q.object for q in quads if q.predicate == PROV.wasDerivedFrom
                  if "passage/" in text(q.object)}  # fmt: skip
    quotes = [(q.subject, text(q.object)) for q in quads if q.predicate == SHIYI.quote]
    found = [(node, said) for node, said in quotes if passage_of[node] in texts]
    assert len(found) > CLAIMS // 8
    assert all(said in texts[passage_of[node]] for node, said in found)
    assert {q.object.language for q in quads if q.subject in texts and q.predicate == RDF.value
            if isinstance(q.object, Literal)} == {"zh", "en"}  # fmt: skip


def test_the_same_seed_makes_the_same_claims_and_none_twice(made_up: ModuleType) -> None:
    once = written(made_up)
    assert once == written(made_up)
    lines = once.splitlines()
    assert len(lines) == len(set(lines))
