"""A second turn: "那绿豆呢？", "it", a reply to what was asked back; nothing is kept between calls.

The context is a value that the asker holds and sends again. What they say of themselves goes into
its profile, so that the safety check sees it in every later turn of the session.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self

from shiyi.answering.clauses import in_place
from shiyi.answering.leaving_out import allergens, not_eaten
from shiyi.answering.pipeline import ask
from shiyi.answering.roles import AILMENT, MATERIAL
from shiyi.answering.runtime import Runtime
from shiyi.answering.statements import is_question, stated
from shiyi.answering.telling import Listener
from shiyi.answering.whose import told_of_others
from shiyi.errors import TooLargeError, UsageError
from shiyi.linking.normalise import language_of
from shiyi.model.answer import Answer
from shiyi.model.mention import Mention
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel

_MOST_TURNS, _MOST_CHARS, _MOST_ASKED = 8, 4000, 5
_ELLIPSIS: Final = (
    re.compile(r"^(?:那么?|如果是|如果|换成|要是|还有|再问)?[，,\s]*(?P<rest>.{1,30}?)"
               r"(?:呢|怎么样|如何|行吗|行不行|可以吗|也可以吗|也行吗|好吗)[？?。!！\s]*$"),
    re.compile(r"^(?:ok(?:ay)?,? |so,? |and |then |but )*(?:what about|how about|and|what if it(?:'s| is)"
               r"|what if i (?:use|take|have|am)|or)\s+(?P<rest>.{1,80}?)(?: (?:then|instead|too))?[?.!\s]*$",
               re.IGNORECASE),
)  # fmt: skip
_PRONOUN: Final = re.compile(
    r"它们?|[这那]种?个?东西|这个(?=能|可|和|跟|与|怎|是|有)"
    r"|\b(?:it|them|that one|this one|those)(?P<is>['’]s)?\b",
    re.IGNORECASE,
)
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

    @classmethod
    def from_json(cls, said: object) -> Self:
        """Read an untrusted object, such as ``context`` of an earlier answer."""
        if not isinstance(said, Mapping):
            raise UsageError('context is the object that an earlier answer gave as "context"')
        known = [each.name for each in fields(cls)]
        if unknown := sorted(str(key)[:40] for key in said if key not in known):
            raise UsageError(f"context has no field {unknown[0]!r}; it has {', '.join(known)}")
        return cls(
            _texts("questions", said.get("questions"))[-_MOST_TURNS:],
            _texts("asked", said.get("asked"))[:_MOST_ASKED],
            Profile.from_json(said.get("profile") or {}),
        )

    def to_json(self) -> dict[str, Any]:
        """Give what the asker sends with the next question."""
        return {
            "questions": list(self.questions), "asked": list(self.asked),
            "profile": self.profile.to_json(),
        }  # fmt: skip

    def without(self, dropped: Collection[tuple[str, str]]) -> Self:
        """Give the same without some of what its profile holds; see :meth:`Profile.held`."""
        return replace(self, profile=self.profile.without(dropped))

    def told(self, profile: Profile) -> Self:
        """Give the same with what a profile says besides; the newer word counts."""
        return replace(self, profile=merged(self.profile, profile))


def _texts(name: str, said: object) -> tuple[str, ...]:
    if said is None:
        return ()
    if not isinstance(said, list | tuple) or not all(isinstance(each, str) for each in said):
        raise UsageError(f"context.{name} is a list of texts")
    size = sum(map(len, said))
    if size > _MOST_TURNS * _MOST_CHARS:
        raise TooLargeError(f"context.{name}", size, _MOST_TURNS * _MOST_CHARS)
    return tuple(each[:_MOST_CHARS] for each in said if each.strip())


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer, and the context for the next question."""

    answer: Answer
    context: Context


def converse(
    runtime: Runtime,
    question: str,
    context: Context = Context(),
    *,
    method: str = "fused",
    language: str | None = None,
    k: int | None = None,
    profile: Profile = Profile(),  # noqa: B008 - frozen
    model: ChatModel | None = None,
    listener: Listener | None = None,
) -> Turn:
    """Answer a question in the light of what came before; raises what :func:`ask` raises.

    The answer keeps the asker's words; its trace notes how they were read.
    """
    context = context.told(profile)
    said = _last_words(question, context)
    whole = read_as(said, context, runtime)
    spoken = language or language_of(question)
    reply = whole != said
    told = stated(said, runtime.linker, runtime.facts, reply=reply and not is_question(said))
    profile = merged(context.profile, told)
    answer = ask(
        runtime, whole, method=method, language=spoken, k=k, profile=profile, model=model,
        listener=listener,
    )  # fmt: skip
    if whole != question:
        notes = (*answer.trace.notes, f"read as {whole}")
        answer = replace(answer, question=question, trace=replace(answer.trace, notes=notes))
    questions = (*context.questions, whole)[-_MOST_TURNS:]
    return Turn(answer, Context(questions, answer.follow_up[:_MOST_ASKED], profile))


def after_history(runtime: Runtime, history: Iterable[str]) -> Context:
    """Give the context after some earlier questions, asked again in turn."""
    context = Context()
    for question in _texts("history", list(history))[-_MOST_TURNS:]:
        context = converse(runtime, question, context).context
    return context


def merged(old: Profile, new: Profile) -> Profile:
    """Join two profiles; a later word replaces an earlier one, and lists grow.

    >>> merged(Profile(age=30, medicines=("warfarin",)), Profile(age=31)).medicines
    ('warfarin',)
    """
    return Profile(
        new.age if new.age is not None else old.age, new.sex or old.sex,
        new.pregnant if new.pregnant is not None else old.pregnant,
        new.lactating if new.lactating is not None else old.lactating,
        _joined(old.medicines, new.medicines), _joined(old.allergies, new.allergies),
        _joined(old.conditions, new.conditions), new.constitution or old.constitution,
        _joined(old.avoids, new.avoids),
    )  # fmt: skip


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))[:50]


def _last_words(question: str, context: Context) -> str:
    """Take off the last question where a form sent it again above the reply."""
    for last in context.questions[-1:]:
        rest = question.removeprefix(last)
        if rest != question and rest.startswith(("\n", "\r\n")) and rest.strip():
            return rest.strip()
    return question


def read_as(question: str, context: Context, runtime: Runtime) -> str:
    """Give the question with what it leaves out filled in from the last one."""
    if not context.questions:
        return question
    last = context.questions[-1]
    limit = runtime.settings.answer.max_question_chars
    spoken_of = next((q for q in reversed(context.questions) if _THEM.search(in_place(q))), "")
    if spoken_of != last and (theirs := _of_them(question, spoken_of, runtime)):
        return theirs if len(theirs) <= limit else question
    if (rest := _fragment(question)) and (filled := _exchanged(rest, last, runtime)):
        return filled if len(filled) <= limit else question
    told = stated(question, runtime.linker, runtime.facts)
    if (context.asked or told != Profile()) and not is_question(question):
        joined = f"{last}\n{question}"
        return joined if len(joined) <= limit else question
    return _of_them(question, spoken_of, runtime) or _pronoun(question, last, runtime)


def _fragment(question: str) -> str:
    said = question.strip()
    found = next((m for m in (shape.match(in_place(said)) for shape in _ELLIPSIS) if m), None)
    return said[slice(*found.span("rest"))].strip() if found else ""


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


def _exchanged(rest: str, last: str, runtime: Runtime) -> str:
    """Put the new thing where one of its kind stood; else ask about it beside what was said."""
    new, old = _by_role(rest, runtime), _by_role(last, runtime)
    if not new and _MYSELF.fullmatch(rest):  # the last thing, without the state of another
        things = [m.text for m in old.get("material", [])]
        zh = language_of(last) == "zh"
        return _may(("、" if zh else ", ").join(things), {}, zh) if things else ""
    if not new:
        return ""
    role, mentions = next(iter(new.items()))
    said = rest if len(mentions) > 1 else mentions[0].text
    every = old.get(role, [])
    kept = (*allergens(last, every), *not_eaten(last, every))
    if asked := [m for m in every if m not in kept]:  # what is not eaten stays so
        place = asked[0]
        return last[: place.start] + said + last[place.end :]
    zh = language_of(last) == "zh"
    if role == "material":
        return _may(said, old, zh)
    if role == "drug":
        return f"在吃{said}，{last}" if zh else f"I take {said}. {last}"
    return f"{said}：{last}" if zh else f"For {said}: {last}"


def _may(said: str, old: Mapping[str, list[Mention]], zh: bool) -> str:
    """Ask whether a thing may be eaten in the state that was spoken of."""
    begins = {
        "ailment": ("有", "I have"), "constitution": ("属于", "I am of"),
        "population": ("是", "among"), "drug": ("在吃", "I take"),
    }  # fmt: skip
    parts = [
        (f"{zh_word}{m.text}" if zh else f"{en_word} {m.text}")
        for role, (zh_word, en_word) in begins.items() for m in old.get(role, [])
    ]  # fmt: skip
    if zh:
        return "，".join([*parts, f"可以吃{said}吗？"])
    return ". ".join([*parts, f"Can I have {said}?"])


def _pronoun(question: str, last: str, runtime: Runtime) -> str:
    """Put the last thing spoken of for "it", or name it where a question names none."""
    found = _by_role(question, runtime)
    things = _by_role(last, runtime).get("material", [])
    if not things or "material" in found:
        return question
    zh = language_of(question) == "zh"
    names = ("、" if zh else ", ").join(m.text for m in things[:3])
    folded = in_place(question)
    if word := _PRONOUN.search(folded):
        said = f"{names} is" if word["is"] else names
        return question[: word.start()] + said + question[word.end() :]
    if found and _MAY.search(folded):
        return f"{names}：{question}" if zh else f"{names}: {question}"
    return question


def _of_them(question: str, earlier: str, runtime: Runtime) -> str:
    """Put the state of another before a question about them: "can she have …" after "my mother has …"."""
    if not (earlier and _THEM.search(in_place(question))):
        return ""
    found, before = _by_role(question, runtime), _by_role(earlier, runtime)
    states = [m for role in _STATES for m in before.get(role, [])]
    told = [m.text for m in told_of_others(states, earlier)]
    if not told or any(role in found for role in _STATES):
        return ""
    zh = language_of(question) == "zh"
    return f"{'、'.join(told)}：{question}" if zh else f"{', '.join(told)}: {question}"


_STATES: Final = ("ailment", "constitution", "population", "drug")
_THEM: Final = re.compile(
    r"[她他]|[爸妈爷奶婆姥]|孩子|宝宝|\b(?:she|he|her|him|my (?:mother|father|mum|mom|dad|wife|husband|son|daughter|child|kid|baby|gran\w*))\b",
    re.IGNORECASE,
)
_MYSELF: Final = re.compile(r"我(?:自己|本人)?|(?:for )?(?:me|myself)", re.IGNORECASE)
_MAY: Final = re.compile(
    r"能[吃喝用]|可以[吃喝用]?(?:吗|$)|一起[吃喝用]|同[用服食]|(?:吃|喝|用)吗"
    r"|\bcan (?:i|she|he|they|we)\b.{0,12}\b(?:eat|drink|take|have)\b(?!.{0,20}\w{4,}\s\w)",
    re.IGNORECASE,
)
