"""Blueprint of the desks."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from flask import Blueprint, Response, flash, redirect, render_template, request, session
from werkzeug.exceptions import NotFound, TooManyRequests
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation import feedback, quarantine
from shiyi.curation.accounts import LONGEST, SHORTEST, Person, Right, Role, code_step, matches
from shiyi.curation.bundles import export_bundle, import_bundle, public_of, read_bundle, signing_key
from shiyi.curation.changes import parse_iri, version_of
from shiyi.errors import StaleError, UsageError
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode
from shiyi.server.curating.claims import claim_routes, progress_routes, queue_routes
from shiyi.server.curating.editor import edit_routes
from shiyi.server.curating.history import after_routes, history_routes
from shiyi.server.curating.mappings import mapping_routes
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.curating.session import PREFIX, begin, needs, person
from shiyi.server.curating.sign_in import Lockout, oidc_routes, sign_in_routes
from shiyi.server.curating.vocabulary import proposal_routes, vocabulary_routes
from shiyi.server.http.access import client_network
from shiyi.server.http.messages import count_field, text_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, chosen_language
from shiyi.server.site.curation import Curation
from shiyi.server.site.site import Site
from shiyi.server.site.visibility import for_readers

SHOWN = 20  # claims of one page
_BATCH = 100  # claims that one form settles


def quarantine_routes(site: Site, pages: PageCache, curation: Curation) -> Blueprint:
    """Serve ``/curate/quarantine``."""
    routes = Blueprint("quarantine", __name__, url_prefix=PREFIX)
    store = site.store

    @routes.get("/quarantine")
    @needs(Right.READ)
    def desk() -> str:
        page = count_field("page", request.args.get("page"), 1, 100_000) or 1
        relation, reason = request.args.get("relation", ""), request.args.get("reason", "")
        start = (page - 1) * SHOWN
        result = quarantine.list_quarantined(store, relation[:100], reason[:500], start, SHOWN + 1)
        reader, language = pages.reader(chosen_language()), chosen_language()
        return render_template(
            "curate/quarantine.html",
            found=[
                (
                    each,
                    reader.claim(each.stored.iri, each.stored.home),
                    marked(each),
                    version_of(store, each.stored.iri.value),
                )
                for each in result[:SHOWN]
            ],
            more=len(result) > SHOWN,
            page=page,
            relation=relation,
            reason=reason,
            relations=quarantine.relations(store).most_common(),
            key=uuid4().hex,
            reasons=quarantine.reasons(store, language).most_common(30),
        )

    @routes.post("/quarantine")
    @needs(Right.REVIEW)
    def settle() -> BaseResponse:
        names = request.form.getlist("claim")
        if not names:
            raise UsageError(catalogue()("quarantine.none_chosen"))
        if len(names) > _BATCH:
            raise UsageError(f"at most {_BATCH} claims are settled at once")
        seen = dict(each.rpartition("=")[::2] for each in request.form.getlist("version"))
        cause, key = request.form.get("reason", ""), request.form.get("key", "")
        writing = curation.writing
        with writing.writer.turn():
            edits = [
                quarantine.reject_claim(
                    store, ID + name, cause, seen.get(name, ""), key and f"{key} {name}"
                )
                for name in names
                if not (key and writing.of_key(f"{key} {name}"))
            ]
            try:
                created = writing.make_all(edits, person().name) if edits else ()
            except StaleError as fault:
                raise UsageError(str(fault)) from fault
        flash(catalogue()("quarantine.rejected", n=len(created)))
        return redirect(f"{PREFIX}/quarantine")

    return routes


def marked(stored: quarantine.QuarantinedClaim) -> tuple[str, str, str]:
    """Part a passage into what stands before its quote, the quote, and what follows."""
    quote = next((e.quote for e in stored.stored.claim.evidence if e.quote and e.passage), "")
    before, result, after = stored.passage.partition(quote) if quote else (stored.passage, "", "")
    return before, result, after


def bundle_routes(site: Site, curation: Curation) -> Blueprint:
    """Serve ``/curate/reviews.jsonl`` and ``/curate/import``."""
    routes = Blueprint("bundles", __name__, url_prefix=PREFIX)
    kb = curation.audit.path.parent

    @routes.get("/reviews.jsonl")
    @needs(Right.APPROVE)
    def take_out() -> Response:
        changes = curation.writing
        results = [each for n in range(1, changes.last + 1) if (each := changes.numbered(n))]
        body = b"".join(export_bundle(results, kb, site.release))
        curation.audit.note("reviews exported", person().name, changes=str(len(results)))
        response = Response(body, content_type="application/jsonl; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="shiyi-reviews.jsonl"'
        return response

    @routes.post("/import")
    @needs(Right.APPROVE)
    def take_in() -> BaseResponse:
        sent = request.files.get("bundle")
        if sent is None:
            raise UsageError(catalogue()("curate.choose_bundle"))
        own = public_of(signing_key(kb))
        results = read_bundle(sent.read(), [own, request.form.get("key", "").strip()])
        result = import_bundle(curation.writing, results)
        curation.audit.note("reviews imported", person().name, changes=str(result.made))
        flash(
            catalogue()(
                "curate.imported", made=result.made, known=result.known, refused=len(result.refused)
            )
        )
        return redirect(f"{PREFIX}/history")

    return routes


EACH: Final = 5  # reports from one address in an hour
ALL: Final = 300  # reports in an hour from everywhere, so that a flood ends
_HOUR: Final = 3600.0
_REMEMBERED: Final = 20_000


class Patience:
    """Counts reports by address, in memory; addresses are stored nowhere else."""

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


def feedback_routes(site: Site, pages: PageCache, curation: Curation) -> Blueprint:
    """Serve ``/curate/report`` for readers and ``/curate/feedback`` for curators."""
    routes, patience = Blueprint("feedback", __name__, url_prefix=PREFIX), Patience()
    readers = for_readers(site)
    shown = PageCache(readers)

    @routes.get("/report")
    @needs(Right.OPEN)
    def form() -> str:
        about = _about(readers, request.args.get("about", ""))
        thing = shown.reader(chosen_language()).premise(about)
        return render_template(
            "curate/report.html",
            about=about.value.removeprefix(ID),
            thing=thing,
            kinds=feedback.KINDS,
            takes=curation.changes is not None,
            most=feedback.LONGEST,
        )

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
        patience.take(client_network(request.remote_addr))
        feedback.file_report(writing, about.value, request.form.get("kind", "other"), words)
        return render_template("curate/reported.html", thing=thing)

    @routes.get("/feedback")
    @needs(Right.READ)
    def desk() -> str:
        everything = request.args.get("show") == "all"
        reader = pages.reader(chosen_language())
        result = feedback.reports(site.store, everything=everything)
        return render_template(
            "curate/feedback.html",
            everything=everything,
            key=uuid4().hex,
            found=[(each, reader.premise(NamedNode(each.about))) for each in result],
        )

    @routes.post("/feedback")
    @needs(Right.REVIEW)
    def answer() -> BaseResponse:
        does = request.form.get("action", "")
        if does not in {"right", "not-right"}:
            raise UsageError("a report is answered as right or as not right")
        name = request.form.get("report", "")
        if not name.removeprefix("report/").isalnum():
            raise UsageError("there is no such report")
        edit = feedback.answer_report(
            site.store,
            ID + name,
            does == "right",
            request.form.get("reason", ""),
            request.form.get("key", ""),
        )
        change = curation.writing.make(edit, person().name)
        flash(catalogue()("edit.saved", n=change.number))
        return redirect(f"{PREFIX}/feedback")

    return routes


def _about(site: Site, name: str) -> NamedNode:
    iri = name if name.startswith(ID) else ID + name
    try:
        node = parse_iri(iri)
    except UsageError as fault:
        raise NotFound("nothing has such a name") from fault
    if iri == ID or not feedback.is_known(site.store, iri):
        raise NotFound("there is nothing of that name to report on")
    return node


_CODE: Final = "totp"


def account_routes(curation: Curation, lockout: Lockout) -> Blueprint:
    """Serve ``/curate/account``."""
    routes = Blueprint("account", __name__, url_prefix=PREFIX)
    people, audit = curation.people, curation.audit

    @routes.get("/account")
    @needs(Right.READ)
    def account() -> str:
        import pyotp

        secret = str(session.setdefault(_CODE, pyotp.random_base32()))
        address = pyotp.TOTP(secret).provisioning_uri(name=person().name, issuer_name="Shiyi")
        return render_template(
            "curate/account.html", secret=secret, address=address, shortest=SHORTEST
        )

    @routes.post("/account/password")
    @needs(Right.READ)
    def password() -> BaseResponse:
        mine = person()
        _same_person(lockout, mine)
        value = request.form.get("new", "")
        if value != request.form.get("again", ""):
            raise UsageError(catalogue()("curate.passwords_differ"))
        begin(people.set_password(mine.name, value))
        audit.note("password changed", mine.name, address=request.remote_addr or "")
        flash(catalogue()("curate.password_changed"))
        return redirect(f"{PREFIX}/account")

    @routes.post("/account/code")
    @needs(Right.READ)
    def code() -> BaseResponse:
        mine = person()
        _same_person(lockout, mine)
        if mine.secret:
            changed = people.set_secret(mine.name, "")
        else:
            secret = str(session.get(_CODE, ""))
            if (
                not secret
                or code_step(secret, request.form.get("code", ""), datetime.now(UTC)) is None
            ):
                raise UsageError(catalogue()("curate.wrong_code"))
            changed = people.set_secret(mine.name, secret)
        begin(changed)
        what = "second factor on" if changed.secret else "second factor off"
        audit.note(what, mine.name, address=request.remote_addr or "")
        flash(catalogue()("curate.code_on" if changed.secret else "curate.code_off"))
        return redirect(f"{PREFIX}/account")

    return routes


def _same_person(lockout: Lockout, mine: Person) -> None:
    """Ask for the password again before what a borrowed browser must not do."""
    address = request.remote_addr or ""
    lockout.check(mine.name, address)
    if mine.hashed and not matches(mine.hashed, request.form.get("password", "")[:LONGEST]):
        lockout.wrong(mine.name, address)
        raise UsageError(catalogue()("curate.wrong_password"))


def people_routes(curation: Curation) -> Blueprint:
    """Serve ``/curate/people`` and ``/curate/audit``."""
    routes = Blueprint("people", __name__, url_prefix=PREFIX)
    people, audit = curation.people, curation.audit

    @routes.get("/people")
    @needs(Right.ADMIN)
    def all_people() -> str:
        return render_template(
            "curate/people.html", people=people.all().values(), roles=[each.value for each in Role]
        )

    @routes.post("/people")
    @needs(Right.ADMIN)
    def add() -> BaseResponse:
        form = request.form
        created = people.add(
            form.get("name", "").strip(),
            Role.named(form.get("role", "")),
            form.get("password", ""),
            subject=form.get("subject", "").strip()[:500],
            school=form.get("school", "").strip()[:200],
        )
        audit.note("account made", person().name, whom=created.name, role=created.role)
        flash(catalogue()("curate.account_made", name=created.name))
        return redirect(f"{PREFIX}/people")

    @routes.post("/people/<name>")
    @needs(Right.ADMIN)
    def change(name: str) -> BaseResponse:
        form, does = request.form, request.form.get("does", "")
        if does == "role":
            changed = people.set_role(name, Role.named(form.get("role", "")))
        elif does == "password":
            changed = people.set_password(name, form.get("password", ""))
        elif does in {"close", "open"}:
            changed = people.set_active(name, does == "open")
        elif does == "code-off":
            changed = people.set_secret(name, "")
        else:
            raise UsageError("an account is changed by role, password, close, open or code-off")
        audit.note(f"account: {does}", person().name, whom=changed.name, role=changed.role)
        flash(catalogue()("curate.account_changed", name=changed.name))
        return redirect(f"{PREFIX}/people")

    @routes.get("/audit")
    @needs(Right.ADMIN)
    def log() -> str:
        return render_template("curate/audit.html", events=audit.last(300))

    return routes


@dataclass(frozen=True, slots=True)
class DeskLink:
    """An entry of the desks' navigation: where, the catalogue's key, and who sees it."""

    path: str
    key: str
    right: Right = Right.READ


DESKS: Final = (
    DeskLink("/curate/queue", "curate.queue"),
    DeskLink("/curate/quarantine", "curate.quarantine"),
    DeskLink("/curate/mappings", "curate.mappings"),
    DeskLink("/curate/vocabulary", "curate.vocabulary"),
    DeskLink("/curate/feedback", "curate.feedback"),
    DeskLink("/curate/history", "curate.history"),
    DeskLink("/curate/progress", "curate.progress"),
    DeskLink("/curate/people", "curate.people", Right.ADMIN),
    DeskLink("/curate/audit", "curate.audit", Right.ADMIN),
    DeskLink("/curate/account", "curate.account"),
)


def curating(site: Site, pages: PageCache, curation: Curation) -> Iterator[Blueprint]:
    """Yield the routes of every desk; each names the right it needs with ``needs``."""
    lockout = Lockout()
    yield sign_in_routes(curation, lockout)
    yield oidc_routes(curation)
    yield account_routes(curation, lockout)
    yield people_routes(curation)
    reviewing = Reviewing(site.store, curation)
    yield queue_routes(pages, reviewing)
    yield claim_routes(pages, reviewing)
    yield history_routes(pages, reviewing)
    yield after_routes(pages, reviewing)
    yield progress_routes(pages, reviewing)
    yield bundle_routes(site, curation)
    yield edit_routes(site, pages, curation)
    yield quarantine_routes(site, pages, curation)
    yield mapping_routes(site, pages, curation)
    yield feedback_routes(site, pages, curation)
    yield vocabulary_routes(site, pages, curation)
    yield proposal_routes(site, curation)
