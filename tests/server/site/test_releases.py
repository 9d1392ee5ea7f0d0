"""A fresh installation has a release; it is written by a process of its own, beside the server."""

from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.publishing.editions import list_editions
from shiyi.server.site.releases import write_first_release
from shiyi.settings import Settings
from tests.support.bases import build


@pytest.mark.slow
def test_the_first_release_is_written_once(tmp_path: Path) -> None:
    settings = replace(Settings(), kb=build(tmp_path / "kb"))
    folder = settings.kb / "releases"
    write_first_release(settings)
    [release] = list_editions(folder)
    dump = release / "shiyi.nq.gz"
    written = dump.stat()
    assert written.st_size
    write_first_release(settings)
    assert dump.stat().st_mtime_ns == written.st_mtime_ns
