"""Functions in processes of their own, which end with this one."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

LOWEST: Final = 19
_LOOK: Final = 0.1  # seconds
_STOPPED: Final = 1


def run_in_background(
    target: Callable[..., object],
    *arguments: object,
    is_closed: Callable[[], bool] = lambda: False,
    priority: int = LOWEST,
) -> int:
    """Wait for a function of a module; return the exit status of its process.

    Work in Python would else share the interpreter's lock with requests. The process is stopped
    when ``is_closed``, and when this one ends, even by a signal that nothing can handle.
    """
    spawn = multiprocessing.get_context("spawn")  # a fork would copy locks of other threads
    process = spawn.Process(target=_run, args=(priority, target, *arguments), daemon=True)
    process.start()
    while process.is_alive() and not is_closed():
        process.join(_LOOK)
    process.terminate()
    process.join()
    return process.exitcode or 0


def open_process_pool(
    number: int, prepare: Callable[..., object] = int, *arguments: object
) -> ProcessPoolExecutor:
    """Return a pool of processes, each prepared first, that end when this one does, however."""
    spawn = multiprocessing.get_context("spawn")  # a fork would copy locks of other threads
    return ProcessPoolExecutor(number, spawn, partial(_prepare, prepare, *arguments))


def _prepare(prepare: Callable[..., object], *arguments: object) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare(*arguments)


def _run(priority: int, target: Callable[..., object], *arguments: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    signal.signal(signal.SIGTERM, _stop)
    os.nice(priority)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    target(*arguments)


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once, since what was begun is being removed
    sys.exit(_STOPPED)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
