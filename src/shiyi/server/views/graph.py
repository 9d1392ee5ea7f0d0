"""Nodes and edges to draw."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from shiyi.model.answer import Answer
from shiyi.model.iris import ID
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

    def edge(
        self, claim: str, start: str, end: str, label: str, confidence: float, opened: bool = True
    ) -> None:
        """Add a claim between two nodes; one without an opened source is dashed."""
        self.edges.setdefault(
            claim,
            {
                "id": claim,
                "source": start,
                "target": end,
                "label": label,
                "confidence": round(confidence, 3),
                "opened": opened,
                "href": href(claim),
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return nodes and edges as lists; empty without edges."""
        return {"nodes": list(self.nodes.values()), "edges": list(self.edges.values())}


def answer_graph(answer: Answer, reader: Reader) -> Drawing:
    """Return the best paths of an answer, then the claims it cites, as one graph."""
    made = Drawing()
    opened = {each.claim: any(e.is_opened for e in each.evidence) for each in answer.citations}
    for path in answer.paths[:PATHS]:
        made.node(reader.thing(NamedNode(path.hops[0].start)), seed=True)
        for hop in path.hops:
            made.node(reader.thing(NamedNode(hop.subject)))
            made.node(reader.thing(NamedNode(hop.object)))
            label = reader.thing(NamedNode(hop.predicate)).label
            known = opened.get(hop.claim, True)
            made.edge(hop.claim, hop.subject, hop.object, label, hop.confidence, known)
    asked = {each.iri for each in answer.linked if each.iri}
    for each in answer.citations:
        start, end = each.subject.iri, each.object.iri
        fits = len({start, end, *made.nodes}) <= NEIGHBOURS
        if end.startswith(ID) and each.polarity != "negative" and fits:
            made.node(reader.thing(NamedNode(start)), seed=start in asked)
            made.node(reader.thing(NamedNode(end)), seed=end in asked)
            word = each.predicate.label
            made.edge(each.claim, start, end, word, each.confidence, opened[each.claim])
    if made.nodes and not any(node["seed"] for node in made.nodes.values()):
        next(iter(made.nodes.values()))["seed"] = True
    return made


def local_graph(centre: Thing, groups: Iterable[tuple[str, Iterable[Statement]]]) -> Drawing:
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
