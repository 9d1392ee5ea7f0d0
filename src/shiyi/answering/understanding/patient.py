"""The person: age, states, medicines, and which conditions, allergies and foods are theirs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL, Facts
from shiyi.answering.understanding.frame import Assertion, Focus, Frame, Sex, State
from shiyi.answering.understanding.mentions import TAKEN
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import CLAUSE_END, QuestionText, fold, is_cjk
from shiyi.model.answer import Mention
from shiyi.model.iris import ID, resource
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.lexicon import Cues, cue_texts, cues, word_list
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("people")
_COMMA: Final = re.compile(r"\s*,\s*")
_CLAUSE_END: Final = re.compile(CLAUSE_END)
_SPACES: Final = re.compile(r"\s+")
_FREE: Final = re.compile(r"[ -]free\b")


_SURGERY: Final = resource("population-preoperative").value
_AFTER_SURGERY: Final = resource("population-postoperative").value
_NURSING: Final = resource("population-lactating").value
_PREGNANT: Final = resource("population-pregnant").value
_PASSING: Final = frozenset({
    _SURGERY, _AFTER_SURGERY, _NURSING, _PREGNANT,
    resource("population-postpartum").value, resource("population-menstruating").value,
})  # fmt: skip
_NEAR: Final = 12  # characters
_ALCOHOL: Final = resource("drug-ethanol").value  # no medicine that somebody takes
_MOST, _GROWN, _OLDEST = 10, 14, 130


_STAGES: Final = (
    ("infant", 0, 1), ("young-child", 0, 3), ("child", 0, 14), ("adolescent", 14, 18),
    ("elderly", 65, 131),
)  # fmt: skip
STAGES: Final = frozenset(f"{ID}population-{name}" for name, _, _ in _STAGES)


@cache
def _numerals() -> dict[str, float]:
    """Return the values of numerals in both languages."""
    return {
        word: float(value)
        for value in cue_texts("numerals")
        for words in word_list("numerals", value)
        for word in words
    }


def life_stages(profile: Profile) -> list[str]:
    """Name the groups of people that a profile puts somebody in."""
    stages = []
    if profile.pregnant:
        stages.append("population-pregnant")
    if profile.lactating:
        stages.append("population-lactating")
    if profile.allergies:
        stages.append("population-allergic")
    if profile.age is not None:
        stages += [f"population-{n}" for n, low, high in _STAGES if low <= profile.age < high]
    return stages


def parse_age(text: str) -> float | None:
    """Return the age that folded words tell, in years; of several children that of the youngest.

    >>> parse_age("my 7 year old has a cough"), parse_age("for three months")
    (7.0, None)
    """
    ages = [age for age in _ages(text) if age <= _OLDEST]
    age = min(ages) if ages and min(ages) < _GROWN else next(iter(ages), None)
    return None if age is None else round(age, 1)


def _ages(text: str) -> list[float]:
    hits = _CUES["age"].finditer(text)
    ages = [age for hit in hits if (age := _age(hit, text)) is not None]
    if not ages and _CUES["age-owner"].search(text):
        ages += [
            _number(next(filter(None, hit.groups()))) for hit in _CUES["bare-age"].finditer(text)
        ]
    return ages


def _age(hit: re.Match[str], text: str) -> float | None:
    """Return an age in years; how long something lasts is none: "for three months"."""
    before, after = text[: hit.start()], text[hit.end() :]
    unit, count = hit[2], _number(hit[1])
    if _CUES["at-that-age"].match(after) or _CUES["was-of-age"].search(before):
        return None
    if _CUES["year-unit"].match(unit):
        younger = _CUES["not-yet"].search(before) or _CUES["within"].match(after)
        count += 0.5 if _CUES["and-a-half"].match(after) else 0.0
        return count - 0.1 if younger else count
    of_age = _CUES["old"].match(after) or _CUES["child-word"].search(text)
    of_age = of_age or _CUES["age-of"].search(before)
    lasting = _CUES["span-before"].search(before) or _CUES["span-after"].match(after)
    if not of_age or (lasting and not _CUES["old"].match(after)):
        return None
    return count / (52 if unit.startswith("week") else 12)


def _number(numeral: str) -> float:
    """Return the value of a numeral; a Chinese one may have tens and ones."""
    known = _numerals()
    if numeral in known or not is_cjk(numeral[0]):
        return known[numeral] if numeral in known else float(numeral)
    ten = next(word for word, value in known.items() if value == 10 and is_cjk(word[0]))
    tens, _, ones = numeral.partition(ten)
    return 10.0 * known.get(tens, 1) + known.get(ones, 0)


def parse_states(text: str) -> tuple[State, ...]:
    """List the states that folded words name, each affirmed, denied, past or planned.

    >>> [
    ...     (state.label, state.assertion)
    ...     for state in parse_states("not pregnant, but breastfeeding")
    ... ]
    [('pregnant', 'denied'), ('breastfeeding', 'affirmed')]
    """
    states = []
    for label, cue in cues("states").items():
        if hit := cue.search(text):
            states.append(State(label, assertion_of(text[: hit.start()], text[hit.end() :])))
    return tuple(states)


def parse_sex(text: str) -> Sex:
    """Return the sex that folded words tell of the asker."""
    terms: tuple[Sex, ...] = ("male", "female")
    return next((sex for sex in terms if _CUES[sex].search(text)), "")


def build_profile(frame: Frame, facts: Facts, *, reply: bool = False) -> Profile:
    """Return what a frame says of the asker; nothing where it is about somebody else.

    ``reply`` takes words without "I" for the asker's own, as in a reply to what was asked back.
    """
    own = reply or frame.has_cue("own")
    others = frame.patient.who not in {"self", "general"} or frame.has_cue("others")
    if others or frame.alarm:
        return Profile()
    states = {state.label: state.assertion for state in frame.patient.states}
    mine = [f for f in frame.focus if f.iri and f.assertion == "affirmed"]
    illnesses = (
        f
        for f in mine
        if f.role == "condition"
        and not facts.is_a(f.iri, SHIYI.EmergencySign, SHIYI.Syndrome, SHIYI.Constitution)
        and (facts.is_a(f.iri, SHIYI.Disease) or facts.of(f.iri, SHIYI.excludesFoodGroup))
    )
    diets = (
        facts.label(s.iri, frame.language)
        for s in frame.patient.states
        if s.assertion == "affirmed" and facts.of(s.iri, SHIYI.excludesFoodGroup)
    )
    return Profile(
        age=frame.patient.age if frame.patient.who == "self" else None,
        sex=frame.patient.sex,
        pregnant=_is_so(states.get("pregnant")) if own else None,
        lactating=_is_so(states.get("breastfeeding")) if own else None,
        medicines=_words(
            f.label or f.text for f in mine if f.role == "medicine" and f.iri != _ALCOHOL
        ),
        allergies=_words(f.label or f.text for f in mine if f.role == "allergy"),
        conditions=_words([*(f.label or f.text for f in illnesses), *diets]) if own else (),
        constitution=next(
            (f.label or f.text for f in mine if own and facts.is_a(f.iri, SHIYI.Constitution)), ""
        ),
        avoids=_words(f.label or f.text for f in frame.focus if _is_left_out(f)),
    )


def _is_left_out(focus: Focus) -> bool:
    return bool(focus.iri) and focus.role == "asked_about" and focus.assertion == "denied"


def _is_so(assertion: str | None) -> bool | None:
    """Return whether a state is so; what is over or only planned says nothing of the present."""
    return {"affirmed": True, "denied": False}.get(assertion or "")


def _words(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:_MOST]


@dataclass(frozen=True, slots=True)
class Person:
    """The states that are certain, the medicines taken, allergies and foods not eaten, as concepts.

    ``states`` are conditions of every kind, diets among them; ``left_out`` are foods and groups
    of foods; ``unknown`` are words of the profile that we could not link.
    """

    states: tuple[str, ...] = ()
    drugs: tuple[str, ...] = ()
    allergies: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


_NOBODY: Final = Person()


def _whole_name(constitution: str) -> str:
    """Return the name of a constitution with the word for it: "phlegm-damp"."""
    chinese, english = word_list("people", "constitution-ends")
    if not constitution or any(name in constitution.lower() for name in (*chinese, *english)):
        return constitution
    space, ends = ("", chinese) if is_cjk(constitution[0]) else (" ", english)
    return constitution + space + next(iter(ends))


def build_person(profile: Profile, linker: Linker, facts: Facts, named: Person = _NOBODY) -> Person:
    """Add what the profile states to what the question says of who is to eat (``named``)."""
    unknown: list[str] = []

    def link_names(words: Iterable[str], *classes: NamedNode) -> list[str]:
        names: list[str] = []
        for word in words:
            hits = [m.iri for m in linker.link(word) if m.iri and facts.is_a(m.iri, *classes)]
            names += hits
            if not hits:
                unknown.append(word)
        return names

    drugs = [*named.drugs, *link_names(profile.medicines, SHIYI.Drug, *MATERIAL)]
    allergies = [*named.allergies, *link_names(profile.allergies, *TAKEN)]
    avoids = link_names(profile.avoids, *TAKEN)
    prone = [ID + "population-allergic"] if allergies else []
    states = [*named.states, *link_names(profile.conditions, SHIYI.Condition)]
    states += link_names(filter(None, [_whole_name(profile.constitution)]), SHIYI.Constitution)
    states += [*prone, *(ID + name for name in life_stages(profile))]
    states += [
        f.object
        for drug in drugs
        for broader in facts.above(drug)
        for f in facts.of(broader, SHIYI.judgedAs)
    ]
    return Person(
        tuple(dict.fromkeys(s for s in states if s in facts.labels)),
        tuple(dict.fromkeys(drugs)),
        tuple(dict.fromkeys(allergies)),
        tuple(unknown),
        tuple(dict.fromkeys([*named.left_out, *avoids])),
    )


def resolve_denials(mentions: Iterable[Mention], text: QuestionText) -> tuple[Mention, ...]:
    """Withdraw a denial that was none: of the past alone, made twice, or of its having ended.

    >>> text = QuestionText.of("I never had gout before, but now I do")
    >>> [m.negated for m in resolve_denials([Mention("gout", 12, 16, negated=True)], text)]
    [False]
    """
    return tuple(
        replace(m, negated=False) if m.negated and _is_withdrawn(m, text) else m for m in mentions
    )


def _is_withdrawn(mention: Mention, text: QuestionText) -> bool:
    start, end = text.clause_at(mention.start)
    before = text.aligned[start : mention.start]
    if _CUES["denied-twice"].search(before) or _CUES["not-over"].search(before):
        return True
    return bool(_CUES["before-now"].search(before)) and bool(
        _CUES["now"].search(text.aligned, end - 1)
    )


def resolve_time(
    mentions: Iterable[Mention], text: QuestionText, facts: Facts
) -> tuple[Mention, ...]:
    """Deny passing states that were over long ago, and tell an operation done from one to come.

    A disease somebody had stays; so does what was lately: safety is judged for the present.
    """
    return tuple(
        _set_time(m, text, facts) if m.iri in _PASSING and not m.negated else m for m in mentions
    )


def _set_time(mention: Mention, whole: QuestionText, facts: Facts) -> Mention:
    start, end = whole.clause_at(mention.start)
    text = whole.aligned
    before, after = text[start : mention.start], text[mention.end : end]
    clause = text[start:end]
    over = (
        mention.iri == _NURSING
        and _CUES["weaned"].search(before)
        and not _CUES["not-over"].search(before)
    )
    coming = (
        _CUES["coming"].search(before[-_NEAR:])
        or _CUES["coming"].search(after)
        or _CUES["before"].match(after)
    )
    past = _CUES["long-ago"].search(clause) and not _CUES["still"].search(text)
    if over or (past and not coming):
        return replace(mention, negated=True)
    match = _CUES["done-before"].search(before) or _CUES["done-after"].match(after)
    again = _CUES["long-ago"].search(clause) and _CUES["still"].search(text)
    if (
        mention.iri == _SURGERY
        and match
        and not (coming or again)
        and _AFTER_SURGERY in facts.labels
    ):
        labels = facts.labels[_AFTER_SURGERY]
        zh, en = labels.get("zh", ""), labels.get("en", "")
        return replace(mention, iri=_AFTER_SURGERY, label_zh=zh, label_en=en, cui="")
    return mention


def list_conditions_of_others(
    mentions: Iterable[Mention],
    question: QuestionText,
    facts: Facts,
    allergens: Iterable[Mention] = (),
) -> tuple[Mention, ...]:
    """List the states, medicines and allergens of people who are not to eat.

    They are others' where the asker asks for themselves, and the asker's where somebody else alone
    is to eat. Nothing is left out where the asker breastfeeds, or is pregnant and asks for the
    child: what one eats reaches the other.
    """
    all_mentions, allergens, text = list(mentions), list(allergens), question.aligned
    concerned_mentions = [
        m
        for m in all_mentions
        if (m in allergens or facts.is_a(m.iri, SHIYI.Condition, SHIYI.Drug))
        and not facts.is_a(m.iri, SHIYI.EmergencySign)
    ]
    own = _clause_with("myself", question)
    if own and not any(m.iri == _NURSING for m in all_mentions):
        asked = text[slice(*own)]
        match = _CUES["kin"].search(asked) or _CUES["for-them"].search(asked)
        if match or _CUES["so-have-i"].search(text):
            return ()
        return tuple(m for m in concerned_mentions if _is_apart(m, question, own, theirs=True))
    eating = _clause_with("they-eat", question)
    if not own and eating:
        bearing = any(m.iri in (_NURSING, _PREGNANT) for m in all_mentions)
        if bearing and _CUES["child"].search(text, *eating):
            return ()
        if _CUES["also-mine"].search(_CUES["own-kin"].sub("", text[slice(*eating)])):
            return ()
        return tuple(m for m in concerned_mentions if _is_apart(m, question, eating, theirs=False))
    return ()


def asks_for_themselves(question: QuestionText) -> bool:
    """Return whether the words say that it is the asker who is to eat.

    >>> asks_for_themselves(QuestionText.of("My mother has gout. Can I eat sardines?"))
    True
    """
    return _clause_with("myself", question) is not None


def _clause_with(cue: str, question: QuestionText) -> tuple[int, int] | None:
    results = (c for c in question.clauses if _CUES[cue].search(question.aligned[slice(*c)]))
    return next(results, None)


def _is_apart(
    mention: Mention, question: QuestionText, span: tuple[int, int], *, theirs: bool
) -> bool:
    """Return whether a clause tells something of another person than the one who is to eat."""
    clause = question.clause_at(mention.start)
    if clause == span:
        return False
    if theirs:
        return _is_theirs(question.aligned, mention, clause)
    message = question.aligned[slice(*clause)]
    return bool(_CUES["also-mine"].search(message)) and not _CUES["kin"].search(message)


def _is_theirs(text: str, mention: Mention, clause: tuple[int, int]) -> bool:
    """Return whether a clause tells something of one person who is not the asker."""
    if _CUES["kin-with"].match(text[mention.end : clause[1]]):
        return True  # 我对花生过敏的妈妈: the allergy is the mother's
    clause_text = text[clause[0] : clause[1]]
    kin = _CUES["kin"].search(clause_text)
    before = kin is not None and clause[0] + kin.start() < mention.start
    return before and not _CUES["also-mine"].search(_CUES["own-kin"].sub("", clause_text))


def is_allergy_word(text: str) -> bool:
    """Return whether a word only says that somebody is allergic.

    >>> is_allergy_word("allergic"), is_allergy_word("peanut")
    (True, False)
    """
    return fold(text).startswith(tuple(frozenset().union(*word_list("words", "allergic"))))


def allergens(question: QuestionText, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """List the mentions that the words around them say to bring on an allergy."""
    text = question.aligned
    all_mentions = [m for m in mentions if not is_allergy_word(m.text)]
    first = [
        m
        for m in all_mentions
        if (
            _CUES["allergic-after"].match(text[m.end :].lstrip())
            or _CUES["allergic-before"].search(_SPACES.sub(" ", text[: m.start])[-40:])
        )
        and not _is_denied(text, m)
    ]
    return _extend(text, all_mentions, first)


def find_not_eaten(question: QuestionText, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """List the mentions of what the words say is not eaten, where this is stated and not asked."""
    text, all_mentions = question.aligned, list(mentions)
    first = [
        m
        for m in all_mentions
        if (_CUES["not-eaten"].search(text[: m.start]) or _FREE.match(text[m.end :]))
        and not _CUES["asked-beside"].match(text[m.end :])
        and _is_own(text, m)
    ]
    return _extend(text, all_mentions, first)


def _clause_before(text: str, mention: Mention) -> str:
    return _CLAUSE_END.split(text[: mention.start])[-1]


def _is_own(text: str, mention: Mention) -> bool:
    """Return whether it is the asker who leaves it out, and not what is stated of anybody."""
    before, after = _clause_before(text, mention), text[mention.end :]
    if _CUES["because"].match(after):
        return False
    if _CUES["asker"].search(before):
        return True
    return not (_CUES["barred"].search(before) or _CUES["reported"].search(before))


def _is_denied(text: str, mention: Mention) -> bool:
    """Return whether an allergy is stated to be none; a rhetorical "am I not" is one."""
    before = _clause_before(text, mention)
    after = _CLAUSE_END.split(text[mention.end :])[0]
    denied = _CUES["not-allergic"].search(before) and not _CUES["not-only"].search(before)
    return bool(denied) and not _CUES["asked-mark"].search(after)


def _extend(
    text: str, mentions: Sequence[Mention], first: Iterable[Mention]
) -> tuple[Mention, ...]:
    """Add what stands in one list with the first: "nuts, dairy and eggs"."""
    found_mentions = list(first)
    for mention in list(found_mentions):
        chain, rest = [mention], [m for m in mentions if m not in found_mentions]
        for step in (1, -1):
            end = mention
            while nxt := next((m for m in rest if _are_joined(text, end, m, step)), None):
                rest.remove(nxt)
                chain.append(nxt)
                end = nxt
        found_mentions += [m for m in chain if m not in found_mentions]
    return tuple(sorted(found_mentions, key=lambda m: m.start))


def _are_joined(text: str, one: Mention, other: Mention, step: int) -> bool:
    before, after = (one, other) if step > 0 else (other, one)
    if before.end > after.start:
        return False
    between = text[before.end : after.start]
    if _CUES["list-and"].fullmatch(between):
        return True
    # a comma joins where the list goes on to an "and"
    tail = re.split(r"[.;?!。；？！]", text[after.end :])[0]
    return bool(_COMMA.fullmatch(between)) and bool(_CUES["list-goes-on"].match(tail))


def assertion_of(before: str, after: str) -> Assertion:
    """Return how words are asserted by the folded words before and after them.

    >>> assertion_of("i am not ", ""), assertion_of("i had surgery last year, ", "")
    ('denied', 'affirmed')
    """
    clause = re.split(r"[,，。;；.]", before)[-1]
    if _CUES["no"].search(before):
        return "denied"
    if _CUES["coming"].search(clause[-8:]):
        return "planned"
    if _CUES["long-ago"].search(clause) or _CUES["done-after"].match(after):
        return "past"
    return "affirmed"
