"""What to eat in a condition, with a constitution: questions made from the base's own claims (Yaoshi-RAG).

As many questions for symptoms, diseases and syndromes, and for each of the nine constitutions. The
claims that answer a question at once are withheld, so that only paths over other claims lead to it.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from shiyi.errors import UsageError
from shiyi.evaluation.items import Prescription
from shiyi.evaluation.prescriptions import Prescriptions
from shiyi.linking.labels import LabelIndex
from shiyi.model.rdf import local_name
from shiyi.reasoning.projection import Edge, accepted_edges
from shiyi.sparql.store import QuadStore

EDIBLE: Final = frozenset({"Food", "MFHSubstance", "Dish"})
CONDITIONS: Final = ("Symptom", "Disease", "Syndrome")
CONSTITUTION: Final = "Constitution"
LEAST: Final = 3  # things that must be good for a condition that is asked about; ours
_GOOD: Final = {
    "suitableFood": True,
    "relieves": False,
    "indicatedFor": False,
}  # True: of the state
_BAD: Final = {"unsuitableFood": True, "cautionIn": False, "contraindicatedIn": False}

Joined = dict[str, dict[str, set[str]]]  # state, then thing, then claims


def mfh_questions(
    store: QuadStore, index: LabelIndex, seed: int, limit: int | None = None
) -> tuple[Prescriptions, frozenset[str]]:
    """Give balanced questions, a condition and a constitution each, and the claims to withhold.

    Right is what is good for the condition and not held bad for the constitution.
    Raises ``UsageError`` for a base that says nothing of the kind.
    """
    kinds = {each.iri: each.kind for each in index.concepts}
    names = {each.iri: each.zh or each.en for each in index.concepts}
    edges = list(accepted_edges(store))
    good, bad = _joined(edges, _GOOD, kinds), _joined(edges, _BAD, kinds)
    constitutions = sorted(iri for iri, kind in kinds.items() if kind == CONSTITUTION)
    asked, held = list[Prescription](), set[str]()
    for place, condition in enumerate(_balanced(good, kinds, random.Random(seed))):  # noqa: S311 - a draw, no secret
        if limit is not None and len(asked) >= limit:
            break
        constitution = constitutions[place % len(constitutions)]
        right = good[condition].keys() - bad.get(constitution, {}).keys()
        if right:
            stated = names[condition], names[constitution]
            gold = frozenset(names[each] for each in right)
            asked.append(Prescription(local_name(condition), stated, gold, kinds[condition]))
            held |= {claim for claims in good[condition].values() for claim in claims}
    if not asked:
        raise UsageError("the base says of too few conditions what is good to eat in them")
    things = sorted({names[thing] for each in good.values() for thing in each})
    return Prescriptions(tuple(asked), tuple(things)), frozenset(held)


def _joined(edges: Iterable[Edge], relations: dict[str, bool], kinds: dict[str, str]) -> Joined:
    found: Joined = defaultdict(lambda: defaultdict(set))
    for edge in edges:
        of_state = relations.get(local_name(edge.predicate))
        if of_state is None:
            continue
        state, thing = (edge.subject, edge.object) if of_state else (edge.object, edge.subject)
        if kinds.get(thing) in EDIBLE and kinds.get(state) in {*CONDITIONS, CONSTITUTION}:
            found[state][thing].add(edge.claim)
    return found


def _balanced(good: Joined, kinds: dict[str, str], draw: random.Random) -> Iterator[str]:
    """Yield conditions, of each kind in turn, as long as every kind has one left."""
    listed = []
    for kind in CONDITIONS:
        of_kind = sorted(iri for iri in good if kinds[iri] == kind and len(good[iri]) >= LEAST)
        draw.shuffle(of_kind)
        listed.append(of_kind)
    for several in zip(*listed, strict=False):
        yield from several
