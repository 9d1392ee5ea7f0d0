"""What a method retrieved, in words: claims of one thing and relation together, best first."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from shiyi.answering.asked import asked_predicates
from shiyi.answering.clauses import blanked
from shiyi.answering.cues import Intent
from shiyi.answering.draft import Line
from shiyi.answering.facts import Fact
from shiyi.answering.methods.claims import is_benefit, near
from shiyi.answering.parts import Desk, Part, red_flags
from shiyi.answering.paths import Retrieved
from shiyi.answering.phrases import LANGUAGES, PROPERTY
from shiyi.answering.roles import CAUTION, MATERIAL, PROFILE
from shiyi.answering.texts import PASSAGE
from shiyi.answering.voice import closed
from shiyi.model.rdf import NamedNode, local_name
from shiyi.ontology.terms import SHIYI

_GROUPS: Final = 8
_OTHERS: Final = 3  # groups of other relations beside those asked for
_TOGETHER: Final = 5
_LOOKED_AT: Final = 60
_BESIDE: Final = frozenset({SHIYI.confusedWith, SHIYI.derivedFromOrganism, SHIYI.usesPart})
# told where it is asked for
_GROUPING: Final = (SHIYI.hasFoodGroup, SHIYI.excludesFoodGroup, SHIYI.judgedAs)
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "nothing": ("食医知识库中没有检索到与此相关的记载。",
                "The Shiyi knowledge base holds nothing that was found for this."),
    "into": ("{o} —{p}→ {x}", "{o} —{p}→ {x}"),
    "of": ("{x} · {p}：{o}", "{x} · {p}: {o}"),
    "denied": ("有来源否认：{said}", "denied by a source: {said}"),
    "unread": ("检索到{n}段可能相关的原文，但尚无审阅过的论断可引用",
               "{n} passages may bear on this, but no reviewed claim was read from them"),
}  # fmt: skip
_DESCRIBING: Final = (
    "hasManifestation",
    "hasCause",
    "relatedConstitution",
    "hasTreatmentPrinciple",
)
Key = tuple[str, str, str, bool]  # the end that is named, the relation, the side, and the polarity
Group = tuple[Key, list[Fact]]


def nothing(language: str) -> str:
    """Say plainly that nothing was retrieved (iDISK2.0-RAG)."""
    return _say(language, "nothing")


def report(
    desk: Desk, retrieved: Retrieved, least: float, said: Collection[str] = (), *, opened: bool
) -> Part:
    """Write the best claims that a method found, but for those that were ``said`` already.

    The first line answers, unless it is ``opened`` already.

    A benefit is left out where it is held with less than ``least``, where a source rates it as
    insufficient, where cold or heat is not decided, and where the safety check speaks against the
    thing for this person; what was asked about is then warned of.
    """
    part, voice = Part(), desk.voice
    wanted = _wanted(desk)
    found = [
        f for f in (each.fact for each in retrieved.claims)
        if _bears(desk, f) and (f.predicate not in _GROUPING or local_name(f.predicate.value) in wanted)
    ][:_LOOKED_AT]  # fmt: skip
    kept = [fact for fact in found if fact.claim not in said and (
            not is_benefit(fact) or not fact.positive or _may_help(desk, fact, least, part))]  # fmt: skip
    profile = _profile(desk, kept)
    told = {f.claim for f in profile.facts} if profile else set[str]()
    asked, others = _chosen(desk, [f for f in kept if f.claim not in told])
    if profile and _wanted(desk) & {local_name(f.predicate.value) for f in profile.facts}:
        asked, others = [], [*asked, *others][:_OTHERS]
    if desk.reading.wants(Intent.PROPERTY) and desk.reading.ailments:
        others.sort(key=lambda group: _place(group[0]))  # what a pattern is, before what it wants
    lines = [_line(desk, key, facts) for key, facts in asked]
    lines += [profile] if profile else []
    lines += [_line(desk, key, facts) for key, facts in others]
    if lines and not opened:
        first = lines.pop(0)
        end = "。" if voice.language == "zh" else "."
        part.opening.item(*((closed(t, end), f) for t, f in first.pieces))
    part.section("h_facts").lines += lines
    named = _asked(desk)
    for fact in kept[:_GROUPS]:
        if not fact.language and fact.positive:
            part.paths.append(fact.path(fact.object if fact.object in named else fact.subject))
    red_flags(desk, desk.reading.ailments, part)
    _unread(desk, retrieved, part)
    return part


def _place(key: Key) -> int:
    name = local_name(key[1])
    return _DESCRIBING.index(name) if key[2] == "of" and name in _DESCRIBING else len(_DESCRIBING)


def spoken_of(desk: Desk, retrieved: Retrieved, least: float, part: Part) -> list[Line]:
    """Say what texts hold of words that no concept was found for, with their notes."""
    lines, voice, reading = list[Line](), desk.voice, desk.reading
    mine = {*reading.person.states, *reading.ailments, *reading.constitutions, *reading.populations}
    end, space = ("。", "") if voice.language == "zh" else (".", " ")
    for fact in (each.fact for each in retrieved.beside):
        if fact.predicate in CAUTION and fact.object not in mine:
            continue  # whom else it does not suit is not asked
        if fact.language or (is_benefit(fact) and not _may_help(desk, fact, least, part)):
            continue
        key = (fact.subject, fact.predicate.value, "of", fact.positive)
        text = closed(_line(desk, key, [fact]).text, end)
        if note := voice.note(fact):
            lines.append(Line(((f"{text}{space}{closed(note, end)}", (fact,)),), 1))
    return lines


def asked_for(desk: Desk, retrieved: Retrieved, said: Collection[str]) -> list[Line]:
    """Say what is held of the very relation a question names, where nothing said it yet.

    What may warn, and what promises good, is left to those who check the one and the other.
    """
    safety = {name for name, known in desk.facts.schema.properties.items() if known.is_safety}
    wanted = _wanted(desk) - safety
    facts = [
        f for f in (each.fact for each in retrieved.claims)
        if local_name(f.predicate.value) in wanted and f.positive and f.claim not in said
        and not is_benefit(f)
    ]  # fmt: skip
    end = "。" if desk.voice.language == "zh" else "."
    return [
        Line(((closed(_line(desk, key, found).text, end), tuple(found)),), 1)
        for key, found in _chosen(desk, facts)[0]
    ]


def _say(language: str, key: str, **values: str) -> str:
    return _WORDS[key][0 if language == "zh" else 1].format(**values)


def _asked(desk: Desk) -> frozenset[str]:
    named = [m.iri for m in desk.reading.mentions if m.iri]
    return frozenset((*named, *desk.reading.materials, *desk.reading.ailments))


def _bears(desk: Desk, fact: Fact) -> bool:
    """Tell whether a claim speaks of the things asked about, and not of a state they meet alone."""
    things = near(desk.facts, desk.reading.materials)
    return not things or fact.subject in things or fact.object in things


def _may_help(desk: Desk, fact: Fact, least: float, part: Part) -> bool:
    """Tell whether a benefit may be told this person; warn of what speaks against what was asked."""
    if desk.differential.undecided or fact.confidence < least:
        return False
    if not desk.evidences.supports(fact.claim):
        return False
    asked, clear = _asked(desk), True
    for thing in (fact.subject, fact.object):
        if desk.facts.is_a(thing, *MATERIAL):
            reasons = desk.safety.check(thing, desk.reading.person)
            clear = clear and not reasons
            for each in reasons[:1] if thing in asked else ():
                part.warn(desk, each)
    return clear


def _profile(desk: Desk, facts: Iterable[Fact]) -> Line | None:
    """Say nature, flavour, channels and efficacy of the first material in one sentence."""
    held: dict[str, dict[NamedNode, list[Fact]]] = {}
    for fact in facts:
        if fact.predicate in PROFILE and fact.positive:
            held.setdefault(fact.subject, {}).setdefault(fact.predicate, []).append(fact)
    asked = _asked(desk)
    subject = next((iri for iri in held if iri in asked), "")
    if len(held.get(subject, ())) < 2:
        return None
    voice, parts, used = desk.voice, list[str](), list[Fact]()
    for predicate in PROFILE:
        # what else is recorded of the relation stands beside it: sources may differ
        found = desk.facts.of(subject, predicate)[: _TOGETHER + 1]
        if predicate in held[subject]:
            shape = PROPERTY[local_name(predicate.value)][LANGUAGES.index(voice.language)]
            disputed = predicate == SHIYI.hasNature and len(found) > 1
            said = voice.names(f.object for f in found)
            parts.append(shape.format(o=said + (voice.say("p_conflict") if disputed else "")))
            used += found
    joined = ("，" if voice.language == "zh" else "; ").join(parts)
    text = voice.say("p_recorded", s=voice.name(subject), parts=joined)
    return Line(((text, tuple(used)),), 1)


def _wanted(desk: Desk) -> frozenset[str]:
    """Give the relations the words name; the 维生素 of 维生素E names none."""
    reading = desk.reading
    names = (
        (m.start, m.end) for m in reading.mentions
        if m.iri and desk.facts.is_a(m.iri, SHIYI.Drug, *MATERIAL)
    )  # fmt: skip
    return asked_predicates(blanked(reading.question, names))


def _chosen(desk: Desk, facts: Iterable[Fact]) -> tuple[list[Group], list[Group]]:
    """Give the groups of the relation asked for, and others: a few where there are any such."""
    groups = list(_grouped(desk, facts).items())
    wanted, named = _wanted(desk), _asked(desk)
    asked = [g for g in groups if local_name(g[0][1]) in wanted and g[0][0] in named][:_GROUPS]
    others = [g for g in groups if g not in asked]
    return asked, others[: _OTHERS if asked else _GROUPS]


def _grouped(desk: Desk, facts: Iterable[Fact]) -> dict[Key, list[Fact]]:
    asked, wanted, found = _asked(desk), _wanted(desk), dict[Key, list[Fact]]()
    for fact in facts:
        aside = fact.predicate in _BESIDE and local_name(fact.predicate.value) not in wanted
        if aside or _is_twin(desk, fact, found):
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
