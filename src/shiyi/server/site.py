"""What the web face serves, as the ports it asks through."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shiyi.answering.conversation import Context, Turn
from shiyi.answering.facts import Facts
from shiyi.answering.free_query import Written
from shiyi.answering.replay import Replayed
from shiyi.answering.telling import Listener
from shiyi.model.answer import Answer
from shiyi.model.mention import Mention
from shiyi.model.profile import Profile
from shiyi.model.rdf import DefaultGraph
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.curators import Curation
from shiyi.server.query_log import QueryLog
from shiyi.server.tokens import Tokens
from shiyi.settings import Settings
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.results import StreamedResult
from shiyi.sparql.spool import Spool
from shiyi.sparql.store import QuadStore
from shiyi.sparql.updates import Updater


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One completion: a concept and the word that matched."""

    iri: str
    label: str
    label_zh: str = ""
    label_en: str = ""
    kind: str = ""
    matched: str = ""


class FreeQueries(Protocol):
    """Answers free SPARQL in contained workers."""

    def answer(self, query: FreeQuery) -> bytes:
        """Give the result; raises QueryError or QueryLimitError."""

    def stream(self, query: FreeQuery) -> StreamedResult:
        """Give the same result in a spool, which the caller closes, and how many rows it has."""

    def dump(
        self, graph: str, media_type: str, profile: str, whole: bool = False, asker: str = ""
    ) -> Spool | None:
        """Give one whole graph, the empty name being the default graph; None where it is not."""


class Asker(Protocol):
    """Answers a question from the knowledge base."""

    def __call__(
        self, question: str, *, method: str, language: str | None, k: int | None, profile: Profile
    ) -> Answer:
        """Give the answer."""


class Converser(Protocol):
    """Answers a question in the light of what came before; keeps nothing."""

    def __call__(
        self, question: str, context: Context, *, method: str, language: str | None,
        k: int | None, profile: Profile, listener: Listener | None = None,
    ) -> Turn:  # fmt: skip
        """Give the answer and the context for the next question."""

    def after(self, history: Sequence[str]) -> Context:
        """Give the context after some earlier questions."""


@dataclass(frozen=True, slots=True)
class Writing:
    """What writing over HTTP needs: the tokens, and the updater of a base open for writing."""

    tokens: Tokens
    updater: Updater | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """One open knowledge base and what can be asked of it."""

    store: QuadStore
    ask: Asker
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
    writing: Writing | None = None  # nobody writes over HTTP where there is none
    curation: Curation | None = None  # no desks where there is none
    converse: Converser | None = None  # a second turn stands alone where there is none
    replay: Callable[[Mapping[str, Any]], Replayed] | None = None
    research: Callable[[str, str | None], Written] | None = None  # none: no model is configured
    base: KnowledgeBase | None = None  # what the store belongs to
    log: QueryLog | None = None  # of free queries
    facts: Callable[[], Facts] | None = None  # what answers hold in memory, of the same version

    def health(self) -> dict[str, Any]:
        """Tell whether the store answers, which release it holds and how much."""
        found = any(True for _ in self.store.match(None, RDF.type, SHIYI.Claim, DefaultGraph()))
        return {
            "status": "ok" if found else "empty", "release": self.release, "built": self.built,
            "counts": dict(self.counts), "methods": list(self.methods), "model": self.settings.models.answer or None,
        }  # fmt: skip
