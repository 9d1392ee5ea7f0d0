"""Serve the base, run the suites in the clients' own environment, write bench/tables/clients.md.

``python -m tests.conformance.clients PYTHON`` takes the interpreter that has requirements.txt; its
environment has the packages of package.json in ``node_modules``.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
PAGE: Final = ROOT / "bench/tables/clients.md"
BEGIN, END = "<!-- compat -->\n", "<!-- /compat -->"


def main(python: str) -> int:
    """Print and write the table; return 1 where a client failed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    kb = os.environ.get("SHIYI_KB", "kb")  # clients start commands without this environment
    shiyi = [sys.executable, "-m", "shiyi", "--kb", kb]
    with tempfile.TemporaryDirectory() as folder:
        quads = f"{folder}/nanopublications.nq"
        subprocess.run([*shiyi, "export", "--profile", "nanopub", "-o", quads], check=True)  # noqa: S603
        release = [*shiyi, "release", "1.0.0", "--date", "2026-11-21", "-o", folder]
        subprocess.run(release, check=True)  # noqa: S603
        server = subprocess.Popen([*shiyi, "serve", "--port", str(port)])  # noqa: S603
        try:
            _wait(f"{base}/healthz")
            _wait(f"{base}/sparql/rdf11?query=ASK%20%7B%7D")  # its copy is made at the start
            suite = [python, "-W", "ignore", str(HERE / "suite.py"), base, quads]
            suite += [f"{folder}/1.0.0", *shiyi]
            npm = ["node", str(HERE / "suite.mjs"), base]
            done = [
                subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, cwd=place)  # noqa: S603
                for words, place in ((suite, ROOT), (npm, Path(python).parents[1]))
            ]
            if (status := server.poll()) is not None:
                raise RuntimeError(f"the server ended with status {status}")
        finally:
            server.terminate()
            server.wait(30)
    rows = [json.loads(line) for each in done for line in each.stdout.splitlines()]
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    table = "\n".join(["| client | what | outcome | message |", "|---|---|---|---|", *lines])
    print(table)  # noqa: T201
    page = PAGE.read_text(encoding="utf-8")
    pattern = re.compile(f"{BEGIN}.*?{END}", re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _: f"{BEGIN}{table}\n{END}", page), encoding="utf-8")
    return max(each.returncode for each in done)


def _wait(address: str) -> None:
    for _ in range(120):
        try:
            urllib.request.urlopen(address, timeout=60).close()  # noqa: S310 # our own
        except OSError:
            time.sleep(1)
        else:
            return
    raise TimeoutError(f"{address} did not answer")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
