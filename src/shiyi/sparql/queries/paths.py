"""Relation paths as SPARQL."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shiyi.errors import QueryError
from shiyi.model.path import Hop, Path, RelationPath
from shiyi.model.rdf import Literal, NamedNode
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.sparql.store.port import QuadStore, Solution


@dataclass(frozen=True, slots=True)
class PathQuery:
    """A query for all paths along one relation path, ``limit`` of them at most."""

    path: RelationPath
    text: str
    limit: int


@dataclass(frozen=True, slots=True)
class PathRows:
    """The paths of a query; ``reached_limit`` says that there may be more."""

    paths: tuple[Path, ...]
    reached_limit: bool


def path_query(
    path: RelationPath, seeds: Sequence[str], *, known: Collection[str], limit: int, max_hops: int
) -> PathQuery:
    """Build the query: the seeds, the plain triples, then what each claim is annotated with.

    All in one group, so that the store looks each annotation up for the rows it has: behind a
    sub-SELECT it joins every claim of the base instead, a second for fifty rows. Predicates
    must be among ``known``. Raises ``QueryError`` for anything else.
    """
    _check(path, seeds, known, limit, max_hops)
    ends = range(len(path) + 1)
    nodes = " ".join(f"?n{i}" for i in ends)
    values = " ".join(str(NamedNode(seed)) for seed in dict.fromkeys(seeds))
    triples = [_triple(path, i) for i in range(len(path))]
    apart = " && ".join(f"?n{i} != ?n{j}" for j in ends for i in range(j))
    different = f"FILTER({apart} && {' && '.join(f'isIRI(?n{i})' for i in ends)})"
    annotations = [
        f"?c{i} {RDF.reifies} <<( {triple} )>> ; {SHIYI.status} {SHIYI.accepted} ;\n"
        f"      {SHIYI.polarity} {SHIYI.positive} ; {SHIYI.confidence} ?w{i} ."
        for i, triple in enumerate(triples)
    ]
    asked = " ".join(f"?c{i} ?w{i}" for i in range(len(path)))
    lines = (f"VALUES ?n0 {{ {values} }}", *(f"{t} ." for t in triples), different, *annotations)
    text = "\n".join(
        [f"SELECT {nodes} {asked} {{", *(f"  {line}" for line in lines), f"}} LIMIT {limit}"]
    )
    return PathQuery(path, text, limit)


def find_paths(store: QuadStore, query: PathQuery) -> PathRows:
    """Run a built query in process; hops come back as the claims state them."""
    rows = tuple(Path(_hops(query.path, row)) for row in store.select(query.text))
    return PathRows(rows, reached_limit=len(rows) >= query.limit)


def _check(
    path: RelationPath, seeds: Sequence[str], known: Collection[str], limit: int, max_hops: int
) -> None:
    if not 1 <= len(path) <= max_hops:
        raise QueryError(f"a relation path has 1 to {max_hops} hops, not {len(path)}")
    for step in path:
        if step.predicate not in known:
            raise QueryError(f"{step.predicate[:120]} is no property of the vocabulary")
    if not seeds:
        raise QueryError("a path query starts from at least one concept")
    if limit < 1:
        raise QueryError(f"a path query returns at least one row, not {limit}")
    for seed in seeds:
        try:
            NamedNode(seed)
        except ValueError as fault:
            raise QueryError(f"{seed[:120]!r} is not an IRI") from fault


def _triple(path: RelationPath, place: int) -> str:
    step, here, there = path[place], f"?n{place}", f"?n{place + 1}"
    subject, object_ = (here, there) if step.forward else (there, here)
    return f"{subject} {NamedNode(step.predicate)} {object_}"


def _hops(path: RelationPath, row: Solution) -> tuple[Hop, ...]:
    hops = []
    for i, step in enumerate(path):
        term, there, weighed = row[f"n{i}"], row[f"n{i + 1}"], row[f"w{i}"]
        claim = row[f"c{i}"]
        if not (isinstance(term, NamedNode) and isinstance(there, NamedNode)):
            raise QueryError("a path runs between concepts")
        if not (isinstance(weighed, Literal) and isinstance(claim, NamedNode)):
            raise QueryError("a claim has an IRI and a confidence")
        subject, object_ = (term, there) if step.forward else (there, term)
        weight = float(weighed.value)
        hops.append(
            Hop(subject.value, step.predicate, object_.value, claim.value, weight, step.forward)
        )
    return tuple(hops)
