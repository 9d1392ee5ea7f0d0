"""``shiyi index``."""

import argparse
import sys
import time

from shiyi.cli import emit
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi index`` takes."""
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Write the indexes of the base anew."""
    from shiyi.cli.making import Steps, index_again

    began = time.perf_counter()
    if not args.json:
        print("indexing names, claims and texts; minutes for a large base", file=sys.stderr)
    size = index_again(settings, Steps(sys.stderr))
    seconds = round(time.perf_counter() - began, 1)
    if args.json:
        emit({"bytes": size, "seconds": seconds})
    else:
        print(f"indexes of {size / 1e6:.1f} MB in {seconds} s")
    return 0
