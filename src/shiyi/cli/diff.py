"""``shiyi diff``."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from shiyi.cli import emit
from shiyi.errors import UsageError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.publishing.editions import Edition


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi diff`` takes."""
    for name in ("old", "new"):
        parser.add_argument(name, metavar=name.upper(),
                            help="a release's folder or version, or a knowledge base's folder")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="every change with IRIs")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Print what changed, claim by claim; status 1 where something did."""
    from shiyi.publishing.comparison import compare

    found = compare(edition(args.old, settings), edition(args.new, settings))
    if args.json:
        emit(found.to_json())
    else:
        for sentence in found.sentences():
            print(sentence)
        counts = found.counts().items()
        print(", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts))
    return 1 if found.changed else 0


def edition(name: str, settings: Settings) -> "Edition":
    """Read a release or a base by the name a person gives it."""
    from shiyi.publishing.editions import RECORD, Edition
    from shiyi.sparql.knowledge_base import KnowledgeBase

    places = (Path(name), settings.kb / "releases" / name)
    for folder in places:
        if (folder / RECORD).is_file():
            return Edition.of_folder(folder)
    if (places[0] / "CURRENT").is_file():
        with KnowledgeBase.open(places[0]) as base:
            return Edition.of_store(base.store, base.release)
    raise UsageError(
        f"{name} is neither a release nor a knowledge base; name a folder that holds {RECORD}, "
        f"a version in {places[1].parent}, or a folder made by `shiyi build`"
    )
