"""How far reviewing is, who did how much, and how far reviewers agree."""

from flask import Blueprint, render_template

from shiyi.curation.roles import Right
from shiyi.server.curating.claim_view import view_of
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.curating.session import PREFIX, needs
from shiyi.server.kept import Kept
from shiyi.server.wording import chosen_language

_DISPUTES = 50


def progress_routes(kept: Kept, reviewing: Reviewing) -> Blueprint:
    """Serve ``/curate/progress``."""
    routes = Blueprint("progress", __name__, url_prefix=PREFIX)

    @routes.get("/progress")
    @needs(Right.READ)
    def progress() -> str:
        opinions, reader = reviewing.opinions, kept.reader(chosen_language())
        people, days = opinions.progress()
        disputes = [
            (view, sorted(found.values(), key=lambda each: -each.agreement))
            for claim, found in sorted(opinions.disputed().items())[:_DISPUTES]
            if (view := view_of(reader, claim)) is not None
        ]
        return render_template(
            "curate/progress.html", people=people.most_common(), days=sorted(days.items())[-30:],
            agreement=opinions.agreement(), disputes=disputes, total=len(reviewing.queue.columns),
            reviewed=len(opinions.reviewed()),
        )  # fmt: skip

    return routes
