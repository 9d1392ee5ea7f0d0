"""The curators' desks, below ``/curate``: who may, what waits, what was done."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from flask import Blueprint

from shiyi.curation.roles import Right
from shiyi.server.curating.account import account_routes
from shiyi.server.curating.bundles import bundle_routes
from shiyi.server.curating.claim import claim_routes
from shiyi.server.curating.edit import edit_routes
from shiyi.server.curating.feedback import feedback_routes
from shiyi.server.curating.history import after_routes, history_routes
from shiyi.server.curating.lockout import Lockout
from shiyi.server.curating.mappings import mapping_routes
from shiyi.server.curating.oidc import oidc_routes
from shiyi.server.curating.people_desk import people_routes
from shiyi.server.curating.progress import progress_routes
from shiyi.server.curating.quarantine import quarantine_routes
from shiyi.server.curating.queue import queue_routes
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.curating.sign_in import sign_in_routes
from shiyi.server.curating.vocabulary import vocabulary_routes
from shiyi.server.curating.vocabulary_proposals import proposal_routes
from shiyi.server.curators import Curation
from shiyi.server.kept import Kept
from shiyi.server.site import Site


@dataclass(frozen=True, slots=True)
class DeskLink:
    """An entry of the desks' navigation: where, the catalogue's key, and who sees it."""

    path: str
    key: str
    right: Right = Right.READ


DESKS: Final = (
    DeskLink("/curate/queue", "curate.queue"),
    DeskLink("/curate/quarantine", "curate.quarantine"),
    DeskLink("/curate/mappings", "curate.mappings"),
    DeskLink("/curate/vocabulary", "curate.vocabulary"),
    DeskLink("/curate/feedback", "curate.feedback"),
    DeskLink("/curate/history", "curate.history"),
    DeskLink("/curate/progress", "curate.progress"),
    DeskLink("/curate/people", "curate.people", Right.ADMIN),
    DeskLink("/curate/audit", "curate.audit", Right.ADMIN),
    DeskLink("/curate/account", "curate.account"),
)


def curating(site: Site, kept: Kept, curation: Curation) -> Iterator[Blueprint]:
    """Yield the routes of every desk; each names the right it needs with ``needs``."""
    lockout = Lockout()
    yield sign_in_routes(curation, lockout)
    yield oidc_routes(curation)
    yield account_routes(curation, lockout)
    yield people_routes(curation)
    reviewing = Reviewing(site.store, curation)
    yield queue_routes(kept, reviewing)
    yield claim_routes(kept, reviewing)
    yield history_routes(kept, reviewing)
    yield after_routes(kept, reviewing)
    yield progress_routes(kept, reviewing)
    yield bundle_routes(site, curation)
    yield edit_routes(site, kept, curation)
    yield quarantine_routes(site, kept, curation)
    yield mapping_routes(site, kept, curation)
    yield feedback_routes(site, kept, curation)
    yield vocabulary_routes(site, kept, curation)
    yield proposal_routes(site, curation)
