"""The texts kept in step with the claims: accepted ones come in, withdrawn ones go out."""

from collections.abc import Collection, Iterable

from shiyi.answering.facts import Fact, Facts
from shiyi.answering.library import Library
from shiyi.answering.texts import unit_of
from shiyi.sparql.store import QuadStore


def level_texts(library: Library, store: QuadStore, facts: Facts) -> None:
    """Bring a library that was written at the build to the claims as they are since."""
    known = {f.claim: f for found in facts.by_subject.values() for f in found if not f.derived}
    held = library.claims()
    if held != known.keys():
        come = [known[each] for each in sorted(known.keys() - held)]
        change_texts(library, store, facts, held - known.keys(), come)


def change_texts(
    library: Library, store: QuadStore, facts: Facts, touched: Collection[str], now: Iterable[Fact]
) -> None:
    """Take out the texts of the claims ``touched`` and put in those of the claims held ``now``."""
    made = {f.claim: unit_of(store, facts, f) for f in now if not f.derived}
    library.change(
        touched, [unit for unit, _ in made.values()],
        {claim: read for claim, (_, read) in made.items() if read},
    )  # fmt: skip
