"""``shiyi sync``."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shiyi.cli import emit
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.sparql.knowledge_base import KnowledgeBase


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi sync`` takes."""
    does = parser.add_subparsers(dest="does", required=True, metavar="status|export|apply|import")
    status = does.add_parser("status", help="say what differs; status 1 where something does")
    export = does.add_parser("export", help="print what the desks changed as a patch for git apply")
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the patch there")
    apply = does.add_parser("apply", help="write what the desks changed into the tables")
    take = does.add_parser("import", help="bring what the tables changed into the base")
    take.add_argument("--who", default="sync", metavar="NAME", help="whose change it is")
    take.add_argument("--dry-run", action="store_true", help="only count")
    for each in (status, export, apply, take):
        each.add_argument("--tables", type=Path, metavar="DIR", help="another ontology/ folder")
        if each is not export:
            each.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Compare base and tables, or carry changes one way."""
    from shiyi.artefacts import artefact
    from shiyi.sparql.knowledge_base import KnowledgeBase

    folder: Path = (args.tables or artefact("ontology")).resolve()
    if args.does == "import":
        with KnowledgeBase.of(settings, write=not args.dry_run) as base:
            return _taken_in(base, folder, args, settings)
    with KnowledgeBase.of(settings) as base:
        return _given_out(base, folder, args, settings)


def _given_out(
    base: "KnowledgeBase", folder: Path, args: argparse.Namespace, settings: Settings
) -> int:
    from shiyi.curation.sync import incoming, outgoing

    out = outgoing(base, folder, settings.confidence)
    if out.kept:
        print(
            f"{len(out.kept)} accepted claims rest on passages of ingested sources; they stay in "
            "the base and its journal", file=sys.stderr,
        )  # fmt: skip
    if args.does == "export":
        patch = out.tables.patch()
        if args.output:
            args.output.write_text(patch, encoding="utf-8", newline="\n")
        else:
            sys.stdout.write(patch)
        return 0
    if args.does == "apply":
        written = out.tables.write(folder.parent)
        if args.json:
            emit(out.counts() | {"written": written})
        else:
            print("\n".join(written) or "the tables hold it already")
        return 0
    back = incoming(base, folder, settings.confidence)
    said = {
        "to_tables": out.counts(),
        "to_base": {"added": len(back.added), "removed": len(back.removed)},
    }
    if args.json:
        emit(said)
    else:
        numbers = ", ".join(f"{n} {name}" for name, n in out.counts().items() if n)
        print(f"to the tables: {numbers or 'nothing'}")
        print(f"to the base: {len(back.added):,} statements come, {len(back.removed):,} go")
    return 0 if out.is_empty and back.is_empty else 1


def _taken_in(
    base: "KnowledgeBase", folder: Path, args: argparse.Namespace, settings: Settings
) -> int:
    from shiyi.curation.changes import Changes
    from shiyi.curation.people import NAME
    from shiyi.curation.sync import incoming, take_in
    from shiyi.errors import UsageError

    if not NAME.fullmatch(args.who):
        raise UsageError(f"--who is the name of an account, which {args.who[:60]!r} cannot be")
    found = incoming(base, folder, settings.confidence)
    said: dict[str, object] = {"added": len(found.added), "removed": len(found.removed)}
    if not (found.is_empty or args.dry_run):
        said["change"] = take_in(Changes(base.writer), found, args.who).number
    if args.json:
        emit(said)
    else:
        print(f"{said['added']} statements come, {said['removed']} go")
        if "change" in said:
            print(f"change {said['change']}; run `shiyi reason all` for what follows from it")
    return 0
