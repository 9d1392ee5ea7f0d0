"""``shiyi restore``."""

import argparse
from pathlib import Path

from shiyi.cli import emit
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi restore`` takes."""
    parser.add_argument("backup", type=Path, help="what `shiyi backup` made")
    parser.add_argument("--check", action="store_true", help="only check the backup, byte by byte")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Check the backup and make a new base of it in the folder ``--kb``."""
    from shiyi.sparql.backups import damages, read_listing, restore

    if args.check:
        made = read_listing(args.backup)
        faults = list(damages(args.backup, made))
    else:
        made, faults = restore(args.backup, settings.kb), []
    if args.json:
        emit({"backup": str(args.backup), "release": made.release, "made": made.made,
              "files": len(made.files), "damages": faults,
              "restored": None if args.check else str(settings.kb)})  # fmt: skip
    else:
        for fault in faults:
            print(fault)
        print(f"{args.backup}: {len(made.files)} files of {made.release}, {len(faults)} damaged"
              + ("" if args.check else f"; restored to {settings.kb}"))  # fmt: skip
    return 1 if faults else 0
