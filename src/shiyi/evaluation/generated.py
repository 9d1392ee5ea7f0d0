"""Question sets made from one source's relations, with the paper's kinds of question (iDISK2.0-RAG).

The source itself is withheld from retrieval; a question is *covered* where another source holds
the same fact, else *uncovered*.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shiyi.errors import FormatError
from shiyi.evaluation.bench import Bench
from shiyi.evaluation.items import Choice, QuestionSet, Skips
from shiyi.evaluation.view import sources_of
from shiyi.model.rdf import local_name
from shiyi.reasoning.projection import Edge, accepted_edges

TEMPLATES: Final = {
    "interactsWith": ("{s} interacts with {o}.", "Which of the following interacts with {o}?"),
    "isEffectiveFor": ("{s} is effective for {o}.", "Which of the following is effective for {o}?"),
    "indicatedFor": ("{s} is used for {o}.", "Which of the following is used for {o}?"),
    "hasAdverseReaction": (
        "{o} is an adverse reaction of {s}.", "Which of the following has the adverse reaction {o}?",
    ),
    "relieves": ("{s} is used for {o}.", "Which of the following is used for {o}?"),
    "hasEfficacy": ("{s}的功效包括{o}。", "下列哪一项的功效包括{o}？"),
    "hasMeridianTropism": ("{s}的归经包括{o}。", "下列哪一项的归经包括{o}？"),
    "hasNature": ("{s}的药性为{o}。", "下列哪一项的药性为{o}？"),
    "hasFlavour": ("{s}的药味为{o}。", "下列哪一项的药味为{o}？"),
    "hasManifestation": ("{s}的症状包括{o}。", "下列哪一项的症状包括{o}？"),
    "hasSyndrome": ("{s}的证候包括{o}。", "下列哪一项的证候包括{o}？"),
    "hasTreatmentPrinciple": ("{s}的治法是{o}。", "下列哪一项的治法是{o}？"),
    "hasIngredient": ("{s}的组成含有{o}。", "下列哪一项的组成含有{o}？"),
    "suitableFood": ("{s}：宜食{o}。", "下列哪一项宜食{o}？"),
    "unsuitableFood": ("{s}：忌食{o}。", "下列哪一项忌食{o}？"),
    "cautionIn": ("{s}：{o}慎用。", "下列哪一项{o}慎用？"),
    "contraindicatedIn": ("{s}：{o}禁用。", "下列哪一项{o}禁用？"),
}  # fmt: skip
NONE_OF = {"en": "None of the above", "zh": "以上都不是"}


@dataclass(frozen=True, slots=True)
class Maker:
    """Draws statements and questions; what is false is joined by no claim of any source."""

    bench: Bench
    true: frozenset[tuple[str, str, str]]
    covered: frozenset[tuple[str, str, str]]
    pool: dict[str, list[str]]
    draw: random.Random

    def statements(self, edges: Sequence[Edge]) -> Iterator[Choice]:
        """Yield one true and one false statement for each edge."""
        for place, edge in enumerate(edges):
            verb = local_name(edge.predicate)
            stratum = self._stratum(edge)
            yield self._statement(f"{place}t", edge.subject, verb, edge.object, "true", stratum)
            other = self._other(edge)
            if other:
                yield self._statement(f"{place}f", other, verb, edge.object, "false", stratum)

    def choices(self, edges: Sequence[Edge]) -> Iterator[Choice]:
        """Yield one question for each edge: the subject among others of its kind."""
        for place, edge in enumerate(edges):
            wrong = dict.fromkeys(filter(None, (self._other(edge) for _ in range(9))))
            if len(wrong) < 3:
                continue
            language, verb = self._language(edge), local_name(edge.predicate)
            subjects = [edge.subject, *list(wrong)[:3]]
            self.draw.shuffle(subjects)
            texts = [self._name(each, language) for each in subjects] + [NONE_OF[language]]
            options = tuple(zip("ABCDE", texts, strict=True))
            gold = frozenset("ABCD"[subjects.index(edge.subject)])
            stem = TEMPLATES[verb][1].format(o=self._name(edge.object, language))
            yield Choice(str(place), stem, options, gold, self._stratum(edge))

    def _statement(
        self, name: str, one: str, verb: str, other: str, said: str, stratum: str
    ) -> Choice:
        language = "zh" if TEMPLATES[verb][0][-1] == "。" else "en"
        text = TEMPLATES[verb][0].format(s=self._name(one, language), o=self._name(other, language))
        return Choice(name, text, (), frozenset({said}), f"{stratum}-{said}")

    def _other(self, edge: Edge) -> str:
        """Draw a subject of the same kind that no claim joins so to the object."""
        kind = self.bench.view.concepts[edge.subject].kind
        drawn = self.draw.sample(self.pool[kind], min(20, len(self.pool[kind])))
        for each in drawn:
            if (each, edge.predicate, edge.object) not in self.true:
                return each
        return ""

    def _stratum(self, edge: Edge) -> str:
        key = edge.subject, edge.predicate, edge.object
        return "covered" if key in self.covered else "uncovered"

    def _language(self, edge: Edge) -> str:
        return "zh" if TEMPLATES[local_name(edge.predicate)][1].endswith("？") else "en"

    def _name(self, iri: str, language: str) -> str:
        known = self.bench.view.concepts[iri]
        return (known.zh if language == "zh" else known.en) or known.zh or known.en


def generated(bench: Bench, source: str, task: str, seed: int, limit: int | None) -> QuestionSet:
    """Make questions from the relations of ``source``; ``limit`` draws that many relations.

    Raises ``FormatError`` for a source whose relations fit no template.
    """
    store, concepts = bench.base.store, bench.view.concepts
    bearing = sources_of(store)
    every = list(accepted_edges(store))
    mine = [
        e
        for e in every
        if source in bearing.get(e.claim, ()) and local_name(e.predicate) in TEMPLATES
        and e.subject in concepts and e.object in concepts
    ]  # fmt: skip
    if not mine:
        known = sorted({name for each in bearing.values() for name in each})
        raise FormatError("source with relations to ask about", source, known)
    left = bench.view.projection
    covered = {
        (left.nodes[s], left.predicates[k], left.nodes[t])
        for s, k, t in zip(left.source, left.kind, left.target, strict=True)
    }
    pool: dict[str, list[str]] = defaultdict(list)
    for subject in sorted({e.subject for e in mine}):
        pool[concepts[subject].kind].append(subject)
    draw = random.Random(seed)  # noqa: S311 - a draw, no secret
    draw.shuffle(mine)
    true = frozenset((e.subject, e.predicate, e.object) for e in every)
    maker = Maker(bench, true, frozenset(covered), dict(pool), draw)
    make = maker.statements if task == "truefalse" else maker.choices
    return QuestionSet(tuple(make(mine[:limit])), Skips())
