"""The first release of a base, written beside a server that has just been installed."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

from shiyi.publishing.editions import editions_in
from shiyi.settings import Settings

_LOG: Final = logging.getLogger(__name__)
_LOWEST: Final = 19  # priority, so that readers do not wait for it
_PATIENCE: Final = 5.0  # seconds in which it removes what it had begun


@contextmanager
def writing_first_release(
    settings: Settings, niceness: int = _LOWEST
) -> Iterator[subprocess.Popen[str] | None]:
    """Write a release in a process of low priority where there is none; stop it at the end."""
    folder = Path(settings.server.releases or settings.kb / "releases")
    if editions_in(folder):
        yield None
        return
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(settings.kb), "release", version("shiyi"),
         "--output", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    os.setpriority(os.PRIO_PROCESS, process.pid, niceness)
    reporter = threading.Thread(target=_report, args=(process, folder), daemon=True)
    reporter.start()
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            reporter.join(_PATIENCE)
            process.kill()


def _report(process: subprocess.Popen[str], folder: Path) -> None:
    """Log how the release ended."""
    _, fault = process.communicate()
    if process.returncode == 0:
        _LOG.info("wrote the first release to %s", folder)
    elif process.returncode > 0:
        last = fault.strip().rpartition("\n")[2]
        _LOG.warning("the first release ended with status %d: %s", process.returncode, last)
