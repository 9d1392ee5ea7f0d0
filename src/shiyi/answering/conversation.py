"""Follow-up questions in the client's own context: a typed frame, which a turn completes.

The context is a value that the client sends with each turn. What they state of themselves goes into
its profile, so that the safety check sees it in every later turn of the session.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self

from shiyi.answering.generation.rewriter import Listener
from shiyi.answering.pipeline import AskRequest, apply_overlays, ask, check_request
from shiyi.answering.runtime import Runtime, RuntimeHolder
from shiyi.answering.understanding.follow_ups import follow, is_statement
from shiyi.answering.understanding.frame import Frame
from shiyi.answering.understanding.patient import build_profile
from shiyi.answering.understanding.reader.model import shipped_reader
from shiyi.answering.understanding.reading import read_question
from shiyi.errors import TooLargeError, UsageError
from shiyi.linking.normalization import QuestionText
from shiyi.model.answer import Answer
from shiyi.model.profile import Profile
from shiyi.prompts.chat import ChatModel
from shiyi.sparql.base.knowledge_base import KnowledgeBase

_MOST_TURNS, _MOST_CHARS, _MOST_ASKED, _MOST_OFFERS = 8, 4000, 24, 12


@dataclass(frozen=True, slots=True)
class Context:
    """What came before: the questions, what was asked back, who asks, the last frame and offers.

    ``frame`` is the question before as it was understood; ``offers`` are the concepts that the last
    answer with suggestions named, and what was asked about since, in their order.
    """

    questions: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    profile: Profile = field(default_factory=Profile)
    frame: Frame | None = None
    offers: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, payload: object) -> Self:
        """Read an untrusted object, such as ``context`` of an earlier answer."""
        if not isinstance(payload, Mapping):
            raise UsageError('context is the object that an earlier answer gave as "context"')
        known = [each.name for each in fields(cls)]
        if unknown := sorted(str(key)[:40] for key in payload if key not in known):
            raise UsageError(f"context has no field {unknown[0]!r}; it has {', '.join(known)}")
        return cls(
            _texts("questions", payload.get("questions"))[-_MOST_TURNS:],
            _texts("asked", payload.get("asked"))[-_MOST_ASKED:],
            Profile.from_json(payload.get("profile") or {}),
            Frame.from_json(payload["frame"]) if payload.get("frame") is not None else None,
            _texts("offers", payload.get("offers"))[:_MOST_OFFERS],
        )

    @classmethod
    def of(cls, payload: object) -> Self:
        """Read a context, an answer that holds one, or the frame of the turn before alone."""
        if isinstance(payload, Mapping) and "context" in payload:
            return cls.from_json(payload["context"])
        names = {each.name for each in fields(cls)}
        if isinstance(payload, Mapping) and payload.keys() <= names:
            return cls.from_json(payload)
        return cls(frame=Frame.from_json(payload))

    def to_json(self) -> dict[str, Any]:
        """Return what the asker sends with the next question."""
        return {
            "questions": list(self.questions),
            "asked": list(self.asked),
            "profile": self.profile.to_json(),
            "frame": self.frame.to_json() if self.frame else None,
            "offers": list(self.offers),
        }

    def entries(self) -> tuple[tuple[str, str], ...]:
        """List what is known of the person, each with its field: what a reader can remove.

        The profile comes first, then what the last frame says besides, in its language.
        """
        known = self.profile.entries()
        words = {word for _, word in known}
        frame = self.frame
        if frame is None:
            return known
        more: list[tuple[str, str]]
        more = [(f.role, f.label or f.text) for f in frame.focus if f.role in _REMOVABLE]
        more += [("state", s.label) for s in frame.patient.states if s.assertion != "denied"]
        if frame.patient.age is not None and self.profile.age is None:
            more.append(("age", f"{frame.patient.age}"))
        return (*known, *(row for row in more if row[1] not in words))

    def without(self, dropped: Collection[tuple[str, str]]) -> Self:
        """Return the same without some of its :meth:`entries`, in the profile and in the frame."""
        profile, frame = self.profile.without(dropped), self.frame
        if frame is not None and dropped:
            words = {word for key, word in dropped if key not in _FLAGS}
            flags = {_FLAGS[key] for key, _ in dropped if key in _FLAGS}
            removable = {*_REMOVABLE, "asked_about"}
            patient = replace(
                frame.patient,
                age=None if any(key == "age" for key, _ in dropped) else frame.patient.age,
                states=tuple(s for s in frame.patient.states if s.label not in words | flags),
            )
            focus = tuple(
                f
                for f in frame.focus
                if f.role not in removable or words.isdisjoint((f.label or f.text, f.text))
            )
            frame = replace(frame, patient=patient, focus=focus)
        return replace(self, profile=profile, frame=frame)


_REMOVABLE: Final = ("complaint", "condition", "medicine", "allergy", "other_person")
_OTHERS: Final = ("parent", "child")
_FLAGS: Final = {"pregnant": "pregnant", "lactating": "breastfeeding"}


def _texts(name: str, values: object) -> tuple[str, ...]:
    if values is None:
        return ()
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise UsageError(f"context.{name} is a list of texts")
    size = sum(map(len, values))
    if size > _MOST_TURNS * _MOST_CHARS:
        raise TooLargeError(f"context.{name}", size, _MOST_TURNS * _MOST_CHARS)
    return tuple(value[:_MOST_CHARS] for value in values if value.strip())


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer, and the context for the next question."""

    answer: Answer
    context: Context


class Conversation:
    """Answers turns of a conversation; the context travels with the asker."""

    def __init__(
        self, base: KnowledgeBase, living: RuntimeHolder, model: ChatModel | None = None
    ) -> None:
        """Answer from the runtime of the moment; a ``model`` writes where there is one."""
        self._living, self._model = living, model
        self._writer = base.writer if base.writes else None

    def __call__(
        self, request: AskRequest, context: Context, listener: Listener | None = None
    ) -> Turn:
        """Answer in the light of what came before."""
        return converse(self._living.current, request, context, self._model, listener)

    def understand(self, request: AskRequest, context: Context) -> tuple[AskRequest, Frame]:
        """Return a request with the profile so far, and its frame, completed from the context."""
        return understand(self._living.current, request, context)

    def after(self, history: Sequence[str]) -> Context:
        """Return the context after some earlier questions."""
        return context_after(self._living.current, history)

    def revision(self) -> int:
        """Count the changes of the base that answers rest on."""
        return (self._writer.sequence if self._writer else 0) + self._living.refreshed


def converse(
    runtime: Runtime,
    request: AskRequest,
    context: Context = Context(),
    model: ChatModel | None = None,
    listener: Listener | None = None,
) -> Turn:
    """Answer a question in the light of what came before; raises what :func:`ask` raises.

    The answer keeps the asker's words; its frame shows what was taken from the turn before.
    """
    whole, frame = understand(runtime, request, context)
    profile = context.profile if frame.patient.who in _OTHERS else whole.profile
    answer = ask(runtime, whole, model, listener)
    offers = tuple(r.iri for r in answer.recommendations)
    if not offers:
        things = (f.iri for f in frame.of_role("asked_about") if f.iri)
        offers = tuple(dict.fromkeys((*context.offers, *things)))[-_MOST_OFFERS:]
    return Turn(
        answer,
        Context(
            (*context.questions, request.question)[-_MOST_TURNS:],
            tuple(dict.fromkeys((*context.asked, *answer.follow_up)))[-_MOST_ASKED:],
            profile,
            context.frame if frame.has_cue("closes") and context.frame else frame,
            offers[:_MOST_OFFERS],
        ),
    )


def understand(
    runtime: Runtime, request: AskRequest, context: Context = Context()
) -> tuple[AskRequest, Frame]:
    """Return a request with the profile so far, and its frame, completed from the turn before."""
    check_request(request, runtime)
    runtime = apply_overlays(runtime, replace(request, frame=context.frame))
    profile = merge_profiles(context.profile, request.profile)
    text = QuestionText.of(_last_words(request.question, context))
    pregnant = bool(profile.pregnant)
    reader, linker, facts = shipped_reader(), runtime.linker, runtime.facts
    frame, mentions = read_question(
        text, linker, facts, reader, pregnant=pregnant, language=request.language
    )
    reply = bool(context.asked) and is_statement(frame)
    language = request.language or _language(frame)
    brief = frame.is_repeated and frame.has_cue("shorter")
    own = frame
    if context.frame is not None:
        frame = follow(frame, context.frame, context.offers, facts)
    other = frame.patient.who in _OTHERS  # what the asker has is none of a father's
    stated = Profile() if other and own.patient.who in _OTHERS else _remove_denied(context, frame)
    profile = merge_profiles(stated, request.profile)
    if other:
        profile = replace(profile, pregnant=None, lactating=None)
    frame = frame.in_language(language)
    whole = replace(
        request,
        language=language,
        profile=merge_profiles(profile, build_profile(own, facts, reply=reply)),
        frame=frame,
        mentions=mentions,
        brief=brief and context.frame is not None,
        asked=context.asked,
        earlier=context.questions,
    )
    return whole, frame


def _remove_denied(context: Context, frame: Frame) -> Profile:
    """Return what was stated before, without the medicines and illnesses that are taken back."""
    profile, before = context.profile, context.frame
    denied = [f for f in frame.focus if f.assertion == "denied"]
    if before is not None and frame.has_cue("replaces"):
        iris = {f.iri for f in frame.focus}
        denied += [f for f in before.of_role("medicine") if f.iri not in iris]
    words = {word for f in denied for word in (f.label, f.text)}
    return profile.without({entry for entry in profile.entries() if entry[1] in words})


def _language(frame: Frame) -> str:
    """Return the language that is asked for, else that of the question."""
    if frame.has_cue("in-english") and frame.is_repeated:
        return "en"
    if frame.has_cue("in-chinese") and frame.is_repeated:
        return "zh"
    return frame.language


def context_after(runtime: Runtime, history: Iterable[str]) -> Context:
    """Return the context after some earlier questions, repeated in turn."""
    context = Context()
    for question in _texts("history", list(history))[-_MOST_TURNS:]:
        context = converse(runtime, AskRequest(question), context).context
    return context


def merge_profiles(old: Profile, new: Profile) -> Profile:
    """Join two profiles; a later word replaces an earlier one, and lists grow.

    >>> merge_profiles(Profile(age=30, medicines=("warfarin",)), Profile(age=31)).medicines
    ('warfarin',)
    """
    return Profile(
        new.age if new.age is not None else old.age,
        new.sex or old.sex,
        new.pregnant if new.pregnant is not None else old.pregnant,
        new.lactating if new.lactating is not None else old.lactating,
        _join_lists(old.medicines, new.medicines),
        _join_lists(old.allergies, new.allergies),
        _join_lists(old.conditions, new.conditions),
        new.constitution or old.constitution,
        _join_lists(old.avoids, new.avoids),
    )


def _join_lists(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))[:50]


def _last_words(question: str, context: Context) -> str:
    """Remove the last question where a form repeats it above the reply."""
    for last in context.questions[-1:]:
        rest = question.removeprefix(last)
        if rest != question and rest.startswith(("\n", "\r\n")) and rest.strip():
            return rest.strip()
    return question
