"""Who stated what of a thing, and when: the opened evidence of its claims by date."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from shiyi.errors import FormatError
from shiyi.ingest.documents.books import Label, book_of, labels
from shiyi.model.claim import OPENED_KINDS
from shiyi.model.iris import ID, VOCAB, graph
from shiyi.model.rdf import NamedNode, Term, Triple, local_name, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.server.views.reader import ACCEPTED, EvidenceView, Reader, SourceView, Thing

# property of the timeline -> relations; with ^ the thing is the object of the claim
PROPERTIES: Final[Mapping[str, tuple[str, ...]]] = {
    "nature": ("hasNature", "hasThermalNature"),
    "flavour": ("hasFlavour",),
    "channel": ("hasMeridianTropism",),
    "toxicity": ("hasToxicity",),
    "efficacy": ("hasEfficacy",),
    "indications": ("indicatedFor", "relieves", "isEffectiveFor", "studiedFor", "^suitableFood"),
    "cautions": ("contraindicatedIn", "cautionIn", "aggravates", "^unsuitableFood"),
    "incompatibilities": (
        "incompatibleWith", "opposes", "fears", "^incompatibleWith", "^opposes", "^fears",
    ),
}  # fmt: skip
FACETS: Final = ("dynasty", "school", "genre")
_SINGLE: Final = frozenset({"nature", "toxicity"})  # a book states one value
_BY_SCHOOL: Final = ("nature", "flavour", "channel", "toxicity")
_OPPOSED: Final = {"indications": "cautions", "cautions": "indications"}
_LAST: Final = 9999  # the year that puts the undated last
_PROPERTY_OF: Final = {
    relation: name for name, relations in PROPERTIES.items() for relation in relations
}


@dataclass(frozen=True, slots=True)
class Work:
    """A work that states something: when it was written, by whom, of which kind and school."""

    source: SourceView
    other: str = ""  # the title in the other language
    author: str = ""
    start: int | None = None
    end: int | None = None
    dynasty: str = ""
    school: str = ""
    genre: str = ""
    basis: str = ""
    place: str = ""
    place_basis: str = ""

    @property
    def is_modern(self) -> bool:
        """Return whether it is a work of today rather than an old book."""
        return not self.genre and self.source.tier != "classic"

    @property
    def years(self) -> str:
        """Return the year or the years between which it was written; a minus is BCE."""
        years = dict.fromkeys(str(each) for each in (self.start, self.end) if each is not None)
        return "–".join(years)

    @property
    def order(self) -> tuple[bool, int, int, str]:
        """Return what puts works in the order of their dates; the undated are last."""
        end = _LAST if self.end is None else self.end
        return self.is_modern, end, end if self.start is None else self.start, self.source.title


@dataclass(frozen=True, slots=True)
class Witness:
    """A place in a work that states or denies a value."""

    property: str
    relation: str
    value: Thing
    work: Work
    claim: str
    evidence: EvidenceView
    status: str
    negative: bool


@dataclass(frozen=True, slots=True)
class Value:
    """A value with its witnesses by date, and what works of today state of it.

    ``today`` is ``agrees``, ``degree`` (they state a degree of it), ``differs`` (they state
    another value), ``contradicts``, ``divided``, ``silent``, or ``new`` where no old book has it.
    """

    thing: Thing
    witnesses: tuple[Witness, ...]
    today: str


@dataclass(frozen=True, slots=True)
class Side:
    """What some works state where others differ.

    ``name`` is a school, or ``for`` or ``against`` a value; it is empty where ``values`` say it.
    """

    name: str
    works: tuple[Work, ...]
    values: tuple[Thing, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Old books that differ: in a ``value``, by ``school``, or about one value.

    Of one value, what some state others have ``denied``, or stated as harm: ``opposed``.
    """

    property: str
    kind: str
    sides: tuple[Side, ...]
    about: Thing | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The values of each property, where books differ, and what there is to filter by."""

    name: Thing
    properties: tuple[tuple[str, tuple[Value, ...]], ...]
    differences: tuple[Difference, ...]
    facets: tuple[tuple[str, tuple[tuple[Label, int], ...]], ...]
    chosen: Mapping[str, str]

    @property
    def works(self) -> tuple[Work, ...]:
        """List the works by date."""
        found = {each.work for _, values in self.properties for v in values for each in v.witnesses}
        return tuple(sorted(found, key=lambda each: each.order))


def timeline(reader: Reader, node: NamedNode, chosen: Mapping[str, str]) -> Timeline:
    """Return the timeline of a thing; ``chosen`` has a dynasty, a school or a genre to filter by.

    The filters leave out witnesses; what works of today state is compared under any filter.
    Raise :class:`FormatError` for a filter that has no such value.
    """
    for facet, name in chosen.items():
        if (facet, name) not in labels():
            raise FormatError(facet, name, [each for kind, each in labels() if kind == facet])
    every = sorted(
        set(_witnesses(reader, node)),
        key=lambda each: (each.work.order, each.claim, each.evidence.iri),
    )
    shown = [
        each
        for each in every
        if all(getattr(each.work, facet) == name for facet, name in chosen.items())
    ]
    properties = []
    for name in PROPERTIES:
        found = _group_witnesses((each.value, each) for each in shown if each.property == name)
        if found:
            values = (
                Value(k, tuple(v), _modern_state(reader, v[0], every)) for k, v in found.items()
            )
            properties.append((name, tuple(values)))
    old = [each for each in shown if not each.work.is_modern]
    return Timeline(
        reader.thing(node),
        tuple(properties),
        tuple(_differences(reader, old)),
        tuple((facet, _options(facet, every)) for facet in FACETS),
        chosen,
    )


def _witnesses(reader: Reader, node: NamedNode) -> Iterator[Witness]:
    """Yield what opened evidence states of a thing, in claims that stand or wait for review."""
    for claim, (relation, value) in _claims(reader, node).items():
        negative = SHIYI.negative in reader.values(claim, SHIYI.polarity, None)
        for status, view in _states(reader, claim):
            if view.kind not in OPENED_KINDS:
                continue
            if negative and view.kind == "row" and _PROPERTY_OF[relation] in _BY_SCHOOL:
                continue  # a row that lists other values; it denies nothing
            work = _work(reader, view)
            yield Witness(
                _PROPERTY_OF[relation],
                relation,
                reader.thing(value),
                work,
                claim.value,
                replace(view, source=work.source),
                status,
                negative,
            )


def _states(reader: Reader, claim: NamedNode) -> Iterator[tuple[str, EvidenceView]]:
    """Yield the evidence of a claim with whether it counts, or waits for review."""
    seen = set[str]()
    for status, place in (("accepted", ACCEPTED), ("candidate", graph("candidates"))):
        for view in sorted(reader.grounds(claim, place), key=lambda each: each.iri):
            if view.iri not in seen:
                seen.add(view.iri)
                yield status, view


def _claims(reader: Reader, node: NamedNode) -> dict[NamedNode, tuple[str, Term]]:
    """Return the relation and the other end of each claim about a thing, in any graph."""
    results: dict[NamedNode, tuple[str, Term]] = {}
    for relation in _PROPERTY_OF:
        forward, predicate = relation[0] != "^", getattr(SHIYI, relation.removeprefix("^"))
        ends = (node, None) if forward else (None, node)
        for quad in reader.store.match(ends[0], predicate, ends[1], None):
            triple = Triple(quad.subject, quad.predicate, quad.object)
            for claim in _subjects(reader, RDF.reifies, triple):
                results.setdefault(claim, (relation, quad.object if forward else quad.subject))
    for role, other, sign in ((RDF.subject, RDF.object, ""), (RDF.object, RDF.subject, "^")):
        for claim in _subjects(reader, role, node):  # claims that are not asserted
            for named in reader.values(claim, RDF.predicate, None):
                if (relation := sign + local_name(text(named))) in _PROPERTY_OF:
                    end = next(reader.values(claim, other, None))
                    results.setdefault(claim, (relation, end))
    return results


def _subjects(reader: Reader, predicate: NamedNode, end: Term) -> Iterator[NamedNode]:
    for quad in reader.store.match(None, predicate, end, None):
        if isinstance(quad.subject, NamedNode):
            yield quad.subject


def _work(reader: Reader, evidence: EvidenceView) -> Work:
    """Return the work that evidence is of: a book of the table, else a source with its year."""
    source = evidence.source
    book = book_of(local_name(source.iri).removeprefix("source-"), evidence.locator)
    node = NamedNode(source.iri or VOCAB + "Source")
    if book is None:
        year = int(source.year[:4]) if source.year[:4].isdigit() else None
        return Work(source, reader.thing(node).other, start=year, end=year)
    titles = [book.title, book.title_en or book.title]
    if reader.language != "zh":
        titles.reverse()
    if book_of(local_name(source.iri).removeprefix("source-")) is None:  # one of a collection
        iri = f"{ID}source-{book.source_id}"
        source = replace(source, iri=iri, title=titles[0], href=evidence.href)
    described = book.author, book.start, book.end, book.dynasty, book.school, book.genre
    return Work(source, titles[1], *described, book.basis, book.place, book.place_basis)


def _modern_state(reader: Reader, witness: Witness, witnesses: Iterable[Witness]) -> str:
    """Return how works of today stand to a value."""
    value, results, stated = witness.value.iri, set[str](), set[str]()
    old = False
    for each in witnesses:
        same = each.value.iri == value
        if not each.work.is_modern:
            old = old or (same and each.property == witness.property)
        elif each.property == witness.property and same:
            results.add("contradicts" if each.negative else "agrees")
        elif each.property == witness.property and not each.negative:
            stated.add(each.value.iri)
        elif each.property == _OPPOSED.get(witness.property) and same and not each.negative:
            results.add("contradicts")
    if not old:
        return "new"
    if results:
        return "divided" if len(results) > 1 else results.pop()
    if witness.property in _SINGLE and stated:
        near = any(_is_degree(reader, value, other) for other in stated)
        return "degree" if near else "differs"
    return "silent"


def _is_degree(reader: Reader, one: str, other: str) -> bool:
    """Return whether one of two values is a degree of the other, as slightly warm is of warm."""
    ends = NamedNode(one), NamedNode(other)
    return any(b in reader.values(a, SKOS.broader) for a, b in (ends, tuple(reversed(ends))))


def _differences(reader: Reader, old: list[Witness]) -> Iterator[Difference]:
    """Yield where old books differ."""
    for name in PROPERTIES:
        some = [each for each in old if each.property == name]
        stated = [each for each in some if not each.negative]
        if name in _SINGLE:
            yield from _in_value(reader, name, stated)
        yield from _against(name, "denied", stated, [each for each in some if each.negative])
        if name == "indications":
            harm = [each for each in old if each.property == "cautions" and not each.negative]
            yield from _against(name, "opposed", stated, harm)
        if name in _BY_SCHOOL:
            yield from _by_school(name, stated)


def _in_value(reader: Reader, name: str, stated: list[Witness]) -> Iterator[Difference]:
    """Yield a difference where books state values of which none is a degree of the other."""
    witnesses = _group_witnesses((witness.value, witness) for witness in stated)
    if any(not _is_degree(reader, a.iri, b.iri) for a in witnesses for b in witnesses if a != b):
        sides = (_side("", some, (value,)) for value, some in witnesses.items())
        yield Difference(name, "value", tuple(sides))


def _against(
    name: str, kind: str, stated: list[Witness], others: list[Witness]
) -> Iterator[Difference]:
    """Yield each value that is stated by some and spoken against by others."""
    against = _group_witnesses((witness.value, witness) for witness in others)
    for value, some in _group_witnesses((witness.value, witness) for witness in stated).items():
        if value in against:
            sides = _side("for", some), _side("against", against[value])
            yield Difference(name, kind, sides, value)


def _by_school(name: str, stated: list[Witness]) -> Iterator[Difference]:
    """Yield a difference where two schools do not state the same values."""
    found = _group_witnesses((each.work.school, each) for each in stated if each.work.school)
    values = {
        school: tuple(dict.fromkeys(each.value for each in some)) for school, some in found.items()
    }
    if len({frozenset(value) for value in values.values()}) > 1:
        sides = (_side(school, some, values[school]) for school, some in found.items())
        yield Difference(name, "school", tuple(sides))


_Key = TypeVar("_Key")


def _group_witnesses(pairs: Iterable[tuple[_Key, Witness]]) -> dict[_Key, list[Witness]]:
    witnesses: dict[_Key, list[Witness]] = {}
    for key, witness in pairs:
        witnesses.setdefault(key, []).append(witness)
    return witnesses


def _side(name: str, witnesses: Iterable[Witness], values: tuple[Thing, ...] = ()) -> Side:
    return Side(name, tuple(dict.fromkeys(witness.work for witness in witnesses)), values)


def _options(facet: str, witnesses: Iterable[Witness]) -> tuple[tuple[Label, int], ...]:
    """List the values of a facet that the works have, with the number of works."""
    works = {witness.work for witness in witnesses}
    counts = [
        (label, sum(getattr(work, facet) == name for work in works))
        for (kind, name), label in labels().items()
        if kind == facet
    ]
    return tuple((label, count) for label, count in counts if count)
