"""Count the modules that a question passes through: ``python bench/modules.py [KB]``.

Each question of ``bench/ask.py`` is sent twice to ``POST /api/ask`` of the application, without a server;
counted are the modules of the package in which a function runs for the second one, from the route to the
reply. ``--list`` prints them with the number of calls.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from ask import QUESTIONS

from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings


def count(client: Any, question: str) -> Counter[str]:
    """Count the calls in each module while the question is answered a second time."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (name := frame.f_globals.get("__name__", "")).startswith("shiyi."):
            calls[name.removeprefix("shiyi.")] += 1

    body: dict[str, str | int] = {"question": question}
    for profile in (None, note):
        sys.setprofile(profile)
        try:
            reply = client.post("/api/ask", json=body)
        finally:
            sys.setprofile(None)
        if reply.status_code != 200:
            raise SystemExit(reply.text)
        body = {"question": question, "k": 9}  # another request, which no cache answers
    return calls


def main(kb: Path, lists: bool) -> None:
    site = open_site(kb, Settings(), read_only=True)
    client = create_app(site).test_client()
    calls = {question: count(client, question) for question in QUESTIONS}
    every = sum(calls.values(), Counter[str]())
    sizes = {question: len(each) for question, each in calls.items()}
    if lists:
        for name, number in every.most_common():
            print(f"{number:8} {sum(name in each for each in calls.values()):4} {name}")
    print(json.dumps({"most": max(sizes.values()), "all": len(every), **sizes}, ensure_ascii=False))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=Path, default=Path("kb"))
    parser.add_argument("--list", action="store_true", dest="lists")
    options = parser.parse_args()
    main(options.kb, options.lists)
