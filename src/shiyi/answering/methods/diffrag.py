"""TCM-DiffRAG."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.answering.methods.judging import ScoredJudge
from shiyi.answering.methods.method import (
    Query,
    assemble,
    claims_at,
    claims_in,
    expand,
    fuse,
    neighbours,
    rank_all,
)
from shiyi.answering.methods.model_calls import ask_model
from shiyi.answering.retrieval.library import Hit, Library
from shiyi.answering.retrieval.passages import CLAIM, DEFINITION, PAIR, PASSAGE, SUMMARY, Unit
from shiyi.answering.retrieval.paths import RankedFact, Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.linking.embedding.embedder import Embedder
from shiyi.model.iris import VOCAB
from shiyi.model.path import RelationPath
from shiyi.model.rdf import NamedNode
from shiyi.prompts.chat import ChatModel

_CHAINS: Final = 3  # Shiyi's: chains that are followed beside each other
_LONGEST: Final = 6  # triples of a chain that a model may write
_LOOKED_AT: Final = 600  # claims at the frontier that are compared with a triple
_SAME: Final = 0.8  # Shiyi's: cosine from which an answered question is taken for the same kind
_SCHOOL: Final = 1.25  # Shiyi's: what a claim weighs that the chosen school teaches
_WRITTEN: Final = (PASSAGE, SUMMARY, PAIR, DEFINITION)
_UNDER: Final = (PASSAGE, PAIR, CLAIM)  # what a matched triple stands in: the claim with its notes
SCHOOL, BOTH = "school", "both"  # of ``chain.overlay``


@dataclass(frozen=True, slots=True)
class Triple:
    """One link of a chain, in words; an empty end is what is sought."""

    subject: str
    relation: str
    object: str

    @override
    def __str__(self) -> str:
        return " ".join(part for part in (self.subject, self.relation, self.object) if part)


Chain = tuple[Triple, ...]


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return the claims with triples that match the chain, and those of texts like the question.

    ``recall.chunking`` takes texts (macro), triples (micro), or both merged by rank (the default);
    Where a school was chosen its claims and texts are matched beside those of the base, or alone.
    """
    embedder = runtime.shelf.embedder
    chains, steps = _chains(query, runtime, model)
    mode = runtime.settings.recall.chunking
    micro: tuple[RankedFact, ...] = ()
    if embedder is not None and mode != "macro":
        micro, steps_of_chains = _match_chains(query, runtime, embedder, chains)
        steps += steps_of_chains
    facts, steps_of_chains = _answer_chains(query, runtime, embedder)
    texts, macro = tuple[Unit, ...](), list[Fact]()
    if mode != "micro":
        texts, macro = _documents(query, runtime)
        steps.append({"step": "macro", "units": [u.iri for u in texts], "claims": len(macro)})
    claims = fuse([facts, [fact.fact for fact in micro], macro])
    under = _texts_of(runtime, micro)
    steps += [*steps_of_chains, {"step": "micro", "texts": [u.iri for u in under]}]
    if runtime.school is not None:
        taught = runtime.school.claims
        steps.append(
            {
                "step": "school",
                "school": runtime.school.iri,
                "overlay": runtime.settings.chain.overlay,
                "claims": [fact.fact.claim for fact in claims if fact.fact.claim in taught],
            }
        )
    return assemble(query, runtime, claims, (*under, *texts), steps)


def _chains(
    query: Query, runtime: Runtime, model: ChatModel | None
) -> tuple[list[Chain], list[Mapping[str, Any]]]:
    """Write the question as chains: by a model, else from the schema and the words asked with."""
    steps: list[Mapping[str, Any]] = []
    if model is not None:
        reply, step = ask_model(
            model,
            "decompose-question",
            question=query.text,
            language="Chinese" if query.parsed.language == "zh" else "English",
        )
        steps.append(step)
        if chain := _parse_chain(reply):
            return [chain], [*steps, _trace_step("model", [chain])]
    chains = list(_plan_chains(query, runtime))
    return chains, [*steps, _trace_step("schema", chains)]


def _parse_chain(reply: Mapping[str, Any] | None) -> Chain:
    rows = (reply or {}).get("chain", [])
    if not isinstance(rows, list):
        return ()
    triples = [
        Triple(
            *(str(row.get(key, "")).strip(" ?？")[:80] for key in ("subject", "relation", "object"))
        )
        for row in rows[:_LONGEST]
        if isinstance(row, dict)
    ]
    return tuple(triple for triple in triples if str(triple))


def _plan_chains(query: Query, runtime: Runtime) -> Iterable[Chain]:
    facts, language = runtime.facts, query.parsed.language
    if query.advice:
        settings, seen = runtime.settings.paths, set[str]()
        for seed in query.seeds:
            start = facts.classes.get(seed, "")
            if not start or start in seen:
                continue
            seen.add(start)
            name = facts.label(seed, language)
            plans = runtime.retriever.planner.plan(
                start, query.wanted, settings.max_hops, settings.relation_paths
            )
            yield from (_word_path(facts, name, plan, language) for plan in plans[:_CHAINS])
        return
    relations = [
        facts.property_label(NamedNode(VOCAB + name), language) for name in sorted(query.predicates)
    ]
    names = [facts.label(iri, language) for iri in query.concepts[:_CHAINS]]
    for place, name in enumerate(names):
        for relation in relations or [""]:
            yield (Triple(name, relation, ""),)
        for other in names[place + 1 :]:
            yield (Triple(name, "", other),)


def _word_path(facts: Facts, start: str, plan: RelationPath, language: str) -> Chain:
    """Word a relation path: only its start is known."""
    words, here = list[Triple](), start
    for step in plan:
        relation = facts.property_label(NamedNode(step.predicate), language)
        words.append(Triple(here, relation, "") if step.forward else Triple("", relation, here))
        here = ""
    return tuple(words)


def _trace_step(by: str, chains: Iterable[Chain]) -> Mapping[str, Any]:
    return {
        "step": "chain",
        "by": by,
        "chains": [[[t.subject, t.relation, t.object] for t in chain] for chain in chains],
    }


def _match_chains(
    query: Query, runtime: Runtime, embedder: Embedder, chains: Sequence[Chain]
) -> tuple[tuple[RankedFact, ...], list[Mapping[str, Any]]]:
    """Match each triple with the claims at what the triples before it reached (cosine, top k)."""
    scores: dict[str, float] = {}
    facts: dict[str, Fact] = {}
    steps: list[Mapping[str, Any]] = []
    starts = neighbours(runtime.facts, query.seeds if query.advice else query.concepts)
    k = runtime.settings.chain.triples_k
    claims = runtime.school.claims if runtime.school else frozenset[str]()
    for chain in chains:
        front = set(starts)
        for place, triple in enumerate(chain):
            pool = _pool(query, runtime, front, triple, anywhere=place == 0, k=k)
            ranked = _nearest(query, runtime, embedder, triple, pool, claims)[:k]
            steps.append(
                {
                    "step": "match",
                    "triple": str(triple),
                    "compared": len(pool),
                    "claims": [[f.claim, round(s, 4)] for s, f in ranked],
                }
            )
            for score, fact in ranked:
                facts[fact.claim] = fact
                scores[fact.claim] = max(scores.get(fact.claim, 0.0), score)
            front = {end for _, f in ranked for end in (f.subject, f.object)} - front
    return rank_all(scores, facts), steps


def _pool(
    query: Query, runtime: Runtime, front: set[str], triple: Triple, *, anywhere: bool, k: int
) -> list[Fact]:
    facts = {f.claim: f for node in sorted(front) for f in claims_at(runtime.facts, node)}
    facts = {claim: fact for claim, fact in facts.items() if _is_taken(runtime, fact)}
    if len(facts) > _LOOKED_AT:
        surest_facts = sorted(facts.values(), key=lambda f: (-f.confidence, f.claim))
        facts = {f.claim: f for f in surest_facts[:_LOOKED_AT]}
    if anywhere:
        for library in _libraries(runtime):
            for hit in library.by_meaning(str(triple), k, (CLAIM,)):
                for fact in claims_in(runtime, hit.unit):
                    if _is_taken(runtime, fact) and (
                        not front or {fact.subject, fact.object} & front
                    ):
                        facts.setdefault(fact.claim, fact)
    return list(facts.values())


def _nearest(
    query: Query,
    runtime: Runtime,
    embedder: Embedder,
    triple: Triple,
    pool: Sequence[Fact],
    taught: frozenset[str],
) -> list[tuple[float, Fact]]:
    if not pool:
        return []
    language, facts = query.parsed.language, runtime.facts
    rows = embedder.encode([str(triple), *(_sentence(facts, f, language) for f in pool)])
    cosines = rows[1:] @ rows[0]
    results = [
        (float(cos) * fact.confidence * (_SCHOOL if fact.claim in taught else 1.0), fact)
        for cos, fact in zip(cosines, pool, strict=True)
    ]
    return sorted(results, key=lambda row: (-row[0], row[1].claim))


def _sentence(facts: Facts, fact: Fact, language: str) -> str:
    other = facts.words(fact, language)
    relation = facts.property_label(fact.predicate, language)
    return f"{facts.label(fact.subject, language)} {relation} {other}"


def _answer_chains(
    query: Query, runtime: Runtime, embedder: Embedder | None
) -> tuple[list[Fact], list[Mapping[str, Any]]]:
    """Return the claims that the answer to a like question went through before."""
    school = runtime.school
    chosen = {school.iri} if school else {""}
    if school and runtime.settings.chain.overlay == BOTH:
        chosen.add("")
    chains = [each for each in runtime.casebook.chains if each.school in chosen]
    if embedder is None or not chains:
        return [], []
    rows = embedder.encode([query.text, *(chain.question for chain in chains)])
    cosines = rows[1:] @ rows[0]
    best = int(cosines.argmax())
    if cosines[best] < _SAME:
        return [], []
    facts = [runtime.claims[c] for c in chains[best].steps if c in runtime.claims]
    step = {
        "step": "answered before", "chain": chains[best].iri, "claims": len(facts),
        "likeness": round(float(cosines[best]), 3),
    }  # fmt: skip
    return facts, [step]


def _documents(query: Query, runtime: Runtime) -> tuple[tuple[Unit, ...], list[Fact]]:
    """Recall texts for the question as a whole (D_snip), and the claims they bear."""
    k, words_of_query = runtime.settings.recall.documents_k, expand(query, runtime.facts)
    hits = list[Hit]()
    for library in _libraries(runtime):
        hits += library.by_words(words_of_query, k // 2, _WRITTEN)
        hits += library.by_meaning(query.text, k // 2, _WRITTEN)
    texts = tuple({(h.unit.iri, h.unit.kind): h.unit for h in hits}.values())
    asked = neighbours(runtime.facts, query.concepts)
    if not asked:
        texts, _ = ScoredJudge(query, runtime).relevant(texts)
    facts = [
        f
        for unit in texts
        for f in claims_in(runtime, unit)
        if _is_taken(runtime, f) and (not asked or {f.subject, f.object} & asked)
    ]
    return texts, list({f.claim: f for f in facts}.values())


def _texts_of(runtime: Runtime, micro: Iterable[RankedFact]) -> tuple[Unit, ...]:
    """Return the texts that the best matched triples stand in (M1, M2)."""
    best = [fact.fact.claim for fact in micro][: runtime.settings.recall.documents_k]
    units = (u for library in _libraries(runtime) for u in library.texts_of(best, _UNDER))
    return tuple({(u.iri, u.kind): u for u in units}.values())


def _libraries(runtime: Runtime) -> tuple[Library, ...]:
    """Return the texts to search: of the base, of the chosen school, or of both."""
    if runtime.school is None:
        return (runtime.library,)
    own = runtime.school.library
    return (own,) if runtime.settings.chain.overlay == SCHOOL else (own, runtime.library)


def _is_taken(runtime: Runtime, fact: Fact) -> bool:
    """Return whether a claim may be matched: under the overlay ``school`` only what it teaches."""
    school = runtime.school
    return school is None or runtime.settings.chain.overlay == BOTH or fact.claim in school.claims
