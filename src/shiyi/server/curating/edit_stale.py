"""What somebody else changed since a form was opened, shown before anything is overwritten."""

from dataclasses import dataclass

from shiyi.curation.changes import Edit
from shiyi.curation.editing_claims import StoredClaim
from shiyi.curation.ledger import Change
from shiyi.curation.state import Difference, as_of, state_of, version
from shiyi.model.rdf import Quad, Triple, local_name
from shiyi.server.curators import Curation
from shiyi.server.kept import Kept
from shiyi.server.reading import Reader, Thing
from shiyi.server.site import Site
from shiyi.server.wording import chosen_language


@dataclass(frozen=True, slots=True)
class Line:
    """One statement that went or came."""

    what: Thing
    value: Thing
    came: bool


@dataclass(frozen=True, slots=True)
class Since:
    """Who changed a claim since, why, and what."""

    changes: tuple[Change, ...]
    lines: tuple[Line, ...]


def since_then(
    site: Site, kept: Kept, curation: Curation, old: StoredClaim | None, edit: Edit
) -> Since:
    """Compare what a form was opened on with what stands now."""
    if old is None:
        return Since((), ())
    reader, thing = kept.reader(chosen_language()), old.iri.value
    now, made = state_of(site.store, thing), curation.writing.of(thing)
    seen = edit.expected.get(thing, "")
    for number in [each.number - 1 for each in reversed(made)]:
        before = as_of(now, thing, made, number)
        if version(before) == seen:
            later = tuple(each for each in made if each.number > number)
            return Since(later, lines_of(reader, Difference.between(before, now)))
    return Since(tuple(made[-3:]), ())


def lines_of(reader: Reader, difference: Difference) -> tuple[Line, ...]:
    """Write the statements of a difference for people: what went first."""
    gone = [_line(reader, quad, False) for quad in difference.removed]
    return (*gone, *(_line(reader, quad, True) for quad in difference.added))


def _line(reader: Reader, quad: Quad, came: bool) -> Line:
    said = quad.object
    if isinstance(said, Triple):
        parts = (said.subject, said.predicate, said.object)
        value = Thing("", " · ".join(reader.thing(each).label for each in parts))
    else:
        value = reader.thing(said)
    what = reader.thing(quad.predicate)
    return Line(what if what.label else Thing("", local_name(quad.predicate.value)), value, came)
