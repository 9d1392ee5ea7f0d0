"""Nodes and edges to draw."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from shiyi.model.path import Path
from shiyi.model.rdf import NamedNode
from shiyi.server.views.links import href
from shiyi.server.views.reader import Reader, Statement, Thing

# class -> how its nodes are coloured and shaped
LOOKS: Final = {
    "MFHSubstance": "food", "Food": "food", "Herb": "food", "Dish": "food", "Formula": "food",
    "FoodGroup": "food",
    "Constitution": "person", "Population": "person", "Symptom": "complaint",
    "Syndrome": "complaint", "Disease": "complaint", "TCMDisease": "complaint",
    "EmergencySign": "complaint", "Drug": "medicine", "DrugClass": "medicine",
    "DSIngredient": "medicine", "DSProduct": "medicine",
}  # fmt: skip
PATHS: Final = 10  # paths drawn
NEIGHBOURS: Final = 18  # nodes drawn around a concept; more is a hairball on a phone


@dataclass(slots=True)
class Drawing:
    """A graph being put together; nodes by IRI, edges by claim."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: dict[str, dict[str, Any]] = field(default_factory=dict)

    def node(self, thing: Thing, *, seed: bool = False) -> None:
        """Add a node; one that was ever a seed stays one."""
        known = self.nodes.setdefault(
            thing.iri,
            {
                "id": thing.iri,
                "label": thing.label,
                "href": thing.href,
                "look": LOOKS.get(thing.kind, "other"),
                "seed": seed,
            },
        )
        known["seed"] = known["seed"] or seed

    def edge(self, claim: str, start: str, end: str, label: str, confidence: float) -> None:
        """Add a claim between two nodes."""
        self.edges.setdefault(
            claim,
            {
                "id": claim,
                "source": start,
                "target": end,
                "label": label,
                "confidence": round(confidence, 3),
                "href": href(claim),
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return nodes and edges as lists; empty without edges."""
        return {"nodes": list(self.nodes.values()), "edges": list(self.edges.values())}

    @property
    def looks(self) -> tuple[str, ...]:
        """List the styles that occur, for the legend."""
        found = {node["look"] for node in self.nodes.values()}
        return tuple(each for each in dict.fromkeys([*LOOKS.values(), "other"]) if each in found)


def of_paths(paths: Iterable[Path], reader: Reader) -> Drawing:
    """Return the best paths as one graph."""
    made = Drawing()
    for path in list(paths)[:PATHS]:
        made.node(reader.thing(NamedNode(path.hops[0].start)), seed=True)
        for hop in path.hops:
            made.node(reader.thing(NamedNode(hop.subject)))
            made.node(reader.thing(NamedNode(hop.object)))
            label = reader.thing(NamedNode(hop.predicate)).label
            made.edge(hop.claim, hop.subject, hop.object, label, hop.confidence)
    return made


def around(centre: Thing, groups: Iterable[tuple[str, Iterable[Statement]]]) -> Drawing:
    """Return a concept with its neighbours, taking relations in turn."""
    made = Drawing()
    made.node(centre, seed=True)
    rows = [(label, list(statements)) for label, statements in groups]
    for place in range(max((len(found) for _, found in rows), default=0)):
        for label, found in rows:
            if place < len(found) and len(made.nodes) <= NEIGHBOURS:
                each = found[place]
                if each.other.iri and not each.negative and each.other.iri != centre.iri:
                    made.node(each.other)
                    made.edge(each.claim, each.subject.iri, each.object.iri, label, each.confidence)
    return made
