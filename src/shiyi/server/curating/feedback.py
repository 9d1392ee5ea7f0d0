"""“Report a mistake”: for readers without an account or a script; and the desk that answers."""

import threading
import time
from collections import OrderedDict, deque
from typing import Final
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request
from werkzeug.exceptions import NotFound, TooManyRequests
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation import feedback
from shiyi.curation.ledger import named
from shiyi.curation.roles import Right
from shiyi.errors import UsageError
from shiyi.model.names import ID
from shiyi.model.rdf import NamedNode
from shiyi.server.curating.session import PREFIX, needs, person
from shiyi.server.curators import Curation
from shiyi.server.inputs import text_field
from shiyi.server.kept import Kept
from shiyi.server.restricted import for_readers
from shiyi.server.shares import household
from shiyi.server.site import Site
from shiyi.server.wording import catalogue, chosen_language

EACH: Final = 5  # reports from one address in an hour
ALL: Final = 300  # reports in an hour from everywhere, so that a flood ends
_HOUR: Final = 3600.0
_REMEMBERED: Final = 20_000


class Patience:
    """Counts reports by address, in memory; addresses are kept nowhere else."""

    def __init__(self, each: int = EACH, all_: int = ALL) -> None:
        self._each, self._all, self._lock = each, all_, threading.Lock()
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()
        self._every: deque[float] = deque()

    def take(self, address: str) -> None:
        """Count one report; 429 where there were too many in the last hour."""
        now = time.monotonic()
        with self._lock:
            mine = self._seen.setdefault(address, deque())
            self._seen.move_to_end(address)
            for times in (mine, self._every):
                while times and now - times[0] > _HOUR:
                    times.popleft()
            if len(mine) >= self._each or len(self._every) >= self._all:
                first = mine[0] if len(mine) >= self._each else self._every[0]
                raise TooManyRequests(
                    catalogue()("feedback.too_many"), retry_after=int(first + _HOUR - now) + 1
                )
            mine.append(now)
            self._every.append(now)
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)


def feedback_routes(site: Site, kept: Kept, curation: Curation) -> Blueprint:
    """Serve ``/curate/report`` for readers and ``/curate/feedback`` for curators."""
    routes, patience = Blueprint("feedback", __name__, url_prefix=PREFIX), Patience()
    readers = for_readers(site)
    shown = Kept(readers)

    @routes.get("/report")
    @needs(Right.OPEN)
    def form() -> str:
        about = _about(readers, request.args.get("about", ""))
        thing = shown.reader(chosen_language()).premise(about)
        return render_template(
            "curate/report.html", about=about.value.removeprefix(ID), thing=thing,
            kinds=feedback.KINDS, takes=curation.changes is not None, most=feedback.LONGEST,
        )  # fmt: skip

    @routes.post("/report")
    @needs(Right.OPEN)
    def report() -> str | tuple[str, int]:
        about = _about(readers, request.form.get("about", ""))
        thing = shown.reader(chosen_language()).premise(about)
        if request.form.get("website"):  # a field that people do not see
            return render_template("curate/reported.html", thing=thing)
        words = text_field(
            catalogue()("feedback.words"), request.form.get("words"), feedback.LONGEST
        )
        writing = curation.writing
        patience.take(household(request.remote_addr))
        feedback.filed(writing, about.value, request.form.get("kind", "other"), words)
        return render_template("curate/reported.html", thing=thing)

    @routes.get("/feedback")
    @needs(Right.READ)
    def desk() -> str:
        everything = request.args.get("show") == "all"
        reader = kept.reader(chosen_language())
        found = feedback.reports(site.store, everything=everything)
        return render_template(
            "curate/feedback.html", everything=everything, key=uuid4().hex,
            found=[(each, reader.premise(NamedNode(each.about))) for each in found],
        )  # fmt: skip

    @routes.post("/feedback")
    @needs(Right.REVIEW)
    def answer() -> BaseResponse:
        does = request.form.get("action", "")
        if does not in {"right", "not-right"}:
            raise UsageError("a report is answered as right or as not right")
        name = request.form.get("report", "")
        if not name.removeprefix("report/").isalnum():
            raise UsageError("there is no such report")
        edit = feedback.answered(
            site.store, ID + name, does == "right", request.form.get("reason", ""),
            request.form.get("key", ""),
        )  # fmt: skip
        change = curation.writing.make(edit, person().name)
        flash(catalogue()("edit.saved", n=change.number))
        return redirect(f"{PREFIX}/feedback")

    return routes


def _about(site: Site, name: str) -> NamedNode:
    iri = name if name.startswith(ID) else ID + name
    try:
        node = named(iri)
    except UsageError as fault:
        raise NotFound("nothing has such a name") from fault
    if iri == ID or not feedback.is_known(site.store, iri):
        raise NotFound("there is nothing of that name to report on")
    return node
