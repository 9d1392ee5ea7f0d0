"""Importance within what one question found: PageRank over the claims on its paths (Yaoshi-RAG)."""

from collections.abc import Iterable, Mapping
from typing import Final

from shiyi.errors import FormatError
from shiyi.model.path import Path
from shiyi.reasoning.projection import Edge, Projection
from shiyi.settings import PageRankSettings

WHOLE, WITHIN = "global", "query_subgraph"
SCOPES: Final = (WHOLE, WITHIN)


def importance_within(paths: Iterable[Path], settings: PageRankSettings) -> Mapping[str, float]:
    """Give each node on some paths its weighted PageRank among their claims, each counted once."""
    edges = {
        hop.claim: Edge(hop.subject, hop.predicate, hop.object, hop.claim, hop.confidence)
        for path in paths
        for hop in path.hops
    }
    return Projection.from_edges(list(edges.values()), release="").importance(settings)


def importance_for(
    scope: str, paths: Iterable[Path], rank: Mapping[str, float], settings: PageRankSettings
) -> Mapping[str, float]:
    """Give ``rank``, that of the whole release, or the importance within the paths of one question.

    Raises ``FormatError`` for a scope that does not exist.
    """
    if scope not in SCOPES:
        raise FormatError("scope of importance", scope, SCOPES)
    return rank if scope == WHOLE else importance_within(paths, settings)
