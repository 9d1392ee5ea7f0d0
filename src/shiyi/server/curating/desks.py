"""The desks: navigation, quarantine, reports of readers, bundles, accounts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from flask import Blueprint, Response, flash, redirect, render_template, request, session
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import LONGEST, SHORTEST, Account, Right, Role, code_step, matches
from shiyi.curation.bundles import (
    export_bundle,
    import_bundle,
    public_key,
    read_bundle,
    signing_key,
)
from shiyi.curation.changes import parse_iri, version_of
from shiyi.curation.desks import feedback, quarantine
from shiyi.curation.desks.desk import Desk
from shiyi.curation.desks.forms import Refusal, ReportAnswer
from shiyi.curation.desks.uploads import Uploads
from shiyi.errors import StaleError, UsageError
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode
from shiyi.server.api.curation import list_routes, read_routes, write_routes
from shiyi.server.curating.documents import document_api, document_routes
from shiyi.server.curating.editor import check_routes, edit_routes
from shiyi.server.curating.forms import parse_form, with_faults
from shiyi.server.curating.history import history_routes
from shiyi.server.curating.reviewing import LiveQueue, claim_routes, evidence_routes, queue_routes
from shiyi.server.curating.session import PREFIX, begin, needs, person
from shiyi.server.curating.sign_in import Lockout, oidc_routes, sign_in_routes
from shiyi.server.curating.vocabulary import mapping_routes, proposal_routes, vocabulary_routes
from shiyi.server.http.messages import count_field, text_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.http.rate_limit import Throttle, client_network
from shiyi.server.i18n import catalogue, choose_language
from shiyi.server.site.curation import Curation
from shiyi.server.site.site import Site
from shiyi.server.site.visibility import restrict_site
from shiyi.server.views.reader import Passages

SHOWN: Final = 20  # claims of one page
EACH: Final = 5  # reports from one address in an hour
ALL: Final = 300  # reports in an hour from everywhere, so that a flood ends
_HOUR: Final = 3600.0


def quarantine_routes(pages: PageCache, desk: Desk) -> Blueprint:
    """Serve ``/curate/quarantine``."""
    routes, store = Blueprint("quarantine", __name__, url_prefix=PREFIX), desk.store

    @routes.get("/quarantine")
    @needs(Right.READ)
    def list_page() -> str:
        page = count_field("page", request.args.get("page"), 1, 100_000) or 1
        chosen = {name: request.args.get(name, "")[:500] for name in ("relation", "reason")}
        start = (page - 1) * SHOWN
        claims = quarantine.list_quarantined(store, **chosen, start=start, count=SHOWN + 1)
        reader, language = pages.reader(), choose_language()
        return render_template(
            "curate/quarantine.html",
            found=[
                (
                    claim,
                    reader.claim(claim.stored.iri, claim.stored.home),
                    version_of(store, claim.stored.iri.value),
                )
                for claim in claims[:SHOWN]
            ],
            in_passage=Passages(store),
            more=len(claims) > SHOWN,
            page=page,
            chosen=chosen,
            relations=quarantine.relations(store).most_common(),
            reasons=quarantine.reasons(store, language).most_common(30),
        )

    @routes.post("/quarantine")
    @needs(Right.REVIEW)
    @with_faults(list_page)
    def settle() -> BaseResponse:
        try:
            changes = desk.refuse(person(), parse_form(Refusal))
        except StaleError as error:
            raise UsageError(str(error)) from error
        flash(catalogue()("quarantine.rejected", n=len(changes)))
        return redirect(f"{PREFIX}/quarantine")

    return routes


def bundle_routes(site: Site, curation: Curation) -> Blueprint:
    """Serve ``/curate/reviews.jsonl`` and ``/curate/import``."""
    routes = Blueprint("bundles", __name__, url_prefix=PREFIX)
    kb = curation.audit.path.parent

    @routes.get("/reviews.jsonl")
    @needs(Right.APPROVE)
    def take_out() -> Response:
        changes = curation.writable_changes
        found = [each for n in range(1, changes.last + 1) if (each := changes.find_change(n))]
        body = b"".join(export_bundle(found, kb, site.release))
        curation.audit.note("reviews exported", person().name, changes=str(len(found)))
        response = Response(body, content_type="application/jsonl; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="shiyi-reviews.jsonl"'
        return response

    @routes.post("/import")
    @needs(Right.APPROVE)
    def take_in() -> BaseResponse:
        file = request.files.get("bundle")
        if file is None:
            raise UsageError(catalogue()("curate.choose_bundle"))
        own = public_key(signing_key(kb))
        trusted = [own, request.form.get("trusted", "").strip()]
        made = import_bundle(curation.writable_changes, read_bundle(file.read(), trusted))
        curation.audit.note("reviews imported", person().name, changes=str(made.made))
        values = {"made": made.made, "known": made.known, "refused": len(made.refused)}
        flash(catalogue()("curate.imported", **values))
        return redirect(f"{PREFIX}/history")

    return routes


def feedback_routes(site: Site, pages: PageCache, desk: Desk) -> Blueprint:
    """Serve ``/curate/report`` for readers and ``/curate/feedback`` for curators."""
    routes = Blueprint("feedback", __name__, url_prefix=PREFIX)
    readers = restrict_site(site)
    cache = PageCache(readers)
    throttle = Throttle(_HOUR)

    @routes.get("/report")
    @needs(Right.OPEN)
    def form() -> str:
        about = _subject_name(readers, request.values.get("about", ""))
        return render_template(
            "curate/report.html",
            about=about.value.removeprefix(ID),
            thing=cache.reader().premise(about),
            kinds=feedback.KINDS,
            takes=site.curation is not None and site.curation.changes is not None,
            most=feedback.LONGEST,
        )

    @routes.post("/report")
    @needs(Right.OPEN)
    @with_faults(form)
    def report() -> str:
        about = _subject_name(readers, request.form.get("about", ""))
        if not request.form.get("website"):  # a field that people do not see
            text = catalogue()("feedback.words")
            words = text_field(text, request.form.get("words"), feedback.LONGEST)
            writing, network = desk.writing(), client_network(request.remote_addr)
            throttle.check(network, EACH)
            throttle.check(None, ALL)
            throttle.add(network, None)
            feedback.file_report(writing, about.value, request.form.get("kind", "other"), words)
        thing = cache.reader().premise(about)
        return render_template("curate/reported.html", thing=thing)

    @routes.get("/feedback")
    @needs(Right.READ)
    def list_page() -> str:
        everything = request.args.get("show") == "all"
        reader = pages.reader()
        reports = feedback.reports(site.store, everything=everything)
        return render_template(
            "curate/feedback.html",
            everything=everything,
            found=[(each, reader.premise(NamedNode(each.about))) for each in reports],
        )

    @routes.post("/feedback")
    @needs(Right.REVIEW)
    @with_faults(list_page)
    def answer() -> BaseResponse:
        change = desk.answer_report(person(), parse_form(ReportAnswer))
        flash(catalogue()("edit.saved", n=change.number))
        return redirect(f"{PREFIX}/feedback")

    return routes


def _subject_name(site: Site, name: str) -> NamedNode:
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
    @with_faults(account)
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
    @with_faults(account)
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


def _same_person(lockout: Lockout, mine: Account) -> None:
    """Ask for the password before what a borrowed browser must not do."""
    address, proof = request.remote_addr or "", "session"
    lockout.check(mine.name, address, proof)
    if mine.hashed and not matches(mine.hashed, request.form.get("password", "")[:LONGEST]):
        lockout.wrong(mine.name, address, proof)
        raise UsageError(catalogue()("curate.wrong_password"))


def people_routes(curation: Curation) -> Blueprint:
    """Serve ``/curate/people`` and ``/curate/audit``."""
    routes = Blueprint("people", __name__, url_prefix=PREFIX)
    people, audit = curation.people, curation.audit

    @routes.get("/people")
    @needs(Right.ADMIN)
    def all_people() -> str:
        return render_template(
            "curate/people.html", people=people.all().values(), roles=[role.value for role in Role]
        )

    @routes.post("/people")
    @needs(Right.ADMIN)
    @with_faults(all_people)
    def add() -> BaseResponse:
        form = request.form
        account = people.add(
            form.get("name", "").strip(),
            Role.from_name(form.get("role", "")),
            form.get("password", ""),
            subject=form.get("subject", "").strip()[:500],
            school=form.get("school", "").strip()[:200],
        )
        audit.note("account made", person().name, whom=account.name, role=account.role)
        flash(catalogue()("curate.account_made", name=account.name))
        return redirect(f"{PREFIX}/people")

    @routes.post("/people/<name>")
    @needs(Right.ADMIN)
    @with_faults(all_people)
    def change(name: str) -> BaseResponse:
        form, does = request.form, request.form.get("does", "")
        if does == "role":
            changed = people.set_role(name, Role.from_name(form.get("role", "")))
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
    DeskLink("/curate/documents", "curate.documents", Right.EDIT),
    DeskLink("/curate/mappings", "curate.mappings"),
    DeskLink("/curate/vocabulary", "curate.vocabulary"),
    DeskLink("/curate/feedback", "curate.feedback"),
    DeskLink("/curate/history", "curate.history"),
    DeskLink("/curate/progress", "curate.progress"),
    DeskLink("/curate/people", "curate.people", Right.ADMIN),
    DeskLink("/curate/audit", "curate.audit", Right.ADMIN),
    DeskLink("/curate/account", "curate.account"),
)


def desk_routes(site: Site, pages: PageCache, curation: Curation) -> Iterator[Blueprint]:
    """Yield the routes of every desk; each names the right it needs with ``needs``."""
    lockout, live = Lockout(), LiveQueue(site.store, curation)
    desk = Desk(
        site.store,
        lambda: curation.writable_changes,
        live,
        curation.checker,
        site.settings.confidence,
        site.settings.kb,
        site.settings.curation.second_reviewer == "all",
    )
    base = site.base if site.base and site.base.writes else None
    uploads = Uploads(base, site.settings) if base and not base.is_remote else None
    yield document_routes(site, pages, uploads)
    yield document_api(site, uploads)
    yield sign_in_routes(curation, lockout, live.prepare)
    yield oidc_routes(curation)
    yield account_routes(curation, lockout)
    yield people_routes(curation)
    yield queue_routes(pages, desk, live)
    yield claim_routes(pages, desk, live)
    yield evidence_routes(pages, desk, live)
    yield history_routes(pages, desk)
    yield bundle_routes(site, curation)
    yield edit_routes(site, pages, desk)
    yield check_routes(pages, desk)
    yield quarantine_routes(pages, desk)
    yield mapping_routes(pages, desk)
    yield feedback_routes(site, pages, desk)
    yield vocabulary_routes(site, pages, desk)
    yield proposal_routes(desk)
    yield write_routes(pages, desk)
    yield read_routes(pages, desk, live)
    yield list_routes(pages, desk)
