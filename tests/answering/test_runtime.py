"""What is searched as text follows every decision at once, and what the store holds after a restart."""

from collections.abc import Iterator

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.answering.runtime import RuntimeHolder, write_indexes
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.model.iris import resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, SHIYI, SKOS
from shiyi.server.site.opening import Refresher
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.bases import DATE, HARM, RELIEF, SWEETNESS, build
from tests.support.questions import ask

PASSAGE = resource("passage-dates")
TEXT_METHODS = ("bm25", "spot")


@pytest.fixture
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    place = build(tmp_path_factory.mktemp("texts") / "kb")
    with KnowledgeBase.open(place, write=True) as opened:
        read = [RELIEF.iri.value, *(n.value for n in _nodes(opened, RELIEF.iri))]
        quads = [
            Quad(PASSAGE, RDF.type, SHIYI.Passage, DefaultGraph()),
            Quad(
                PASSAGE, RDF.value, Literal("枣能安中，久服不饥。", language="zh"), DefaultGraph()
            ),
            *(Quad(NamedNode(n), PROV.wasDerivedFrom, PASSAGE, DefaultGraph()) for n in read[1:]),
        ]
        opened.writer.write(quads, key="passage", agent="test", reason="test")
        write_indexes(opened, Settings())
        yield opened


def _nodes(base: KnowledgeBase, claim: NamedNode) -> list[NamedNode]:
    terms = (q.object for q in base.store.match(claim, SHIYI.evidence, None, None))
    return [node for node in terms if isinstance(node, NamedNode)]


@pytest.fixture
def context(base: KnowledgeBase) -> tuple[RuntimeHolder, Decisions]:
    living, changes = RuntimeHolder(Runtime.open(base, Settings())), Changes(base.writer)
    Refresher(living, changes, lambda: None)
    return living, Decisions(changes)


def found(runtime: Runtime, question: str, method: str) -> set[str]:
    answer = ask(runtime, question, method=method)
    return {claim for claim, _ in answer.trace.claims}


def decided(decisions: Decisions, claim: NamedNode, kind: str) -> None:
    for term in ("li", "wang"):
        decisions.review(claim.value, ReviewDecision(kind, term))


@pytest.mark.parametrize("method", TEXT_METHODS)
def test_accepted_claim_is_found_by_words_at_once(
    context: tuple[RuntimeHolder, Decisions], method: str
) -> None:
    living, decisions = context
    question = "大枣能缓解乏力吗？"
    assert RELIEF.iri.value not in found(living.current, question, method)
    decided(decisions, RELIEF.iri, "accept")
    assert RELIEF.iri.value in living.current.library.claims()
    assert RELIEF.iri.value in found(living.current, question, method)


@pytest.mark.parametrize("method", TEXT_METHODS)
def test_a_rejected_claim_is_found_no_more(
    context: tuple[RuntimeHolder, Decisions], method: str
) -> None:
    living, decisions = context
    question = "枸杞子的味道是什么？"
    assert SWEETNESS.iri.value in found(living.current, question, method)
    decided(decisions, SWEETNESS.iri, "reject")
    assert SWEETNESS.iri.value not in found(living.current, question, method)
    hits = living.current.library.by_words("枸杞子 甘 goji sweet", 10)
    assert SWEETNESS.iri.value not in {h.unit.iri for h in hits}
    near_hits = living.current.library.by_meaning("枸杞子 味 甘 goji flavour sweet", 10)
    assert SWEETNESS.iri.value not in {h.unit.iri for h in near_hits}


def test_claim_taken_back_and_accepted_again_stands_once(
    context: tuple[RuntimeHolder, Decisions],
) -> None:
    living, decisions = context
    assert len(living.current.library.claims())
    for kind in ("accept", "reject", "accept"):
        decided(decisions, HARM.iri, kind)
    hits = living.current.library.by_words("大枣 华法林 jujube warfarin", 10)
    assert [h.unit.iri for h in hits].count(HARM.iri.value) == 1
    near_hits = living.current.library.by_meaning(
        "大枣 华法林 相互作用 jujube interacts with warfarin", 20
    )
    assert [h.unit.iri for h in near_hits].count(HARM.iri.value) == 1


def test_passage_accepted_claim_read_in_leads_to_it(
    context: tuple[RuntimeHolder, Decisions],
) -> None:
    living, decisions = context
    passages = living.current.library.by_words("枣能安中，久服不饥", 1, ("passage",))
    assert [h.unit.iri for h in passages] == [PASSAGE.value]
    before = passages[0].unit.claims
    decided(decisions, RELIEF.iri, "accept")
    after = living.current.library.by_words("枣能安中，久服不饥", 1, ("passage",))[0].unit.claims
    assert RELIEF.iri.value not in before
    assert RELIEF.iri.value in after


def test_decisions_made_before_restart_in_texts_after_it(
    base: KnowledgeBase, context: tuple[RuntimeHolder, Decisions]
) -> None:
    _, decisions = context  # whose own library stays shut
    decided(decisions, RELIEF.iri, "accept")
    decided(decisions, SWEETNESS.iri, "reject")
    runtime = Runtime.open(base, Settings())
    fields = {
        f.claim for facts in runtime.facts.by_subject.values() for f in facts if not f.derived
    }
    assert runtime.library.claims() == fields
    assert RELIEF.iri.value in fields
    assert RELIEF.iri.value in found(runtime, "大枣能缓解乏力吗？", "bm25")
    assert SWEETNESS.iri.value not in found(runtime, "枸杞子的味道是什么？", "bm25")


def test_renamed_concept_is_found_by_its_new_name(
    base: KnowledgeBase, context: tuple[RuntimeHolder, Decisions]
) -> None:
    living, decisions = context
    decided(decisions, RELIEF.iri, "accept")
    assert not living.current.library.by_words("良枣", 3)
    old = next(base.store.match(DATE, SKOS.prefLabel, Literal("大枣", language="zh"), None))
    new = Quad(DATE, SKOS.prefLabel, Literal("良枣", language="zh"), DefaultGraph())
    base.writer.write([new], [old], key="rename", agent="test", reason="test")
    living.refresh([], [DATE.value])
    assert RELIEF.iri.value in {h.unit.iri for h in living.current.library.by_words("良枣", 9)}


def test_file_of_build_is_never_written_to(
    base: KnowledgeBase, context: tuple[RuntimeHolder, Decisions]
) -> None:
    living, decisions = context
    place = base.folder / "index" / "texts.safetensors"
    before = place.read_bytes()
    assert len(living.current.library)
    decided(decisions, RELIEF.iri, "accept")
    assert place.read_bytes() == before
