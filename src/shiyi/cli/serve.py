"""``shiyi serve``."""

import argparse
from dataclasses import replace

from shiyi.errors import UsageError
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi serve`` takes."""
    parser.add_argument("--host", metavar="H", help="default 127.0.0.1")
    parser.add_argument(
        "--port", type=int, metavar="P", help="default 8000; 0: a free one, which the log says"
    )
    parser.add_argument("--read-only", action="store_true", help="take no writes")
    parser.add_argument(
        "--create-admin", metavar="NAME",
        help="make the first administrator; the password is asked for, or read from standard input",
    )  # fmt: skip


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Serve until stopped."""
    from shiyi.server import serve
    from shiyi.server.heaps import share_memory

    share_memory()
    if args.create_admin:
        create_admin(args.create_admin, settings)
    chosen = replace(
        settings.server,
        host=args.host or settings.server.host,
        port=settings.server.port if args.port is None else args.port,
    )
    serve(replace(settings, server=chosen), read_only=args.read_only)
    return 0


def create_admin(name: str, settings: Settings) -> None:
    """Make the first administrator; where there are accounts already, an administrator does it."""
    from shiyi.cli.user import read_password
    from shiyi.curation.audit import Audit
    from shiyi.curation.people import People
    from shiyi.curation.roles import Role

    people = People(settings.kb)
    if people.all():
        raise UsageError("there are accounts already; use `shiyi user add NAME --role ROLE`")
    people.add(name, Role.ADMINISTRATOR, read_password(name))
    Audit(settings.kb).note("first administrator made", name)
