"""The methods of answering as readers of questions: what they retrieve joins options to a stem."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from shiyi.answering.methods import RETRIEVE, Query
from shiyi.answering.methods.claims import RRF, near
from shiyi.answering.paths import Found, Retrieved
from shiyi.answering.reading import read_question
from shiyi.answering.roles import EDIBLE
from shiyi.answering.runtime import Runtime
from shiyi.evaluation.items import Choice, Prediction
from shiyi.evaluation.scorers import Linking, Options
from shiyi.linking.normalise import language_of
from shiyi.model.profile import Profile

READERS: Final = ("spot", "layers", "therapy", "chain", "transe", "rotate")
_TOGETHER: Final = 10  # options that stand in one question; more are asked for one by one
_APART: Final = 0.1  # ours: what a claim weighs that speaks of the option alone


@dataclass(slots=True)
class Retrieving:
    """A method over one base; ``seen`` are the claims a run may see, all of them where empty."""

    method: str
    runtime: Runtime
    linking: Linking
    k: int = 10
    seen: frozenset[str] = frozenset()
    ranked: bool = True  # whether the rank of a claim counts, or only that it was found
    _known: dict[str, Retrieved] = field(default_factory=dict)

    def claims(self, text: str) -> tuple[Found, ...]:
        """Give the claims that the method retrieves for a text, best first."""
        known = self._known.get(text)
        if known is None:
            runtime, language = self.runtime, language_of(text)
            reading = read_question(text, language, Profile(), runtime.linker, runtime.facts)
            query = Query(reading, (), EDIBLE, advice=False, k=self.k, least=0.0)
            known = self._known[text] = RETRIEVE[self.method](query, runtime, None)
        return tuple(f for f in known.claims if not self.seen or f.fact.claim in self.seen)

    def near(self, text: str) -> frozenset[str]:
        """Give the concepts that a text names, and those above them."""
        return near(
            self.runtime.facts, (iri for senses in self.linking.concepts(text) for iri in senses)
        )

    def scores(self, stem: str, options: Options) -> list[float]:
        """Give each option the reciprocal ranks of the claims that join it to the stem.

        The stem stands in one question with its options (MLKG-RAG), unless there are very many.
        """
        together = len(options) <= _TOGETHER
        asked = f"{stem} {' '.join(options)}" if together else stem
        found, named = self.claims(asked), self.near(stem)
        return [self._score(found, named, option) for option in options]

    def _score(self, found: Sequence[Found], named: frozenset[str], option: str) -> float:
        own = {iri for senses in self.linking.concepts(option) for iri in senses}
        total = 0.0
        for rank, each in enumerate(found, 1):
            ends = {each.fact.subject, each.fact.object}
            if each.fact.positive and ends & own:
                joins = bool((ends - own) & named) or len(ends & own) > 1
                total += (1.0 if joins else _APART) / (RRF + (rank if self.ranked else 1))
        return total


@dataclass(slots=True)
class StatementByRetrieval:
    """Holds a statement true where the method retrieves a claim that joins what it names."""

    retrieving: Retrieving

    def read(self, item: Choice) -> Prediction:
        """Look for such a claim, of the relation asked for where the statement names one."""
        named = [
            near(self.retrieving.runtime.facts, senses)
            for senses in self.retrieving.linking.concepts(item.stem)
        ]
        for each in self.retrieving.claims(item.stem):
            fact = each.fact
            places = [
                {i for i, own in enumerate(named) if end in own}
                for end in (fact.subject, fact.object)
            ]
            if fact.positive and all(places) and len(places[0] | places[1]) > 1:
                return Prediction(("true",), frozenset({"true"}))
        return Prediction(("false",), frozenset({"false"}), abstained=True)
