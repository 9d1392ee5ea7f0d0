"""A knowledge base whose quads lie in a remote store; its indexes and journal stay in a folder."""

from collections.abc import Iterable
from typing import Final

from shiyi.errors import IndexMismatchError, OutsideError, QueryError
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import DCTERMS
from shiyi.settings import Settings
from shiyi.sparql.remote import NOTE, RemoteStore

_NOTHING: Final = NamedNode("urn:shiyi:nothing")


def open_remote(settings: Settings, release: str, write: bool) -> RemoteStore:
    """Open the remote store of the settings and make sure that it can do what is asked of it.

    OutsideError names what is wrong with the store, IndexMismatchError that it holds another
    release than the indexes are of.
    """
    store = RemoteStore(settings.store, settings.remote)
    try:
        check_reading(store)
        if write:
            check_writing(store)
        held = release_in(store)
        if held != release:
            raise IndexMismatchError(
                f"{settings.store} holds {held or 'no release of Shiyi'}, the folder {settings.kb} "
                f"has the indexes of {release}; run `shiyi build` to put this release there"
            )
    except BaseException:
        store.close()
        raise
    return store


def check_reading(store: RemoteStore) -> None:
    """Ask what every part of Shiyi asks; OutsideError says what the store cannot do."""
    there, lowered = store.endpoint.address, store.settings.profile == "rdf11"
    if not store.endpoint.holds("ASK {}"):
        raise OutsideError(f"{there} does not hold that ASK {{}} is true: it is no SPARQL endpoint")
    if lowered:
        return
    try:
        known = store.endpoint.holds(
            "ASK { BIND(<<( <urn:a> <urn:b> 1 )>> AS ?t) FILTER(ISTRIPLE(?t)) }"
        )
    except (QueryError, OutsideError) as fault:
        raise OutsideError(
            f'{there} knows no triple terms of RDF 1.2 ({fault}); set remote.profile = "rdf11"'
        ) from fault
    if not known:
        raise OutsideError(f'{there} drops triple terms; set remote.profile = "rdf11"')


def check_writing(store: RemoteStore) -> None:
    """Make a change that changes nothing; OutsideError where the store takes none."""
    nothing = Quad(_NOTHING, _NOTHING, _NOTHING, NOTE)
    try:
        store.change(remove=[nothing])
    except QueryError as fault:
        raise OutsideError(
            f"no SPARQL 1.1 at {store.endpoint.update_address} ({fault}); set remote.update to "
            "the address that takes updates"
        ) from fault


def release_in(store: RemoteStore) -> str:
    """Give the release that a remote store says it holds, or nothing.

    OutsideError where that note shows in the default graph, since then every claim that
    was rejected would show there too.
    """
    found = [q.object.value for q in store.match(NOTE, DCTERMS.identifier, None, NOTE)
             if isinstance(q.object, Literal)]  # fmt: skip
    if found and any(True for _ in store.match(NOTE, None, None, DefaultGraph())):
        raise OutsideError(
            f"the default graph of {store.endpoint.address} is the union of all graphs; set "
            "remote.default_graph to an IRI of your own, or turn that off in the store"
        )
    return found[0] if found else ""


def push(store: RemoteStore, quads: Iterable[Quad], release: str) -> bool:
    """Put a release into a remote store; False where it is there already.

    What the store held of an earlier release goes first; other graphs in it stay. The note of the
    release comes last, so an interrupted push is seen and done again.
    """
    check_reading(store)
    check_writing(store)
    if release_in(store) == release:
        return False
    store.clear()
    store.load_quads(quads)
    store.change([Quad(NOTE, DCTERMS.identifier, Literal(release), NOTE)])
    release_in(store)
    return True
