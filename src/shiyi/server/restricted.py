"""What a source's licence keeps inside: hidden from readers, and no base of it served to all."""

import ipaddress
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from typing_extensions import override

from shiyi.errors import KnowledgeBaseError, SettingError
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Subject, Term
from shiyi.publishing.licences import Withheld, withheld
from shiyi.server.site import Site
from shiyi.settings import ServerSettings
from shiyi.sparql.store import QuadStore, Solution


class AllowedStore(QuadStore):
    """A store that shows what may leave; it takes no changes.

    Whether anything is restricted is looked up again whenever ``version`` changes.
    """

    def __init__(self, inner: QuadStore, version: Callable[[], int]) -> None:
        self._inner, self._version = inner, version
        self._lock = threading.Lock()
        self._seen, self._held = version(), withheld(inner)

    @property
    def held(self) -> Withheld:
        """Give what stays inside at this moment."""
        with self._lock:
            if (version := self._version()) != self._seen:
                self._seen, self._held = version, withheld(self._inner)
            return self._held

    @override
    def match(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,
        graph: NamedNode | DefaultGraph | None = None,
    ) -> Iterator[Quad]:
        found = self._inner.match(subject, predicate, object, graph)
        held = self.held
        return (quad for quad in found if not held.hides(quad)) if held.nodes else found

    @override
    def select(self, query: str, **bound: Term) -> Iterator[Solution]:
        return self._inner.select(query, **bound)

    @override
    def change(self, add: Iterable[Quad] = (), remove: Iterable[Quad] = ()) -> None:
        raise KnowledgeBaseError("readers change nothing; write through the one writer")

    @override
    def __len__(self) -> int:
        return len(self._inner)


def for_readers(site: Site) -> Site:
    """Give the same site over a store that shows what may leave."""
    return replace(site, store=AllowedStore(site.store, site.version))


def is_hidden(site: Site, node: NamedNode) -> bool:
    """Tell whether ``node`` stays inside."""
    return isinstance(site.store, AllowedStore) and node.value in site.store.held.nodes


def check_audience(store: QuadStore, chosen: ServerSettings) -> None:
    """Raise :class:`SettingError` where a base of restricted claims would be served to others.

    Pages and data hide them, but answers and free queries rest on all claims.
    """
    if chosen.restricted or _is_this_machine(chosen.host):
        return
    if count := len(withheld(store).claims):
        raise SettingError(
            "server.restricted",
            f"{count:,} claims stand on sources that forbid passing them on, and {chosen.host} can "
            "be reached by others; `shiyi forget` the source, or set it to true where all who "
            "can reach this server may read them",
        )


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
