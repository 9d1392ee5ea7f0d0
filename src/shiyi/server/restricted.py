"""What stays inside is in nothing that readers see: pages, data, answers, facets, tools."""

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from weakref import finalize

from typing_extensions import override

from shiyi.errors import KnowledgeBaseError, SettingError
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Subject, Term
from shiyi.server.known import Known
from shiyi.server.site import Site
from shiyi.settings import ServerSettings
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.remote import RemoteStore
from shiyi.sparql.store import QuadStore, Solution
from shiyi.sparql.withheld import Withheld, hide, withheld


class AllowedStore(QuadStore):
    """A store that shows what may leave; it takes no changes.

    What that is, is looked up again whenever ``version`` changes. With ``cases`` it shows
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
        self._seen, self._held = version(), self._look()
        self._copy: tuple[Withheld, OxigraphStore] | None = None

    @property
    def held(self) -> Withheld:
        """Give what stays inside at this moment."""
        with self._lock:
            if (version := self._version()) != self._seen:
                self._seen, self._held = version, self._look()
            return self._held

    @override
    def match(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,
        graph: NamedNode | DefaultGraph | None = None,
    ) -> Iterator[Quad]:
        found, held = self._inner.match(subject, predicate, object, graph), self.held
        if self._cases or isinstance(graph, DefaultGraph):
            return (quad for quad in found if not held.holds(quad)) if held.nodes else found
        return (quad for quad in found if not held.hides(quad))

    @override
    def select(self, query: str, **bound: Term) -> Iterator[Solution]:
        return self._readable().select(query, **bound)

    @override
    def change(self, add: Iterable[Quad] = (), remove: Iterable[Quad] = ()) -> None:
        raise KnowledgeBaseError("readers change nothing; write through the one writer")

    @override
    def __len__(self) -> int:
        return len(self._inner)

    def _look(self) -> Withheld:
        return Withheld() if self._open_to_all else withheld(self._inner)

    def _readable(self) -> QuadStore:
        """Give a store whose queries find what may leave and nothing else."""
        held = self.held
        if not held.nodes:
            return self._inner
        with self._lock:
            if self._copy is None or self._copy[0] is not held:
                self._copy = held, self._copied(held)
            return self._copy[1]

    def _copied(self, held: Withheld) -> OxigraphStore:
        if self._base is not None and not self._base.is_remote:
            snapshot = self._base.take_snapshot()
            try:
                hide(snapshot)
                made = OxigraphStore.read_only(snapshot.path)
            except BaseException:
                snapshot.remove()
                raise
            finalize(made, snapshot.remove)
            return made
        made = OxigraphStore.in_memory()
        made.load_quads(quad for quad in self._inner.match() if not held.hides(quad))
        return made


def for_readers(site: Site) -> Site:
    """Give the same site over a store that shows what may leave."""
    if isinstance(site.store, AllowedStore):
        return site
    shown = AllowedStore(
        site.store, site.version, open_to_all=site.settings.server.restricted, base=site.base
    )
    return replace(site, store=shown)


def known_to(site: Site) -> Known | None:
    """Give what pages for readers may take from memory; ``site`` is the one for readers."""
    store = site.store
    if site.facts is None or not isinstance(store, AllowedStore):
        return None
    return Known(site.facts, lambda: store.held.claims)


def is_hidden(site: Site, node: NamedNode) -> bool:
    """Tell whether ``node`` stays inside."""
    return isinstance(site.store, AllowedStore) and node.value in site.store.held.nodes


def check_audience(store: QuadStore, chosen: ServerSettings) -> None:
    """Raise :class:`SettingError` where restricted claims lie in a remote store.

    Its engine answers free queries from all it holds, so nothing could be kept back.
    """
    if chosen.restricted or not isinstance(store, RemoteStore):
        return
    if count := len(withheld(store).claims):
        raise SettingError(
            "server.restricted",
            f"{count:,} claims stand on sources that forbid passing them on, and the remote store "
            "would show them; `shiyi forget` the source, or set it to true where all who can "
            "reach this server may read them",
        )
