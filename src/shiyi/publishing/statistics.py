"""What the knowledge base holds, in numbers."""

from collections import Counter

from shiyi.model.names import GRAPH, resource
from shiyi.model.rdf import DefaultGraph, Triple, local_name, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.publishing.tables import concept_rows
from shiyi.sparql.queries import Query
from shiyi.sparql.store import QuadStore

TCM_SIGNS = resource("scheme-tcm-sign")


def coverage(store: QuadStore) -> dict[str, dict[str, int]]:
    """Count concepts by class, those that may have a CUI, and those with one.

    Signs that only Chinese medicine names are counted, but expected to have none.
    """
    concepts, expected, mapped = Counter[str](), Counter[str](), Counter[str]()
    signs = {text(quad.subject) for quad in store.match(None, SKOS.inScheme, TCM_SIGNS)}
    for iri, each in concept_rows(store).items():
        concepts[each["class"]] += 1
        mapped[each["class"]] += bool(each.get("cui"))
        expected[each["class"]] += iri not in signs or bool(each.get("cui"))
    return {
        name: {"concepts": count, "expected": expected[name], "with_cui": mapped[name]}
        for name, count in sorted(concepts.items())
    }


def evidence(store: QuadStore) -> dict[str, dict[str, int]]:
    """Count pieces of evidence by tier of the source, then by how each was checked."""
    found: dict[str, dict[str, int]] = {}
    for row in store.select(Query.named("evidence-by-tier").text):
        tier = local_name(text(row["tier"])).removeprefix("tier-")
        found.setdefault(tier, {})[text(row["checked"])] = int(text(row["pieces"]))
    return found


def relations(store: QuadStore) -> dict[str, int]:
    """Count claims of the accepted view by property, the most frequent first."""
    reified = store.match(None, RDF.reifies, None, DefaultGraph())
    return dict(
        Counter(
            local_name(quad.object.predicate.value)
            for quad in reified
            if isinstance(quad.object, Triple)
        ).most_common()
    )


def ingested(store: QuadStore) -> dict[str, dict[str, int]]:
    """Count, by graph, what was ingested: passages of each release, candidates, quarantine."""
    found: dict[str, dict[str, int]] = {}
    for row in store.select(Query.named("ingested").text):
        place = text(row["graph"]).removeprefix(GRAPH)
        found.setdefault(place, {})[local_name(text(row["class"]))] = int(text(row["things"]))
    return found


def disagreements(store: QuadStore) -> int:
    """Count pairs of claims that are recorded as disagreeing; each is stored both ways."""
    return sum(1 for _ in store.match(None, SHIYI.conflictsWith, None, DefaultGraph())) // 2
