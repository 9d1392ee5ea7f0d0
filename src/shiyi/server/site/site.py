"""An open knowledge base and what can be asked of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shiyi.answering.conversation import Context, Turn
from shiyi.answering.generation.audit import Auditor
from shiyi.answering.generation.rewriter import Listener
from shiyi.answering.generation.text_to_sparql import QueryRun
from shiyi.answering.knowledge.facts import Facts
from shiyi.answering.knowledge.overlay import schools
from shiyi.answering.pipeline import AskRequest, Replay
from shiyi.answering.sections.cabinet import CombinationReport
from shiyi.answering.sections.pivots import Pivots
from shiyi.answering.understanding.frame import Frame
from shiyi.model.answer import Answer, Mention
from shiyi.model.profile import Profile
from shiyi.model.rdf import DefaultGraph
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.site.curation import Curation
from shiyi.server.site.query_log import QueryLog
from shiyi.server.site.tokens import Tokens
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import Spool, StreamedResult
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


class FreeQueries(Protocol):
    """Answers free SPARQL in contained workers."""

    def answer(self, query: FreeQuery) -> bytes:
        """Return the result; raises QueryError or QueryLimitError."""

    def stream(self, query: FreeQuery) -> StreamedResult:
        """Return the same result in a spool, which the caller closes, and how many rows it has."""

    def dump(
        self, graph: str, media_type: str, profile: str, whole: bool = False, asker: str = ""
    ) -> Spool | None:
        """Return one whole graph, the empty name being the default graph; None where it is not."""


class Answerer(Protocol):
    """Answers a question from the knowledge base."""

    def __call__(self, request: AskRequest) -> Answer:
        """Return the answer."""


class ConversationAnswerer(Protocol):
    """Answers a question in the light of what came before; keeps nothing."""

    def __call__(
        self, request: AskRequest, context: Context, listener: Listener | None = None
    ) -> Turn:
        """Return the answer and the context for the next question."""

    def understand(self, request: AskRequest, context: Context) -> tuple[AskRequest, Frame]:
        """Return a request with the profile so far, and its frame, completed from the context."""

    def after(self, history: Sequence[str]) -> Context:
        """Return the context after some earlier questions."""


@dataclass(frozen=True, slots=True)
class WriteAccess:
    """What writing over HTTP needs: the tokens, and the updater of a base open for writing."""

    tokens: Tokens
    updater: Updater | None = None
    remote: bool = False  # there is no updater, since the quads lie in a remote store


@dataclass(frozen=True, slots=True)
class Site:
    """One open knowledge base and what can be asked of it."""

    store: QuadStore
    ask: Answerer
    link: Callable[[str], Sequence[Mention]]
    complete: Callable[[str, str, int], Sequence[Suggestion]]
    free: FreeQueries
    release: str
    methods: tuple[str, ...] = ("fused",)
    built: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    close: Callable[[], None] = lambda: None
    version: Callable[[], int] = lambda: 0  # changes whenever the store does
    writing: WriteAccess | None = None  # None: no writes over HTTP
    curation: Curation | None = None  # no desks where there is none
    converse: ConversationAnswerer | None = None  # a second turn stands alone where there is none
    replay: Callable[[Mapping[str, Any]], Replay] | None = None
    auditor: Callable[[], Auditor] | None = None
    check: Callable[[Sequence[str], Profile, str], CombinationReport] | None = None
    pivots: Callable[[AskRequest], Pivots] | None = None
    research: Callable[[str, str | None], QueryRun] | None = None  # none: no model is configured
    base: KnowledgeBase | None = None  # what the store belongs to
    log: QueryLog | None = None  # of free queries
    prepare: Callable[[], None] = lambda: None  # makes what takes long before anybody asks for it
    facts: Callable[[], Facts] | None = None  # what answers hold in memory, of the same version

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
