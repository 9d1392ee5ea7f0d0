"""gunicorn for readers: ``gunicorn -c server/deploy/gunicorn.py`` from the project's folder.

Each process opens its own snapshot of the base (345 MiB and its query workers' 90 MiB at the size
of the starter base). ``kill -HUP`` starts processes on the current generation and lets the old
ones finish what they answer, so a new release comes without a moment of silence.
"""

import os
import random
import sys
from typing import Any

from shiyi.server.patience import places

wsgi_app = "wsgi:app"
chdir = "server"
bind = os.environ.get("SHIYI_BIND", "127.0.0.1:8001")
workers = int(os.environ.get("SHIYI_PROCESSES", "2"))
worker_class = "shiyi.server.reader_process.ReaderProcess"
threads = 8
worker_connections = threads + places()  # what the descriptors allow, as of `shiyi serve`
timeout = 90  # above the longest query (30 s) and the longest answer of a model (60 s)
graceful_timeout = 60
keepalive = 75  # above the 60 s of the proxy: else a line closes just as a request comes
_DEALT = 100  # replies of which one ends its connection, so that the next is dealt to who is free
control_socket_disable = True  # signals do
forwarder_headers = (
    ""  # else who asks from this machine says by SCRIPT_NAME where pages' links lead
)
preload_app = False  # an open store and its threads do not survive a fork
raw_env = [
    "SHIYI_READ_ONLY=1",
    "OPENBLAS_NUM_THREADS=1",  # a product of one vector waits for a second thread on busy cores
    f"SHIYI_KB={os.path.abspath(os.environ.get('SHIYI_KB', 'kb'))}",
    f"SHIYI_SETTINGS={os.path.abspath(os.environ.get('SHIYI_SETTINGS', 'shiyi.toml'))}",
]
accesslog = None  # the query log of Shiyi keeps no personal data; neither does this
errorlog = "-"


def post_worker_init(worker: Any) -> None:
    """Let each process tell those beyond ``server.queue`` to come again, as ``shiyi serve`` does."""
    from shiyi.server.guard import admit
    from shiyi.server.heaps import give_back

    admit(worker.wsgi, worker.tpool.waiting, worker.tpool.waited)
    give_back()
    sys.setswitchinterval(0.002)  # seconds a thread keeps the others waiting


def pre_request(worker: Any, request: Any) -> None:
    """Let kept connections move: they would gather at the process that took them at first."""
    if worker.is_full or random.random() * _DEALT < 1:  # noqa: S311 - no secret
        request.force_close()


def post_fork(server: Any, worker: Any) -> None:
    """Let the threads of each process share its memory, before the base is opened.

    A process that comes after the first ones has others that answer until it has made all.
    """
    from shiyi.server.heaps import share_memory

    share_memory()
    if worker.age > server.cfg.workers:
        os.environ["SHIYI_STOOD_IN_FOR"] = "1"


def worker_exit(server: Any, worker: Any) -> None:
    """Remove the snapshots of a process that ends: they keep a whole generation on the disk."""
    if worker.wsgi is not None:
        worker.wsgi.extensions["shiyi"].close()
