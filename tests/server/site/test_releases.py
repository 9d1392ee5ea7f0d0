"""A fresh installation has a release; it is written by a process of its own, beside the server."""

from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.publishing.editions import editions_in
from shiyi.server.site.releases import writing_first_release
from shiyi.settings import Settings
from tests.support.bases import build


@pytest.mark.slow
def test_the_first_release_is_written_once_and_nothing_stays_of_one_that_was_stopped(
    tmp_path: Path,
) -> None:
    settings = replace(Settings(), kb=build(tmp_path / "kb"))
    folder = settings.kb / "releases"
    with writing_first_release(settings):
        pass  # stopped as soon as it was started
    assert not list(folder.glob("*"))
    with writing_first_release(settings, niceness=0) as process:
        assert process is not None
        process.wait(120)
    [release] = editions_in(folder)
    assert (release / "shiyi.nq.gz").stat().st_size
    with writing_first_release(settings) as again:
        assert again is None
