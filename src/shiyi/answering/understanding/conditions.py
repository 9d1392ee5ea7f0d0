"""Relations, kinds and typed conditions that words name: values, negation, years, classes.

The words for conditions stand in ``cues/conditions.tsv``; a cue names a property and its values.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Final

from shiyi.answering.knowledge.facts import AILMENT, MATERIAL, Facts
from shiyi.answering.understanding.frame import Condition, Focus, Frame, Operator, Wanted
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
BENEFIT: Final = "benefit"  # whatever relation says that a thing is good for something
HARM: Final = "harm"  # whatever relation warns of a thing in a state
MEETS: Final = "interactsWith"
_LISTING: Final = frozenset({"list", "property", "avoid", "advice", "regulation"})


@cache
def _patterns() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """Return the property, the values and the pattern of each cue for a value."""
    found = []
    for cue, pattern in cues("conditions").items():
        name, *values = cue.split()
        if values:
            found.append((name, tuple(values), pattern))
    return tuple(found)


def conditions_in(text: QuestionText, frame: Frame, facts: Facts) -> tuple[Condition, ...]:
    """Return the conditions that a question sets for the things of a list."""
    exchanged = frame.has_cue("what-about-zh", "what-about-en")
    if frame.ask not in _LISTING and frame.probability("list") < _LEAST and not exchanged:
        return ()
    values = dict(_values(text, frame))
    spans = list(values)
    beside = _beside(text, frame, facts, [f for f in frame.focus if not _is_value(f, spans)])
    return tuple(dict.fromkeys((*values.values(), *_years(text), *beside)))


def _is_value(focus: Focus, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether words were read as a value already: the "cold" of a nature is no disease."""
    return any(focus.start < end and start < focus.end for start, end in spans)


_LEAST: Final = 0.2  # probability of a list for which conditions are read


def classes_in(text: QuestionText) -> tuple[tuple[str, ...], tuple[str, ...]]:
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
        hit = next((h for h in pattern.finditer(text.aligned) if not _within(h, named)), None)
        if hit is None or any(s <= hit.start() and hit.end() <= e for s, e in taken):
            continue
        taken.append(hit.span())
        operator: Operator = "is_not" if _denied(text, hit.start()) else "is"
        if name == "group":
            name = "hasFoodGroup"
        iris = [v if name == RATING else ID + v for v in values]
        yield hit.span(), Condition(name, operator, "|".join(iris))


def _within(hit: re.Match[str], spans: list[tuple[int, int]]) -> bool:
    """Return whether a word has part of a name in it: the "bitter" of bitter melon."""
    return any(s < hit.end() and hit.start() < e for s, e in spans)


def _denied(text: QuestionText, place: int) -> bool:
    start, _ = text.clause_at(place)
    return cues("conditions")["not"].search(text.aligned[start:place]) is not None


def _years(text: QuestionText) -> Iterator[Condition]:
    known = cues("conditions")
    for hit in known["year"].finditer(text.aligned):
        year = next(filter(None, hit.groups()))
        after = text.aligned[hit.end() :].lstrip()
        before = text.aligned[: hit.start()]
        operator: Operator = "is"
        if known["year-after"].match(after) or known["year-after-en"].search(before):
            operator = "after"
        elif known["year-before"].match(after) or known["year-before-en"].search(before):
            operator = "before"
        yield Condition(YEAR, operator, year)
    if known["this-year"].search(text.aligned) and not known["year"].search(text.aligned):
        yield Condition(YEAR, "more", "")  # the last batch


def _beside(
    text: QuestionText, frame: Frame, facts: Facts, named: Iterable[Focus]
) -> Iterator[Condition]:
    """Yield what things must have to do with what is named: a state, a medicine, a part."""
    known = cues("conditions")
    signs = {cue for cue in _WITH if known[cue].search(text.aligned)}
    signs |= {"with-caution"} if frame.ask == "avoid" else set()
    signs |= {"with-ingredient"} if frame.ask == "list" else set()
    for focus in named:
        name = _relation(focus, facts, signs) if focus.iri and focus.role != "other_person" else ""
        if name:
            operator: Operator = "is_not" if focus.assertion == "denied" else "is"
            values = _nutrients(focus, facts) if name == "hasNutrient" else ()
            if name == BENEFIT and frame.has_cue("rich-in") and facts.is_a(focus.iri, *AILMENT):
                values = _lacking(focus, facts)  # foods with zinc for who lacks zinc
                name = "hasNutrient" if values else name
            yield Condition(name, operator, "|".join(values or (focus.iri, *focus.also)))
    for state in frame.patient.states:
        if state.iri and facts.of(state.iri, SHIYI.excludesFoodGroup):
            yield Condition("diet", "is", state.iri)
        elif state.iri:
            yield Condition(HARM if "with-caution" in signs else BENEFIT, "is", state.iri)
    for iri in frame.wanted.season:
        yield Condition("suitableSeason", "is", iri)


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


def _lacking(focus: Focus, facts: Facts) -> tuple[str, ...]:
    """Return the nutrients that the words for a deficiency name."""
    words = f" {fold(focus.text)} "
    return tuple(
        iri
        for iri in facts.members(SHIYI.ChemicalEntity)
        if facts.into(iri, SHIYI.hasNutrient)
        and any(_is_named(fold(label), words) for label in facts.labels[iri].values())
    )


def _is_named(label: str, words: str) -> bool:
    return (f" {label} " if label.isascii() else label) in words


def with_classes(wanted: Wanted, text: QuestionText) -> Wanted:
    """Return what is wanted with the classes and ways of preparing that the words name."""
    classes, methods = classes_in(text)
    forms = tuple(dict.fromkeys((*wanted.form, *(ID + m for m in methods))))
    return replace(wanted, classes=classes or wanted.classes, form=forms)


def asked_predicates(question: str) -> frozenset[str]:
    """Return the relations a question names, by everyday words or as the vocabulary does.

    >>> sorted(asked_predicates("What is the active constituent of honeysuckle?"))
    ['hasActiveConstituent', 'hasNutrient']
    """
    low = question.lower()
    everyday = {
        name
        for names, cue in cues("relations").items()
        if cue.search(low)
        for name in names.split()
    }
    return frozenset(everyday | {name for name, _, _ in named_in(question)})


def named_in(question: str) -> tuple[tuple[str, int, int], ...]:
    """List relations with the spans of the names that the vocabulary gives them."""
    return tuple(
        (name, found.start(), found.end())
        for name, pattern in _names()
        for found in pattern.finditer(question)
    )


def outside_names(mentions: Iterable[Mention], question: str) -> tuple[Mention, ...]:
    """Leave out mentions that are but a piece of a relation's name."""
    spans = [(start, end) for _, start, end in named_in(question)]
    return tuple(
        m
        for m in mentions
        if not any(
            start <= m.start and m.end <= end and m.end - m.start < end - start
            for start, end in spans
        )
    )


def asked_kinds(stem: str) -> frozenset[str]:
    """Return the kinds of concept that the words of a question name."""
    low = stem.lower()
    return frozenset(
        name for names, cue in cues("kinds").items() if cue.search(low) for name in names.split()
    )


def odd_one_out(stem: str) -> bool:
    """Return whether the option is wanted that does *not* fit.

    >>> odd_one_out("Which is not warming?"), odd_one_out("Which is warming?")
    (True, False)
    """
    return bool(_CUES["odd"].search(stem.lower()[-60:]))


@cache
def _names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile("|".join(found), re.IGNORECASE))
        for name, known in Schema.load().properties.items()
        if (found := _namings(known))
    )


def _namings(known: Property) -> list[str]:
    if not (known.is_object and known.domain) or _CUES["inverse"].search(known.label_zh):
        return []
    chinese = re.sub(r"\(.*?\)", "", known.label_zh).split("/")
    english = known.label_en.removeprefix("has ").removeprefix("is ")
    return [
        *(re.escape(each) for each in chinese if len(each) >= _LONG_ENOUGH),
        *([rf"\b{re.escape(english)}s?\b"] if len(english) >= _LONG_ENOUGH + 3 else []),
    ]
