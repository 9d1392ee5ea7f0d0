"""Relations, kinds and typed conditions that words name: values, negation, years, classes.

The words for conditions stand in ``cues/conditions.tsv``; a cue names a property and its values.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from shiyi.answering.knowledge.facts import AILMENT, MATERIAL, Facts
from shiyi.answering.understanding.frame import Condition, Focus, Frame, Operator, WantedKinds
from shiyi.linking.normalization import QuestionText, fold
from shiyi.model.answer import Mention
from shiyi.model.iris import ID
from shiyi.ontology.lexicon import Cues, cues
from shiyi.ontology.schema import Property, Schema
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("wanted")
_LONG_ENOUGH: Final = 2  # characters of a Chinese name; of an English one, five letters

YEAR: Final = "listedYear"  # of the batch in which a thing was listed; no property of the base
RATING: Final = "rating"
BENEFIT: Final = "benefit"  # any relation that states a benefit
HARM: Final = "harm"  # any relation that warns in a state
MEETS: Final = "interactsWith"
_LISTING: Final = frozenset({"list", "property", "avoid", "advice", "regulation"})


@cache
def _patterns() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """Return the property, the values and the pattern of each cue for a value."""
    results = []
    for cue, pattern in cues("conditions").items():
        name, *values = cue.split()
        if values:
            results.append((name, tuple(values), pattern))
    return tuple(results)


def find_conditions(text: QuestionText, frame: Frame, facts: Facts) -> tuple[Condition, ...]:
    """Return the conditions that a question sets for the things of a list."""
    exchanged = frame.has_cue("what-about-zh", "what-about-en")
    values = list(_values(text, frame))
    found = (*_unite_values(text, values), *_years(text))
    if not frame.has_cue("narrows"):
        asked = frame.ask in _LISTING or frame.probability("list") >= _LEAST
        if not (asked or exchanged or _is_list_of(text, frame, found)):
            return ()
    spans = [span for span, _ in values]
    beside = _find_required(text, frame, facts, [f for f in frame.focus if not _is_value(f, spans)])
    return tuple(dict.fromkeys((*found, *beside)))


def is_list(text: QuestionText, frame: Frame) -> bool:
    """Return whether things are sought by what they are, however the question was read."""
    return _is_list_of(text, frame, frame.conditions)


def _is_list_of(text: QuestionText, frame: Frame, conditions: Sequence[Condition]) -> bool:
    typed_conditions = [c for c in conditions if is_typed(c)]
    focus = find_beside(text, frame) if len(typed_conditions) > 1 else frame.focus
    values = [f.iri for f in focus if f.role in _NAMED and f.iri]
    things = any("/status-" not in iri for iri in values)
    if things or len(typed_conditions) < len(conditions):
        return False
    ranked = bool(frame.wanted.measure) and "hasMeridianTropism" in frame.wanted.relations
    listed = cues("conditions")["listed"].search(text.aligned) is not None
    return ranked or len(typed_conditions) > 1 or (listed and bool(typed_conditions))


def is_typed(condition: Condition) -> bool:
    """Return whether a condition is of what things are, and not of what they do to somebody."""
    return condition.property in _TYPED or condition.property.startswith(OF)


_TYPED: Final = frozenset({
    "hasNature", "hasFlavour", "hasMeridianTropism", "hasToxicity", "regulatoryStatus",
    "hasFoodGroup", YEAR,
})  # fmt: skip
_NAMED: Final = frozenset({
    "asked_about", "eaten", "supplement", "complaint", "condition", "medicine", "aim", "allergy",
})  # fmt: skip
OF: Final = "of-"  # begins the name of a kind: by part used, group of foods, list or name
_EITHER: Final = frozenset({"hasNature", "hasToxicity", "regulatoryStatus"})  # has one value


def _unite_values(
    text: QuestionText, values: Sequence[tuple[tuple[int, int], Condition]]
) -> Iterator[Condition]:
    """Yield conditions; values of a property are any of them where it has one, or with "or"."""
    results: dict[tuple[str, str, int], list[str]] = {}
    either = cues("conditions")["or"].search(text.aligned) is not None
    asking = len(_listed_clauses(text)) > 1
    for number, ((start, _), condition) in enumerate(values):
        joined = condition.property in _EITHER or (either and condition.operator == "is")
        place = text.clause_at(start)[0] if asking else -1
        key = condition.property, condition.operator, place if joined else -2 - number
        results.setdefault(key, []).append(condition.value)
    for (name, operator, _), iris in results.items():
        parts = dict.fromkeys(iri for value in iris for iri in value.split("|"))
        yield Condition(name, "is_not" if operator == "is_not" else "is", "|".join(parts))


def _listed_clauses(text: QuestionText) -> list[tuple[int, int]]:
    pattern = cues("conditions")["listed"]
    return [(a, b) for a, b in text.clauses if pattern.search(text.aligned[a:b])]


def find_beside(text: QuestionText, frame: Frame) -> tuple[Focus, ...]:
    """Return what a question names beside the values of its conditions."""
    spans = [span for span, _ in _values(text, frame)]
    return tuple(f for f in frame.focus if not _is_value(f, spans))


def unread_exclusions(text: QuestionText, frame: Frame) -> Iterator[Focus]:
    """Yield what a list is to leave out, where its words name no condition that is known."""
    known = [(f.start, f.end) for f in frame.focus]
    known += [h.span() for _, _, pattern in _patterns() for h in pattern.finditer(text.aligned)]
    for hit in cues("conditions")["left-out"].finditer(text.aligned):
        group = next(name for name, words in hit.groupdict().items() if words)
        start, end = hit.span(group)
        if not any(start < b and a < end for a, b in known):
            words = text.raw[start:end]
            yield Focus(words, start, end, "", words, "topic")


def _is_value(focus: Focus, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether words were read as a value already: the "cold" of a nature is no disease."""
    return any(focus.start < end and start < focus.end for start, end in spans)


_LEAST: Final = 0.2  # probability of a list for which conditions are read


def find_classes(text: QuestionText) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the classes and the ways of preparing that words ask for, the first of them."""
    hits = [
        (hit.start(), values)
        for name, values, pattern in _patterns()
        if name == "class" and (hit := pattern.search(text.aligned))
    ]
    methods = [v for _, values in hits for v in values if v.startswith("method-")]
    first = min(hits, default=(0, ()))[1]
    if methods:
        first = ("Dish",)
    return tuple(v for v in first if not v.startswith("method-")), tuple(methods)


def _values(text: QuestionText, frame: Frame) -> Iterator[tuple[tuple[int, int], Condition]]:
    """Yield natures, flavours, channels, lists and groups, each as it is or as it is not."""
    named = [(f.start, f.end) for f in frame.focus if f.iri and f.role in ("asked_about", "aim")]
    taken: list[tuple[int, int]] = []
    for name, values, pattern in _patterns():
        if name == "class":
            continue
        for hit in pattern.finditer(text.aligned):
            within = any(s < hit.end() and hit.start() < e for s, e in named)  # bitter melon
            within &= not (hit.span() in named and name.startswith(OF) and hit[0].endswith("s"))
            if within or any(s <= hit.start() and hit.end() <= e for s, e in taken):
                continue
            taken.append(hit.span())
            operator: Operator = "is_not" if _is_denied(text, hit.start()) else "is"
            iris = [v if name == RATING else ID + v for v in values]
            known = "hasFoodGroup" if name == "group" else name
            yield hit.span(), Condition(known, operator, "|".join(iris))


def _is_denied(text: QuestionText, place: int) -> bool:
    start, _ = text.clause_at(place)
    return cues("conditions")["not"].search(text.aligned[start:place]) is not None


def _years(text: QuestionText) -> Iterator[Condition]:
    patterns = cues("conditions")
    for hit in patterns["year"].finditer(text.aligned):
        year = next(filter(None, hit.groups()))
        after = text.aligned[hit.end() :].lstrip()
        before = text.aligned[: hit.start()]
        operator: Operator = "is"
        if patterns["year-after"].match(after) or patterns["year-after-en"].search(before):
            operator = "after"
        elif patterns["year-before"].match(after) or patterns["year-before-en"].search(before):
            operator = "before"
        yield Condition(YEAR, operator, year)
    if patterns["this-year"].search(text.aligned) and not patterns["year"].search(text.aligned):
        yield Condition(YEAR, "more", "")  # the last batch


def _find_required(
    text: QuestionText, frame: Frame, facts: Facts, foci: Iterable[Focus]
) -> Iterator[Condition]:
    """Yield what things must have to do with what is named: a state, a medicine, a part."""
    patterns = cues("conditions")
    signs = {cue for cue in _WITH if patterns[cue].search(text.aligned)}
    signs |= {"with-caution"} if frame.ask == "avoid" else set()
    signs |= {"with-ingredient"} if frame.ask == "list" else set()
    for focus in foci:
        name = _relation(focus, facts, signs) if focus.iri and focus.role != "other_person" else ""
        if name:
            operator: Operator = "is_not" if focus.assertion == "denied" else "is"
            operator = "less" if name == "hasNutrient" and _is_little(text, focus) else operator
            values = _nutrients(focus, facts) if name == "hasNutrient" else ()
            if name == BENEFIT and frame.has_cue("rich-in") and facts.is_a(focus.iri, *AILMENT):
                values = _deficient_nutrients(focus, facts)  # foods with zinc for who lacks zinc
                name = "hasNutrient" if values else name
            yield Condition(name, operator, "|".join(values or (focus.iri, *focus.also)))
    for state in frame.patient.states:
        if state.iri and facts.of(state.iri, SHIYI.excludesFoodGroup):
            yield Condition("diet", "is", state.iri)
        elif state.iri:
            yield Condition(HARM if "with-caution" in signs else BENEFIT, "is", state.iri)
    for iri in frame.wanted.season:
        yield Condition("suitableSeason", "is", iri)


def _is_little(text: QuestionText, focus: Focus) -> bool:
    """Return whether little of a nutrient is asked for: "low in iron", 含铁少的."""
    before, after = text.aligned[: focus.start], text.aligned[focus.end :]
    little = cues("conditions")
    return bool(little["little-before"].search(before) or little["little-after"].match(after))


_WITH: Final = (
    "with-interaction",
    "with-caution",
    "with-ingredient",
    "with-effect",
    "with-opposite",
)
_RELATIONS: Final = (
    ((SHIYI.Nature,), "hasNature"), ((SHIYI.Flavour,), "hasFlavour"),
    ((SHIYI.Meridian,), "hasMeridianTropism"), ((SHIYI.Efficacy,), "hasEfficacy"),
    ((SHIYI.Therapy,), BENEFIT), ((SHIYI.FoodGroup,), "hasFoodGroup"),
    ((SHIYI.RegulatoryStatus,), "regulatoryStatus"), ((SHIYI.ToxicityLevel,), "hasToxicity"),
    ((SHIYI.Drug, SHIYI.DrugClass), MEETS), ((*AILMENT, SHIYI.Constitution), BENEFIT),
    ((SHIYI.ChemicalEntity,), "hasNutrient"), (MATERIAL, "hasIngredient"),
)  # fmt: skip


def _relation(focus: Focus, facts: Facts, signs: Collection[str]) -> str:
    """Return the property by which things are joined with what is named."""
    name = next((name for of, name in _RELATIONS if facts.is_a(focus.iri, *of)), "")
    if name == BENEFIT and not facts.is_a(focus.iri, SHIYI.Therapy):
        if "with-caution" in signs:
            return HARM
        return "isEffectiveFor" if "with-effect" in signs else BENEFIT
    if name != "hasIngredient":
        return name
    if _nutrients(focus, facts):
        return "hasNutrient"
    if "with-opposite" in signs:
        return "opposes"
    return MEETS if "with-interaction" in signs else name if "with-ingredient" in signs else ""


def _nutrients(focus: Focus, facts: Facts) -> tuple[str, ...]:
    """Return the constituents that a name means: iron is a supplement, and in foods a nutrient."""
    meant = [focus.iri, *focus.also]
    if name := focus.iri.rpartition("/supplement-")[2] * ("/supplement-" in focus.iri):
        own = f"{ID}constituent-{name}"
        meant += [own] if own in facts.labels else []
    return tuple(dict.fromkeys(i for i in meant if facts.is_a(i, SHIYI.ChemicalEntity)))


def _deficient_nutrients(focus: Focus, facts: Facts) -> tuple[str, ...]:
    """Return the nutrients that the words for a deficiency name."""
    words = f" {fold(focus.text)} "
    return tuple(
        iri
        for iri in facts.members(SHIYI.ChemicalEntity)
        if facts.inverse(iri, SHIYI.hasNutrient)
        and any(
            (f" {x} " if x.isascii() else x) in words for x in map(fold, facts.labels[iri].values())
        )
    )


def add_classes(kinds: WantedKinds, text: QuestionText) -> WantedKinds:
    """Return what is wanted with the classes and ways of preparing that the words name."""
    classes, methods = find_classes(text)
    forms = tuple(dict.fromkeys((*kinds.form, *(ID + m for m in methods))))
    return replace(kinds, classes=classes or kinds.classes, form=forms)


def find_predicates(question: str) -> frozenset[str]:
    """Return the relations a question names, by everyday words or as the vocabulary does.

    >>> sorted(find_predicates("What is the active constituent of honeysuckle?"))
    ['hasActiveConstituent', 'hasNutrient']
    """
    low = question.lower()
    everyday = {
        name
        for names, cue in cues("relations").items()
        if cue.search(low)
        for name in names.split()
    }
    return frozenset(everyday | {name for name, _, _ in find_relations(question)})


def find_relations(question: str) -> tuple[tuple[str, int, int], ...]:
    """List relations with the spans of the names that the vocabulary gives them."""
    return tuple(
        (name, match.start(), match.end())
        for name, pattern in _names()
        for match in pattern.finditer(question)
    )


def drop_names(mentions: Iterable[Mention], question: str) -> tuple[Mention, ...]:
    """Leave out mentions that are but a piece of a relation's name."""
    spans = [(start, end) for _, start, end in find_relations(question)]
    return tuple(
        m
        for m in mentions
        if not any(
            start <= m.start and m.end <= end and m.end - m.start < end - start
            for start, end in spans
        )
    )


def find_kinds(stem: str) -> frozenset[str]:
    """Return the kinds of concept that the words of a question name."""
    low = stem.lower()
    return frozenset(
        name for names, cue in cues("kinds").items() if cue.search(low) for name in names.split()
    )


def is_negated(stem: str) -> bool:
    """Return whether the option is wanted that does *not* fit.

    >>> is_negated("Which is not warming?"), is_negated("Which is warming?")
    (True, False)
    """
    return bool(_CUES["odd"].search(stem.lower()[-60:]))


_RECORDS: Final = {"Claim", "Evidence", "Source", "Review"}  # of which no question of food asks


@cache
def _names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile("|".join(results), re.IGNORECASE))
        for name, known in Schema.load().properties.items()
        if (results := _namings(known))
    )


def _namings(known: Property) -> list[str]:
    if not (known.is_object and known.domain - _RECORDS) or _CUES["inverse"].search(known.label_zh):
        return []
    chinese = re.sub(r"\(.*?\)", "", known.label_zh).split("/")
    english = known.label_en.removeprefix("has ").removeprefix("is ")
    return [
        *(re.escape(each) for each in chinese if len(each) >= _LONG_ENOUGH),
        *([rf"\b{re.escape(english)}s?\b"] if len(english) >= _LONG_ENOUGH + 3 else []),
    ]
