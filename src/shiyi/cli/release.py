"""``shiyi release``."""

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from shiyi.cli import emit
from shiyi.errors import UsageError
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi release`` takes."""
    parser.add_argument("version", metavar="VERSION", help="such as 1.0.0")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path,
                        help="where releases gather: DIR/VERSION is written (default: releases/ in the knowledge base)")  # fmt: skip
    parser.add_argument("--date", metavar="DAY", help="the day of issue (default: SOURCE_DATE_EPOCH, else today)")  # fmt: skip
    parser.add_argument("--evaluation", action="append", default=[], metavar="FILE", type=Path,
                        help="what `shiyi evaluate --json` printed, or a page of figures (.md)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the release's record")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Write a release; status 1 where its data break their shapes."""
    from shiyi.cli.making import Steps
    from shiyi.publishing.release import Order, publish
    from shiyi.sparql.knowledge_base import KnowledgeBase

    home = args.output or settings.kb / "releases"
    with KnowledgeBase.of(settings) as base:
        order = Order(args.version, args.date or _today(), base.release, settings.base,
                      tuple(args.evaluation))  # fmt: skip
        made = publish(base.store, home, order, Steps(sys.stderr).begin)
    if args.json:
        emit({
            "folder": str(made.folder), "version": args.version, "canonical": made.canonical,
            "release": order.release, "conforms": made.conforms, "unchanged": made.unchanged,
            "changes": made.changes.counts() if made.changes else None,
        })  # fmt: skip
    else:
        print(f"{'unchanged' if made.unchanged else 'wrote'} {made.folder}: {made.canonical}")
        if made.changes:
            told = ", ".join(
                f"{n:,} {key.replace('_', ' ')}" for key, n in made.changes.counts().items()
            )
            print(f"since {made.changes.old.version}: {told}")
        if not made.conforms:
            print("its data break their shapes; see shacl-report.ttl", file=sys.stderr)
    return 0 if made.conforms else 1


def _today() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    except (ValueError, OverflowError) as fault:
        raise UsageError(f"SOURCE_DATE_EPOCH is no number of seconds: {epoch[:40]!r}") from fault
