"""``shiyi link``."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiyi.cli import emit
from shiyi.errors import UsageError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.linking.linker import Linker
    from shiyi.model.mention import Mention


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi link`` takes."""
    parser.add_argument("text", metavar="TEXT|-", nargs="?", default="",
                        help="a text, or - for standard input")  # fmt: skip
    parser.add_argument("--passages", metavar="FILE|SOURCE", default="",
                        help='link many: JSON Lines of {"id", "text"}, or an ingested source')  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE",
                        help="where --passages writes; a run that was stopped goes on there")  # fmt: skip
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--pick", action="store_true",
                        help="let the configured model choose among the candidates of uncertain mentions")  # fmt: skip
    parser.add_argument("--kind", default="", metavar="CLASS",
                        help="with --pick: the class to offer first, such as Syndrome")  # fmt: skip
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print mentions as JSON")
    form.add_argument("--sssom", action="store_true", help="print SSSOM rows")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Print the mentions of a text and the concepts they were linked to."""
    from shiyi.cli.query import read_text
    from shiyi.linking.linker import Linker
    from shiyi.sparql.knowledge_base import KnowledgeBase

    if args.passages:
        if args.pick:
            raise UsageError("--pick is for one TEXT, not for --passages")
        return _many(args, settings)
    if not args.text:
        raise UsageError("give a TEXT, - for standard input, or --passages")
    text = read_text("-") if args.text == "-" else args.text
    with KnowledgeBase.of(settings) as base:
        linker = Linker.open(settings.kb, base.store, base.release, settings.linking)
        notices: tuple[str, ...] = ()
        if args.pick:
            mentions, notices = _picked(text, linker, settings, args.kind)
        else:
            mentions = linker.link(text)
    for notice in notices:
        print(notice, file=sys.stderr)
    if args.json:
        said: dict[str, Any] = {"mentions": [each.to_json() for each in mentions]}
        emit(said | {"notices": list(notices)} if args.pick else said)
    else:
        (_print_sssom if args.sssom else _print)(mentions)
    return 0 if mentions else _nothing()


def _print_sssom(mentions: Sequence["Mention"]) -> None:
    from shiyi.linking.sssom import write_mentions

    write_mentions(mentions, sys.stdout)


def _print(mentions: Sequence["Mention"]) -> None:
    for each in mentions:
        found = f"{each.label_zh} / {each.label_en}  {each.cui or 'no CUI'}" if each.iri else "—"
        print(f"{each.text}\t{found}\t{each.score:.2f}{'  negated' if each.negated else ''}")


def _picked(
    text: str, linker: "Linker", settings: Settings, kind: str
) -> "tuple[tuple[Mention, ...], tuple[str, ...]]":
    from shiyi.linking.labels import KINDS
    from shiyi.linking.pick import pick
    from shiyi.prompts.openai import model_from

    if kind and kind not in KINDS:
        raise UsageError(f"there is no class {kind}; there are {', '.join(KINDS)}")
    model = model_from(settings.models, os.environ)
    if model is None:
        raise UsageError("no model is configured: name one in models.answer of shiyi.toml")
    picked = pick(text, linker, model, settings.linking.pick_from, kind)
    return picked.mentions, picked.notices


def _many(args: argparse.Namespace, settings: Settings) -> int:
    from shiyi.linking.batch import link_passages

    if args.out is None:
        raise UsageError("--passages needs --out, the file that the mentions are written to")
    source = Path(args.passages)
    if not source.is_file():
        source = args.out.with_name(args.out.name + ".passages")
        _write_passages(args.passages, source, settings)
    linked = link_passages(source, args.out, partial(open_linker, settings), args.workers)
    print(f"{linked:,} passages linked now; {args.out} holds all that are done")
    return 0


def open_linker(settings: Settings) -> "Linker":
    """Open the linker of a knowledge base, once in each process."""
    from shiyi.linking.linker import Linker
    from shiyi.sparql.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        return Linker.open(base.folder, base.store, base.release, settings.linking)


def _write_passages(name: str, path: Path, settings: Settings) -> None:
    """Write the passages of a source, in the order of their names, for linking."""
    from shiyi.model.rdf import NamedNode, text
    from shiyi.ontology.terms import RDF, SHIYI
    from shiyi.sparql.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        store = base.store
        places = {text(q.subject): q for q in store.match(None, RDF.type, SHIYI.Passage)
                  if f"/source/{name}@" in str(q.graph_name)}  # fmt: skip
        if not places:
            raise UsageError(f"{name} is no file, and no source of this base that has passages")
        partial_file = path.with_name(path.name + ".part")
        with partial_file.open("w", encoding="utf-8") as out:
            for iri in sorted(places):
                for said in store.match(NamedNode(iri), RDF.value):
                    row = {"id": iri, "text": text(said.object)}
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
                    break
        partial_file.replace(path)


def _nothing() -> int:
    print("no mention found", file=sys.stderr)
    return 0
