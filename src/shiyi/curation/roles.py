"""Who may do what: five roles, each of which may do all that the one before it may."""

from enum import StrEnum
from typing import Final

from shiyi.errors import FormatError, RightsError


class Role(StrEnum):
    """What somebody is in this base, the least first."""

    READER = "reader"
    CONTRIBUTOR = "contributor"
    CURATOR = "curator"
    EDITOR = "editor-in-chief"
    ADMINISTRATOR = "administrator"

    @classmethod
    def named(cls, name: str) -> "Role":
        """Give the role of a name; ``FormatError`` for another."""
        try:
            return cls(name)
        except ValueError:
            raise FormatError("role", name, tuple(cls)) from None


class Right(StrEnum):
    """What a route or a verb needs."""

    OPEN = "open"  # anyone, signed in or not
    READ = "read"  # see the desks
    COMMENT = "comment"  # comment on a claim, propose a change
    REVIEW = "review"  # accept and reject claims and mappings
    EDIT = "edit"  # change claims, mappings and concepts
    APPROVE = "approve"  # approve proposals, undo what others did, assign, import
    ADMIN = "admin"  # accounts, roles and the audit log


LEAST: Final = {
    Right.READ: Role.READER,
    Right.COMMENT: Role.CONTRIBUTOR,
    Right.REVIEW: Role.CURATOR,
    Right.EDIT: Role.CURATOR,
    Right.APPROVE: Role.EDITOR,
    Right.ADMIN: Role.ADMINISTRATOR,
}
_ORDER: Final = tuple(Role)


def may(role: Role | None, right: Right) -> bool:
    """Tell whether a role has a right; ``None`` is somebody who is not signed in.

    >>> may(Role.CURATOR, Right.REVIEW), may(Role.CURATOR, Right.APPROVE), may(None, Right.READ)
    (True, False, False)
    """
    if right is Right.OPEN:
        return True
    return role is not None and _ORDER.index(role) >= _ORDER.index(LEAST[right])


def require(role: Role | None, right: Right) -> None:
    """Raise ``RightsError`` where a role lacks a right."""
    if not may(role, right):
        raise RightsError(f"the right to {right} needs the role {LEAST[right]} or a higher one")
