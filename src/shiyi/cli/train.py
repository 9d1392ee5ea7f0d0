"""``shiyi train``."""

import argparse
from pathlib import Path

from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi train`` takes."""
    parser.add_argument("what", choices=("embeddings",))
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: the shipped place"
    )
    parser.add_argument("--seed", type=int, default=7)


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Train the bilingual static embedding on the concept tables."""
    from shiyi.linking.train import train_shipped

    print(train_shipped(args.output, args.seed))
    return 0
