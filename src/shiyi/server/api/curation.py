"""The desks as JSON: what curators read and do, for scripts and notebooks."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final, Literal

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound

from shiyi.curation.accounts import Right
from shiyi.curation.changes import Change, version_of
from shiyi.curation.desks import feedback, forms, quarantine
from shiyi.curation.desks.desk import BatchResult, Desk
from shiyi.curation.desks.uploads import Columns, LinkedNames
from shiyi.curation.queue import Filter
from shiyi.curation.vocabulary import mappings, proposals
from shiyi.errors import FormError
from shiyi.model.iris import ID, content_hash
from shiyi.model.rdf import NamedNode
from shiyi.server.api.models import Operation, WrittenChange
from shiyi.server.curating.history import change_title, list_lines
from shiyi.server.curating.reviewing import (
    LiveQueue,
    change_values,
    list_waiting_evidence,
    load_claim_view,
)
from shiyi.server.curating.session import API, needs, person
from shiyi.server.http.access import request_digest, request_key
from shiyi.server.http.messages import count_field, json_object, json_response
from shiyi.server.http.page_cache import PageCache
from shiyi.server.http.problems import fault_values
from shiyi.server.i18n import choose_language
from shiyi.server.views.reader import ClaimView, EvidenceView, Reader, Thing

Result = Change | tuple[Change, ...] | BatchResult
_FAULTS: Final = (400, 401, 403, 404, 409, 422, 429, 503)
_MOST: Final = 200  # entries of one list


@dataclass(frozen=True, slots=True)
class WriteRoute:
    """A route that writes: the request it takes, and the function of the desk that does it.

    The ``{id}`` of its path fills the field ``given``, behind the kind of thing: ``claim/``.
    """

    method: str
    path: str
    name: str
    summary: str
    right: Right
    model: type[forms.Form]
    do: Callable[..., Result]
    given: str = ""
    kind: str = ""
    makes: Literal["one", "several", "each"] = "one"  # changes: one, several at once, each alone

    def operation(self) -> Operation:
        """Describe the route for OpenAPI."""
        return Operation(
            self.method,
            API + self.path,
            self.name,
            self.summary,
            WrittenChange,
            _FAULTS,
            body=self.model,
            security="required",
            given=self.given,
        )


ACTS: Final = (
    WriteRoute("post", "/claims", "addClaim", "Add a claim; what touches safety is proposed",
        Right.COMMENT, forms.ClaimEdit, Desk.save_claim),
    WriteRoute("put", "/claims/{id}", "replaceClaim", "Replace a claim by one, or by two: a split",
        Right.COMMENT, forms.ClaimEdit, Desk.save_claim, "claim", "claim/"),
    WriteRoute("post", "/claims/{id}/review", "reviewClaim",
        "Accept, reject, doubt or skip a claim",
        Right.REVIEW, forms.Decision, Desk.decide, "claim", "claim/"),
    WriteRoute("post", "/claims/{id}/refuse-evidence", "refuseEvidence",
        "Refuse evidence that waits beside an accepted claim",
        Right.REVIEW, forms.EvidenceRefusal, Desk.refuse_evidence, "claim", "claim/"),
    WriteRoute("post", "/claims/review", "reviewClaims",
        "Decide on several claims, or foresee with preview what that would do",
        Right.REVIEW, forms.Batch, Desk.decide_all, makes="each"),
    WriteRoute("post", "/claims/assign", "assignClaims", "Assign claims to a reviewer",
        Right.REVIEW, forms.Assignment, Desk.assign, makes="several"),
    WriteRoute("post", "/claims/{id}/comments", "commentClaim", "Comment on a claim",
        Right.COMMENT, forms.Comment, Desk.comment, "thing", "claim/"),
    WriteRoute("post", "/concepts", "addConcept", "Add a concept",
        Right.EDIT, forms.ConceptEdit, Desk.save_concept),
    WriteRoute("put", "/concepts/{id}", "changeConcept", "Change a concept",
        Right.EDIT, forms.ConceptEdit, Desk.save_concept, "was"),
    WriteRoute("post", "/concepts/{id}/aliases", "addAliases", "Add names to a concept",
        Right.EDIT, forms.Aliases, Desk.add_aliases, "concept"),
    WriteRoute("post", "/concepts/{id}/comments", "commentConcept", "Comment on a concept",
        Right.COMMENT, forms.Comment, Desk.comment, "thing"),
    WriteRoute("post", "/concepts/merge", "mergeConcepts",
        "Merge a concept into another of its kind",
        Right.EDIT, forms.ConceptMerge, Desk.merge),
    WriteRoute("post", "/concepts/{id}/split", "splitConcept",
        "Make a concept of some of its claims",
        Right.EDIT, forms.ConceptSplit, Desk.split, "concept"),
    WriteRoute("post", "/concepts/{id}/deprecate", "deprecateConcept", "Retire a concept",
        Right.EDIT, forms.Deprecation, Desk.deprecate, "concept"),
    WriteRoute("post", "/mappings", "importMappings", "Import rows of SSSOM as candidates",
        Right.EDIT, forms.MappingImport, Desk.import_mappings),
    WriteRoute("post", "/mappings/{id}", "decideMapping", "Accept, reject or rule out a mapping",
        Right.REVIEW, forms.MappingDecision, Desk.decide_mapping, "mapping", "mapping/"),
    WriteRoute("post", "/quarantine/reject", "rejectQuarantined", "Reject claims of the quarantine",
        Right.REVIEW, forms.Refusal, Desk.refuse, makes="several"),
    WriteRoute("post", "/feedback/{id}", "answerReport", "Answer a reader's report",
        Right.REVIEW, forms.ReportAnswer, Desk.answer_report, "report", "report/"),
    WriteRoute("post", "/proposals", "proposeTerm", "Propose a relation or a shape in Turtle",
        Right.COMMENT, forms.TermProposal, Desk.propose),
    WriteRoute("post", "/proposals/{id}", "settleProposal", "Approve or decline a proposal",
        Right.APPROVE, forms.ProposalDecision, Desk.decide_proposal, "proposal", "proposal/"),
    WriteRoute("post", "/undo", "undoChange", "Take a change back",
        Right.REVIEW, forms.UndoRequest, Desk.undo),
)  # fmt: skip
_FILTER: Final = tuple(Filter.__dataclass_fields__)
_READING: Final = (
    ("/me", "me", "The account of the token, and its role", ()),
    ("/claims", "listClaims", "The review queue, filtered", (*_FILTER, "from", "limit")),
    ("/claims/{id}", "getClaim", "A claim under review, with its reviews", ()),
    ("/concepts/{id}", "getConcept", "A concept as the tables hold it", ()),
    ("/mappings", "listMappings", "Mappings by status", ("status", "about", "from", "limit")),
    ("/history", "listChanges", "The newest changes", ("before", "limit")),
    ("/changes/{number}", "getChange", "One change, statement by statement", ()),
    ("/quarantine", "listQuarantined", "What the gate withheld, and why",
     ("relation", "reason", "from", "limit")),
    ("/feedback", "listReports", "Reports of readers", ("show",)),
    ("/documents", "listDocuments", "Documents handed in since the server started", ()),
    ("/documents/{id}", "getDocument", "What was read of a document, and what was withheld", ()),
    ("/proposals", "listProposals", "Proposed relations and shapes", ()),
)  # fmt: skip
OPERATIONS: Final = (
    *(
        Operation("get", API + path, name, summary, ("application/json",), _FAULTS, query,
                  security="required")
        for path, name, summary, query in _READING
    ),
    Operation("post", API + "/claims/check", "checkClaim", "Check a claim against the shapes",
              ("application/json",), _FAULTS, body=forms.ClaimEdit, security="required"),
    Operation("post", API + "/documents", "addDocument", "Upload a text or a table",
              ("application/json",), _FAULTS, body=("multipart/form-data",), security="required"),
    Operation("post", API + "/documents/{id}/columns", "chooseColumns",
              "Name the columns of a table, and read it", ("application/json",), _FAULTS,
              body=Columns, security="required"),
    Operation("post", API + "/documents/{id}/names", "linkNames",
              "Name the concepts of words that name none, and read their rows again",
              ("application/json",), _FAULTS, body=LinkedNames, security="required"),
    *(route.operation() for route in ACTS),
)  # fmt: skip


def write_routes(pages: PageCache, desk: Desk) -> Blueprint:
    """Serve what writes, each route with its right."""
    routes = Blueprint("curation_acts", __name__, url_prefix=API)

    def view_for(act: WriteRoute) -> Callable[..., Response]:
        def view(name: str = "") -> Response:
            more = {act.given: act.kind + name} if act.given else {}
            if not (key := request_key(f"desk:{person().name}")):
                return json_response(_values(desk, act.do(desk, person(), _read(act.model, more))))
            asked = _read(act.model, more, key)
            with desk.writing().under_request(key, request_digest()) as changes:
                done: Result = changes if act.makes == "several" else changes[0] if changes else ()
                if not changes or act.makes == "each":  # each is found by a key of its own
                    done = act.do(desk, person(), asked)
            return json_response(_values(desk, done))

        return needs(act.right)(view)

    for act in ACTS:
        path = act.path.replace("{id}", "<path:name>")
        routes.add_url_rule(path, act.name, view_for(act), methods=[act.method.upper()])

    @routes.post("/claims/check")
    @needs(Right.COMMENT)
    def check() -> Response:
        try:
            desk.claims_of(forms.ClaimEdit.read(json_object()))
        except FormError as error:
            return json_response({"conforms": False, "faults": fault_values(error)})
        return json_response({"conforms": True, "faults": []})

    return routes


def _read(model: type[forms.Form], more: dict[str, str], key: str = "") -> Any:
    body = json_object()
    if key and not body.get("key"):
        more = more | {"key": content_hash(key)}
    return model.read(body | more)


def _values(desk: Desk, result: Result) -> dict[str, Any]:
    if isinstance(result, Change):
        return change_values(desk, result)
    if isinstance(result, BatchResult):
        made = [change_values(desk, change) for change in result.made]
        foreseen = [asdict(preview) for preview in result.foreseen]
        return {"changes": made, "stale": list(result.stale), "foreseen": foreseen}
    return {"changes": [change_values(desk, change) for change in result]}


def read_routes(pages: PageCache, desk: Desk, live: LiveQueue) -> Blueprint:
    """Serve what the desks show: the account, the queue, a claim, a concept."""
    routes, reader = Blueprint("curation_reads", __name__, url_prefix=API), pages.reader

    @routes.get("/me")
    @needs(Right.READ)
    def me() -> Response:
        mine = person()
        return json_response({"name": mine.name, "role": mine.role.value, "school": mine.school})

    @routes.get("/claims")
    @needs(Right.READ)
    def claims() -> Response:
        start, count = _span()
        page = live().page(person().name, Filter.of(request.args), start, count)
        found = [
            {**_claim(view), **asdict(item), "version": version_of(desk.store, item.claim)}
            for item in page.items
            if (view := load_claim_view(reader(), item.claim))
        ]
        return json_response({"total": page.total, "from": page.offset, "claims": found})

    @routes.get("/claims/<path:name>")
    @needs(Right.READ)
    def claim(name: str) -> Response:
        iri = f"{ID}claim/{name}"
        view = load_claim_view(reader(), iri)
        if view is None:
            raise NotFound(f"there is no claim {name[:80]}")
        now, text = desk.decisions.assess(iri), live.opinions.of(iri).values()
        reviews = [{"who": e.who, "agreement": e.agreement, "when": e.when} for e in text]
        more = {"version": now.version, "safety": now.safety, "waits": now.outcome.waits}
        more["waiting"] = [_evidence(each) for each in list_waiting_evidence(reader(), desk, iri)]
        return json_response(_claim(view) | more | {"reviews": reviews})

    @routes.get("/concepts/<path:name>")
    @needs(Right.READ)
    def concept(name: str) -> Response:
        entry = desk.concept(name)
        values = {key: value for key, value in asdict(entry).items() if key != "place"}
        version = version_of(desk.store, entry.iri.value)
        return json_response(values | {"iri": entry.iri.value, "version": version})

    return routes


def list_routes(pages: PageCache, desk: Desk) -> Blueprint:
    """Serve the lists of the other desks: mappings, changes, quarantine, reports, proposals."""
    routes, store, reader = (
        Blueprint("curation_lists", __name__, url_prefix=API),
        desk.store,
        pages.reader,
    )

    @routes.get("/mappings")
    @needs(Right.READ)
    def list_claims() -> Response:
        start, count = _span()
        status = request.args.get("status", "candidate")
        about = forms.full_iri(request.args.get("about", ""))
        results = mappings.list_mappings(store, status, start, count, about)
        rows = [
            {"mapping": each.iri, "status": each.status, "version": version_of(store, each.iri)}
            | dict(each.row.cells)
            for each in results
        ]
        return json_response({"mappings": rows, "counts": mappings.counts(store)})

    @routes.get("/history")
    @needs(Right.READ)
    def history() -> Response:
        before = count_field("before", request.args.get("before"), 0, 10**9) or 0
        changes = desk.writing().latest(_span()[1], before)
        return json_response({"changes": [_change(reader(), desk, each) for each in changes]})

    @routes.get("/changes/<int:number>")
    @needs(Right.READ)
    def change(number: int) -> Response:
        found = desk.writing().find_change(number)
        if found is None:
            raise NotFound(f"there is no change {number}")
        lines = list_lines(reader(), found.removed, found.added)
        shown = [
            {
                "property": line.what.label,
                "removed": line.went.label if line.went else None,
                "added": line.came.label if line.came else None,
            }
            for line in lines
        ]
        return json_response(_change(reader(), desk, found) | {"lines": shown})

    @routes.get("/quarantine")
    @needs(Right.READ)
    def present() -> Response:
        start, count = _span()
        chosen = {name: request.args.get(name, "")[:500] for name in ("relation", "reason")}
        found_claims = quarantine.list_quarantined(store, **chosen, start=start, count=count)
        claims = [
            _claim(reader().claim(claim.stored.iri, claim.stored.home))
            | {"reasons": claim.reasons(choose_language()), "passage": claim.passage}
            | {"version": version_of(store, claim.stored.iri.value)}
            for claim in found_claims
        ]
        return json_response({"claims": claims})

    @routes.get("/feedback")
    @needs(Right.READ)
    def reports() -> Response:
        everything = request.args.get("show") == "all"
        found_reports = feedback.reports(store, everything=everything)
        return json_response({"reports": [asdict(report) for report in found_reports]})

    @routes.get("/proposals")
    @needs(Right.READ)
    def list_proposals() -> Response:
        found = islice(proposals.proposals(store), _MOST)
        return json_response({"proposals": [asdict(proposal) for proposal in found]})

    return routes


def _span() -> tuple[int, int]:
    """Return where a list begins and how long it is."""
    start = count_field("from", request.args.get("from"), 0, 10_000_000) or 0
    return start, count_field("limit", request.args.get("limit"), 1, _MOST) or 25


def _claim(view: ClaimView) -> dict[str, Any]:
    """Return a claim with its evidence as JSON."""
    parts = {name: _thing(getattr(view, name)) for name in ("subject", "predicate", "object")}
    evidence = [_evidence(each) for each in view.evidence]
    named = {"claim": view.iri, "polarity": view.polarity, "status": view.status}
    return named | parts | {"confidence": view.confidence, "evidence": evidence}


def _evidence(view: EvidenceView) -> dict[str, Any]:
    source = view.source
    return {
        "evidence": view.iri,
        "source": {"iri": source.iri, "title": source.title, "tier": source.tier},
        "kind": view.kind,
        "locator": view.locator,
        "quote": view.quote,
        "weight": view.confidence,
        "qualifiers": dict(view.qualifiers),
        "notes": list(view.notes),
    }


def _thing(thing: Thing) -> dict[str, str]:
    return {"iri": thing.iri, "label": thing.label, "other": thing.other}


def _change(reader: Reader, desk: Desk, change: Change) -> dict[str, Any]:
    names = ("iri", "number", "kind", "who", "when", "reason", "reverses")
    values = {name: getattr(change, name) for name in names}
    about = [{"iri": e, "label": reader.premise(NamedNode(e)).label} for e in change.about[:50]]
    live = desk.writing().is_live(change)
    return values | {"about": about, "title": change_title(reader, change), "live": live}
