"""What a method retrieved, in words: claims of one thing and relation together, best first."""

from collections.abc import Iterable, Mapping
from typing import Final

from shiyi.answering.draft import Line
from shiyi.answering.facts import Fact
from shiyi.answering.methods.claims import is_benefit
from shiyi.answering.parts import Desk, Part, red_flags
from shiyi.answering.paths import Retrieved
from shiyi.answering.roles import MATERIAL, PROFILE
from shiyi.answering.texts import PASSAGE
from shiyi.answering.voice import closed
from shiyi.ontology.terms import SHIYI

_GROUPS: Final = 8
_TOGETHER: Final = 5
_LOOKED_AT: Final = 60
_BESIDE: Final = frozenset({SHIYI.confusedWith, SHIYI.derivedFromOrganism, SHIYI.usesPart})
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "nothing": ("食医知识库中没有检索到与此相关的记载。",
                "The Shiyi knowledge base holds nothing that was found for this."),
    "into": ("{p}“{x}”：{o}", "{p} “{x}”: {o}"),
    "of": ("{x} · {p}：{o}", "{x} · {p}: {o}"),
    "denied": ("有来源否认：{said}", "denied by a source: {said}"),
    "unread": ("检索到{n}段可能相关的原文，但尚无审阅过的论断可引用",
               "{n} passages may bear on this, but no reviewed claim was read from them"),
}  # fmt: skip
Key = tuple[str, str, str, bool]  # the end that is named, the relation, the side, and the polarity


def nothing(language: str) -> str:
    """Say plainly that nothing was retrieved (iDISK2.0-RAG)."""
    return _say(language, "nothing")


def report(desk: Desk, retrieved: Retrieved, *, opened: bool = False) -> Part:
    """Write the best claims that a method found; the first line answers, unless ``opened``.

    A benefit is left out where it is held too weakly, where a source rates it as insufficient,
    where cold or heat is not decided, and where the safety check speaks against the thing for this
    person, which is then warned of.
    """
    part, voice = Part(), desk.voice
    kept = _allowed(desk, [each.fact for each in retrieved.claims[:_LOOKED_AT]], part)
    lines: list[Line] = []
    rest = kept
    if profile := _profile(desk, kept):
        lines.append(profile)
        said = {f.claim for f in profile.facts}
        rest = [f for f in kept if f.claim not in said]
    lines += [
        _line(desk, key, facts) for key, facts in list(_grouped(desk, rest).items())[:_GROUPS]
    ]
    if lines and not opened:
        first = lines.pop(0)
        end = "。" if voice.language == "zh" else "."
        part.opening.item(*((closed(t, end), f) for t, f in first.pieces))
    part.section("h_facts").lines += lines
    asked = _asked(desk)
    for fact in kept[:_GROUPS]:
        if not fact.language and fact.positive:
            part.paths.append(fact.path(fact.object if fact.object in asked else fact.subject))
    red_flags(desk, desk.reading.ailments, part)
    _unread(desk, retrieved, part)
    return part


def _say(language: str, key: str, **values: str) -> str:
    return _WORDS[key][0 if language == "zh" else 1].format(**values)


def _asked(desk: Desk) -> frozenset[str]:
    named = [m.iri for m in desk.reading.mentions if m.iri]
    return frozenset((*named, *desk.reading.materials, *desk.reading.ailments))


def _allowed(desk: Desk, facts: Iterable[Fact], part: Part) -> list[Fact]:
    """Leave out benefits that may not be told this person, and warn of what speaks against them."""
    kept, vetoed = list[Fact](), dict[str, bool]()
    for fact in facts:
        if not is_benefit(fact) or not fact.positive:
            kept.append(fact)
            continue
        if desk.differential.undecided or fact.confidence < desk_least(desk):
            continue
        if not desk.evidences.supports(fact.claim):
            continue
        things = [e for e in (fact.subject, fact.object) if desk.facts.is_a(e, *MATERIAL)]
        for thing in things:
            if thing not in vetoed:
                found = desk.safety.check(thing, desk.reading.person)
                vetoed[thing] = bool(found)
                for each in found[:1]:
                    part.warn(desk, each)
        if not any(vetoed[thing] for thing in things):
            kept.append(fact)
    return kept


def desk_least(desk: Desk) -> float:
    """Give what a benefit must be held with."""
    return 0.6


def _profile(desk: Desk, facts: Iterable[Fact]) -> Line | None:
    """Say nature, flavour, channels and efficacy in one sentence where they were all retrieved."""
    held = {f.claim for f in facts}
    for fact in facts:
        if fact.predicate in PROFILE and fact.positive:
            text, used = desk.voice.profile(fact.subject)
            if text and {f.claim for f in used} <= held:
                return Line(((text, used),), 1)
            return None
    return None


def _grouped(desk: Desk, facts: Iterable[Fact]) -> dict[Key, list[Fact]]:
    asked, found = _asked(desk), dict[Key, list[Fact]]()
    for fact in facts:
        if fact.predicate in _BESIDE or _is_twin(desk, fact, found):
            continue
        into = fact.object in asked and fact.subject not in asked
        end, side = (fact.object, "into") if into else (fact.subject, "of")
        key = (end, fact.predicate.value, side, fact.positive)
        found.setdefault(key, []).append(fact)
    return found


def _is_twin(desk: Desk, fact: Fact, found: Mapping[Key, list[Fact]]) -> bool:
    """Tell whether a text stands there in the other language, or is to."""
    if not fact.language or fact.language == desk.voice.language:
        return False
    every = desk.facts.told(fact.subject, fact.predicate, desk.voice.language)
    return any(fact in told[1:] for told in every)


def _line(desk: Desk, key: Key, facts: list[Fact]) -> Line:
    voice, (end, _, side, positive) = desk.voice, key
    predicate = facts[0].predicate
    shown = facts[:_TOGETHER]
    if facts[0].language:
        told = [t for t in desk.facts.told(end, predicate, voice.language) if t[0] in facts][:1]
        used = told[0] if told else tuple(facts[:1])
        other = used[0].object.rstrip("。.；; ")
    else:
        used = tuple(shown)
        other = voice.names(f.object if side == "of" else f.subject for f in shown)
    relation = desk.facts.property_label(predicate, voice.language)
    text = _say(voice.language, side, x=voice.name(end), p=relation, o=other)
    if not positive:
        text = _say(voice.language, "denied", said=text)
    return Line(((text + voice.sources(used[:1]), used),), 1)


def _unread(desk: Desk, retrieved: Retrieved, part: Part) -> None:
    unread = [u for u in retrieved.texts if u.kind == PASSAGE and not u.claims]
    if unread and not retrieved.claims:
        part.missing.append(_say(desk.voice.language, "unread", n=str(len(unread))))
