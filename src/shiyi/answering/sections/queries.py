"""Lists by conditions: compiled to SPARQL from a frame, run, and written.

A frame may come from a client: a query has terms of the vocabulary, IRIs and integers only.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shiyi.answering.knowledge.facts import CAUTION, INCOMPATIBLE, INTERACTION, Fact, Facts
from shiyi.answering.understanding.conditions import (
    BENEFIT,
    HARM,
    MEETS,
    OF,
    RATING,
    YEAR,
    is_typed,
)
from shiyi.answering.understanding.frame import Condition, Frame
from shiyi.answering.understanding.patient import Person
from shiyi.answering.wording.draft import AnswerContext, Contribution, Piece
from shiyi.answering.wording.verbalization import rating_text
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import Literal, NamedNode, local_name, text
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI
from shiyi.sparql.store.port import QuadStore

_MOST: Final = 500  # things of one list
_MOST_SHOWN, _MOST_VALUES = 25, 5
_MOST_NAMED, _CITED = 150, 1  # of a list by name alone, and those of them with their sources
_BENEFITS: Final = "relieves|indicatedFor|isEffectiveFor|^suitableFood|^realisedBy"
_HARMS: Final = "contraindicatedIn|cautionIn|aggravates|^unsuitableFood"
_MEETS: Final = "interactsWith|^interactsWith|potentiallyInteractsWith|^potentiallyInteractsWith"
_OPPOSES: Final = "opposes|^opposes|fears|^fears|incompatibleWith|^incompatibleWith"
_PATHS: Final = {BENEFIT: _BENEFITS, HARM: _HARMS, MEETS: _MEETS, "opposes": _OPPOSES}
_JOINED: Final = {  # the predicates of claims that support a condition
    BENEFIT: tuple(p.removeprefix("^") for p in _BENEFITS.split("|")),
    HARM: (*(local_name(p.value) for p in CAUTION), "unsuitableFood"),
    MEETS: tuple(local_name(p.value) for p in INTERACTION),
    "opposes": tuple(local_name(p.value) for p in INCOMPATIBLE),
}
_OF_KIND: Final = ("usesPart", "hasFoodGroup", "regulatoryStatus")
_COMPARED: Final = {"before": "<", "after": ">", "is": "="}
_USED: Final = "^hasIngredient"  # counted in a rank where nothing else is named
_PREFIX: Final = ("id", "rdf", "shiyi", "skos", "xsd")
_PLAIN: Final = ("Food", "Dish", "DSIngredient", "MFHSubstance")  # where no class is named


@dataclass(frozen=True, slots=True)
class Listing:
    """A query, the things it found in its order, with the claims that bear each out."""

    query: str
    things: tuple[str, ...]
    counts: tuple[int, ...] = ()  # of each thing, where they are ranked

    def because(
        self, thing: str, conditions: Iterable[Condition], facts: Facts
    ) -> tuple[Fact, ...]:
        """Return the claims of a thing that meet the conditions, one for each."""
        found = [next(_matching_claims(thing, each, facts), None) for each in conditions]
        if self.counts:
            found.append(next(_matching_claims(thing, Condition(MEETS), facts), None))
        return tuple(f for f in found if f is not None)


def run_list(store: QuadStore, frame: Frame, facts: Facts) -> Listing | None:
    """Return the result of a frame's conditions; nothing where they ask for no list."""
    query = compile_list(frame, facts)
    if not query:
        return None
    things, counts = list[str](), list[int]()
    for row in store.select(query):
        things.append(text(row["thing"]))
        if is_ranked(frame):
            counts.append(int(text(row["count"])))
    if not (counts or frame.conditions[1:]):
        things += sorted({*_release_products(frame.conditions, facts)}.difference(things))
    if counts and frame.has_cue("least"):  # all that have as few
        things, counts = things[: counts.count(counts[0])], counts[: counts.count(counts[0])]
    return Listing(query, tuple(things), tuple(counts))


def _release_products(conditions: Iterable[Condition], facts: Facts) -> Iterator[str]:
    """Yield what of a loaded release has an ingredient, which the query of the base leaves out."""
    values = (
        iri for c in conditions if c.property == "hasIngredient" for iri in c.value.split("|")
    )
    for each in (low for iri in values for low in facts.below(iri)):
        yield from (f.subject for f in facts.inverse(each, SHIYI.hasIngredient) if f.origin)


def compile_list(frame: Frame, facts: Facts) -> str:
    """Return the query of a frame's conditions, or nothing where there is none to be asked."""
    kinds = frame.wanted
    conditions = [c for c in frame.conditions if _is_known(c, facts)]
    rich = kinds.measure == "most" and frame.has_cue("rich-in")
    if rich and not (conditions or kinds.relations):
        return ""  # of what is not known here; a rank by the number of records answers nothing
    if is_ranked(frame) and _ranked_by(frame, conditions) == _USED and "Dish" not in kinds.classes:
        return ""  # by nothing that is recorded
    if not conditions and not (kinds.classes or kinds.form) and not is_ranked(frame):
        return ""
    if kinds.measure == "count" and not conditions and any(not f.iri for f in frame.focus):
        return ""  # of a class that is not known here
    patterns = [_classes(frame, facts), *(_pattern(n, c, facts) for n, c in enumerate(conditions))]
    if kinds.form and not any(c.property == "preparedBy" for c in conditions):
        methods = " ".join(_node(iri) for iri in kinds.form)
        patterns.append(f"VALUES ?method {{ {methods} }} ?thing shiyi:preparedBy ?method .")
    body = "\n  ".join(pattern for pattern in patterns if pattern)
    if is_ranked(frame):
        ranked = _ranked_by(frame, conditions)
        order, most = ("ASC", _MOST) if frame.has_cue("least") else ("DESC", kinds.limit or 10)
        return _query_text(
            "?thing (COUNT(DISTINCT ?ranked) AS ?count)",
            f"{body}\n  ?thing {_path(ranked)} ?ranked .{_of_dishes(frame)}",
            f"GROUP BY ?thing ORDER BY {order}(?count) ?thing LIMIT {most}",
        )
    return _query_text("DISTINCT ?thing", body, f"ORDER BY ?thing LIMIT {_MOST}")


def is_ranked(frame: Frame) -> bool:
    """Return whether things are ranked by what is recorded of them; no amounts are recorded."""
    amounts = any(c.property == "hasNutrient" for c in frame.conditions)
    return frame.wanted.measure == "most" and not amounts


def describe_query(things: Sequence[str], predicates: Iterable[NamedNode]) -> str:
    """Return the query of some relations of some things, with the claims that state them."""
    subjects = " ".join(map(_node, things))
    relations = " ".join(f"shiyi:{local_name(p.value)}" for p in predicates)
    body = (
        f"VALUES ?thing {{ {subjects} }}\n  VALUES ?relation {{ {relations} }}\n"
        "  ?thing ?relation ?value .\n"
        f"  ?claim {_curie(RDF.reifies)} <<( ?thing ?relation ?value )>> ."
    )
    return _query_text("?thing ?relation ?value ?claim", body, "ORDER BY ?thing ?relation")


def _query_text(selected: str, body: str, tail: str) -> str:
    prefixes = "\n".join(f"PREFIX {name}: <{PREFIXES[name]}>" for name in _PREFIX)
    return f"{prefixes}\nSELECT {selected} WHERE {{\n  {body}\n}} {tail}"


def _is_known(condition: Condition, facts: Facts) -> bool:
    special = condition.property in (BENEFIT, HARM, RATING, YEAR, "diet")
    special = special or condition.property.startswith(OF)
    return special or condition.property in facts.schema.properties


def _classes(frame: Frame, facts: Facts) -> str:
    """Return the pattern of the classes asked for, those below them with them."""
    asked = [c for c in frame.wanted.classes if c in facts.schema.parents]
    listed = any(c.property in ("regulatoryStatus", YEAR) for c in frame.conditions)
    if listed and set(asked) <= {"Food"}:
        return ""
    if any(c.property == "hasFoodGroup" for c in frame.conditions) and not asked:
        asked = ["Food"]
    if _of_dishes(frame):
        asked = [each for each in asked if each != "Dish"]
    names = [
        name
        for name in sorted(facts.schema.parents)
        if facts.schema.superclasses(name).intersection(asked or _PLAIN)
    ]
    classes = " ".join(f"shiyi:{name}" for name in names)
    return f"VALUES ?class {{ {classes} }} ?thing a ?class ."


def _pattern(number: int, condition: Condition, facts: Facts) -> str:
    """Return the pattern of one condition; what is not to be is filtered out."""
    name, value = condition.property, f"?v{number}"
    if name == YEAR:
        return _year(condition)
    if name == "diet":
        return (
            f"FILTER NOT EXISTS {{ {_node(condition.value)} shiyi:excludesFoodGroup {value} . "
            f"?thing shiyi:hasIngredient?/shiyi:hasFoodGroup/skos:broader* {value} }}"
        )
    if name == RATING:
        ratings = " ".join(str(Literal(part)) for part in condition.value.split("|"))
        return (
            f"VALUES ?rating {{ {ratings} }} VALUES ?effect {{ shiyi:isEffectiveFor "
            f"shiyi:studiedFor }} ?claim {_curie(RDF.reifies)} <<( ?thing ?effect ?rated )>> ; "
            "shiyi:evidence/shiyi:rating ?rating ."
        )
    below = [low for iri in condition.value.split("|") for low in facts.below(iri)]
    values = " ".join(map(_node, dict.fromkeys(below)))
    pattern = f"VALUES {value} {{ {values} }} ?thing {_path(name)} {value} ."
    if condition.operator == "is_not":
        return f"FILTER NOT EXISTS {{ {pattern} }}"
    return pattern + (_filter_less_asserted(below, facts) if name == "hasNature" else "")


def _filter_less_asserted(values: Collection[str], facts: Facts) -> str:
    """Return the filter of things that more is asserted another nature of than these."""
    natures = [
        (thing, facts.of(thing, SHIYI.hasNature))
        for thing in {f.subject for value in values for f in facts.inverse(value, SHIYI.hasNature)}
    ]
    less = [
        thing
        for thing, found_facts in natures
        if max(found_facts, key=lambda f: (f.confidence, f.object in values)).object not in values
    ]
    return f" FILTER(?thing NOT IN ({', '.join(map(_node, sorted(less)))}))" if less else ""


def _year(condition: Condition) -> str:
    """Return the pattern of the year of a batch, which its notation ends with."""
    batch = "?thing shiyi:regulatoryStatus/skos:notation ?batch . "
    year = "xsd:integer(STRAFTER(STR(?batch), 'mfh-'))"
    if not condition.value:  # the last batch
        later = (
            "FILTER NOT EXISTS { ?other skos:notation ?later . "
            "FILTER(STRSTARTS(STR(?later), 'mfh-') && STR(?later) > STR(?batch)) }"
        )
        return f"{batch}FILTER(STRSTARTS(STR(?batch), 'mfh-')) {later}"
    sign = _COMPARED.get(condition.operator, "=")
    return f"{batch}FILTER(STRSTARTS(STR(?batch), 'mfh-') && {year} {sign} {int(condition.value)})"


def _ranked_by(frame: Frame, conditions: Sequence[Condition]) -> str:
    """Return the property that a ranking counts values of."""
    named = next((c.property for c in conditions if c.property in (MEETS, BENEFIT, HARM)), "")
    known = {"interactsWith": MEETS, "hasMeridianTropism": "hasMeridianTropism"}
    return named or next((known[r] for r in frame.wanted.relations if r in known), _USED)


def _of_dishes(frame: Frame) -> str:
    """Return the pattern of what is counted where it is asked what most dishes are made with."""
    used = is_ranked(frame) and _ranked_by(frame, frame.conditions) == _USED
    return " ?ranked a shiyi:Dish ." if used and "Dish" in frame.wanted.classes else ""


def _path(name: str) -> str:
    """Return a property path of the vocabulary's terms; of a kind, it may lead nowhere."""
    if name.startswith(OF):
        return "(shiyi:usesPart|shiyi:hasFoodGroup|shiyi:regulatoryStatus)?"
    steps = _PATHS.get(name, name).split("|")
    return "|".join(
        f"^shiyi:{step[1:]}" if step.startswith("^") else f"shiyi:{step}" for step in steps
    )


def _node(iri: str) -> str:
    return str(NamedNode(iri))  # raises for what is no IRI


def _curie(term: NamedNode) -> str:
    return f"rdf:{local_name(term.value)}"


def _matching_claims(thing: str, condition: Condition, facts: Facts) -> Iterator[Fact]:
    """Yield the claims of a thing that meet a condition, or what it is instead."""
    if condition.operator == "is_not":
        if condition.property in facts.schema.properties:
            yield from facts.of(thing, NamedNode(VOCAB + condition.property))[:1]
        return
    name = "regulatoryStatus" if condition.property == YEAR else condition.property
    known = _OF_KIND if name.startswith(OF) else _JOINED.get(name, (name,))
    predicates = [NamedNode(VOCAB + each) for each in known]
    values = {low for iri in condition.value.split("|") for low in facts.below(iri)}
    for fact in (*facts.of(thing, *predicates), *facts.inverse(thing, *predicates)):
        if condition.property == YEAR or not condition.value or fact.other(thing) in values:
            yield fact


def write_query_list(context: AnswerContext, store: QuadStore) -> Contribution | None:
    """Write what meets the conditions of a question; nothing where it sets none."""
    frame, part = context.parsed.frame, Contribution()
    little = any(c.operator == "less" for c in frame.conditions)
    if little or (frame.has_cue("of-content") and not frame.conditions):
        part.opening.add(context.verbalizer.verbalize("l_no_amount"))  # not those that have it
        return part
    contents = {"hasIngredient", "hasNutrient"} & {c.property for c in frame.conditions}
    asked = contents and frame.has_cue("of-products")
    loaded = asked and any(store.match(None, RDF.type, SHIYI.DSProduct, None))
    if loaded:
        frame = _ask_ingredient(frame)
    elif asked:
        part.opening.add(context.verbalizer.verbalize("l_no_products"))
    for conditions in _split_conditions(frame.conditions):
        listing = run_list(store, replace(frame, conditions=conditions), context.facts)
        if listing is None:
            return None
        listing = _without_allergens(context, listing)
        part.queries.append(listing.query)
        if listing.things or loaded or not asked:
            _write_list(context, part, listing, conditions)
    if any(c.property == "hasNutrient" for c in frame.conditions) and frame.has_cue("most"):
        part.opening.add(context.verbalizer.verbalize("l_no_amount"))
    if any(c.property in (HARM, MEETS) for c in frame.conditions):
        part.section("h_caution").add(context.verbalizer.verbalize("s_avoid_rest"))
    facts = [f for line in part.opening.lines for f in line.facts]
    part.paths += [f.path(f.subject) for f in facts[:4] if not f.language]
    return part


def _without_allergens(context: AnswerContext, listing: Listing) -> Listing:
    """Return a list without what holds something that the person is allergic to."""
    own = Person(allergies=context.parsed.person.allergies)
    if not own.allergies or listing.counts:
        return listing
    return replace(
        listing, things=tuple(t for t in listing.things if not context.safety.check(t, own))
    )


def _ask_ingredient(frame: Frame) -> Frame:
    """Return a frame that asks for products by what is in them, an ingredient or a nutrient."""
    groups = {iri: (f.iri, *f.also) for f in frame.focus for iri in (f.iri, *f.also)}
    conditions = tuple(
        replace(c, property="hasIngredient", value="|".join(groups.get(c.value, (c.value,))))
        if c.property == "hasNutrient"
        else c
        for c in frame.conditions
    )
    return replace(frame, conditions=conditions)


def _split_conditions(conditions: Sequence[Condition]) -> list[tuple[Condition, ...]]:
    """Return the conditions of each list: one for each of several natures."""
    several = [c for c in conditions if c.property == "hasNature" and c.operator == "is"]
    others = [c for c in conditions if c not in several]
    return [(each, *others) for each in reversed(several)] if several[1:] else [tuple(conditions)]


def _write_list(
    context: AnswerContext, part: Contribution, listing: Listing, conditions: Sequence[Condition]
) -> None:
    """Write the things of one list: few with their sources, many by name alone."""
    verbalizer, frame = context.verbalizer, context.parsed.frame
    values = {"conditions": _conditions(context, conditions), "n": str(len(listing.things))}
    if not listing.things:
        part.opening.add(verbalizer.verbalize("l_none", **values))
        return
    ranked = bool(listing.counts)
    things = listing.things if ranked else _foods_first(context, listing)
    typed = not ranked and all(map(is_typed, conditions))
    brief = typed and (frame.has_cue("all") or len(things) > _MOST_SHOWN)
    most = _MOST_NAMED if typed and frame.has_cue("all") else _MOST_SHOWN
    things = tuple(things)[: frame.wanted.limit or most]
    numbers = dict(zip(listing.things, listing.counts, strict=True)) if ranked else {}
    key = "l_ranked" if ranked else "l_count" if frame.wanted.measure == "count" else "l_found"
    before, _, after = verbalizer.verbalize(key, items="\0", **values).partition("\0")
    pieces = list[Piece]()
    for n, thing in enumerate(things):
        name = verbalizer.name(thing)
        if thing in numbers:
            name = verbalizer.verbalize("l_item", x=name, n=str(numbers[thing]))
        mark = verbalizer.verbalize("v_comma") if n else before
        cited = not brief or n < _CITED
        facts = listing.because(thing, conditions, context.facts) if cited else ()
        pieces.append((mark + name, facts))
    rest = len(listing.things) - len(things)
    more = verbalizer.verbalize("l_more", n=str(rest)) if rest > 0 else ""
    part.opening.item(*pieces, (more + after + verbalizer.stop, ()))
    _warn_of_toxic(context, part, listing.things)


def _warn_of_toxic(context: AnswerContext, part: Contribution, things: Iterable[str]) -> None:
    """Add which things of a list are toxic, one line for each degree."""
    verbalizer, degrees = context.verbalizer, dict[str, list[Fact]]()
    for thing in things:
        for poison in context.safety.poisons(thing):
            if poison.severity == "contraindicated":
                degrees.setdefault(poison.against, []).append(poison.stated_claims[0])
    for degree, facts in degrees.items():
        names = verbalizer.names(f.subject for f in facts)
        text = verbalizer.verbalize("f_toxic", x=names, y=verbalizer.name(degree))
        part.section("h_caution").add(text + verbalizer.stop, *facts)


def _foods_first(context: AnswerContext, listing: Listing) -> list[str]:
    """Order things: of harms the gravest, foods, then those of which most is recorded."""
    facts = context.facts
    harms = [c for c in context.parsed.frame.conditions if c.property == HARM]

    def place(iri: str) -> tuple[object, ...]:
        mild = [f.predicate not in _GRAVE for f in listing.because(iri, harms, facts)]
        known = len(facts.by_subject.get(iri, ())) + len(facts.by_object.get(iri, ()))
        return mild, not facts.is_a(iri, SHIYI.Food), -known, iri

    return sorted(listing.things, key=place)


def _conditions(context: AnswerContext, conditions: Iterable[Condition]) -> str:
    """State the conditions of a list in a few words."""
    verbalizer, frame = context.verbalizer, context.parsed.frame
    results = [_condition(context, condition) for condition in conditions]
    listed = any(condition.property in ("regulatoryStatus", YEAR) for condition in frame.conditions)
    classes = [c for c in frame.wanted.classes if not (listed and c == "Food")]
    kinds = verbalizer.join(map(verbalizer.class_name, classes), "or") if classes else ""
    results += [kinds, *map(verbalizer.name, frame.wanted.form[:1])]
    return verbalizer.join(dict.fromkeys(filter(None, results))) or verbalizer.verbalize("l_any")


_GRAVE: Final = (SHIYI.contraindicatedIn, SHIYI.unsuitableFood)
_PHRASES: Final = {
    BENEFIT: "l_benefit", HARM: "l_harm", MEETS: "l_meets", "hasIngredient": "l_with",
    "opposes": "l_opposes", "diet": "l_diet", "hasNutrient": "l_with",
    "isEffectiveFor": "l_effective",
}  # fmt: skip


def _condition(context: AnswerContext, condition: Condition) -> str:
    verbalizer, values = context.verbalizer, condition.value.split("|")
    if condition.property == YEAR:
        return verbalizer.verbalize(f"l_year_{condition.operator}", y=condition.value)
    if condition.property == RATING:
        text = verbalizer.join((rating_text(verbalizer.language, v) for v in values), "or")
        return verbalizer.verbalize("l_rating", x=text)
    above = {v: context.facts.above(v)[1:] for v in values}
    values = [v for v in values if not {*values}.intersection(above[v])]  # the widest of them
    plain = [v for v in values if not _DEGREE.search(v)] or values
    name = verbalizer.join(map(verbalizer.name, plain[:_MOST_VALUES]), "or")
    if degrees := [v for v in values if v not in plain]:
        others = verbalizer.join(map(verbalizer.name, degrees))
        name = verbalizer.verbalize("l_degrees", x=name, y=others)
    if condition.property.startswith(OF):
        name = verbalizer.verbalize(f"l_{condition.property}")
    elif key := _PHRASES.get(condition.property):
        name = verbalizer.verbalize(key, x=verbalizer.name(values[0]))
    elif condition.property in ("hasNature", "hasFlavour", "hasMeridianTropism"):
        name = verbalizer.verbalize(f"property_{condition.property}", o=name)
    return verbalizer.verbalize("l_not", x=name) if condition.operator == "is_not" else name


_DEGREE: Final = re.compile("/nature-(?:slightly|very)-")
