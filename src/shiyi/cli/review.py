"""``shiyi review``: curation without a browser."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.curation.changes import Changes
    from shiyi.curation.ledger import Change
    from shiyi.sparql.knowledge_base import KnowledgeBase

_DECIDE = ("accept", "reject", "unsure", "skip")
_FILTERS = ("source", "relation", "shape", "tier", "school", "status", "concept", "whose")


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi review`` takes."""
    does = parser.add_subparsers(dest="does", required=True, metavar="VERB")

    def verb(name: str, says: str, who: bool = True) -> argparse.ArgumentParser:
        made = does.add_parser(name, help=says)
        made.add_argument("--json", action="store_true", help="for programs")
        if who:
            made.add_argument(
                "--as", dest="who", required=True, metavar="NAME", help="whose account"
            )
            made.add_argument("--reason", default="", metavar="TEXT")
        return made

    queue = verb("queue", "list what waits, the most urgent first", who=False)
    queue.add_argument("--as", dest="who", default="", metavar="NAME", help="whose queue")
    queue.add_argument("--limit", type=int, default=25, metavar="N")
    for name in _FILTERS:
        queue.add_argument(f"--{name}", default="", metavar="VALUE")
    queue.add_argument("--harm", action="store_true", help="safety claims alone")
    verb("show", "show a claim, its reviews and its history", who=False).add_argument("claim")
    for name in _DECIDE:
        decide = verb(name, f"{name} a claim")
        decide.add_argument("claim", metavar="CLAIM", help="its IRI, or what follows …/id/")
        decide.add_argument("--agreement", type=float, metavar="R", help="in [-1, 1]")
    comment = verb("comment", "comment on a claim or concept; @name calls somebody")
    comment.add_argument("claim", metavar="THING")
    edit = verb("edit", "change what a claim says")
    edit.add_argument("claim", metavar="CLAIM")
    edit.add_argument("set", nargs="+", metavar="FIELD=VALUE", help="relation, object, polarity, …")
    merge = verb("merge", "let one concept go into another")
    merge.add_argument("source", metavar="CONCEPT")
    merge.add_argument("target", metavar="INTO")
    retract = verb(
        "retract", "say that a source was retracted: its vote counts half; undo takes it back"
    )
    retract.add_argument("source", metavar="SOURCE", help="its IRI, or what follows …/id/")
    verb("undo", "take a change back").add_argument("change", metavar="NUMBER|IRI")
    log = verb("log", "list the newest changes, or those about one thing", who=False)
    log.add_argument("thing", nargs="?", default="")
    log.add_argument("--limit", type=int, default=50, metavar="N")
    export = verb("export", "write all reviews as a signed bundle", who=False)
    export.add_argument("-o", dest="output", required=True, metavar="FILE")
    take = verb("import", "take the reviews of a bundle in")
    take.add_argument("file", metavar="FILE")
    take.add_argument("--trust", default="", metavar="KEY", help="the key it is signed with")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Read, decide or write; readers get by beside a running server, writers do not."""
    from shiyi.cli.reviewing import READ, WRITE
    from shiyi.curation.changes import Changes
    from shiyi.sparql.knowledge_base import KnowledgeBase

    if args.does in READ:
        with KnowledgeBase.of(settings) as base:
            return READ[args.does](args, settings, base)
    require_right(args, settings)
    with KnowledgeBase.of(settings, write=True) as base:
        change = WRITE.get(args.does, WRITE["decide"])(args, settings, Changes(base.writer))
        followed = _follow(base)
    if isinstance(change, int):
        return change
    _tell(args, change, followed)
    return 0


def require_right(args: argparse.Namespace, settings: Settings) -> None:
    """Raise where the named account lacks the right for the verb."""
    from shiyi.curation.people import People
    from shiyi.curation.roles import Right, require
    from shiyi.errors import RightsError

    person = People(settings.kb).get(args.who)
    if not person.active:
        raise RightsError(f"the account {person.name} is closed")
    rights = {
        "comment": Right.COMMENT, "edit": Right.EDIT, "merge": Right.EDIT, "import": Right.APPROVE,
        "retract": Right.APPROVE,
    }  # fmt: skip
    require(person.role, rights.get(args.does, Right.REVIEW))


def _follow(base: "KnowledgeBase") -> int:
    """Bring the inherited cautions up to date, as a running server does."""
    from shiyi.ontology.vocabulary import Schema
    from shiyi.reasoning.inheritance import Premises, infer
    from shiyi.reasoning.rederive import held_in, rederived, ways_by_claim

    ways = ways_by_claim(infer(Premises.read(base.store, Schema.load())))
    found = rederived(base.store, held_in(base.store), ways)
    if found.claims:
        base.writer.write(
            found.added, found.removed, key=f"rederive after {base.writer.sequence}", who="shiyi",
            why="inherited cautions after a change",
        )  # fmt: skip
    return len(found.claims)


def _tell(args: argparse.Namespace, change: "Change", followed: int) -> None:
    from shiyi.cli import emit

    if args.json:
        emit({"change": change.iri, "number": change.number, "kind": change.kind,
              "about": list(change.about), "derived": followed})  # fmt: skip
    else:
        print(f"#{change.number} {change.kind} {change.about[0]}")
        if followed:
            print(f"{followed} inherited cautions changed with it", file=sys.stderr)


def full(name: str) -> str:
    """Give the whole IRI of what somebody named shortly."""
    from shiyi.model.names import ID

    return name if "://" in name else ID + name


def told(change: "Change") -> dict[str, Any]:
    """Give a change for programs."""
    return {
        "number": change.number, "iri": change.iri, "kind": change.kind, "who": change.who,
        "when": change.when, "reason": change.reason, "about": list(change.about),
        "reverses": change.reverses,
    }  # fmt: skip


def write_lines(path: Path, lines: Any) -> int:
    """Write what comes, whole or not at all, and count the lines."""
    content = list(lines)
    written = path.with_name(f".{path.name}.new")
    written.write_bytes(b"".join(content))
    written.replace(path)
    return len(content)


def chosen_changes(changes: "Changes", name: str) -> "Change":
    """Give the change of a number or an IRI; ``UsageError`` where there is none."""
    from shiyi.errors import UsageError

    if name.lstrip("#").isdigit():
        found = changes.numbered(int(name.lstrip("#")))
        if found is None:
            raise UsageError(f"there is no change {name}; see `shiyi review log`")
        return found
    return changes.get(full(name))
