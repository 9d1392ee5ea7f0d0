"""A small real store, and a web face over it, for the server's tests."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shiyi.errors import OutsideError
from shiyi.model.answer import (
    Answer,
    Citation,
    CitedEvidence,
    Named,
    Recommendation,
    SafetyWarning,
    Sentence,
    Trace,
)  # fmt: skip
from shiyi.model.claim import Checked, Claim, Evidence, Polarity, Source, Status, Tier
from shiyi.model.confidence import Confidence
from shiyi.model.mention import Mention
from shiyi.model.names import graph, resource
from shiyi.model.path import Hop
from shiyi.model.path import Path as ReasoningPath
from shiyi.model.profile import Profile
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import RDF, RDFS, SHIYI, SKOS
from shiyi.server.counting import counts_of
from shiyi.server.opening import PooledQueries
from shiyi.server.site import Site, Suggestion
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.workers import QueryPool

GOJI, WARFARIN, YIN = (resource(n) for n in ("substance-goji", "drug-warfarin", "constitution-yin"))
HOSTILE = resource("substance-hostile")
BOOK = Source("book", "中药学", "Materia Medica", Tier.TEXTBOOK, "2020", "doi:10.1000/x")
CASE = Source("case", "病例报告", "Case report", Tier.CASE_REPORT)
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def claim(subject: NamedNode, predicate: NamedNode, thing: NamedNode, **more: object) -> Claim:
    evidence = Evidence(
        BOOK, Confidence(0.8), "枸杞子条", Checked.SECONDARY,
        qualifiers=(("note_en", "Watch the INR."), ("note_zh", "留意INR。")),
    )  # fmt: skip
    made = Claim(subject, predicate, thing, (evidence,))
    return replace(made, **more)  # type: ignore[arg-type] # the test names real fields


INTERACTION = claim(GOJI, SHIYI.interactsWith, WARFARIN)
SUITABLE = claim(YIN, SHIYI.suitableFood, GOJI)
DENIED = claim(GOJI, SHIYI.contraindicatedIn, YIN, polarity=Polarity.NEGATIVE)
RETRACTED = claim(GOJI, SHIYI.fears, WARFARIN, status=Status.RETRACTED)
DERIVED = claim(HOSTILE, SHIYI.derivedCaution, YIN)


def quads() -> list[Quad]:
    made = [quad for source in (BOOK, CASE) for quad in source_quads(source)]
    for node, kind, zh, en in (
        (GOJI, SHIYI.MFHSubstance, "枸杞子", "goji berry"),
        (WARFARIN, SHIYI.Drug, "华法林", "warfarin"),
        (YIN, SHIYI.Constitution, "阴虚质", "yin deficiency"),
        (HOSTILE, SHIYI.Food, SCRIPT, SCRIPT),
    ):
        made += [
            Quad(node, RDF.type, SKOS.Concept), Quad(node, RDF.type, kind),
            Quad(node, SKOS.prefLabel, Literal(zh, language="zh")),
            Quad(node, SKOS.prefLabel, Literal(en, language="en")),
        ]  # fmt: skip
    made.append(Quad(HOSTILE, SKOS.exactMatch, NamedNode("javascript:alert(1)")))
    made.append(Quad(HOSTILE, SHIYI.latinName, Literal(SCRIPT)))
    for term, zh, en in (
        (SHIYI.interactsWith, "相互作用", "interacts with"),
        (SHIYI.suitableFood, "适宜食物", "suitable food"),
    ):
        made += [
            Quad(term, RDFS.label, Literal(zh, language="zh")),
            Quad(term, RDFS.label, Literal(en, language="en")),
            Quad(term, SKOS.definition, Literal(f"What {en} means.", language="en")),
        ]
    for each in (INTERACTION, SUITABLE, DENIED):
        made += claim_quads(each)
    made += claim_quads(RETRACTED, graph("quarantine"))
    made += claim_quads(DERIVED, graph("derived"))
    made.append(Quad(DERIVED.iri, SHIYI.derivedBy, resource("rule-x"), graph("derived")))
    return made


def answer(question: str, language: str = "en", method: str = "fused") -> Answer:
    """An answer with one of everything, made by hand."""
    cited = Citation(
        1, INTERACTION.iri.value, Named(GOJI.value, "goji berry", "C1"),
        Named(SHIYI.interactsWith.value, "interacts with"), Named(WARFARIN.value, "warfarin"),
        "positive", 0.8, "accepted", (CitedEvidence("Materia Medica", "textbook", year="2020"),),
    )  # fmt: skip
    hop = Hop(
        YIN.value, SHIYI.suitableFood.value, GOJI.value, SUITABLE.iri.value, 0.8
    )  # fmt: skip
    return Answer(
        question, language, method, "sha256:test", (Sentence("Be careful.", (cited.claim,)),),
        f"Be **careful** [1][9]. {SCRIPT} [x](javascript:alert(3))", (cited,),
        (ReasoningPath((hop,), 0.5),),
        (Mention("goji", 0, 4, GOJI.value, "枸杞子", "goji berry", "C1", "MFHSubstance", 1.0),),
        (Recommendation(GOJI.value, "goji berry", "food", (SUITABLE.iri.value,)),),
        (SafetyWarning("interaction", "May raise the INR.", (cited.claim,)),),
        ("Do you feel cold or hot?",), trace=Trace(("SELECT * {}",), milliseconds=(("link", 1.0),)),
    )  # fmt: skip


def ask(
    question: str, *, method: str, language: str | None, k: int | None, profile: Profile
) -> Answer:
    if question == "outside":
        raise OutsideError("the model endpoint does not answer")
    return answer(question, language or "en", method)


def link(text: str) -> Sequence[Mention]:
    start = text.find("goji")
    if start < 0:
        return ()
    return (Mention("goji", start, start + 4, GOJI.value, "枸杞子", "goji berry", "C1", "", 1.0),)


def complete(words: str, language: str, limit: int) -> Sequence[Suggestion]:
    label = "枸杞子" if language == "zh" else "goji berry"
    found = Suggestion(GOJI.value, label, "枸杞子", "goji berry", "MFHSubstance", "goji")
    return [found][:limit] if "goji".startswith(words) else []


def open_test_site(folder: Path) -> Site:
    """A site over a base built in ``folder``; close it after use."""
    build_generation(folder / "kb", quads(), {"quads": len(quads())})
    base = KnowledgeBase.open(folder / "kb")
    pool = QueryPool(base, QuerySettings(workers=1, rows=1000))

    def close() -> None:
        pool.close()
        base.close()

    return Site(
        base.store, ask, link, complete, PooledQueries(pool), base.release, ("fused", "paths"),
        "2026", counts_of(base.store), Settings(), close,
    )  # fmt: skip
