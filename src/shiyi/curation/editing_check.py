"""Checks a claim or a concept before it is saved, in a process that can be killed and reach nobody."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from shiyi.curation.forms import ShapeForms
from shiyi.errors import KnowledgeBaseError, QueryLimitError, UsageError
from shiyi.ingest.gate import against, neighbourhood
from shiyi.model.claim import Claim
from shiyi.model.rdf import Quad, local_name, text
from shiyi.settings import QuerySettings
from shiyi.shapes.validation import Result
from shiyi.sparql.oxigraph import n_quads
from shiyi.sparql.worker_process import WorkerGoneError, WorkerProcess

PROGRAM = "shiyi.curation.editing_worker"
SECONDS = 5.0  # for one claim, which takes some hundredths
_QUADS = 5000  # of one check


class Checker:
    """Runs the shapes over unsaved statements; one at a time, since a check takes milliseconds."""

    def __init__(self, limits: QuerySettings | None = None, seconds: float = SECONDS) -> None:
        self._limits, self._seconds = limits or QuerySettings(), seconds
        self._turn = threading.Lock()
        self._process: WorkerProcess | None = None

    def claim(self, claim: Claim, classes: Mapping[str, Iterable[str]]) -> tuple[Result, ...]:
        """List what the shapes have against a claim, its evidence or its triple.

        ``classes`` gives the local names of both ends' classes, with those above them.
        """
        found = self._results(
            neighbourhood(claim, classes), relations=(claim.predicate.value,), shape=""
        )
        by_focus: Mapping[str, list[Result]] = defaultdict(list)
        for result in found:
            by_focus[result.focus].append(result)
        return tuple(dict.fromkeys(against(claim, by_focus)))

    def node(self, quads: Iterable[Quad], shape: str) -> tuple[Result, ...]:
        """List what one shape file has against some quads, such as a concept's."""
        return self._results(quads, relations=(), shape=shape)

    def close(self) -> None:
        """End the process; twice does no harm."""
        with self._turn:
            self._end()

    def _results(
        self, quads: Iterable[Quad], relations: Sequence[str], shape: str
    ) -> tuple[Result, ...]:
        sent = list(quads)
        if len(sent) > _QUADS:
            raise UsageError(f"a check takes {_QUADS:,} quads at most, not {len(sent):,}")
        request = {"relations": list(relations), "shape": shape, "seconds": self._seconds}
        with self._turn:
            try:
                self._process = self._process or WorkerProcess(self._limits, PROGRAM)
                self._process.greeting()
                deadline = time.monotonic() + self._seconds
                said, _ = self._process.ask(request, deadline, n_quads(sent))
            except TimeoutError:
                self._end()
                message = f"the check ran past {self._seconds:g} s and was stopped"
                raise QueryLimitError("time", message) from None
            except WorkerGoneError as gone:
                self._end()
                message = f"the check died ({gone.status}); it may have run out of memory"
                raise QueryLimitError("memory", message) from None
        if said["outcome"] == "limit":
            raise QueryLimitError(str(said["limit"]), "the check ran out of memory")
        if said["outcome"] == "refused":
            raise UsageError(str(said["message"]))
        if said["outcome"] != "whole":
            raise KnowledgeBaseError(f"the check failed: {said.get('message')}")
        return tuple(Result(**each) for each in said["results"])

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


def explained(result: Result, claim: Claim, classes: Mapping[str, Iterable[str]]) -> str:
    """Name the shape a result comes from, nearest to the class of the claim's subject.

    The empty text where no shape of ours says so.
    """
    kinds = classes.get(claim.subject.value, ())
    return ShapeForms.load().shape_of(result.path, result.message_en, kinds)


def field_of(result: Result, claim: Claim) -> str:
    """Name the form's field that a result is about."""
    if result.path == claim.predicate.value or result.focus == claim.subject.value:
        return "object"
    places = [each.iri(claim.iri).value for each in claim.evidence]
    if result.focus in places:
        return f"e{places.index(result.focus)}-{local_name(result.path)}"
    return local_name(result.path) or text(claim.object)
