"""``shiyi user`` and ``shiyi token``."""

import getpass
import os
import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option

from shiyi.cli.terminal import Json, emit, new_group, print_table, select, settings_of, warn
from shiyi.errors import UsageError

if TYPE_CHECKING:
    from shiyi.curation.accounts import AccountStore

user, token = new_group(), new_group()
Name = Annotated[str, Argument(metavar="NAME", show_default=False)]


@user.command("add")
def add_user(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="1 to 40 of a-z, 0-9, . - _")],
    role: Annotated[
        str,
        Option(
            metavar="ROLE", help="reader, contributor, curator, editor-in-chief or administrator."
        ),
    ] = "curator",
    school: Annotated[str, Option(metavar="NAME", help="School or affiliation.")] = "",
    subject: Annotated[
        str,
        Option(
            metavar="'ISSUER SUB'", help="Sign in through OpenID Connect instead of a password."
        ),
    ] = "",
) -> None:
    """Create an account; its password is asked for, or read from standard input."""
    from shiyi.curation.accounts import Role

    people = _people(ctx)
    first = not people.all()
    password = "" if subject else read_password(name)
    people.add(name, Role.from_name(role), password, subject=subject, school=school)
    if first:
        warn("restart a server that was started before the first account")
    _record(ctx, "add", name)


@user.command("role")
def set_role(ctx: Context, name: Name, role: Annotated[str, Argument(metavar="ROLE")]) -> None:
    """Change the role of an account; it must sign in again."""
    from shiyi.curation.accounts import Role

    _people(ctx).set_role(name, Role.from_name(role))
    _record(ctx, "role", name)


@user.command("password")
def set_password(ctx: Context, name: Name) -> None:
    """Change the password of an account."""
    _people(ctx).set_password(name, read_password(name))
    _record(ctx, "password", name)


@user.command("disable")
def disable(ctx: Context, name: Name) -> None:
    """Close an account; its sessions end at once."""
    _people(ctx).set_active(name, False)
    _record(ctx, "disable", name)


@user.command("enable")
def enable(ctx: Context, name: Name) -> None:
    """Reopen a closed account."""
    _people(ctx).set_active(name, True)
    _record(ctx, "enable", name)


@user.command("code-off")
def remove_second_factor(ctx: Context, name: Name) -> None:
    """Remove the second factor of an account, as when a phone was lost."""
    _people(ctx).set_secret(name, "")
    _record(ctx, "code-off", name)


@user.command("list")
def list_users(ctx: Context, as_json: Json = False) -> None:
    """List accounts, roles and dates."""
    rows = [
        select(account, "name", "role", "school", "active", "created")
        | {"role": account.role.value, "second_factor": bool(account.secret)}
        for account in _people(ctx).all().values()
    ]
    if as_json:
        emit(rows)
    else:
        closed = {True: (), False: ("closed",)}
        cells = ((r["name"], r["role"], r["created"], *closed[r["active"]]) for r in rows)
        print_table(("name", "role", "created", ""), cells)


def _people(ctx: Context) -> "AccountStore":
    from shiyi.curation.accounts import AccountStore

    return AccountStore(settings_of(ctx).kb)


def _record(ctx: Context, change: str, name: str) -> None:
    """Write a change of an account into the audit log, and say that it is done."""
    from shiyi.curation.accounts import Audit

    try:
        operator = getpass.getuser()
    except (KeyError, OSError):
        operator = str(os.getuid())
    audit = Audit(settings_of(ctx).kb)
    audit.note(f"command: user {change}", f"operator {operator}", whom=name)
    warn(f"{name}: done")


def read_password(name: str) -> str:
    """Ask twice at a terminal, or read one line from standard input; never an argument."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise UsageError("a password is read from standard input, and there was none")
        return line
    first = getpass.getpass(f"password of {name}: ")
    if first != getpass.getpass("once more: "):
        raise UsageError("the two passwords differ; nothing was changed")
    return first


@token.command("add")
def add_token(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="The holder; the journal shows this name.")],
    scope: Annotated[str, Option(help="What it allows: write, maintain or review.")] = "write",
    person: Annotated[str, Option(metavar="NAME", help="The account that reviews with it.")] = "",
    expires: Annotated[int, Option(metavar="DAYS", help="Days until it expires.")] = 90,
) -> None:
    """Create a token and print it, once."""
    from shiyi.server.site.tokens import Tokens

    print(Tokens(settings_of(ctx).kb).add(name, scope, expires, person))
    warn("this is shown once; restart a server that was started before the first token")


@token.command("revoke")
def revoke_token(ctx: Context, name: Name) -> None:
    """Revoke a token at once."""
    from shiyi.server.site.tokens import Tokens

    Tokens(settings_of(ctx).kb).revoke(name)
    warn(f"the token of {name} is revoked")


@token.command("list")
def list_tokens(ctx: Context, as_json: Json = False) -> None:
    """List names, scopes and dates; the tokens themselves are not stored."""
    from shiyi.server.site.tokens import Tokens

    tokens = Tokens(settings_of(ctx).kb).all()
    if as_json:
        emit([select(each, "name", "scopes", "created", "expires") for each in tokens])
    else:
        rows = ((each.name, ",".join(each.scopes), each.created, each.expires) for each in tokens)
        print_table(("name", "scopes", "created", "expires"), rows)
