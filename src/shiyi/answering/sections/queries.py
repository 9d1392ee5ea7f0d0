"""The conditions of a frame as a SPARQL query: conjunction, negation, years, counts, ranks.

Only terms of the vocabulary, IRIs that parse and whole numbers come into a query, since a frame
may have come from a client.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shiyi.answering.knowledge.facts import CAUTION, INCOMPATIBLE, INTERACTION, Fact, Facts
from shiyi.answering.understanding.conditions import BENEFIT, HARM, MEETS, OF, RATING, YEAR
from shiyi.answering.understanding.frame import Condition, Frame
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import Literal, NamedNode, local_name, text
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI
from shiyi.sparql.store.port import QuadStore

_MOST: Final = 500  # things of one list
_BENEFITS: Final = "relieves|indicatedFor|isEffectiveFor|^suitableFood|^realisedBy"
_HARMS: Final = "contraindicatedIn|cautionIn|aggravates|^unsuitableFood"
_MEETS: Final = "interactsWith|^interactsWith|potentiallyInteractsWith|^potentiallyInteractsWith"
_OPPOSES: Final = "opposes|^opposes|fears|^fears|incompatibleWith|^incompatibleWith"
_PATHS: Final = {BENEFIT: _BENEFITS, HARM: _HARMS, MEETS: _MEETS, "opposes": _OPPOSES}
_JOINED: Final = {  # the predicates whose claims bear out a condition
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
        found = [next(_bearing(thing, each, facts), None) for each in conditions]
        if self.counts:
            found.append(next(_bearing(thing, Condition(MEETS), facts), None))
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
    if counts and frame.has_cue("least"):  # all that have as few
        things, counts = things[: counts.count(counts[0])], counts[: counts.count(counts[0])]
    return Listing(query, tuple(things), tuple(counts))


def compile_list(frame: Frame, facts: Facts) -> str:
    """Return the query of a frame's conditions, or nothing where there is none to be asked."""
    wanted = frame.wanted
    conditions = [c for c in frame.conditions if _is_known(c, facts)]
    rich = wanted.measure == "most" and frame.has_cue("rich-in")
    if rich and not (conditions or wanted.relations):
        return ""  # of what is not known here; a rank by the number of records answers nothing
    if is_ranked(frame) and _ranked_by(frame, conditions) == _USED and "Dish" not in wanted.classes:
        return ""  # by nothing that is recorded
    if not conditions and not (wanted.classes or wanted.form) and not is_ranked(frame):
        return ""
    patterns = [_classes(frame, facts), *(_pattern(n, c, facts) for n, c in enumerate(conditions))]
    if wanted.form and not any(c.property == "preparedBy" for c in conditions):
        methods = " ".join(_node(iri) for iri in wanted.form)
        patterns.append(f"VALUES ?method {{ {methods} }} ?thing shiyi:preparedBy ?method .")
    body = "\n  ".join(each for each in patterns if each)
    if is_ranked(frame):
        ranked = _ranked_by(frame, conditions)
        order, most = ("ASC", _MOST) if frame.has_cue("least") else ("DESC", wanted.limit or 10)
        return _whole(
            "?thing (COUNT(DISTINCT ?ranked) AS ?count)",
            f"{body}\n  ?thing {_path(ranked)} ?ranked .{_of_dishes(frame)}",
            f"GROUP BY ?thing ORDER BY {order}(?count) ?thing LIMIT {most}",
        )
    return _whole("DISTINCT ?thing", body, f"ORDER BY ?thing LIMIT {_MOST}")


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
    return _whole("?thing ?relation ?value ?claim", body, "ORDER BY ?thing ?relation")


def _whole(selected: str, body: str, tail: str) -> str:
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
        ratings = " ".join(str(Literal(each)) for each in condition.value.split("|"))
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
    return pattern + (_less_asserted(below, facts) if name == "hasNature" else "")


def _less_asserted(values: Collection[str], facts: Facts) -> str:
    """Return the filter of things that more is asserted another nature of than these."""
    natures = [(thing, facts.of(thing, SHIYI.hasNature)) for thing in _having(values, facts)]
    less = [
        thing
        for thing, found in natures
        if max(found, key=lambda f: (f.confidence, f.object in values)).object not in values
    ]
    return f" FILTER(?thing NOT IN ({', '.join(map(_node, sorted(less)))}))" if less else ""


def _having(values: Iterable[str], facts: Facts) -> set[str]:
    return {f.subject for value in values for f in facts.into(value, SHIYI.hasNature)}


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
    """Return the property whose values are counted in a rank."""
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


def _bearing(thing: str, condition: Condition, facts: Facts) -> Iterator[Fact]:
    """Yield the claims of a thing that meet a condition, or what it is instead."""
    if condition.operator == "is_not":
        if condition.property in facts.schema.properties:
            yield from facts.of(thing, NamedNode(VOCAB + condition.property))[:1]
        return
    name = "regulatoryStatus" if condition.property == YEAR else condition.property
    known = _OF_KIND if name.startswith(OF) else _JOINED.get(name, (name,))
    predicates = [NamedNode(VOCAB + each) for each in known]
    values = {low for iri in condition.value.split("|") for low in facts.below(iri)}
    for fact in (*facts.of(thing, *predicates), *facts.into(thing, *predicates)):
        if condition.property == YEAR or not condition.value or fact.other(thing) in values:
            yield fact
