"""A question as a page asks it, and the page of its answer."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final
from urllib.parse import urlencode

from flask import Response, current_app, render_template, request, stream_with_context, url_for
from werkzeug.datastructures import MultiDict

from shiyi.answering.conversation import Context, Turn
from shiyi.answering.telling import Listener
from shiyi.errors import ShiyiError
from shiyi.model.profile import Profile
from shiyi.server.answer_view import answer_view
from shiyi.server.inputs import (
    context_field,
    count_field,
    dropped_field,
    language_field,
    method_field,
    profile_of_form,
    text_field,
)  # fmt: skip
from shiyi.server.kept import Kept
from shiyi.server.problems import problem_of
from shiyi.server.site import Site
from shiyi.server.wording import Catalogue, catalogue

_FORM: Final = (
    "age", "sex", "pregnant", "lactating", "medicines", "allergies", "conditions", "constitution",
    "avoids", "method", "k", "lang",
)  # fmt: skip
_HERE: Final = "<!-- the answer -->"  # in the template


def answered_page(answer: partial[Turn], kept: Kept, form: Mapping[str, str]) -> Response:
    """Send the head of the page at once, and the answer when it is there."""
    question = str(answer.keywords["question"])
    page = render_template("ask.html", question=question, form=form)
    head, _, tail = page.partition(_HERE)

    def parts() -> Iterator[str]:
        yield head
        try:
            yield answer_part(answer(), kept, form, "ask_answer.html")
        except ShiyiError as fault:  # the status is sent; the page still says what went wrong
            current_app.logger.error("%s: %s", type(fault).__name__, fault)
            again = request.full_path
            yield render_template("ask_fault.html", fault=problem_of(fault), again=again)
        yield tail

    response = Response(stream_with_context(parts()), content_type="text/html; charset=utf-8")
    response.headers["X-Accel-Buffering"] = "no"  # a proxy must not hold the head back
    return response


def answer_part(
    turn: Turn, kept: Kept, form: Mapping[str, str], template: str = "ask_main.html"
) -> str:
    """Show an answer, as the main part of a page; what came before travels in it."""
    answer = turn.answer
    reader = kept.reader(answer.language)
    paths = Catalogue.load(answer.language)("ask.paths")
    view = answer_view(answer, reader, catalogue()("ask.citation"), paths)
    said = {key: form[key] for key in _FORM if form.get(key)} | {"q": answer.question}
    before = form.get("context", "")
    said |= {"context": before} if before else {}
    context = json.dumps(turn.context.to_json(), ensure_ascii=False, separators=(",", ":"))
    address = url_for("api.answer_json") + "?" + urlencode(said)
    return render_template(
        template, view=view, answer=answer, question=answer.question, form=form,
        json_address=address, context=context, earlier=turn.context.questions[:-1],
        held=turn.context.profile.held(),
    )  # fmt: skip


def asked(site: Site) -> partial[Turn]:
    """Read the question of the query string, or the replies to what was asked back, and profile.

    Gives what answers it, when called; raises UsageError and its kin for what cannot be asked.
    """
    args = request.args
    limit = site.settings.answer.max_question_chars
    return partial(
        turn_of, site,
        question=text_field("q", question_and_replies(site, args), limit),
        context=context_field(args.get("context")),
        method=method_field(args.get("method"), site.methods),
        language=language_field(args.get("lang")),
        k=count_field("k", args.get("k"), 1, 100),
        profile=profile_of_form(args),
        dropped=dropped_field(args.getlist("drop")),
    )  # fmt: skip


def question_and_replies(site: Site, args: MultiDict[str, str]) -> str | None:
    """Give the replies alone where the context holds the question, else both, else the question."""
    said = args.get("q")
    replies = [each for each in args.getlist("reply") if each.strip()]
    if not replies:
        return said
    continues = args.get("context") and site.converse is not None
    return "\n".join(replies if continues else [str(said), *replies])


def turn_of(
    site: Site, question: str, context: Context | None, *, method: str, language: str | None,
    k: int | None, profile: Profile, listener: Listener | None = None,
    dropped: frozenset[tuple[str, str]] = frozenset(),
) -> Turn:  # fmt: skip
    """Answer a question, in the light of what came before where a conversation is offered.

    What is ``dropped`` is no longer held of the asker, for this question and those after it.
    """
    before, profile = (context or Context()).without(dropped), profile.without(dropped)
    if site.converse is not None:
        turn = site.converse(
            question, before, method=method, language=language, k=k, profile=profile,
            listener=listener,
        )  # fmt: skip
        return Turn(turn.answer, turn.context.without(dropped)) if dropped else turn
    answer = site.ask(question, method=method, language=language, k=k, profile=profile)
    return Turn(answer, Context((question,), answer.follow_up, profile))
