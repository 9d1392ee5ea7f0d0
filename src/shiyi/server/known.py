"""What answers hold in memory of concepts, for pages that name very many."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from shiyi.answering.facts import Fact, Facts
from shiyi.model.names import ID


@dataclass(frozen=True, slots=True)
class Known:
    """Claims and labels in step with the store; ``hidden`` are the claims that stay inside."""

    facts: Callable[[], Facts]
    hidden: Callable[[], frozenset[str]] = frozenset

    def about(self, iri: str) -> Iterator[tuple[bool, Fact]]:
        """Yield the accepted and derived claims that name a concept, and whether it is their subject."""
        facts, hidden = self.facts(), self.hidden()
        for forward, side in ((True, facts.by_subject), (False, facts.by_object)):
            for fact in side.get(iri, ()):
                if fact.claim not in hidden:
                    yield forward, fact

    def labels(self, iri: str) -> Mapping[str, str]:
        """Give the labels of a concept by language; of anything else nothing."""
        return self.facts().labels.get(iri, {}) if iri.startswith(ID) else {}

    def kind(self, iri: str) -> str:
        """Give the name of a concept's narrowest class."""
        return self.facts().classes.get(iri, "")
