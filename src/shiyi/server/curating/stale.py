"""What somebody decided meanwhile, beside what one was about to decide: nothing goes unseen."""

from uuid import uuid4

from flask import render_template
from werkzeug.exceptions import NotFound

from shiyi.curation.changes import Changes
from shiyi.curation.ledger import Change
from shiyi.curation.state import Difference, as_of, state_of, version
from shiyi.server.curating.claim_view import desk_of
from shiyi.server.curating.edit_stale import lines_of
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.kept import Kept
from shiyi.server.wording import catalogue, chosen_language


def stale_page(kept: Kept, reviewing: Reviewing, iri: str, seen: str, kind: str) -> tuple[str, int]:
    """Show the difference since a version, and ask again; status 409."""
    reader = kept.reader(chosen_language())
    desk = desk_of(reader, reviewing, iri)
    if desk is None:
        raise NotFound(catalogue()("curate.no_claim"))
    later, difference = since(reviewing.decisions.changes, iri, seen)
    page = render_template(
        "curate/review.html", desk=desk, key=uuid4().hex, said={}, after="", following="",
        stale=later, stale_lines=lines_of(reader, difference), meant=kind,
    )  # fmt: skip
    return page, 409


def since(changes: Changes, iri: str, seen: str) -> tuple[list[Change], Difference]:
    """Give the changes made since a version, and what they changed in all."""
    now, made = state_of(changes.store, iri), changes.of(iri)
    for number in [each.number - 1 for each in reversed(made)]:
        before = as_of(now, iri, made, number)
        if version(before) == seen:
            return [each for each in made if each.number > number], Difference.between(before, now)
    return made[-3:], Difference((), ())
