"""Follow-up questions in the client's own context.

The context is a value that the asker holds and sends again. What they say of themselves goes into
its profile, so that the safety check sees it in every later turn of the session.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self

from shiyi.answering.generation.rewriter import Listener
from shiyi.answering.knowledge.facts import AILMENT, MATERIAL
from shiyi.answering.pipeline import AskRequest, ask
from shiyi.answering.runtime import Runtime
from shiyi.answering.understanding.attribution import allergens, foods_not_eaten, mentions_of_others
from shiyi.answering.understanding.frames.frame import Frame
from shiyi.answering.understanding.frames.reader import read_frame
from shiyi.answering.understanding.person import is_question, profile_in
from shiyi.answering.understanding.text import QuestionText
from shiyi.answering.wording.verbalization import verbalize
from shiyi.errors import TooLargeError, UsageError
from shiyi.linking.normalization import language_of
from shiyi.model.answer import Answer
from shiyi.model.mention import Mention
from shiyi.model.profile import Profile
from shiyi.ontology.lexicon import Cues
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel

_CUES: Final = Cues("conversation")

_MOST_TURNS, _MOST_CHARS, _MOST_ASKED = 8, 4000, 5
_ROLES: Final = (
    ("material", (*MATERIAL, SHIYI.Organism)), ("drug", (SHIYI.Drug, SHIYI.DrugClass)),
    ("constitution", (SHIYI.Constitution,)), ("population", (SHIYI.Population,)),
    ("ailment", AILMENT), ("season", (SHIYI.Season,)), ("form", (SHIYI.Method,)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Context:
    """What came before: the questions as they were read, what was asked back, who asks."""

    questions: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    profile: Profile = field(default_factory=Profile)
    frame: Frame | None = None

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
            _texts("asked", payload.get("asked"))[:_MOST_ASKED],
            Profile.from_json(payload.get("profile") or {}),
            Frame.from_json(payload["frame"]) if payload.get("frame") is not None else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what the asker sends with the next question."""
        return {
            "questions": list(self.questions),
            "asked": list(self.asked),
            "profile": self.profile.to_json(),
            "frame": self.frame.to_json() if self.frame else None,
        }

    def without(self, dropped: Collection[tuple[str, str]]) -> Self:
        """Return the same without some of what its profile holds; see :meth:`Profile.held`."""
        return replace(self, profile=self.profile.without(dropped))

    def told(self, profile: Profile) -> Self:
        """Return the same with what a profile says besides; the newer word counts."""
        return replace(self, profile=merged(self.profile, profile))


def _texts(name: str, values: object) -> tuple[str, ...]:
    if values is None:
        return ()
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        raise UsageError(f"context.{name} is a list of texts")
    size = sum(map(len, values))
    if size > _MOST_TURNS * _MOST_CHARS:
        raise TooLargeError(f"context.{name}", size, _MOST_TURNS * _MOST_CHARS)
    return tuple(each[:_MOST_CHARS] for each in values if each.strip())


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer, and the context for the next question."""

    answer: Answer
    context: Context


def converse(
    runtime: Runtime,
    request: AskRequest,
    context: Context = Context(),
    model: ChatModel | None = None,
    listener: Listener | None = None,
) -> Turn:
    """Answer a question in the light of what came before; raises what :func:`ask` raises.

    The answer keeps the asker's words; its trace notes how they were read.
    """
    question = request.question
    context = context.told(request.profile)
    earlier_words = _last_words(question, context)
    text = QuestionText.of(earlier_words)
    whole = read_as(text, context, runtime)
    reply = whole != earlier_words
    reported = profile_in(
        text, runtime.linker, runtime.facts, reply=reply and not is_question(text)
    )
    profile = merged(context.profile, reported)
    language = request.language or language_of(question)
    read = replace(
        request,
        question=whole,
        language=language,
        profile=profile,
        before=context.frame,
        earlier=context.questions,
    )
    answer = ask(runtime, read, model, listener)
    if whole != question:
        notes = (*answer.trace.notes, f"read as {whole}")
        answer = replace(answer, question=question, trace=replace(answer.trace, notes=notes))
    questions = (*context.questions, whole)[-_MOST_TURNS:]
    frame = Frame.from_json(answer.trace.frame) if answer.trace.frame else None
    return Turn(answer, Context(questions, answer.follow_up[:_MOST_ASKED], profile, frame))


def after_history(runtime: Runtime, history: Iterable[str]) -> Context:
    """Return the context after some earlier questions, asked again in turn."""
    context = Context()
    for question in _texts("history", list(history))[-_MOST_TURNS:]:
        context = converse(runtime, AskRequest(question), context).context
    return context


def merged(old: Profile, new: Profile) -> Profile:
    """Join two profiles; a later word replaces an earlier one, and lists grow.

    >>> merged(Profile(age=30, medicines=("warfarin",)), Profile(age=31)).medicines
    ('warfarin',)
    """
    return Profile(
        new.age if new.age is not None else old.age,
        new.sex or old.sex,
        new.pregnant if new.pregnant is not None else old.pregnant,
        new.lactating if new.lactating is not None else old.lactating,
        _joined(old.medicines, new.medicines),
        _joined(old.allergies, new.allergies),
        _joined(old.conditions, new.conditions),
        new.constitution or old.constitution,
        _joined(old.avoids, new.avoids),
    )


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))[:50]


def _last_words(question: str, context: Context) -> str:
    """Remove the last question where a form sent it again above the reply."""
    for last in context.questions[-1:]:
        rest = question.removeprefix(last)
        if rest != question and rest.startswith(("\n", "\r\n")) and rest.strip():
            return rest.strip()
    return question


def read_as(text: QuestionText, context: Context, runtime: Runtime) -> str:
    """Return the question with what it leaves out filled in from the last one."""
    if not context.questions:
        return text.raw
    earlier = [QuestionText.of(each) for each in context.questions]
    spoken_of = next((q for q in reversed(earlier) if _CUES["them"].search(q.aligned)), None)
    filled = _filled(text, earlier, spoken_of, bool(context.asked), runtime)
    limit = runtime.settings.answer.max_question_chars
    return filled if len(filled) <= limit else text.raw


def _filled(
    text: QuestionText,
    earlier: Sequence[QuestionText],
    spoken_of: QuestionText | None,
    asked_back: bool,
    runtime: Runtime,
) -> str:
    last = earlier[-1]
    theirs = _of_them(text, spoken_of, runtime) if spoken_of else ""
    if theirs and spoken_of is not last:
        return theirs
    if (rest := _fragment(text)) and (filled := _exchanged(rest, last, runtime)):
        return filled
    profile = profile_in(text, runtime.linker, runtime.facts)
    if (asked_back or profile != Profile()) and not is_question(text):
        return f"{last.raw}\n{text.raw}"
    filled = theirs or _pronoun(text, last, runtime)
    return filled if filled != text.raw else _carried(text, earlier, runtime)


def _fragment(text: QuestionText) -> str:
    begins = len(text.raw) - len(text.raw.lstrip())
    words = text.aligned[begins : len(text.raw.rstrip())]
    found = next(
        (
            m
            for m in (
                shape.match(words) for shape in (_CUES["what-about-zh"], _CUES["what-about-en"])
            )
            if m
        ),
        None,
    )
    return text.raw[begins:][slice(*found.span("rest"))].strip() if found else ""


def _role(mention: Mention, runtime: Runtime) -> str:
    if not mention.iri:
        return ""
    kinds = ((name, classes) for name, classes in _ROLES)
    return next((name for name, classes in kinds if runtime.facts.is_a(mention.iri, *classes)), "")


def _by_role(text: str, runtime: Runtime) -> dict[str, list[Mention]]:
    found: dict[str, list[Mention]] = {}
    for mention in runtime.linker.link(text):
        if role := _role(mention, runtime):
            found.setdefault(role, []).append(mention)
    return found


def _exchanged(rest: str, last: QuestionText, runtime: Runtime) -> str:
    """Place the new thing where one of its kind stood; else ask about it beside what was stated."""
    new, old = _by_role(rest, runtime), _by_role(last.raw, runtime)
    comma = verbalize(last.language, "v_comma")
    if not new and _CUES["myself"].fullmatch(rest):  # the last thing, without the state of another
        things = [m.text for m in old.get("material", [])]
        return _may(comma.join(things), {}, last.language) if things else ""
    if not new:
        return ""
    role, mentions = next(iter(new.items()))
    name = rest if len(mentions) > 1 else mentions[0].text
    every = old.get(role, [])
    excluded = (*allergens(last, every), *foods_not_eaten(last, every))
    if asked := [m for m in every if m not in excluded]:  # what is not eaten stays so
        place = asked[0]
        return last.raw[: place.start] + name + last.raw[place.end :]
    if role == "material":
        return _may(name, old, last.language)
    if role == "drug":
        return verbalize(last.language, "d_taking", x=name, question=last.raw)
    return verbalize(last.language, "d_for", x=name, question=last.raw)


def _may(thing: str, old: Mapping[str, list[Mention]], language: str) -> str:
    """Ask whether a thing may be eaten in the state that was spoken of."""
    states = [
        verbalize(language, f"d_{role}", x=m.text) for role in _STATED for m in old.get(role, [])
    ]
    return verbalize(language, "d_clause").join([*states, verbalize(language, "d_may", x=thing)])


def _pronoun(text: QuestionText, last: QuestionText, runtime: Runtime) -> str:
    """Place the last thing spoken of for "it", or name it where a question names none."""
    question, found = text.raw, _by_role(text.raw, runtime)
    things = _by_role(last.raw, runtime).get("material", [])
    if not things or "material" in found:
        return question
    names = verbalize(text.language, "v_comma").join(m.text for m in things[:3])
    if word := _CUES["pronoun"].search(text.aligned):
        name = f"{names} is" if word["is"] else names
        return question[: word.start()] + name + question[word.end() :]
    if found and _CUES["may"].search(text.aligned):
        return verbalize(text.language, "d_of", x=names, question=question)
    return question


def _carried(text: QuestionText, earlier: Sequence[QuestionText], runtime: Runtime) -> str:
    """Name what was last spoken of where a short question names nothing: "why", "how much"."""
    if not any(c.isalnum() for c in text.raw):
        return text.raw
    frame = read_frame(text, runtime.settings.understanding)
    roles = _CARRIED.get(frame.ask, ()) if frame else ()
    if not roles or len(text.raw) > _SHORT or _by_role(text.raw, runtime):
        return text.raw
    turns = [_by_role(each.raw, runtime) for each in reversed(earlier)]
    before = next((found for found in turns if not found.keys().isdisjoint(roles[:1])), turns[0])
    names = [m.text for role in roles for m in before.get(role, [])]
    if not names:
        return text.raw
    listed = verbalize(text.language, "v_comma").join(dict.fromkeys(names))
    return verbalize(text.language, "d_of", x=listed, question=text.raw)


_STATED: Final = ("ailment", "constitution", "population", "drug")
_CARRIED: Final = {  # what a follow-up takes from the question before, by what it asks
    "why": ("material", *_STATED), "may": ("material", *_STATED), "avoid": _STATED,
    "evidence": ("material", "ailment"), "compare": ("material",), "regulation": ("material",),
    "how": ("material",), "dose": ("material", "population"), "property": ("material",),
    "advice": _STATED,
}  # fmt: skip
_SHORT: Final = 60  # characters of a question that may leave out what it is about


def _of_them(text: QuestionText, earlier: QuestionText, runtime: Runtime) -> str:
    """Return a question about somebody else with their state before it: "can she have …"."""
    if not _CUES["them"].search(text.aligned):
        return ""
    found, before = _by_role(text.raw, runtime), _by_role(earlier.raw, runtime)
    states = [m for role in _STATED for m in before.get(role, [])]
    states_of_them = [m.text for m in mentions_of_others(states, earlier)]
    if not states_of_them or any(role in found for role in _STATED):
        return ""
    names = verbalize(text.language, "v_comma").join(states_of_them)
    return verbalize(text.language, "d_of", x=names, question=text.raw)
