"""Validation and preview before saving, confined."""

import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from shiyi.curation.changes import Edit
from shiyi.curation.editing.claims import ACCEPTED, StoredClaim
from shiyi.curation.editing.fields import ShapeForms
from shiyi.errors import KnowledgeBaseError, QueryLimitError, ShiyiError, UsageError
from shiyi.ingest.gate import neighbourhood, prune_shapes, results_against
from shiyi.model.claim import Claim, Polarity
from shiyi.model.iris import graph
from shiyi.model.rdf import NamedNode, Quad, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import PROV, SHIYI
from shiyi.settings import QuerySettings
from shiyi.shapes.validation import Result, shape_names, shapes_graph, to_graph, validate
from shiyi.sparql.sandbox.confinement import confine
from shiyi.sparql.sandbox.framing import receive, send
from shiyi.sparql.sandbox.process import WorkerGoneError, WorkerProcess
from shiyi.sparql.store.oxigraph import n_quads, parse_n_quads
from shiyi.sparql.store.port import QuadStore

if TYPE_CHECKING:
    from rdflib import Graph


PROGRAM = "shiyi.curation.editing.validation"
SECONDS = 5.0  # for one claim, which takes some hundredths
_QUADS = 5000  # of one check


class EditChecker:
    """Runs the shapes over unsaved statements; one at a time, since a check takes milliseconds."""

    def __init__(self, limits: QuerySettings | None = None, seconds: float = SECONDS) -> None:
        self._limits, self._seconds = limits or QuerySettings(), seconds
        self._turn = threading.Lock()
        self._process: WorkerProcess | None = None

    def claim(self, claim: Claim, classes: Mapping[str, Iterable[str]]) -> tuple[Result, ...]:
        """List the violations of a claim, its evidence or its triple.

        ``classes`` gives the local names of both ends' classes, with those above them.
        """
        results = self._results(
            neighbourhood(claim, classes), relations=(claim.predicate.value,), shape=""
        )
        by_focus: Mapping[str, list[Result]] = defaultdict(list)
        for result in results:
            by_focus[result.focus].append(result)
        return tuple(dict.fromkeys(results_against(claim, by_focus)))

    def node(self, quads: Iterable[Quad], shape: str) -> tuple[Result, ...]:
        """List the violations of one shape file by some quads, such as a concept's."""
        return self._results(quads, relations=(), shape=shape)

    def close(self) -> None:
        """End the process; twice does no harm."""
        with self._turn:
            self._end()

    def _results(
        self, quads: Iterable[Quad], relations: Sequence[str], shape: str
    ) -> tuple[Result, ...]:
        sent_quads = list(quads)
        if len(sent_quads) > _QUADS:
            raise UsageError(f"a check takes {_QUADS:,} quads at most, not {len(sent_quads):,}")
        request = {"relations": list(relations), "shape": shape, "seconds": self._seconds}
        with self._turn:
            try:
                self._process = self._process or WorkerProcess(self._limits, PROGRAM)
                self._process.wait_for_greeting()
                deadline = time.monotonic() + self._seconds
                reply, _ = self._process.ask(request, deadline, n_quads(sent_quads))
            except TimeoutError:
                self._end()
                message = f"the check ran past {self._seconds:g} s and was stopped"
                raise QueryLimitError("time", message) from None
            except WorkerGoneError as gone:
                self._end()
                message = f"the check died ({gone.status}); it may have run out of memory"
                raise QueryLimitError("memory", message) from None
        if reply["outcome"] == "limit":
            raise QueryLimitError(str(reply["limit"]), "the check ran out of memory")
        if reply["outcome"] == "refused":
            raise UsageError(str(reply["message"]))
        if reply["outcome"] != "whole":
            raise KnowledgeBaseError(f"the check failed: {reply.get('message')}")
        return tuple(Result(**item) for item in reply["results"])

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


def shape_name(result: Result, claim: Claim, classes: Mapping[str, Iterable[str]]) -> str:
    """Name the shape a result comes from, nearest to the class of the claim's subject.

    The empty text where no shape of Shiyi's says so.
    """
    kinds = classes.get(claim.subject.value, ())
    return ShapeForms.load().shape_of(result.path, result.message_en, kinds)


def field_of(result: Result, claim: Claim) -> str:
    """Name the form's field that a result is about."""
    if result.path == claim.predicate.value or result.focus == claim.subject.value:
        return "object"
    places = [evidence.iri(claim.iri).value for evidence in claim.evidence]
    if result.focus in places:
        return f"e{places.index(result.focus)}-{local_name(result.path)}"
    return local_name(result.path) or text(claim.object)


_DERIVED = graph("derived")
_MOST = 2000  # statements about one end that are counted; a hub has more


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an edit on derived claims, conflicts and paths.

    ``resting`` lists derived claims that rest on the old claim; ``conflicts`` the claims that the
    new ones conflict with; ``paths`` counts the two-step connections through the old claim and
    through the new, ``cut`` tells that they are at least so many.
    """

    before: float | None
    after: tuple[float, ...]
    resting: tuple[str, ...]
    conflicts: tuple[str, ...]
    paths_before: int
    paths_after: int
    cut: bool = False

    @property
    def changes_confidence(self) -> bool:
        """Return whether the confidence changes."""
        return any(each != self.before for each in self.after)


def compute_effect(
    store: QuadStore, old: StoredClaim | None, claims: tuple[Claim, ...], edit: Edit
) -> Effect:
    """Return the effect that an edit would have; it reads only."""
    resting = (
        [text(q.subject) for q in store.match(None, PROV.wasDerivedFrom, old.iri, _DERIVED)]
        if old
        else []
    )
    names = {claim.iri for claim in claims}
    conflicts = sorted(
        {
            text(q.object)
            for q in edit.added
            if q.predicate == SHIYI.conflictsWith and q.subject in names
        }
    )
    asserted = bool(old and old.home == ACCEPTED and old.claim.polarity is Polarity.POSITIVE)
    passed = [_through(store, claim) for claim in claims if _comes(claim, edit)]
    was = _through(store, old.claim) if old and asserted else 0
    return Effect(
        old.confidence if old else None,
        tuple(claim.confidence.value for claim in claims),
        tuple(sorted(resting)),
        tuple(conflicts),
        was,
        sum(passed),
        max([was, *passed]) >= _MOST,
    )


def _comes(claim: Claim, edit: Edit) -> bool:
    """Return whether the claim's triple would stand in the accepted view."""
    return any(
        q.subject == claim.subject and q.object == claim.object and q.predicate == claim.predicate
        for q in edit.added
    )


def _through(store: QuadStore, claim: Claim) -> int:
    """Count the connections of two steps that lead over a claim: all that meets its ends."""
    ends = [claim.subject, *([claim.object] if isinstance(claim.object, NamedNode) else [])]
    return sum(_degree(store, node) for node in ends)


def _degree(store: QuadStore, node: NamedNode) -> int:
    properties = {f"{name}" for name, p in Schema.load().properties.items() if p.is_object}
    quads = (
        quad
        for pattern in ((node, None), (None, node))
        for quad in store.match(pattern[0], None, pattern[1], ACCEPTED)
        if quad.predicate.value.rpartition("#")[2] in properties
    )
    return sum(1 for _ in islice(quads, _MOST))


_GRACE = 1.0  # seconds after the deadline until a worker without a parent ends itself


def main(memory_mib: str, rows: str, size: str) -> None:
    """Read the shapes, give up sockets and memory, then answer until standard input ends."""
    from rdflib import Graph

    shapes = shapes_graph()
    names = {name: shapes_graph(name) for name in shape_names()}
    validate(to_graph(parse_n_quads(_FIRST)), names["review"])  # so that the first asker waits less
    blocked = confine(int(memory_mib))
    send({"outcome": "ready", "network_blocked": blocked}, b"")
    remaining: dict[frozenset[str], Graph] = {}
    while (received := receive()) is not None:
        request, body = received
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] + _GRACE)
        relations = frozenset(request["relations"])
        if request["shape"]:
            chosen = names[request["shape"]]
        else:
            if relations not in remaining:
                remaining[relations] = prune_shapes(Graph() + shapes, relations)
            chosen = remaining[relations]
        send(_check_request(body, chosen), b"")
        signal.setitimer(signal.ITIMER_REAL, 0)


_FIRST = b"<https://e.org/a> <https://e.org/p> <https://e.org/b> .\n"


def _check_request(body: bytes, shapes: "Graph") -> dict[str, Any]:
    try:
        results = validate(to_graph(parse_n_quads(body)), shapes)
    except MemoryError:
        return {"outcome": "limit", "limit": "memory"}
    except (ShiyiError, ValueError) as fault:
        return {"outcome": "refused", "message": str(fault)[:400]}
    return {"outcome": "whole", "results": [asdict(result) for result in results]}
