"""TCM MLKG-RAG, keyword retrieval: from the words of a question down to terms, and their triples."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from shiyi.answering.facts import Fact
from shiyi.answering.methods.claims import at, best_first, named, retrieved
from shiyi.answering.methods.port import Query
from shiyi.answering.paths import Retrieved
from shiyi.answering.runtime import Runtime
from shiyi.linking.layers import euphemisms
from shiyi.linking.linker import Linker as LabelLinker
from shiyi.linking.normalise import fold
from shiyi.model.rdf import local_name
from shiyi.prompts.chat import ChatModel

_OTHER_RELATION: Final = 0.5  # ours: what a relation weighs that the question did not ask for
_NEAREST: Final = 0.9  # ours: what a term weighs that is only near to the word
_MOST: Final = 60  # claims handed on


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give the claims that hold the terms nearest to the question's words.

    Classical and veiled words (不更衣) go to the term that a person chose for them, words of cases
    to the term they refer to, the others to the ten nearest terms within the distance of layers.
    """
    terms, told = _terms(query, runtime)
    scores: dict[str, float] = {}
    known: dict[str, Fact] = {}
    for iri, likeness in terms.items():
        for fact in at(runtime.facts, iri):
            worth = likeness * fact.confidence
            if query.predicates and local_name(fact.predicate.value) not in query.predicates:
                worth *= _OTHER_RELATION
            known[fact.claim] = fact
            scores[fact.claim] = max(scores.get(fact.claim, 0.0), worth)
    claims = best_first(scores, known)
    if not query.advice:
        claims = claims[:_MOST]
    steps = ({"step": "terms", "k": runtime.settings.terms.top_k, "terms": told},)
    return retrieved(query, runtime, claims, (), steps)


def _terms(query: Query, runtime: Runtime) -> tuple[dict[str, float], list[Mapping[str, Any]]]:
    found: dict[str, float] = {}
    told = list[Mapping[str, Any]]()
    for word, iri, likeness, why in _named(query, runtime):
        if iri in query.reading.absent or iri not in runtime.facts.classes:
            continue
        if likeness > found.get(iri, 0.0):
            found[iri] = likeness
            told.append({"word": word, "term": iri, "name": named(runtime.facts, iri),
                         "likeness": round(likeness, 3), "by": why})  # fmt: skip
    return found, told


def _named(query: Query, runtime: Runtime) -> Iterator[tuple[str, str, float, str]]:
    for iri in query.concepts:
        yield runtime.facts.label(iri, query.reading.language), iri, 1.0, "linked"
    if runtime.settings.linking.layer_distance <= 0:
        return  # no links between layers: the term layer alone
    text = fold(query.text)
    for expression, meant in euphemisms().items():
        if expression in text:
            for mention in runtime.linker.link(meant.term):
                if mention.iri and len(mention.text) == len(meant.term):
                    yield expression, mention.iri, 1.0, f"layer link, {meant.register}"
    for expression, concept in runtime.casebook.references.items():
        if len(expression) > 1 and fold(expression) in text:
            yield expression, concept, 1.0, "layer link, words of a case"
    yield from _nearest(query, runtime)


def _nearest(query: Query, runtime: Runtime) -> Iterator[tuple[str, str, float, str]]:
    """Give the terms nearest to each mention, within the distance of layers."""
    if not isinstance(runtime.linker, LabelLinker):
        return
    most, least = runtime.settings.terms.top_k, 1 - runtime.settings.linking.layer_distance
    for mention in query.reading.mentions:
        if mention.negated:
            continue
        for near in runtime.linker.candidates(mention.text, most):
            if near.iri and near.score >= least:
                yield mention.text, near.iri, near.score * _NEAREST, "near"
