"""A copy of the base as RDF 1.1 says it, so that clients that know no triple terms can ask it."""

from collections.abc import Iterator

from shiyi.errors import QueryRefusedError
from shiyi.model.rdf import Quad, Triple
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.snapshots import Snapshot
from shiyi.sparql.withheld import with_terms
from shiyi.sparql.worker_lowering import lowered


def lower(snapshot: Snapshot) -> None:
    """Write every statement of a snapshot with ``rdf:subject``, ``rdf:predicate``, ``rdf:object``.

    Nothing but triple terms is lost: a claim is the subject of the three in the place of
    ``rdf:reifies``, in the same graph. QueryRefusedError where the snapshot is no copy.
    """
    if snapshot.is_original:
        raise QueryRefusedError(
            "the profile rdf11 cannot be asked: the folder of the knowledge base is read-only, so "
            "no copy in RDF 1.1 can be made"
        )
    store = OxigraphStore.on_disk(snapshot.path)
    try:
        gone = list(with_terms(store))
        store.load_quads(_said_plainly(gone))
        store.unload_quads(gone)
        store.flush()
    finally:
        store.close()


def _said_plainly(quads: list[Quad]) -> Iterator[Quad]:
    for quad in quads:
        for said in lowered([Triple(quad.subject, quad.predicate, quad.object)]):
            yield Quad(said.subject, said.predicate, said.object, quad.graph_name)
