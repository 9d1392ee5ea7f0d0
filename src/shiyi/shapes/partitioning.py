"""Validating one focus node of each kind that shapes can tell apart, for all of its kind.

pySHACL judges; this module chooses what it has to look at. The values of a node are described by
what a constraint can see of them: the kind and classes of a node, the language and datatype of a
text, the term itself where a shape names it, compares it or reads it. Nodes with equal
descriptions get equal results, so that one is validated, and all others only where it has a fault.
"""

import gc
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import XSD_STRING, BlankNode, Literal, NamedNode, Quad, Term, text
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.ontology.terms import RDF, RDFS
from shiyi.shapes.validation import Result, engine_form, list_results, to_graph, validate

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node


MARK: Final = (
    "urn:shiyi:shapes:instance-of:"  # and a class: what its instances carry to be focus nodes
)
# what a node shape and a property shape may say to look no further (SHACL sections 2.1.3, 4)
_TEXTS: Final = ("description", "message", "name", "severity")
_OF_NODE: Final = frozenset({"deactivated", "property", "targetClass", "targetSubjectsOf", *_TEXTS})
_OF_VALUES: Final = frozenset({
    "class", "datatype", "flags", "in", "languageIn", "maxExclusive", "maxInclusive", "maxLength",
    "minExclusive", "minInclusive", "minLength", "nodeKind", "or", "pattern",
})  # fmt: skip
# of these, what a description without the value itself decides
_KINDS: Final = frozenset({"class", "datatype", "in", "languageIn", "nodeKind", "or", "pattern"})
_COUNTS: Final = ("maxCount", "minCount")
_PAIRS: Final = ("disjoint", "equals", "lessThan", "lessThanOrEquals")
_OF_PROPERTY: Final = frozenset({
    "deactivated", "defaultValue", "group", "hasValue", "order", "path", "uniqueLang",
    *_COUNTS, *_PAIRS, *_TEXTS, *_OF_VALUES,
})  # fmt: skip
_RUNS: Final = ("target", "targetClass", "targetNode", "targetObjectsOf", "targetSubjectsOf")
_LANG_STRING: Final = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString")


@dataclass(eq=False, slots=True)
class PathGroup:
    """Properties that a constraint looks at together, and what it sees of their values."""

    number: int
    properties: set[str] = field(default_factory=set)
    reads: bool = False  # the value itself: a bound, a length
    patterns: set[str] = field(default_factory=set)  # regular expressions that values match or not
    compares: bool = False  # values of one property with those of another
    most: int = 0  # values up to which their number matters; 0 where it does not

    def join(self, other: "PathGroup") -> None:
        """Add what another group reads."""
        self.properties |= other.properties
        self.reads |= other.reads
        self.patterns |= other.patterns
        self.compares |= other.compares
        self.most = max(self.most, other.most)


@dataclass(frozen=True)
class Reach:
    """Shapes distinguished, and what those that look near ask of the data."""

    near: "Graph"  # aimed at marks where they were aimed at classes
    far: "Graph | None"  # the others, where there are any
    targets: frozenset[str]  # classes of the instances that the shapes check
    aims: Mapping[str, set[int]]  # what makes its subjects focus nodes, the groups it counts
    paths: frozenset[str]  # properties with values that are checked for a class
    classes: frozenset[str]  # those they look for
    groups: Mapping[str, PathGroup]  # by each of their properties
    named: frozenset[str]  # every IRI and text that a shape names

    @classmethod
    def of(cls, shapes: "Graph") -> Self:
        """Distinguish; a shape with anything but what is known to look near looks far."""
        from rdflib import RDF, SH, Graph, URIRef

        near, far = Graph(), Graph() + shapes
        for shape in shapes.subjects(RDF.type, SH.NodeShape):
            if _looks_near(shape, shapes):
                part = shapes.cbd(shape)
                near += part
                far -= part
        targets = frozenset(map(str, near.objects(None, SH.targetClass)))
        paths, classes = set[str](), frozenset(map(str, near.objects(None, SH["class"])))
        named, groups = frozenset(map(str, near.objects())), _path_groups(near)
        for shape, path in near.subject_objects(SH.path):
            if any(True for _ in _classes(shape, near)):
                paths |= _properties(path, near)
        for shape, kind in list(near.subject_objects(SH.targetClass)):
            near.remove((shape, SH.targetClass, kind))
            near.add((shape, SH.targetSubjectsOf, URIRef(MARK + str(kind))))
        aims = defaultdict[str, set[int]](set)
        for shape, aim in near.subject_objects(SH.targetSubjectsOf):
            for constraint in near.objects(shape, SH.property):
                for name in _properties(near.value(constraint, SH.path), near):
                    aims[str(aim)] |= {groups[name].number} if groups[name].most else set()
        runs = any((None, SH[name], None) in far for name in _RUNS) or any(
            (None, RDF.type, kind) in far for kind in (SH.NodeShape, SH.PropertyShape)
        )
        rest = far if runs else None
        return cls(near, rest, targets, aims, frozenset(paths), classes, groups, named)


def _path_groups(shapes: "Graph") -> Mapping[str, PathGroup]:
    """Return what shapes that look near see at the values of each property."""
    from rdflib import SH

    groups = dict[str, PathGroup]()
    for number, (shape, path) in enumerate(shapes.subject_objects(SH.path), 1):
        others = [str(item) for name in _PAIRS for item in shapes.objects(shape, SH[name])]
        parts = (shape, *_alternatives(shape, shapes))
        constraints = {
            str(item).removeprefix(str(SH)) for part in parts for item in shapes.predicates(part)
        }
        group = PathGroup(number, _properties(path, shapes).union(others))
        group.patterns = {str(n) for part in parts for n in shapes.objects(part, SH.pattern)}
        group.reads = bool(constraints & (_OF_VALUES - _KINDS))
        group.compares = bool(others)
        counts = [int(str(n)) for term in _COUNTS for n in shapes.objects(shape, SH[term])]
        group.most = max((n + 1 for n in counts), default=0)
        if constraints & {"hasValue", "uniqueLang"}:
            group.most = max(group.most, 2)
        for name in set(group.properties):
            if name in groups:
                group.join(groups[name])
        groups |= dict.fromkeys(group.properties, group)
    return groups


def _properties(path: "Node | None", shapes: "Graph") -> set[str]:
    """Return the properties of a path that is one, or one of several."""
    from rdflib import RDF, URIRef

    parts = set(shapes.transitive_objects(path, None)) - {RDF.nil}
    return {str(part) for part in parts if isinstance(part, URIRef)}


def _looks_near(shape: "Node", shapes: "Graph") -> bool:
    from rdflib import RDF, RDFS, SH, URIRef

    named = set(shapes.cbd(shape).objects())
    return (
        isinstance(shape, URIRef)
        and set(shapes.objects(shape, RDF.type)) == {SH.NodeShape}
        and not any(shapes.triples((None, None, shape)))
        and not named & {RDF.type, RDFS.subClassOf}  # of these a part tells more, or less
        and _states_only(shape, shapes, _OF_NODE)
        and all(_constrains_near(item, shapes) for item in shapes.objects(shape, SH.property))
    )


def _constrains_near(shape: "Node", shapes: "Graph") -> bool:
    from rdflib import SH, BNode

    return (
        isinstance(shape, BNode)
        and len(list(shapes.subjects(None, shape))) == 1
        and _states_only(shape, shapes, _OF_PROPERTY)
        and _is_step(shapes.value(shape, SH.path), shapes)
        and all(_states_only(item, shapes, _OF_VALUES) for item in _alternatives(shape, shapes))
    )


def _is_step(path: "Node | None", shapes: "Graph") -> bool:
    """Return whether a path is a property, or one of several."""
    from rdflib import SH, URIRef
    from rdflib.collection import Collection

    if isinstance(path, URIRef):
        return True
    if path is None or set(shapes.predicates(path)) != {SH.alternativePath}:
        return False
    return all(
        isinstance(item, URIRef)
        for list_ in shapes.objects(path, SH.alternativePath)
        for item in Collection(shapes, list_)
    )


def _states_only(shape: "Node", shapes: "Graph", known: frozenset[str]) -> bool:
    from rdflib import RDF, SH

    names = (str(predicate) for predicate in shapes.predicates(shape) if predicate != RDF.type)
    return all(name.startswith(str(SH)) and name.removeprefix(str(SH)) in known for name in names)


def _alternatives(shape: "Node", shapes: "Graph") -> Iterator["Node"]:
    from rdflib import SH
    from rdflib.collection import Collection

    for list_ in shapes.objects(shape, SH["or"]):
        for item in Collection(shapes, list_):
            yield item
            yield from _alternatives(item, shapes)


def _classes(shape: "Node", shapes: "Graph") -> Iterator["Node"]:
    from rdflib import SH

    for item in (shape, *_alternatives(shape, shapes)):
        yield from shapes.objects(item, SH["class"])


PART: Final = 200_000  # quads of one part; some 250 MB as a graph of rdflib
Read = Callable[[], Iterable[Quad]]


def validate_parts(
    read: Read, types: Iterable[Quad], shapes: "Graph", part: int = PART
) -> tuple[Result, ...]:
    """List what ``validate(lowered(read()), shapes)`` lists, with one part at a time in memory.

    All quads of a subject stand together in ``read()``, as a store or a sorted dump gives them;
    it is called twice where a fault may be one of several. ``types`` are the quads of rdf:type
    and rdfs:subClassOf, in any order. Shapes that look further than a node and the classes of its
    values are checked over everything at once.
    """
    from rdflib import Graph

    reach = Reach.of(shapes)
    check = _PartitionedValidation(reach, _Classes(reach, types), engine_form(reach.near), part)
    whole, subjects = Graph(), array("q")
    with suspend_collection():
        for batch in _parts(read(), part, subjects):
            if reach.far is not None:
                whole += to_graph(batch)
            check.add(batch)
        if not subjects:
            raise KnowledgeBaseError("there is nothing to validate: the data graph is empty")
        if len(np.unique(np.frombuffer(subjects, np.int64))) < len(subjects):
            raise KnowledgeBaseError(
                "the quads of a subject stand apart: sort them before validating"
            )
        check.finish()
        if check.is_shared():
            for batch in _parts(read(), part, array("q")):
                check.add_faulty(batch)
            check.finish()
    results = check.results
    if reach.far is not None:
        results += validate(whole, reach.far)
    return tuple(results)


def class_statements(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Yield the types of nodes and the subclass statements."""
    return (quad for quad in quads if quad.predicate in (RDF.type, RDFS.subClassOf))


def sort_by_subject(quads: Iterable[Quad]) -> list[Quad]:
    """Return quads with those of a subject together."""
    found_quads: dict[Term, list[Quad]] = defaultdict(list)
    for quad in quads:
        found_quads[quad.subject].append(quad)
    return list(chain.from_iterable(found_quads.values()))


def _parts(quads: Iterable[Quad], part: int, subjects: "array[int]") -> Iterator[list[Quad]]:
    """Yield quads, all those of a subject together; note the subjects as they come."""
    batch, last = list[Quad](), None
    for quad in quads:
        if quad.subject != last:
            if len(batch) >= part:
                yield batch
                batch = []
            last = quad.subject
            subjects.append(hash(last))
        batch.append(quad)
    if batch:
        yield batch


@contextmanager
def suspend_collection() -> Iterator[None]:
    """Suspend garbage collection: looking through what stays costs a quarter of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


Situation = tuple[frozenset[str], int, Hashable]  # of a node: its targets, a group, values


class _PartitionedValidation:
    """Chooses the nodes to validate, and validates them."""

    def __init__(self, reach: Reach, classes: "_Classes", near: "Graph", part: int) -> None:
        self._reach, self._classes, self._near, self._part = reach, classes, near, part
        self._nodes = Counter[Situation]()  # how many nodes each was seen at
        self._faulty = set[Situation]()
        self._validated = set[str]()
        self._chosen = dict[str, tuple[Situation, ...]]()
        self._quads = list[Quad]()
        self.results = list[Result]()

    def add(self, batch: Sequence[Quad]) -> None:
        """Choose the nodes of a batch with anything that was not seen yet."""
        for node, quads, situations in self._describe_batch(batch):
            if not all(situation in self._nodes for situation in situations):
                self._choose(node, quads, situations)
            self._nodes.update(situations)

    def add_faulty(self, batch: Sequence[Quad]) -> None:
        """Choose the nodes of a batch that are like one with a fault."""
        for node, quads, situations in self._describe_batch(batch):
            if text(node) not in self._validated and not self._faulty.isdisjoint(situations):
                self._choose(node, quads, situations)

    def is_shared(self) -> bool:
        """Return whether nodes that were not chosen may have the faults that were found."""
        return any(self._nodes[row] > 1 for row in self._faulty)

    def finish(self) -> None:
        """Validate what is chosen."""
        if not self._quads:
            return
        data = to_graph(self._quads)
        self._classes.add(data, self._quads)
        results = list_results(data, self._near)
        for result in results:
            self._faulty.update(self._suspected_situations(result))
        self.results += results
        self._validated.update(self._chosen)
        self._chosen.clear()
        self._quads.clear()
        del data
        gc.collect()

    def _choose(self, node: Term, quads: Iterable[Quad], situations: tuple[Situation, ...]) -> None:
        self._chosen[text(node)] = situations
        self._quads += quads
        if len(self._quads) >= self._part:
            self.finish()

    def _suspected_situations(self, result: Result) -> Iterator[Situation]:
        """Yield what a result may be about: values of its path, or that there are none."""
        groups = self._reach.groups
        if (group := groups.get(result.path)) is not None:
            numbers = {group.number}
        else:
            numbers = {each.number for each in groups.values() if len(each.properties) > 1}
        return (row for row in self._chosen[result.focus] if row[1] in numbers)

    def _describe_batch(
        self, batch: Sequence[Quad]
    ) -> Iterator[tuple[Term, list[Quad], tuple[Situation, ...]]]:
        """Yield the focus nodes of a batch, with what shapes can tell of them."""
        nodes: dict[Term, list[Quad]] = defaultdict(list)
        for quad in to_rdf11(batch):
            nodes[quad.subject].append(quad)
        kinds = self._classes.of_values(batch)
        for node, quads in nodes.items():
            if situations := self._situations(quads, kinds):
                yield node, quads, situations

    def _situations(
        self, quads: Iterable[Quad], kinds: Mapping[Term, frozenset[str]]
    ) -> tuple[Situation, ...]:
        reach, marks = self._reach, self._classes.marks
        targets, results = set[str](), dict[PathGroup, list[tuple[str, Term]]]()
        for quad in quads:
            name = quad.predicate.value
            if name == RDF.type.value:
                targets.update(marks.get(quad.object, ()))
            elif name in reach.aims:
                targets.add(name)
            if (group := reach.groups.get(name)) is not None:
                results.setdefault(group, []).append((name, quad.object))
        if not targets:
            return ()
        focus = frozenset(targets)
        situations: list[Situation] = [
            (focus, group.number, self._values(group, pairs, kinds))
            for group, pairs in results.items()
        ]
        absent = set[int]().union(*map(reach.aims.__getitem__, targets))
        absent.difference_update([result.number for result in results])
        situations += [(focus, number, None) for number in absent]
        return tuple(situations)

    def _values(
        self,
        group: PathGroup,
        pairs: Sequence[tuple[str, Term]],
        kinds: Mapping[Term, frozenset[str]],
    ) -> Hashable:
        """Return what the constraints on a group can see of values, each with its properties."""
        if len(pairs) == 1:
            [(name, value)] = pairs
            return name, self._value(value, group, group.reads, kinds)
        names: dict[Term, set[str]] = defaultdict(set)
        for name, value in pairs:
            names[value].add(name)
        reads = group.reads or (group.compares and len({name for name, _ in pairs}) > 1)
        seen = Counter(
            (frozenset(at), self._value(value, group, reads, kinds)) for value, at in names.items()
        )
        return frozenset((row, min(number, group.most)) for row, number in seen.items())

    def _value(
        self, value: Term, group: PathGroup, reads: bool, kinds: Mapping[Term, frozenset[str]]
    ) -> Hashable:
        if reads or text(value) in self._reach.named:
            return value
        matches = [bool(re.search(pattern, text(value))) for pattern in sorted(group.patterns)]
        if isinstance(value, Literal):
            kind = value.datatype  # of a number, its form matters to sh:datatype
            if kind not in (XSD_STRING, _LANG_STRING):
                return value
            return kind, value.language, *matches
        return type(value), kinds.get(value), *matches


class _Classes:
    """The classes of every node, by the hashes of both."""

    def __init__(self, reach: Reach, types: Iterable[Quad]) -> None:
        self._paths = reach.paths
        nodes, kinds = array("q"), array("I")
        numbers, above = dict[Term, int](), dict[Term, set[Term]]()
        for quad in types:
            if quad.predicate == RDF.type:
                nodes.append(hash(quad.subject))
                kinds.append(numbers.setdefault(quad.object, len(numbers)))
            else:
                above.setdefault(quad.subject, set()).add(quad.object)
        closed = [{text(term) for term in _superclass_closure(kind, above)} for kind in numbers]
        self.marks = {
            kind: tuple(MARK + name for name in sorted(names & reach.targets))
            for kind, names in zip(numbers, closed, strict=True)
        }
        self._looked_for = [names & reach.classes for names in closed]
        hashes, bits = np.frombuffer(nodes, np.int64), np.frombuffer(kinds, np.uint32)
        wanted = np.array([bool(group) for group in self._looked_for], bool)
        chosen = np.flatnonzero(wanted[bits]) if len(bits) else bits
        order = chosen[np.argsort(hashes[chosen], kind="stable")]
        self._hashes, self._kinds = hashes[order], bits[order]

    def of_values(self, quads: Iterable[Quad]) -> Mapping[Term, frozenset[str]]:
        """Return the classes that shapes look for, of the values they look at."""
        values = list(
            {
                quad.object
                for quad in quads
                if quad.predicate.value in self._paths
                and isinstance(quad.object, NamedNode | BlankNode)
            }
        )
        hashes = np.fromiter(map(hash, values), np.int64, len(values))
        starts = np.searchsorted(self._hashes, hashes, "left").tolist()
        ends = np.searchsorted(self._hashes, hashes, "right").tolist()
        return {
            value: frozenset().union(*(self._looked_for[kind] for kind in self._kinds[start:end]))
            for value, start, end in zip(values, starts, ends, strict=True)
            if start < end
        }

    def add(self, data: "Graph", quads: Iterable[Quad]) -> None:
        """Mark focus nodes and add the classes of values, which must not become focus nodes."""
        from rdflib import RDF as RDFLIB_RDF
        from rdflib import BNode, URIRef

        marks = {URIRef(text(kind)): tuple(map(URIRef, m)) for kind, m in self.marks.items()}
        for node, _, kind in list(data.triples((None, RDFLIB_RDF.type, None))):
            for mark in marks.get(kind, ()):  # type: ignore[call-overload]
                data.add((node, mark, kind))
        for value, names in self.of_values(quads).items():
            node = URIRef(value.value) if isinstance(value, NamedNode) else BNode(text(value))
            for name in names:
                data.add((node, RDFLIB_RDF.type, URIRef(name)))


def _superclass_closure(kind: Term, above: Mapping[Term, set[Term]]) -> set[Term]:
    """Return a class with all above it."""
    terms, next_terms = {kind}, [kind]
    while next_terms:
        for term in above.get(next_terms.pop(), set()) - terms:
            terms.add(term)
            next_terms.append(term)
    return terms
