"""One-hop neighbourhoods."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from shiyi.linking.linker import Linker
from shiyi.model.answer import Mention

RATING: Final = {  # of interactions and of effectiveness; the paper keeps ratings, ranks by none
    "major": 1.0, "moderate": 0.85, "minor": 0.6, "effective": 1.0, "likely": 0.9,
    "possible": 0.7, "insufficient": 0.4, "ineffective": 0.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Link:
    """One claim seen from one of its ends."""

    other: str
    predicate: str
    claim: str
    confidence: float
    forward: bool


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Claims by concept, with the ratings their evidence gives."""

    links: Mapping[str, tuple[Link, ...]]
    ratings: Mapping[str, str]
    linker: Linker
    min_cosine: float = 0.75  # iDISK2.0-RAG
    per_node: int = 50  # Shiyi's: the paper states no limit

    def seeds(self, text: str, kinds: Collection[str] = ()) -> tuple[Mention, ...]:
        """Return the mentions linked at or above the gate; of ``kinds`` where there are any."""
        mentions = tuple(
            mention
            for mention in self.linker.link(text)
            if mention.iri and not mention.negated and mention.score >= self.min_cosine
        )
        typed_mentions = tuple(mention for mention in mentions if mention.kind in kinds)
        return typed_mentions or mentions

    def around(self, iri: str) -> tuple[tuple[Link, float], ...]:
        """Return the claims at a concept with confidence times rating, best first."""
        weighed = [
            (link, link.confidence * RATING.get(self.ratings.get(link.claim, ""), 0.9))
            for link in self.links.get(iri, ())
        ]
        weighed.sort(key=lambda pair: (-pair[1], pair[0].claim))
        return tuple(weighed[: self.per_node])
