"""An open knowledge base and what can be asked of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import BoundedSemaphore
from typing import Any, Final, Protocol

from shiyi.answering.conversation import Conversation
from shiyi.answering.generation.text_to_sparql import QueryRun
from shiyi.answering.knowledge.overlay import schools
from shiyi.answering.pipeline import AskRequest
from shiyi.answering.runtime import Runtime, RuntimeHolder
from shiyi.answering.sections.pivots import Pivots
from shiyi.errors import KnowledgeBaseError
from shiyi.model.answer import Answer, Mention
from shiyi.model.rdf import DefaultGraph
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.site.curation import Curation
from shiyi.server.site.query_log import QueryLog
from shiyi.server.site.search import Search, insert_results
from shiyi.server.site.tokens import Tokens
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat, Spool, StreamedResult
from shiyi.sparql.remote.pool import RemotePool
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.sandbox.scheduling import busy
from shiyi.sparql.store.port import QuadStore
from shiyi.sparql.updates.update import Updater


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One completion: a concept and the word that matched."""

    iri: str
    label: str
    label_zh: str = ""
    label_en: str = ""
    kind: str = ""
    matched: str = ""
    approximate: bool = False  # only like what was typed: did you mean?


_FOR_OTHERS: Final = 2  # threads that never wait for the workers of free queries
_SOON: Final = 0.25  # seconds


class PooledQueries:
    """Free queries through the contained workers; ``threads`` answer all that is asked.

    What a query searches for by :mod:`shiyi.server.site.search` is found before a worker has it.
    """

    def __init__(
        self, pool: QueryPool | RemotePool, threads: int = 8, search: Search | None = None
    ) -> None:
        self._pool, self._search = pool, search
        self._places = BoundedSemaphore(max(1, threads - _FOR_OTHERS))

    def answer(self, query: FreeQuery) -> bytes:
        """Return the whole result; raise QueryError or QueryLimitError."""
        with self.stream(query).body as spool:
            return spool.read()

    def stream(self, query: FreeQuery) -> StreamedResult:
        """Return the result in a spool, in memory or on disk, which the caller closes."""
        with self._place():
            if self._search:
                text = insert_results(query.text, self._search)
                query = query if text is query.text else replace(query, text=text)
            return self._pool.stream(query)

    def dump(
        self, graph: str, media_type: str, profile: str, whole: bool = False, asker: str = ""
    ) -> Spool | None:
        """Return one graph, or None where there is none of that name."""
        with self._place():
            form = ResultFormat.of_type(media_type).graph
            result = self._pool.dump(graph, form, profile, whole, asker)
        return None if result is None else result.body

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Acquire a thread for a query; raise QueryLimitError if none comes free soon."""
        if not self._places.acquire(timeout=_SOON):
            raise busy()
        try:
            yield
        finally:
            self._places.release()


@dataclass(frozen=True, slots=True)
class WriteAccess:
    """What writing over HTTP needs: the tokens, and the updater of a base open for writing."""

    tokens: Tokens
    updater: Updater | None = None
    remote: bool = False  # there is no updater, since the quads lie in a remote store


class TextLinking(Protocol):
    """Find the mentions of a text."""

    def __call__(self, text: str, guess: bool = True) -> Sequence[Mention]:
        """Return names and, with ``guess``, what is only like one."""


@dataclass(frozen=True, slots=True)
class Site:
    """One open knowledge base and what can be asked of it."""

    store: QuadStore
    ask: Callable[[AskRequest], Answer]
    link: TextLinking
    complete: Callable[[str, str, int], Sequence[Suggestion]]
    free: PooledQueries
    release: str
    methods: tuple[str, ...] = ("fused",)
    built: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    close: Callable[[], None] = lambda: None
    version: Callable[[], int] = lambda: 0  # changes whenever the store does
    writing: WriteAccess | None = None  # None: no writes over HTTP
    curation: Curation | None = None  # no desks where there is none
    converse: Conversation | None = None  # a second turn stands alone where there is none
    pivots: Callable[[AskRequest], Pivots] | None = None
    research: Callable[[str, str | None], QueryRun] | None = None  # none: no model is configured
    base: KnowledgeBase | None = None  # what the store belongs to
    log: QueryLog | None = None  # of free queries
    prepare: Callable[[], None] = lambda: None  # makes what takes long before anybody asks for it
    living: RuntimeHolder | None = None  # what answers, of the same version

    @property
    def runtime(self) -> Runtime:
        """Return what answers at this moment."""
        if self.living is None:
            raise KnowledgeBaseError("this server has no indexes to answer from")
        return self.living.current

    def health(self) -> dict[str, Any]:
        """Return whether the store answers, which release it holds and how much."""
        found = any(True for _ in self.store.match(None, RDF.type, SHIYI.Claim, DefaultGraph()))
        return {
            "status": "ok" if found else "empty",
            "release": self.release,
            "built": self.built,
            "counts": dict(self.counts),
            "methods": list(self.methods),
            "schools": sorted(schools(self.store).values()),
            "model": self.settings.models.answer or None,
        }
