"""The first release of a base, written beside a server that has just been installed."""

import logging
from importlib.metadata import version
from pathlib import Path
from typing import Final

from shiyi.publishing.editions import list_editions
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.sandbox.background import run_in_background

_LOG: Final = logging.getLogger(__name__)


def write_first_release(settings: Settings) -> None:
    """Write a release where there is none, in a process of lowest priority; wait for it."""
    folder = Path(settings.server.releases or settings.kb / "releases")
    if list_editions(folder):
        return
    if status := run_in_background(_write, settings, folder):
        _LOG.warning("the first release ended with status %d; run `shiyi release`", status)
    else:
        _LOG.info("wrote the first release to %s", folder)


def _write(settings: Settings, folder: Path) -> None:
    from shiyi.publishing.release import ReleaseRequest, issue_date, publish

    with KnowledgeBase.of(settings) as base:
        order = ReleaseRequest(version("shiyi"), issue_date(), base.release, settings.base)
        publish(base.store, folder, order)
