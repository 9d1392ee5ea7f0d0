"""The desk where documents are handed in: what was read, and what the gate withheld and why."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

from flask import Blueprint, Response, redirect, render_template, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.curation.accounts import Right
from shiyi.curation.desks.uploads import LARGEST, Columns, LinkedNames, Upload, Uploads
from shiyi.curation.editing.fields import ShapeForms
from shiyi.errors import KnowledgeBaseError, UsageError
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import NamedNode
from shiyi.server.curating.forms import parse_form, with_faults
from shiyi.server.curating.session import API, PREFIX, needs, person
from shiyi.server.http.access import request_digest, request_key
from shiyi.server.http.messages import json_object, json_response
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue
from shiyi.server.site.site import Site, Suggestion
from shiyi.server.views.reader import ACCEPTED, Reader

PATH: Final = f"{PREFIX}/documents"
_GROUPS: Final = 40  # words without a concept that a page lists
_NEAR, _FEW, _LONGEST = 12, 4, 200  # concepts looked at and shown for each; characters


def document_routes(site: Site, pages: PageCache, uploads: Uploads | None) -> Blueprint:
    """Serve ``/curate/documents``: handing in, and the page of each document."""
    routes = Blueprint("documents", __name__, url_prefix=PREFIX)

    @routes.get("/documents")
    @needs(Right.EDIT)
    def list_documents() -> str:
        return render_template("curate/documents.html", found=list(uploads or ()), most=LARGEST)

    @routes.post("/documents")
    @needs(Right.EDIT)
    @with_faults(list_documents)
    def hand_in() -> BaseResponse:
        return redirect(f"{PATH}/{_handed_in(_open_uploads(uploads)).id}", code=303)

    @routes.get("/documents/<name>")
    @needs(Right.EDIT)
    def document(name: str) -> str:
        upload = _find_upload(uploads, name)
        reader = pages.reader()
        choosing = upload.is_table and upload.state == "waiting"
        return render_template(
            "curate/document.html",
            upload=upload,
            table=upload.rows() if choosing else None,
            relations=_relations(reader) if choosing else (),
            named=lambda iri: reader.premise(NamedNode(iri)).label if "://" in iri else iri,
            unlinked=_list_unlinked(site, upload),
            is_accepted=lambda iri: reader.home_of_claim(NamedNode(iri)) == ACCEPTED,
            relation=lambda name: reader.thing(NamedNode(VOCAB + name)).label,
        )

    def again() -> str:
        """Show the document with what is wrong beside its form."""
        return document((request.view_args or {})["name"])

    @routes.post("/documents/<name>")
    @needs(Right.EDIT)
    @with_faults(again)
    def choose(name: str) -> BaseResponse:
        upload = _find_upload(uploads, name)
        _open_uploads(uploads).start(upload, parse_form(Columns))
        return redirect(f"{PATH}/{name}", code=303)

    @routes.post("/documents/<name>/names")
    @needs(Right.EDIT)
    @with_faults(again)
    def link(name: str) -> BaseResponse:
        upload = _find_upload(uploads, name)
        _open_uploads(uploads).link(upload, LinkedNames.read(_chosen_names()))
        return redirect(f"{PATH}/{name}", code=303)

    return routes


def document_api(site: Site, uploads: Uploads | None) -> Blueprint:
    """Serve ``/api/curation/documents``."""
    routes = Blueprint("document_api", __name__, url_prefix=API)

    def once(make: Callable[[], Upload]) -> Upload:
        key = request_key(f"desk:{person().name}")
        return _open_uploads(uploads).once(key, request_digest(), make) if key else make()

    @routes.get("/documents")
    @needs(Right.EDIT)
    def list_documents() -> Response:
        return json_response({"documents": [_values(each) for each in uploads or ()]})

    @routes.post("/documents")
    @needs(Right.EDIT)
    def hand_in() -> Response:
        upload = once(lambda: _handed_in(_open_uploads(uploads)))
        return Response(json_response(_values(upload)).data, 202, content_type="application/json")

    @routes.get("/documents/<name>")
    @needs(Right.EDIT)
    def document(name: str) -> Response:
        upload = _find_upload(uploads, name)
        near = [asdict(each) for each in _list_unlinked(site, upload)]
        return json_response(_values(upload, whole=True) | {"unlinked": near})

    @routes.post("/documents/<name>/columns")
    @needs(Right.EDIT)
    def choose(name: str) -> Response:
        known, columns = _find_upload(uploads, name), Columns.read(json_object())
        return json_response(_values(once(lambda: _open_uploads(uploads).start(known, columns))))

    @routes.post("/documents/<name>/names")
    @needs(Right.EDIT)
    def link(name: str) -> Response:
        known, names = _find_upload(uploads, name), LinkedNames.read(json_object())
        return json_response(_values(once(lambda: _open_uploads(uploads).link(known, names))))

    return routes


@dataclass(frozen=True, slots=True)
class NearNames:
    """Words of a table that name no concept, where they stand, and concepts of like names."""

    role: str
    words: str
    rows: tuple[int, ...]
    near: tuple[Suggestion, ...]


def _list_unlinked(site: Site, upload: Upload) -> list[NearNames]:
    """List the words that name no concept, with concepts which the relation may have there."""
    if upload.table is None or upload.state != "done":
        return []
    rule = upload.table.claims[0]
    kinds = {"subject": rule.subject_kinds, "object": rule.object_kinds}
    found = []
    for (role, words), rows in islice(upload.unlinked.items(), _GROUPS):
        near = site.complete(words[:_LONGEST], rule.language, _NEAR) if words else ()
        fitting = tuple(each for each in near if each.kind in kinds[role])[:_FEW]
        found.append(NearNames(role, words, tuple(sorted(rows)), fitting))
    return found


def _chosen_names() -> dict[str, Any]:
    """Return the names of the form: what was typed, else the near concept that was chosen."""
    form, names = request.form, []
    for at in range(_GROUPS):
        if concept := form.get(f"concept-{at}", "").strip() or form.get(f"near-{at}", ""):
            words = {"role": form.get(f"role-{at}", ""), "words": form.get(f"words-{at}", "")}
            names.append(words | {"concept": concept})
    return {"names": names, "key": form.get("key", "")}


def _open_uploads(uploads: Uploads | None) -> Uploads:
    if uploads is None:
        raise KnowledgeBaseError("this server takes no documents; its base is open for reading")
    return uploads


def _handed_in(uploads: Uploads) -> Upload:
    file = request.files.get("file")
    if file is None or not file.filename:
        raise UsageError(catalogue()("documents.choose"))
    return uploads.store(person().name, file.filename, file.read())


def _find_upload(uploads: Uploads | None, name: str) -> Upload:
    upload = uploads.get(name) if uploads else None
    if upload is None:
        raise NotFound("there is no such document; this server forgets them when it restarts")
    return upload


def _relations(reader: Reader) -> list[tuple[str, str]]:
    """List the relations that things have, each with its label, in the order of the labels."""
    forms = ShapeForms.load()
    names = forms.relations(forms.schema.parents)
    named = ((name, reader.thing(NamedNode(VOCAB + name)).label) for name in names)
    return sorted(named, key=lambda pair: pair[1])


def _values(upload: Upload, *, whole: bool = False) -> dict[str, Any]:
    names = ("id", "name", "person", "when", "state", "fault")
    values: dict[str, Any] = {name: getattr(upload, name) for name in names}
    values["report"] = upload.report.to_json()
    if upload.is_table and upload.state == "waiting":
        values["columns"] = list(upload.rows()[0])
    if whole:
        values["claims"] = [asdict(each) for each in upload.read]
        for claim in values["claims"]:
            claim["withheld"] = [{"zh": zh, "en": en} for zh, en in claim.pop("faults")]
    return values
