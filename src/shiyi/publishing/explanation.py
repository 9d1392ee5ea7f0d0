"""The explanation of a claim's confidence."""

from collections.abc import Sequence
from typing import Any

from shiyi.model.claim import CEILING
from shiyi.model.rdf import NamedNode, Term, Triple, local_name, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.reasoning.confidence.reviews import Review, agreement, list_reviews
from shiyi.sparql.store.port import QuadStore

_DEPTH = 6  # premises of premises; deeper derivations do not occur


def explain_claim(store: QuadStore, claim: str, depth: int = 0) -> dict[str, Any] | None:
    """Return a claim with evidence, arithmetic and premises as plain values; None if unknown."""
    node = NamedNode(claim)
    triple = next(
        (q.object for q in store.match(node, RDF.reifies) if isinstance(q.object, Triple)), None
    )
    if triple is None:
        return None
    evidence = [_evidence(store, each) for each in _values(store, node, SHIYI.evidence)]
    premises = [
        words
        for each in _values(store, node, PROV.wasDerivedFrom)
        if depth < _DEPTH and (words := explain_claim(store, text(each), depth + 1))
    ]
    reviews = list_reviews(store, claim)
    return {
        "claim": claim,
        "subject": _label(store, triple.subject),
        "predicate": _label(store, triple.predicate),
        "object": _label(store, triple.object),
        "status": local_name(text(_value(store, node, SHIYI.status))),
        "polarity": local_name(text(_value(store, node, SHIYI.polarity))),
        "confidence": float(text(_value(store, node, SHIYI.confidence)) or 0),
        "why": _confidence_arithmetic(evidence, bool(premises)) + _review_arithmetic(reviews),
        "evidence": evidence,
        "reviews": [{"who": e.reviewer, "agreement": e.agreement} for e in reviews],
        "rule": local_name(text(_value(store, node, SHIYI.derivedBy))),
        "rules": [local_name(text(each)) for each in _values(store, node, SHIYI.derivedBy)],
        "premises": premises,
        "parts": _parts(store, node),
    }


def _evidence(store: QuadStore, node: Term) -> dict[str, Any]:
    assert_named = node if isinstance(node, NamedNode) else NamedNode(text(node))
    source = _value(store, assert_named, DCTERMS.source)
    lineage = _value(store, source, SHIYI.lineage) if isinstance(source, NamedNode) else None
    return {
        "evidence": text(node),
        "source": _label(store, source) if source else "",
        "lineage": text(lineage),
        "tier": local_name(text(_value(store, assert_named, SHIYI.sourceTier))),
        "kind": local_name(text(_value(store, assert_named, SHIYI.evidenceKind))).lower(),
        "locator": text(_value(store, assert_named, SHIYI.sourceLocator)),
        "confidence": float(text(_value(store, assert_named, SHIYI.extractionConfidence)) or 0),
    }


def _parts(store: QuadStore, node: NamedNode) -> dict[str, float]:
    """Return text, entity, relation and path parts and their fusion, where they were computed."""
    named = {
        "text": SHIYI.textPart, "entity": SHIYI.entityPart, "relation": SHIYI.relationPart,
        "path": SHIYI.pathPart, "fused": SHIYI.fusedConfidence,
    }  # fmt: skip
    results = {name: _value(store, node, predicate) for name, predicate in named.items()}
    return {name: float(text(value)) for name, value in results.items() if value is not None}


def _confidence_arithmetic(evidence: list[dict[str, Any]], derived: bool) -> str:
    if derived:
        return "the smallest confidence among its premises"
    if not evidence:
        return "what a model expects; no source states it"
    votes: dict[str, float] = {}
    for each in evidence:
        votes[each["lineage"]] = max(votes.get(each["lineage"], 0.0), each["confidence"])
    if len(votes) < 2:
        return "the confidence of its one independent source"
    factors = " × ".join(f"(1 − {vote:g})" for vote in votes.values())
    return f"1 − {factors}, one vote an independent source, at most {CEILING}"


def _review_arithmetic(reviews: Sequence[Review]) -> str:
    if not reviews:
        return ""
    mean = agreement(reviews)
    return (
        f"; reviewed by {len(reviews)} with a mean agreement of r = {mean:+g}, which moves it to "
        "(1 − w) · c + w · (r + 1) / 2, w = |r| · (1 − 1/2ⁿ), once as many agree as the claim needs"
    )


def _values(store: QuadStore, node: NamedNode, predicate: NamedNode) -> list[Term]:
    return sorted((quad.object for quad in store.match(node, predicate)), key=str)


def _value(store: QuadStore, node: NamedNode, predicate: NamedNode) -> Term | None:
    return next(iter(_values(store, node, predicate)), None)


def _label(store: QuadStore, term: Term) -> str:
    if not isinstance(term, NamedNode):
        return text(term)
    for predicate in (SKOS.prefLabel, RDFS.label):
        labels = sorted(text(each) for each in _values(store, term, predicate))
        if labels:
            return " / ".join(dict.fromkeys(labels))
    return local_name(term.value)
