"""Restricted sources hidden from readers."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from weakref import finalize

from typing_extensions import override

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.errors import KnowledgeBaseError, SettingError
from shiyi.model.iris import ID
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Subject, Term
from shiyi.server.site.site import Site
from shiyi.settings import ServerSettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.remote.store import RemoteStore
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.port import QuadStore, Solution
from shiyi.sparql.store.visibility import RestrictedContent, find_restricted, remove_restricted


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims and labels in step with the store; ``hidden`` are the claims that stay inside."""

    facts: Callable[[], Facts]
    hidden: Callable[[], frozenset[str]] = frozenset

    def about(self, iri: str) -> Iterator[tuple[bool, Fact]]:
        """Yield accepted and derived claims about a concept, and whether it is their subject."""
        facts, hidden = self.facts(), self.hidden()
        for forward, side in ((True, facts.by_subject), (False, facts.by_object)):
            for fact in side.get(iri, ()):
                if fact.claim not in hidden:
                    yield forward, fact

    def labels(self, iri: str) -> Mapping[str, str]:
        """Return the labels of a concept by language; of anything else nothing."""
        return self.facts().labels.get(iri, {}) if iri.startswith(ID) else {}

    def kind(self, iri: str) -> str:
        """Return the name of a concept's narrowest class."""
        return self.facts().classes.get(iri, "")


class AllowedStore(QuadStore):
    """A store that shows what may leave; it takes no changes.

    It is looked up at every change of ``version``. With ``cases`` it shows
    patients' cases, which answers may rest on; with ``open_to_all`` also what is restricted.
    Where a ``base`` is given, queries run on a copy of it that lacks what stays inside.
    """

    def __init__(
        self,
        inner: QuadStore,
        version: Callable[[], int],
        cases: bool = False,
        open_to_all: bool = False,
        base: KnowledgeBase | None = None,
    ) -> None:
        self._inner, self._version, self._base = inner, version, base
        self._cases, self._open_to_all = cases, open_to_all
        self._lock = threading.Lock()
        self._seen, self._withheld = version(), self._look()
        self._copy: tuple[RestrictedContent, OxigraphStore] | None = None

    @property
    def withheld(self) -> RestrictedContent:
        """Return what stays inside at this moment."""
        with self._lock:
            if (version := self._version()) != self._seen:
                self._seen, self._withheld = version, self._look()
            return self._withheld

    @override
    def match(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,
        graph: NamedNode | DefaultGraph | None = None,
    ) -> Iterator[Quad]:
        return self._filter(self._inner.match(subject, predicate, object, graph), graph)

    @override
    def match_each(
        self,
        subjects: Iterable[Subject] = (),
        predicate: NamedNode | None = None,
        graph: NamedNode | DefaultGraph | None = None,
        objects: Iterable[Term] = (),
    ) -> Iterator[Quad]:
        return self._filter(self._inner.match_each(subjects, predicate, graph, objects), graph)

    def _filter(
        self, quads: Iterator[Quad], graph: NamedNode | DefaultGraph | None
    ) -> Iterator[Quad]:
        withheld = self.withheld
        if self._cases or isinstance(graph, DefaultGraph):
            return (quad for quad in quads if not withheld.holds(quad)) if withheld.nodes else quads
        return (quad for quad in quads if not withheld.hides(quad))

    @override
    def select(self, query: str, **bound: Term) -> Iterator[Solution]:
        return self._readable().select(query, **bound)

    @override
    def change(self, add: Iterable[Quad] = (), remove: Iterable[Quad] = ()) -> None:
        raise KnowledgeBaseError("readers change nothing; write through the one writer")

    @override
    def __len__(self) -> int:
        return len(self._inner)

    def _look(self) -> RestrictedContent:
        return RestrictedContent() if self._open_to_all else find_restricted(self._inner)

    def _readable(self) -> QuadStore:
        """Return a store that holds only what may be published."""
        withheld = self.withheld
        if not withheld.nodes:
            return self._inner
        with self._lock:
            if self._copy is None or self._copy[0] is not withheld:
                self._copy = withheld, self._copy_visible(withheld)
            return self._copy[1]

    def _copy_visible(self, withheld: RestrictedContent) -> OxigraphStore:
        if self._base is not None and not self._base.is_remote:
            snapshot = self._base.take_snapshot()
            try:
                remove_restricted(snapshot)
                store = OxigraphStore.read_only(snapshot.path)
            except BaseException:
                snapshot.remove()
                raise
            finalize(store, snapshot.remove)
            return store
        store = OxigraphStore.in_memory()
        store.load_quads(quad for quad in self._inner.match() if not withheld.hides(quad))
        return store


def restrict_site(site: Site) -> Site:
    """Return the same site over a store that shows what may leave."""
    if isinstance(site.store, AllowedStore):
        return site
    store = AllowedStore(
        site.store, site.version, open_to_all=site.settings.server.restricted, base=site.base
    )
    return replace(site, store=store)


def visible_claims(site: Site) -> Claims | None:
    """Return what pages may take from memory."""
    store, living = site.store, site.living
    if living is None:
        return None
    withheld = (lambda: store.withheld.claims) if isinstance(store, AllowedStore) else frozenset
    return Claims(lambda: living.current.facts, withheld)


def is_hidden(site: Site, node: NamedNode) -> bool:
    """Return whether ``node`` stays inside."""
    return isinstance(site.store, AllowedStore) and node.value in site.store.withheld.nodes


def check_audience(store: QuadStore, chosen: ServerSettings) -> None:
    """Raise :class:`SettingError` where restricted claims lie in a remote store.

    Its engine answers free queries from all its data, so nothing could be withheld.
    """
    if chosen.restricted or not isinstance(store, RemoteStore):
        return
    if count := len(find_restricted(store).claims):
        raise SettingError(
            "server.restricted",
            f"{count:,} claims stand on sources that forbid passing them on, and the remote store "
            "would show them; `shiyi forget` the source, or set it to true where all who can "
            "reach this server may read them",
        )
