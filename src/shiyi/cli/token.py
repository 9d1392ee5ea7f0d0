"""``shiyi token``."""

import argparse
import sys

from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi token`` takes."""
    does = parser.add_subparsers(dest="does", required=True, metavar="add|list|revoke")
    add = does.add_parser("add", help="make a token and print it, once")
    add.add_argument("name", metavar="NAME", help="who holds it; the journal shows this name")
    add.add_argument("--scope", default="write", help="what it allows: write, or review")
    add.add_argument("--person", default="", metavar="NAME", help="whose account reviews with it")
    add.add_argument("--expires", type=int, default=90, metavar="DAYS", help="default 90")
    listed = does.add_parser("list", help="list names, scopes and dates; no token is kept to show")
    listed.add_argument("--json", action="store_true", help="for programs")
    revoke = does.add_parser("revoke", help="make a token worthless at once")
    revoke.add_argument("name", metavar="NAME")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Add, list or revoke tokens."""
    from shiyi.cli import emit
    from shiyi.server.tokens import Tokens

    tokens = Tokens(settings.kb)
    if args.does == "add":
        print(tokens.add(args.name, args.scope, args.expires, args.person))
        print("this is shown once; a server started before the first token must be started anew",
              file=sys.stderr)  # fmt: skip
    elif args.does == "revoke":
        tokens.revoke(args.name)
        print(f"{args.name} may write no more", file=sys.stderr)
    elif args.json:
        emit([
            {"name": each.name, "scopes": each.scopes, "created": each.created,
             "expires": each.expires}
            for each in tokens.all()
        ])  # fmt: skip
    else:
        for each in tokens.all():
            print(f"{each.name}\t{','.join(each.scopes)}\t{each.created}\t{each.expires}")
    return 0
