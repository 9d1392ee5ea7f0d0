"""``shiyi serve``."""

import argparse
from dataclasses import replace

from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi serve`` takes."""
    parser.add_argument("--host", metavar="H", help="default 127.0.0.1")
    parser.add_argument("--port", type=int, metavar="P", help="default 8000")
    parser.add_argument("--read-only", action="store_true", help="take no writes")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Serve until stopped."""
    from shiyi.server import serve

    chosen = replace(
        settings.server,
        host=args.host or settings.server.host,
        port=args.port or settings.server.port,
    )
    serve(replace(settings, server=chosen), read_only=args.read_only)
    return 0
