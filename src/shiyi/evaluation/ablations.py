"""What each switch removes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from shiyi.answering.knowledge.facts import Fact
from shiyi.answering.retrieval.casebook import Casebook
from shiyi.answering.retrieval.library import Library
from shiyi.answering.retrieval.passages import PASSAGE, Unit, units
from shiyi.answering.retrieval.paths import ProjectionFinder
from shiyi.answering.retrieval.planning import Planner
from shiyi.answering.runtime import LibraryHandle, Runtime
from shiyi.errors import FormatError, UsageError
from shiyi.linking.normalization import is_cjk
from shiyi.settings import Settings

CHUNK: Final = 330  # tokens; TCM-DiffRAG
ABLATIONS: Final[Mapping[str, frozenset[str]]] = {  # and the methods that each one changes
    # Yaoshi-RAG: every claim is stored with confidence 1
    "deterministic": frozenset({"fused", "paths", "neighbourhood", "layers", "therapy", "chain"}),
    # Yaoshi-RAG: what is found is counted, not weighed
    "no-ranking": frozenset(
        {"fused", "paths", "spot", "layers", "therapy", "chain", "transe", "rotate"}
    ),
    "random-paths": frozenset({"fused", "paths"}),  # Yaoshi-RAG: three claims a concept by chance
    "no-multilayer": frozenset({"layers", "therapy"}),  # MLKG-RAG: the term layer alone
    "beam-1": frozenset({"therapy"}),  # MLKG-RAG: greedy descent
    "spo-without-text": frozenset({"fused", "bm25", "tfidf", "spot"}),  # TOSRR: triples alone
    "keyword-only": frozenset({"fused", "spot"}),  # TOSRR: recall by words
    "vector-only": frozenset({"fused", "spot"}),  # TOSRR: recall by meaning
    "union": frozenset({"spot"}),  # TOSRR: the recalls are not ranked together
    "no-reflection": frozenset({"spot"}),  # TOSRR: one round
    "macro-only": frozenset({"chain"}),  # TCM-DiffRAG: texts without their triples
    "micro-only": frozenset({"chain"}),  # TCM-DiffRAG: triples without texts
    "fixed-chunks": frozenset({"spot", "chain"}),  # TCM-DiffRAG: texts cut every 330 tokens
    # TCM-DiffRAG: no personal graph; of fused, nothing learnt from --train
    "general-kg-only": frozenset({"fused", "chain"}),
}  # fmt: skip
_SETTING: Final[Mapping[str, tuple[str, str, Any]]] = {  # section, key and value
    "keyword-only": ("recall", "vector_k", 0),
    "vector-only": ("recall", "keyword_k", 0),
    "spo-without-text": ("recall", "unit", "spo"),
    "union": ("recall", "merge", "union"),
    "no-reflection": ("reflection", "max_rounds", 1),
    "beam-1": ("terms", "beam", 1),
    "macro-only": ("recall", "chunking", "macro"),
    "micro-only": ("recall", "chunking", "micro"),
    "no-multilayer": ("linking", "layer_distance", 0.0),
    "general-kg-only": ("chain", "school", ""),
}


def usual_method(ablate: Sequence[str]) -> str:
    """Return the default method: ``fused``, else one that all switches change."""
    for name in ("fused", "spot", "chain", "layers", "therapy"):
        if all(name in ABLATIONS.get(switch, {name}) for switch in ablate):
            return name
    return "fused"


def check_switches(ablate: Sequence[str], methods: Sequence[str]) -> None:
    """Raise ``FormatError`` for an unknown switch, ``UsageError`` for one without effect."""
    for name in ablate:
        if name not in ABLATIONS:
            raise FormatError("ablation", name, tuple(ABLATIONS))
        if not ABLATIONS[name] & set(methods):
            known = [each for each, changed in ABLATIONS.items() if changed & set(methods)]
            raise UsageError(
                f"the switch {name} does not change {', '.join(methods)}, which has "
                f"{', '.join(known) or 'no switch'}; "
                f"it changes {', '.join(sorted(ABLATIONS[name]))}"
            )


def switches_of_method(ablate: Iterable[str], method: str) -> frozenset[str]:
    """Return the switches that change a method."""
    return frozenset(name for name in ablate if method in ABLATIONS[name])


def ablate_settings(settings: Settings, ablate: Iterable[str]) -> Settings:
    """Return the settings under some switches."""
    for name in sorted(ablate):
        if name in _SETTING:
            section, key, value = _SETTING[name]
            changed = replace(getattr(settings, section), **{key: value})
            settings = replace(settings, **{section: changed})
    return settings


def ablate_runtime(runtime: Runtime, ablate: frozenset[str], chunk: int = CHUNK) -> Runtime:
    """Return what is left of a runtime under some switches; the one given stays as it is."""
    left = replace(runtime, settings=ablate_settings(runtime.settings, ablate))
    if "deterministic" in ablate:
        left = _certain(left)
    if "fixed-chunks" in ablate:
        left = replace(left, shelf=_chunk_library(left, chunk))
    if ablate & {"no-multilayer", "general-kg-only"}:
        book = runtime.casebook
        cases = () if "no-multilayer" in ablate else book.cases
        left.__dict__["casebook"] = Casebook(
            cases, () if "general-kg-only" in ablate else book.chains
        )
    return left


def _certain(runtime: Runtime) -> Runtime:
    """Keep every claim with confidence 1; importance follows."""
    old = runtime.facts

    def sure(found: Mapping[str, tuple[Fact, ...]]) -> dict[str, tuple[Fact, ...]]:
        return {k: tuple(replace(f, confidence=1.0) for f in v) for k, v in found.items()}

    facts = replace(
        old,
        by_subject=sure(old.by_subject),
        by_object=sure(old.by_object),
        by_claim=sure(old.by_claim),
    )
    graph = replace(runtime.projection, confidence=np.ones(len(runtime.projection)))
    rank = graph.importance(runtime.settings.pagerank)
    planner = Planner.over(facts)
    finder = ProjectionFinder(graph, facts, planner, rank)
    retriever = replace(runtime.retriever, facts=facts, planner=planner, finder=finder, rank=rank)
    return replace(runtime, facts=facts, projection=graph, rank=rank, retriever=retriever)


def _chunk_library(runtime: Runtime, chunk: int) -> LibraryHandle:
    """Index the same texts cut every so many tokens, without their titles."""
    old = runtime.shelf
    pieces = chunks(units(runtime.store, runtime.facts), chunk)
    library = Library.build(pieces, runtime.release, old.embedder)
    return LibraryHandle(
        runtime.store, runtime.facts, runtime.release, old.embedder, old.folder, library
    )


def chunks(texts: Iterable[Unit], size: int) -> Iterator[Unit]:
    """Cut texts, one after another, every ``size`` tokens (a Chinese character or another word).

    A chunk bears the claims of every text that it holds a part of; nothing is lost.

    >>> units = [Unit("a", "claim", "calms the mind", ("a",)), Unit("b", "claim", "sleep")]
    >>> [u.text for u in chunks(units, 3)]
    ['calms the mind', 'sleep']
    """
    words, claims, first, number, count = list[str](), dict[str, None](), "", 0, 0
    for unit in texts:
        for word, tokens in _tokens(unit.text):
            if not words:
                first = unit.iri
            words.append(word)
            claims.update(dict.fromkeys(unit.claims))
            count += tokens
            if count >= size:
                yield Unit(f"{first}#{number}", PASSAGE, "".join(words).strip(), tuple(claims))
                words, claims, number, count = [], {}, number + 1, 0
        if words:
            words.append(" ")
    if "".join(words).strip():
        yield Unit(f"{first}#{number}", PASSAGE, "".join(words).strip(), tuple(claims))


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    word = ""
    for character in text:
        if is_cjk(character) or character.isspace():
            if word:
                yield word, 1
            yield character, int(not character.isspace())
            word = ""
        else:
            word += character
    if word:
        yield word, 1
