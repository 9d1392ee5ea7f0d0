"""A quote where it stands: the words of its passage before and after it."""

from dataclasses import dataclass
from typing import Final

from shiyi.curation.editing_claims import passage_text
from shiyi.server.reading import EvidenceView
from shiyi.sparql.store import QuadStore

AROUND: Final = 400  # characters shown on each side


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quote with what surrounds it; without its passage it stands alone."""

    before: str
    quote: str
    after: str


class Passages:
    """Finds the quotes of evidence in the passages of one store."""

    def __init__(self, store: QuadStore) -> None:
        self._store = store

    def __call__(self, evidence: EvidenceView) -> Quoted:
        """Give the quote of some evidence in its passage; only what may be quoted has a quote."""
        words = passage_text(self._store, evidence.passage.iri) if evidence.passage else ""
        before, found, after = words.partition(evidence.quote) if evidence.quote else ("", "", "")
        if not found:
            return Quoted("", evidence.quote, "")
        return Quoted(
            ("…" if len(before) > AROUND else "") + before[-AROUND:], evidence.quote,
            after[:AROUND] + ("…" if len(after) > AROUND else ""),
        )  # fmt: skip
