"""Open a knowledge base for serving, and follow curators' changes."""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import BoundedSemaphore
from typing import Final

from shiyi.answering.conversation import Conversation
from shiyi.answering.generation.text_to_sparql import QueryRun, ask_in_sparql
from shiyi.answering.knowledge.updates import changes_in
from shiyi.answering.pipeline import METHODS, AskRequest, ask
from shiyi.answering.runtime import Runtime, RuntimeHolder
from shiyi.answering.sections.pivots import Pivots, find_pivots
from shiyi.curation.accounts import AccountStore
from shiyi.curation.changes import Change, Changes
from shiyi.errors import ShiyiError
from shiyi.linking.completion import ForgivingCompleter
from shiyi.model.answer import Answer, Mention
from shiyi.model.rdf import Quad, Triple
from shiyi.ontology.terms import SKOS
from shiyi.prompts.caching import ReplyCache
from shiyi.prompts.chat import ChatModel
from shiyi.prompts.openai import open_model
from shiyi.prompts.resilience import PATIENCE, CircuitBreaker
from shiyi.reasoning.derivation import DerivedChange, compare, infer_all, is_premise
from shiyi.server.site.counts import Counts
from shiyi.server.site.curation import Curation
from shiyi.server.site.query_log import QueryLog
from shiyi.server.site.search import searcher
from shiyi.server.site.site import PooledQueries, Site, Suggestion, WriteAccess
from shiyi.server.site.tokens import Tokens
from shiyi.server.site.visibility import AllowedStore
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat
from shiyi.sparql.remote.pool import RemotePool
from shiyi.sparql.sandbox.pool import QueryPool, open_pool
from shiyi.sparql.sandbox.scheduling import busy
from shiyi.sparql.updates.update import Updater

_WHO: Final = "shiyi"
_TRIES: Final = 4  # of an inference that others write beside
Follow = Callable[[Iterable[str], Iterable[str]], None]
_LOG = logging.getLogger(__name__)


class Refresher:
    """Updates the runtime and the derived graph after every change."""

    def __init__(
        self,
        living: RuntimeHolder,
        changes: Changes,
        expire: Callable[[], None],
        follow: Follow = lambda claims, concepts: None,
    ) -> None:
        """Update ``holder``; ``follow`` is called with the claims and concepts to reload."""
        self._living, self._changes, self._expire = living, changes, expire
        self._follow = follow
        self._turn, self._asked = threading.Lock(), threading.Event()
        changes.listeners.append(self)
        if changes.last:  # a server that was killed may have left the cautions behind
            self.rederive_soon()

    def __call__(self, changes: Sequence[Change]) -> None:
        """Apply changes to the runtime; inherited cautions are re-derived in a thread."""
        self.refresh([quad for change in changes for quad in (*change.removed, *change.added)])

    def refresh(self, quads: Iterable[Quad]) -> None:
        """Refresh what some added and removed quads affect."""
        quads = list(quads)
        claims, concepts = changes_in(quads)
        if claims or concepts:
            self._living.refresh(claims, concepts)
            self._follow(claims, concepts)
            self._expire()
        schema = self._living.current.facts.schema
        if any(_is_premise(quad, lambda name: is_premise(schema, name)) for quad in quads):
            self.rederive_soon()

    def rederive_soon(self) -> None:
        """Re-infer the inherited cautions in the background; concurrent requests are one."""
        if not self._asked.is_set():
            self._asked.set()
            threading.Thread(target=self._rederive_logged, daemon=True).start()

    def rederive(self) -> int:
        """Re-infer the inherited cautions, write the differences and return their number."""
        writer = self._changes.writer
        with self._turn:
            self._asked.clear()
            for attempt in range(_TRIES):
                # inference is slow, so others may write during it, except at the last try
                with writer.turn() if attempt == _TRIES - 1 else nullcontext():
                    sequence, facts = writer.sequence, self._living.current.facts
                    ways = infer_all(self._living.edges(), facts.broader, facts.schema)
                    with writer.turn():
                        if writer.sequence == sequence:
                            return self._write(
                                compare(writer.store, self._living.derived_claims(), ways)
                            )
        return 0

    def _write(self, change: DerivedChange) -> int:
        if change.added or change.removed:
            writer = self._changes.writer
            writer.write(
                change.added,
                change.removed,
                key=f"rederive after {writer.sequence}",
                agent=_WHO,
                reason="inherited cautions after a change",
            )
            self._living.refresh(change.claims)
            self._follow(change.claims, ())
            self._expire()
        return len(change.claims)

    def _rederive_logged(self) -> None:
        try:
            self.rederive()
        except ShiyiError as fault:  # a closing server, a full disk: the next change retries
            self._asked.clear()
            _LOG.warning("inherited cautions could not be inferred again: %s", fault)


def _is_premise(quad: Quad, counts: Callable[[str], bool]) -> bool:
    if quad.predicate == SKOS.broader:
        return True
    term = quad.object
    predicate = term.predicate if isinstance(term, Triple) else quad.predicate
    return counts(predicate.value)


_SOON = 0.25  # seconds


def open_site(path: Path, settings: Settings, read_only: bool = False) -> Site:
    """Open ``path``; raises KnowledgeBaseError where it holds nothing whole.

    It is open for writing where there is a token or an account, unless ``read_only``.
    """
    tokens = Tokens(path)
    writers = tokens.all() or AccountStore(path).all()
    base = KnowledgeBase.of(replace(settings, kb=path), write=bool(writers) and not read_only)
    open_to_all = settings.server.restricted
    view = AllowedStore(base.store, lambda: base.sequence, True, open_to_all, base)
    nodes = view.withheld.nodes
    counts = Counts.of(base, view, whole=not nodes)
    runtime = Runtime.open(base, settings, view if nodes else None, nodes)
    living = RuntimeHolder(runtime)
    pool = open_pool(base, settings.query, open_to_all)
    writing = open_write_access(base, pool, settings, tokens)
    named = open_model(settings.models, os.environ)
    places = max(1, settings.server.threads // 2)  # the other threads never wait for a model
    breaker = CircuitBreaker(named, settings.models.timeout, places, PATIENCE) if named else None
    model = ReplyCache(breaker) if breaker else None
    curation = Curation.open(base, settings)
    log = QueryLog(path, slow=settings.server.slow) if settings.query.log else None
    if curation.changes:
        refresher = _create_refresher(base, settings, curation.changes, living, view, pool.expire)
        if writing.updater:
            writing.updater.listener = refresher.refresh

    def answer(request: AskRequest) -> Answer:
        return ask(living.current, request, model)

    def link(text: str, guess: bool = True) -> Sequence[Mention]:
        return living.current.linker.link(text, guess=guess)

    def complete(words: str, language: str, limit: int) -> Sequence[Suggestion]:
        linker = living.current.linker
        completer = ForgivingCompleter(linker.completer(), linker.candidates, linker.corrections)
        return [
            Suggestion(
                completion.iri,
                completion.label_zh if language == "zh" else completion.label_en,
                completion.label_zh,
                completion.label_en,
                completion.kind,
                completion.label,
                completion.approximate,
            )
            for completion in completer.complete(words, limit)
        ]

    def close() -> None:
        if writing.updater:
            writing.updater.close()
        curation.checker.close()
        if curation.changes and curation.citations:
            curation.citations.save()
        pool.close()
        if log:
            log.close()
        base.close()

    conversation = Conversation(base, living, model)
    return Site(
        base.store,
        answer,
        link,
        complete,
        PooledQueries(pool, settings.server.threads, searcher(lambda: living.current)),
        base.release,
        tuple(METHODS),
        str(base.manifest.get("built", "")),
        counts,
        settings,
        close,
        conversation.revision,
        writing,
        curation,
        converse=conversation,
        pivots=PivotSearch(living),
        research=Research(living, model, pool) if model else None,
        base=base,
        living=living,
        prepare=lambda: None if isinstance(pool, RemotePool) else pool.seen.prepare(),
        log=log,
    )


def _create_refresher(
    base: KnowledgeBase,
    settings: Settings,
    changes: Changes,
    living: RuntimeHolder,
    view: AllowedStore,
    expire: Callable[[], None],
) -> Refresher:
    """Update answers after what curators change.

    Where something stays inside, rules infer from a runtime of their own, which holds it too.
    """
    if living.current.store is not view:
        return Refresher(living, changes, expire)
    seen = view.withheld.claims

    def follow(claims: Iterable[str], concepts: Iterable[str]) -> None:
        nonlocal seen
        before, seen = seen, view.withheld.claims  # others may publish or withhold a claim
        living.refresh((*claims, *(before ^ seen)), concepts)

    return Refresher(RuntimeHolder(Runtime.open(base, settings)), changes, expire, follow)


@dataclass(frozen=True, slots=True)
class PivotSearch:
    """Finds what would change an answer; one search at a time, since it asks many questions."""

    living: RuntimeHolder
    _place: BoundedSemaphore = field(default_factory=BoundedSemaphore)

    def __call__(self, request: AskRequest) -> Pivots:
        """Return the pivots; raise ``QueryLimitError`` while another search takes long."""
        if not self._place.acquire(timeout=_SOON):
            raise busy()
        try:
            return find_pivots(self.living.current, request)
        finally:
            self._place.release()


@dataclass(frozen=True, slots=True)
class Research:
    """Asks the model for SPARQL for a question, and runs it apart."""

    living: RuntimeHolder
    model: ChatModel
    pool: QueryPool | RemotePool

    def __call__(self, question: str, language: str | None) -> QueryRun:
        """Return what was written, what ran, and its rows."""
        return ask_in_sparql(self.living.current, question, self.model, self._run, language)

    def _run(self, query: str, seconds: float) -> bytes:
        return self.pool.query(FreeQuery(query, ResultFormat.of("json"), seconds)).body


def open_write_access(
    base: KnowledgeBase, pool: QueryPool | RemotePool, settings: Settings, tokens: Tokens
) -> WriteAccess:
    """Return what writes over HTTP to a base that is open for it; its changes are seen at once."""
    if isinstance(pool, RemotePool):
        return WriteAccess(tokens, remote=True)
    if not base.writes:
        return WriteAccess(tokens)
    places = max(1, settings.server.threads // 2)  # the other threads never wait for an update
    updater = Updater(base, settings.query, pool.expire, places)
    pool.seen.shortcut = updater.snapshot
    return WriteAccess(tokens, updater)
