"""``shiyi backup``."""

import argparse
from pathlib import Path

from shiyi.cli import emit
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi backup`` takes."""
    parser.add_argument("-o", "--output", required=True, type=Path, help="a new folder")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Copy the base, also while a server writes to it."""
    from shiyi.sparql.backups import back_up

    made = back_up(settings.kb, args.output)
    report = {"backup": str(args.output), "release": made.release, "files": len(made.files),
              "bytes": made.size}  # fmt: skip
    if args.json:
        emit(report)
    else:
        print(f"{args.output}: {len(made.files)} files, {made.size / 1e6:.1f} MB of {made.release}")
    return 0
