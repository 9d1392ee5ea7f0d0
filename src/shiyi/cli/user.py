"""``shiyi user``."""

import argparse
import getpass
import os
import sys

from shiyi.errors import UsageError
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi user`` takes."""
    does = parser.add_subparsers(dest="does", required=True, metavar="add|role|list|password|…")
    add = does.add_parser("add", help="make an account; its password is asked for, or read")
    add.add_argument("name", metavar="NAME", help="1 to 40 of a-z, 0-9, dot, dash, underscore")
    add.add_argument("--role", default="curator", metavar="ROLE",
                     help="reader, contributor, curator (default), editor-in-chief, administrator")  # fmt: skip
    add.add_argument("--school", default="", metavar="NAME", help="school or affiliation")
    add.add_argument("--subject", default="", metavar="'ISSUER SUB'",
                     help="signs in through OpenID Connect instead of a password")  # fmt: skip
    role = does.add_parser("role", help="give an account another role; it must sign in again")
    role.add_argument("name", metavar="NAME")
    role.add_argument("role", metavar="ROLE")
    for verb, says in (
        ("password", "give an account another password"),
        ("disable", "close an account; its sessions end at once"),
        ("enable", "open a closed account again"),
        ("code-off", "ask an account for no second factor, as when a phone was lost"),
    ):
        does.add_parser(verb, help=says).add_argument("name", metavar="NAME")
    listed = does.add_parser("list", help="list accounts, roles and dates")
    listed.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Make, change or list accounts; a running server knows at once."""
    from shiyi.cli import emit
    from shiyi.curation.audit import Audit
    from shiyi.curation.people import People
    from shiyi.curation.roles import Role

    people = People(settings.kb)
    if args.does == "list":
        rows = [
            {"name": each.name, "role": each.role.value, "school": each.school,
             "active": each.active, "second_factor": bool(each.secret), "created": each.created}
            for each in people.all().values()
        ]  # fmt: skip
        if args.json:
            emit(rows)
        for each in () if args.json else rows:
            closed = "" if each["active"] else "\tclosed"
            print(f"{each['name']}\t{each['role']}\t{each['created']}{closed}")
        return 0
    if args.does == "add":
        first = not people.all()
        password = "" if args.subject else read_password(args.name)
        people.add(
            args.name, Role.named(args.role), password, subject=args.subject, school=args.school
        )
        if first:
            print("a server started before the first account must be started anew", file=sys.stderr)
    elif args.does == "role":
        people.set_role(args.name, Role.named(args.role))
    elif args.does == "password":
        people.set_password(args.name, read_password(args.name))
    elif args.does == "code-off":
        people.set_secret(args.name, "")
    else:
        people.set_active(args.name, args.does == "enable")
    Audit(settings.kb).note(f"command: user {args.does}", _operator(), whom=args.name)
    print(f"{args.name}: done", file=sys.stderr)
    return 0


def read_password(name: str) -> str:
    """Ask twice at a terminal, or read one line from standard input; never an argument."""
    if not sys.stdin.isatty():
        said = sys.stdin.readline().rstrip("\r\n")
        if not said:
            raise UsageError("a password is read from standard input, and there was none")
        return said
    first = getpass.getpass(f"password of {name}: ")
    if first != getpass.getpass("once more: "):
        raise UsageError("the two passwords differ; nothing was changed")
    return first


def _operator() -> str:
    try:
        return f"operator {getpass.getuser()}"
    except (KeyError, OSError):
        return f"operator {os.getuid()}"
