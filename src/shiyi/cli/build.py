"""``shiyi build``."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from shiyi.cli import emit
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi build`` takes."""
    parser.add_argument("--check", action="store_true", help="read and validate, build nothing")
    parser.add_argument("--tables", type=Path, metavar="DIR", help="another ontology/ folder")
    parser.add_argument("--if-missing", action="store_true", help="do nothing where a base stands")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Build, or only check; print what was made."""
    from shiyi.cli.making import Steps, make_base, prepared

    started = time.perf_counter()
    if args.if_missing and (settings.kb / "CURRENT").is_file():
        return 0
    steps = Steps(sys.stderr)
    if args.check:
        starter, _ = prepared(args.tables, settings, steps)
        made: dict[str, Any] = {"release": None, "counts": starter.counts()}
    else:
        made = make_base(args.tables, settings, steps)
    made["seconds"] = round(time.perf_counter() - started, 2)
    if args.json:
        emit(made)
        return 0
    counts = made["counts"]
    print(
        f"{'checked' if args.check else f'built {settings.kb}'}: {counts['claims']:,} claims with "
        f"{counts['evidence']:,} pieces of evidence on {counts['concepts']:,} concepts "
        f"from {counts['sources']} sources in {made['seconds']} s"
    )
    return 0
