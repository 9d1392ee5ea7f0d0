"""Opens a knowledge base on disk for the web face."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import BoundedSemaphore

from shiyi.answering.conversation import Context, Turn, after_history, converse
from shiyi.answering.free_query import Written, ask_in_sparql
from shiyi.answering.living import Living
from shiyi.answering.pipeline import METHODS, ask
from shiyi.answering.replay import replay
from shiyi.answering.runtime import Runtime
from shiyi.answering.telling import Listener
from shiyi.curation.changes import Changes
from shiyi.curation.people import People
from shiyi.linking.complete import Completer
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.model.answer import Answer
from shiyi.model.profile import Profile
from shiyi.prompts.breaker import Breaker
from shiyi.prompts.chat import ChatModel
from shiyi.prompts.openai import model_from
from shiyi.prompts.remembered import Remembered
from shiyi.server.counting import Counts
from shiyi.server.curators import Curation
from shiyi.server.query_log import QueryLog
from shiyi.server.refreshing import Refresher
from shiyi.server.restricted import AllowedStore
from shiyi.server.site import Site, Suggestion, Writing
from shiyi.server.tokens import Tokens
from shiyi.settings import Settings
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.remote_pool import RemotePool
from shiyi.sparql.remote_updates import RemoteUpdater
from shiyi.sparql.results import ResultFormat, StreamedResult
from shiyi.sparql.spool import Spool
from shiyi.sparql.turns import busy
from shiyi.sparql.updates import Updater
from shiyi.sparql.workers import QueryPool, pool_of

_FOR_OTHERS = 2  # threads that never wait for the workers of free queries
_SOON = 0.25  # seconds


def open_site(path: Path, settings: Settings, read_only: bool = False) -> Site:
    """Open ``path``; raises KnowledgeBaseError where it holds nothing whole.

    It is open for writing where somebody holds a token or an account, unless ``read_only``.
    """
    tokens = Tokens(path)
    writers = tokens.all() or People(path).all()
    base = KnowledgeBase.of(replace(settings, kb=path), write=bool(writers) and not read_only)
    open_to_all = settings.server.restricted
    view = AllowedStore(base.store, lambda: base.sequence, True, open_to_all, base)
    hidden = view.held.nodes
    counts = Counts.of(base, view, whole=not hidden)
    runtime = Runtime.open(base, settings, view if hidden else None, hidden)
    living = Living(runtime)
    completer = _completer(runtime, base)
    pool = pool_of(base, settings.query, open_to_all)
    writing = writing_to(base, pool, settings, tokens)
    named = model_from(settings.models, os.environ)
    places = max(1, settings.server.threads // 2)  # the other threads never wait for a model
    model = Remembered(Breaker(named, places)) if named else None
    curation = Curation.open(base, settings)
    log = QueryLog(path, slow=settings.server.slow) if settings.query.log else None
    if curation.changes:
        refresher = _kept_in_step(base, settings, curation.changes, living, view, pool.expire)
        if writing.updater:
            writing.updater.listener = refresher.hear

    def answer(
        question: str, *, method: str, language: str | None, k: int | None, profile: Profile
    ) -> Answer:
        return ask(
            living.current, question, method=method, language=language, k=k, profile=profile,
            model=model,
        )  # fmt: skip

    def complete(words: str, language: str, limit: int) -> Sequence[Suggestion]:
        return [
            Suggestion(
                each.iri, each.label_zh if language == "zh" else each.label_en, each.label_zh,
                each.label_en, each.kind, each.label,
            )
            for each in completer.complete(words, limit)
        ]  # fmt: skip

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

    return Site(
        base.store, answer, runtime.linker.link, complete, PooledQueries(pool, settings.server.threads), base.release,
        tuple(METHODS), str(base.manifest.get("built", "")), counts, settings, close,
        lambda: base.sequence + living.refreshed, writing, curation, converse=Talk(living, model),
        research=Research(living, model, pool) if model else None,
        replay=lambda said: replay(living.current, said), base=base,
        facts=lambda: living.current.facts, log=log,
    )  # fmt: skip


def _kept_in_step(
    base: KnowledgeBase, settings: Settings, changes: Changes, living: Living, view: AllowedStore,
    expire: Callable[[], None],
) -> Refresher:  # fmt: skip
    """Let answers follow what curators change.

    Where something stays inside, rules infer from a runtime of their own, which holds it too.
    """
    if living.current.store is not view:
        return Refresher(living, changes, expire)
    seen = view.held.claims

    def follow(claims: Iterable[str], concepts: Iterable[str]) -> None:
        nonlocal seen
        before, seen = seen, view.held.claims  # a claim may be let out, or kept in, by another
        living.refresh((*claims, *(before ^ seen)), concepts)

    return Refresher(Living(Runtime.open(base, settings)), changes, expire, follow)


@dataclass(frozen=True, slots=True)
class Talk:
    """Answers turns of a conversation; the context travels with the asker."""

    living: Living
    model: ChatModel | None = None

    def __call__(
        self, question: str, context: Context, *, method: str, language: str | None,
        k: int | None, profile: Profile, listener: Listener | None = None,
    ) -> Turn:  # fmt: skip
        """Answer in the light of what came before."""
        return converse(
            self.living.current, question, context, method=method, language=language, k=k,
            profile=profile, model=self.model, listener=listener,
        )  # fmt: skip

    def after(self, history: Sequence[str]) -> Context:
        """Give the context after some earlier questions."""
        return after_history(self.living.current, history)


@dataclass(frozen=True, slots=True)
class Research:
    """Lets the model write SPARQL for a question, and runs it apart."""

    living: Living
    model: ChatModel
    pool: QueryPool | RemotePool

    def __call__(self, question: str, language: str | None) -> Written:
        """Give what was written, what ran, and its rows."""
        return ask_in_sparql(self.living.current, question, self.model, self._run, language)

    def _run(self, query: str, seconds: float) -> bytes:
        return self.pool.query(FreeQuery(query, ResultFormat.of("json"), seconds)).body


def _completer(runtime: Runtime, base: KnowledgeBase) -> Completer:
    """Complete by the labels that linking already holds; making them again takes seconds."""
    linker = runtime.linker
    if isinstance(linker, Linker):
        return Completer(linker.index, linker.made)
    return Completer(LabelIndex.from_store(base.store, base.release))


def writing_to(
    base: KnowledgeBase, pool: QueryPool | RemotePool, settings: Settings, tokens: Tokens
) -> Writing:
    """Give what writes over HTTP to a base that is open for it; its changes are seen at once."""
    if not base.writes:
        return Writing(tokens)
    if isinstance(pool, RemotePool):
        return Writing(tokens, RemoteUpdater(base, settings.query, pool.expire))
    updater = Updater(base, settings.query, pool.expire)
    pool.seen.shortcut = updater.snapshot
    return Writing(tokens, updater)


class PooledQueries:
    """Free queries through the contained workers; ``threads`` answer all that is asked."""

    def __init__(self, pool: QueryPool | RemotePool, threads: int = 8) -> None:
        self._pool = pool
        self._places = BoundedSemaphore(max(1, threads - _FOR_OTHERS))

    def answer(self, query: FreeQuery) -> bytes:
        """Give the whole result."""
        with self.stream(query).body as spool:
            return spool.read()

    def stream(self, query: FreeQuery) -> StreamedResult:
        """Give the result in a spool, in memory or on disk."""
        with self._place():
            return self._pool.stream(query)

    def dump(
        self, graph: str, media_type: str, profile: str, whole: bool = False, asker: str = ""
    ) -> Spool | None:
        """Give one graph, or None where there is none of that name."""
        with self._place():
            form = ResultFormat.of_type(media_type).graph
            found = self._pool.dump(graph, form, profile, whole, asker)
        return None if found is None else found.body

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Take one of the threads that queries may hold; QueryLimitError where none comes free soon."""
        if not self._places.acquire(timeout=_SOON):
            raise busy()
        try:
            yield
        finally:
            self._places.release()
