"""Requests of the JSON API and of the question form, and how they are answered."""

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from flask import request
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from werkzeug.datastructures import MultiDict

from shiyi.answering import conversation, pipeline
from shiyi.answering.conversation import Turn
from shiyi.answering.generation.rewriter import Listener
from shiyi.answering.sections import cabinet
from shiyi.answering.sections.pivots import Pivots
from shiyi.errors import FormatError, ShiyiError, TooLargeError, UsageError
from shiyi.model import profile as profiles
from shiyi.server.http.messages import text_field
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import LANGUAGES
from shiyi.server.site.site import Site

_CONTEXT_CHARS: Final = 40_000
_TURN: Final = 40_000  # bytes that an answer takes in memory: 33,000 on average
_SEPARATORS: Final = re.compile(r"[,，、;；\n]")
_LISTS: Final = ("medicines", "allergies", "conditions", "avoids")
Model = TypeVar("Model", bound=BaseModel)


def _question(value: str, info: ValidationInfo[Site]) -> str:
    limit: int = info.context.settings.answer.max_question_chars
    return text_field(str(info.field_name), value, limit)


def _method(value: str, info: ValidationInfo[Site]) -> str:
    methods: tuple[str, ...] = info.context.methods
    if value not in methods:
        raise FormatError("method", value, methods)
    return value


def _context(value: object) -> object:
    """Parse the context where it comes as text, in an address or a form."""
    if not isinstance(value, str):
        return value
    if len(value) > _CONTEXT_CHARS:
        raise TooLargeError("context", len(value), _CONTEXT_CHARS)
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"context is not JSON: {fault}") from fault


def _text(value: str, info: ValidationInfo) -> str:
    return text_field(str(info.field_name), value, len(value))


Question = Annotated[str, AfterValidator(_question), Field(json_schema_extra={"minLength": 1})]
Language = Literal["zh", "en"]
Name = Annotated[str, Field(max_length=200)]
Names = Annotated[list[Name], Field(max_length=50)]
Iri = Annotated[str, Field(json_schema_extra={"format": "iri"})]
IriReference = Annotated[str, Field(json_schema_extra={"format": "iri-reference"})]  # or empty
Share = Annotated[float, Field(ge=0, le=1)]


class Request(BaseModel):
    """A JSON object with no fields but these; null and the empty text count as absent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        optional = {name for name, item in cls.model_fields.items() if not item.is_required()}
        return {k: v for k, v in values.items() if k not in optional or v not in (None, "")}


class Profile(Request):
    """The person a question is for; what is absent is unknown."""

    age: float | None = Field(None, ge=0, le=130, allow_inf_nan=False, examples=[34])
    sex: Literal["female", "male", "other"] | None = None
    pregnant: bool | None = None
    lactating: bool | None = None
    medicines: Names = Field([], examples=[["warfarin"]])
    allergies: Names = []
    conditions: Names = []
    constitution: Name | None = None
    avoids: Names = Field([], description="Foods that the person leaves out")

    def to_value(self) -> profiles.Profile:
        """Return the profile as a value."""
        return profiles.Profile.from_json(self.model_dump(exclude_unset=True))


class Context(Request):
    """The context of an answer, to be sent with the next question; the server stores none."""

    questions: list[str] = []
    asked: list[str] = []
    profile: Profile | None = None
    frame: dict[str, Any] | None = Field(None, description="How the question before was read")
    offers: list[str] = Field([], description="What the answer before suggested, as IRIs")

    def to_value(self) -> conversation.Context:
        """Return the context as a value."""
        return conversation.Context.from_json(self.model_dump(exclude_unset=True))


class AskRequest(Request):
    """A question, with what is known of the person and of the conversation."""

    question: Question = Field(examples=["Can I take ginkgo with warfarin?", "失眠吃什么好？"])
    lang: Language | None = Field(None, description="Default: the language of the question")
    method: Annotated[str, AfterValidator(_method)] | None = None
    k: int | None = Field(None, ge=1, le=100, description="Reasoning paths to return")
    profile: Profile | None = None
    evidence: Literal["any", "opened"] | None = None
    school: Name | None = Field(None, description="One of those that /healthz lists")
    overlay: Literal["general", "school", "both"] | None = None
    context: Annotated[Context | None, BeforeValidator(_context)] = None
    history: list[Question] = Field(
        [], max_length=8, description="Earlier questions, oldest first, instead of context"
    )

    @model_validator(mode="after")
    def _check_context(self) -> "AskRequest":
        if self.history and self.context is not None:
            raise UsageError("send either context or history, not both")
        return self

    @property
    def person(self) -> profiles.Profile:
        """Return the person that the question is for."""
        return self.profile.to_value() if self.profile else profiles.Profile()


class SparqlQuestion(Request):
    """A question for which the configured model writes SPARQL."""

    question: Question
    lang: Language | None = None


class ReplayRequest(Request):
    """An earlier answer."""

    answer: dict[str, Any] = Field(description="The JSON of an answer of /api/ask")


class LinkRequest(Request):
    """A text in which mentions of concepts are looked for."""

    text: Annotated[str, Field(max_length=20_000), AfterValidator(_text)] = Field(
        examples=["枸杞和华法林"]
    )
    lang: Language | None = Field(None, description="Language of the labels")


class AuditRequest(Request):
    """A text of which each sentence is checked against the claims."""

    text: Annotated[str, Field(max_length=20_000), AfterValidator(_text)] = Field(
        examples=["Ginkgo does not interact with warfarin."]
    )
    language: Language | None = Field(None, description="Of labels; default: that of the text")


class CheckRequest(Request):
    """Medicines, supplements, foods, dishes and conditions that are checked together."""

    things: Annotated[list[Name], Field(min_length=cabinet.LEAST, max_length=cabinet.MOST)] = Field(
        examples=[["warfarin", "ginkgo", "fish oil"]]
    )
    profile: Profile | None = None
    language: Language | None = Field(None, description="Default: that of the names")


class FrameRequest(Request):
    """A question to be read, with the frame of the turn before."""

    text: Question = Field(examples=["孕妇忌用的食物有哪些"])
    language: Language | None = Field(None, description="Default: that of the text")
    context: dict[str, Any] | None = Field(
        None, description="The context of an answer, or its frame"
    )


class CompletionQuery(Request):
    """The beginning of a name, in Chinese, pinyin or English."""

    model_config = ConfigDict(extra="ignore")

    q: str = Field("", max_length=200, examples=["gouqi"])
    limit: int = Field(10, ge=1, le=50)


def parse_request(
    model: type[Model], values: object, site: Site | None = None, *, strict: bool = True
) -> Model:
    """Return a request of JSON values or, not ``strict``, of the texts of a query string.

    Raise UsageError, FormatError or TooLargeError that names the first field at fault.
    """
    try:
        return model.model_validate(values, strict=strict, context=site)
    except ValidationError as fault:
        raise _error(fault) from fault


def _error(fault: ValidationError) -> ShiyiError:
    first = fault.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "the body"
    details, kind, value = first.get("ctx", {}), first["type"], first["input"]
    if isinstance(cause := details.get("error"), ShiyiError):
        return cause
    if kind == "extra_forbidden":
        return UsageError(f"there is no field {where[:60]!r}")
    if kind == "missing":
        return UsageError(f"{where} is missing")
    if kind in {"model_type", "dict_type"}:
        return UsageError(f"{where} is not a JSON object")
    if kind == "string_too_long" and len(first["loc"]) == 1:
        return TooLargeError(where, len(value), details["max_length"])
    if where == "lang":
        return FormatError("lang", str(value)[:40], LANGUAGES)
    message = first["msg"]
    return UsageError(f"{where} is not valid: {message[:1].lower()}{message[1:]}")


def question_values(args: MultiDict[str, str], question: str | None) -> dict[str, Any]:
    """Return the values of an :class:`AskRequest` from a query string; lists end at commas."""
    values = {n: args.get(n) for n in AskRequest.model_fields if n not in {"question", "history"}}
    return {"question": question, **values, "profile": profile_values(args)}


def profile_values(args: MultiDict[str, str]) -> dict[str, Any]:
    """Return the values of a :class:`Profile` from a form; lists end at commas."""
    profile: dict[str, Any] = {name: args.get(name, "").strip() for name in Profile.model_fields}
    for name in _LISTS:
        words = (word.strip() for word in _SEPARATORS.split(profile[name]))
        profile[name] = [word for word in words if word]
    return profile


def read_form() -> MultiDict[str, str]:
    """Return the fields of a form: the body's where it was posted, else the address's."""
    if request.method != "POST":
        return request.args
    form = MultiDict(request.form)
    if "lang" not in form and request.args.get("lang"):
        form["lang"] = request.args["lang"]
    return form


def read_question(site: Site) -> AskRequest:
    """Return the request of a form: a question or replies, and a profile."""
    form = read_form()
    values = question_values(form, _question_and_replies(site, form))
    return parse_request(AskRequest, values, site, strict=False)


def _question_and_replies(site: Site, args: MultiDict[str, str]) -> str | None:
    """Return the replies; with the question before them unless the context has it."""
    question = args.get("q")
    replies = [item for item in args.getlist("reply") if item.strip()]
    if not replies:
        return question
    continues = args.get("context") and site.converse is not None
    return "\n".join(replies if continues else [str(question), *replies])


def pipeline_request(request: AskRequest, profile: profiles.Profile) -> pipeline.AskRequest:
    """Return a request as the pipeline takes it."""
    sent = request.question, request.method or "", request.lang, request.k, profile
    return pipeline.AskRequest(
        *sent, request.evidence, school=request.school or "", overlay=request.overlay
    )


def find_pivots(site: Site, request: AskRequest) -> Pivots:
    """Return what would change the answer to a question of its own."""
    if site.pivots is None:
        raise UsageError("this server finds no pivots")
    return site.pivots(pipeline_request(request, request.person))


def parse_shared_question(site: Site, request: AskRequest) -> pipeline.AskRequest | None:
    """Return the question where its answer is the same for everybody who asks it, else None.

    It is not where a person, a conversation or a token comes with it, or a model may write it.
    """
    before = request.context or request.history or any(map(read_form().get, ("reply", "drop")))
    if before or request.person != profiles.Profile() or not is_answer_shared(site):
        return None
    return pipeline_request(request, profiles.Profile())


def is_answer_shared(site: Site) -> bool:
    """Return whether a question alone decides the answer: no token comes, no model writes."""
    return site.research is None and "Authorization" not in request.headers


def answer_turn(
    site: Site,
    request: AskRequest,
    cache: PageCache,
    shared: pipeline.AskRequest | None = None,
    listener: Listener | None = None,
    dropped: frozenset[tuple[str, str]] = frozenset(),
) -> Turn:
    """Answer a question in its context, where the site has conversations.

    What is ``dropped`` of the profile is forgotten for this question and those after it. The answer
    to a ``shared`` question is made once for each version of the store, and reported once.
    """
    made = partial(_answer_turn, site, request, listener, dropped)
    turn = cache.entry(shared, made, lambda _: _TURN, "answers") if shared else made()
    if site.curation and site.curation.citations:  # the review queue begins with what is much used
        site.curation.citations.count(citation.claim for citation in turn.answer.citations)
    return turn


def _answer_turn(
    site: Site, request: AskRequest, listener: Listener | None, dropped: frozenset[tuple[str, str]]
) -> Turn:
    profile = request.person.without(dropped)
    context = (_earlier(site, request) or conversation.Context()).without(dropped)
    question = pipeline_request(request, profile)
    if site.converse is not None:
        turn = site.converse(question, context, listener)
        return Turn(turn.answer, turn.context.without(dropped)) if dropped else turn
    answer = site.ask(question)
    return Turn(answer, conversation.Context((request.question,), answer.follow_up, profile))


def _earlier(site: Site, asked: AskRequest) -> conversation.Context | None:
    if asked.history:
        return site.converse.after(asked.history) if site.converse else None
    return asked.context.to_value() if asked.context else None
