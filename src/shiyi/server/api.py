"""The API for programs: ask, watch an answer appear, link a text, complete a word."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from flask import Blueprint, Response, request, stream_with_context
from werkzeug.exceptions import UnsupportedMediaType

from shiyi.answering.conversation import Context, Turn
from shiyi.answering.telling import Listener
from shiyi.errors import ShiyiError, UsageError
from shiyi.model.profile import Profile
from shiyi.server.again import lasts
from shiyi.server.asking import answer_part, question_and_replies, turn_of
from shiyi.server.inputs import (
    context_field,
    count_field,
    language_field,
    method_field,
    profile_of_form,
    text_field,
)  # fmt: skip
from shiyi.server.kept import Kept
from shiyi.server.metrics import Metrics
from shiyi.server.problems import problem_of
from shiyi.server.site import Site
from shiyi.server.telling import event, told
from shiyi.server.wording import chosen_language

_ASK_FIELDS: Final = ("question", "lang", "method", "k", "profile", "context", "history")
_LINK_CHARS: Final = 20_000
_OF_NOBODY: Final = frozenset({"q", "lang", "method", "k"})  # what says nothing of who asks
_TURNS: Final = 8


def api(site: Site, metrics: Metrics, kept: Kept) -> Blueprint:
    """Serve ``/api/ask``, ``/api/ask/stream``, ``/api/link`` and ``/api/complete``."""
    routes = Blueprint("api", __name__, url_prefix="/api")

    @routes.post("/ask")
    def ask() -> Response:
        said = body(_ASK_FIELDS)
        turn = _asked(site, said)
        return as_json(turn.answer.to_json() | {"context": turn.context.to_json()})

    @routes.get("/ask")
    def answer_json() -> Response:
        return _answer_at_address(site, kept)

    @routes.post("/ask/sparql")
    def in_sparql() -> Response:
        said = body(("question", "lang"))
        limit = site.settings.answer.max_question_chars
        question = text_field("question", said.get("question"), limit)
        language = language_field(said.get("lang"))
        if site.research is None:
            raise UsageError("no model is configured here that could write SPARQL: ask /api/ask")
        written = site.research(question, language)
        metrics.event("answers", "sparql" if written.answered else "abstained")
        return as_json(written.to_json())

    @routes.post("/ask/replay")
    def again() -> Response:
        said = body(("answer",)).get("answer")
        if site.replay is None or not isinstance(said, dict):
            raise UsageError('send {"answer": …}: the JSON that /api/ask gave')
        return as_json(site.replay(said).to_json())

    @routes.get("/ask/stream")
    def stream() -> Response:
        args = request.args
        said: dict[str, Any] = {
            "question": question_and_replies(site, args), "lang": args.get("lang"),
            "method": args.get("method"), "k": args.get("k"), "context": args.get("context"),
        }  # fmt: skip
        question = text_field("q", said["question"], site.settings.answer.max_question_chars)
        method_field(said["method"], site.methods)
        language_field(said["lang"])
        context_field(said["context"])
        profile = profile_of_form(args)
        events = _events(
            site, said | {"question": question}, profile, kept if _wants_page() else None
        )
        response = Response(
            stream_with_context(events), content_type="text/event-stream; charset=utf-8"
        )
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Accel-Buffering"] = "no"  # a proxy must not hold events back
        return response

    @routes.post("/link")
    def link() -> Response:
        said = body(("text", "lang"))
        text = text_field("text", said.get("text"), _LINK_CHARS)
        language = language_field(said.get("lang")) or chosen_language()
        return as_json({"mentions": [each.to_json(language) for each in site.link(text)]})

    @routes.get("/complete")
    def complete() -> Response:
        lasts(site.version())
        words = request.args.get("q", "").strip()
        limit = count_field("limit", request.args.get("limit"), 1, 50) or 10
        found = (
            site.complete(text_field("q", words, 200), chosen_language(), limit) if words else ()
        )
        return as_json(
            {
                "q": words,
                "completions": [
                    {
                        "iri": each.iri, "label": each.label, "label_zh": each.label_zh,
                        "label_en": each.label_en, "kind": each.kind, "matched": each.matched,
                    }
                    for each in found
                ],
            }
        )  # fmt: skip

    return routes


def body(fields: tuple[str, ...]) -> Mapping[str, Any]:
    """Read a JSON object with no field but ``fields``."""
    if not request.is_json:
        raise UnsupportedMediaType("send JSON, with Content-Type: application/json")
    try:
        said = json.loads(request.get_data())
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"the body is not JSON: {fault}") from fault
    if not isinstance(said, dict):
        raise UsageError('the body is a JSON object, such as {"question": "…"}')
    if unknown := sorted(str(key)[:40] for key in said if key not in fields):
        raise UsageError(f"there is no field {unknown[0]!r}; there are {', '.join(fields)}")
    return said


def as_json(value: object) -> Response:
    """Answer with JSON in which Chinese stays readable."""
    return Response(written(value), content_type="application/json")


def written(value: object) -> str:
    """Write JSON in which Chinese stays readable."""
    return json.dumps(value, ensure_ascii=False)


def _asked(
    site: Site,
    said: Mapping[str, Any],
    profile: Profile | None = None,
    listener: Listener | None = None,
) -> Turn:
    if profile is None:
        profile = Profile.from_json({} if said.get("profile") is None else said["profile"])
    return turn_of(
        site,
        text_field("question", said.get("question"), site.settings.answer.max_question_chars),
        _context(site, said),
        method=method_field(said.get("method"), site.methods),
        language=language_field(said.get("lang")),
        k=count_field("k", said.get("k"), 1, 100),
        profile=profile,
        listener=listener,
    )


def _answer_at_address(site: Site, kept: Kept) -> Response:
    """Answer a GET; what says nothing of who asks is kept, but for what a model wrote."""
    args = request.args
    said: dict[str, Any] = {"question": question_and_replies(site, args)}
    said |= {key: args.get(key) for key in ("lang", "method", "k", "context")}

    def made() -> str:
        turn = _asked(site, said, profile_of_form(args))
        return written(turn.answer.to_json() | {"context": turn.context.to_json()})

    lasts = site.research is None and args.keys() <= _OF_NOBODY
    if lasts:
        return kept.response(made, "application/json")
    return Response(made(), content_type="application/json")


def _context(site: Site, said: Mapping[str, Any]) -> Context | None:
    """Read what came before: the context of the last answer, or the earlier questions."""
    history = said.get("history")
    if history in (None, []):
        return context_field(said.get("context"))
    if said.get("context") or not isinstance(history, list) or len(history) > _TURNS:
        raise UsageError(f"send either context, or history: a list of up to {_TURNS} questions")
    limit = site.settings.answer.max_question_chars
    earlier = [text_field("history", each, limit) for each in history]
    return site.converse.after(earlier) if site.converse else None


def _wants_page() -> bool:
    return request.args.get("page") == "1"


def _events(
    site: Site, said: Mapping[str, Any], profile: Profile, kept: Kept | None
) -> Iterator[str]:
    try:
        mentions = site.link(str(said["question"]))
        language = str(said["lang"] or chosen_language())
        yield event("linked", [each.to_json(language) for each in mentions])
        turn = yield from told(lambda listener: _asked(site, said, profile, listener))
    except ShiyiError as fault:
        yield event("error", problem_of(fault))
        return
    answer = turn.answer
    sent = answer.to_json() | {"context": turn.context.to_json()}
    yield event("answer", sent)
    if kept is not None:
        shown = answer_part(turn, kept, request.args)
        yield event("page", {"html": shown, "title": answer.question[:60]})
