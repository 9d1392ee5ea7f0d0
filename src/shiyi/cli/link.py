"""``shiyi link``."""

import argparse
import sys

from shiyi.cli import emit
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi link`` takes."""
    parser.add_argument("text", metavar="TEXT|-", help="a text, or - for standard input")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print mentions as JSON")
    form.add_argument("--sssom", action="store_true", help="print SSSOM rows")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Print the mentions of a text and the concepts they were linked to."""
    from shiyi.cli.query import read_text
    from shiyi.linking.linker import Linker
    from shiyi.model.rdf import local_name
    from shiyi.sparql.knowledge_base import KnowledgeBase

    text = read_text("-") if args.text == "-" else args.text
    with KnowledgeBase.of(settings) as base:
        linker = Linker.open(settings.kb, base.store, base.release, settings.linking)
        mentions = linker.link(text)
    if args.json:
        emit({"mentions": [each.to_json() for each in mentions]})
    elif args.sssom:
        print(
            "subject_label\tpredicate_id\tobject_id\tobject_label\tmapping_justification\tconfidence"
        )
        for each in mentions:
            if each.iri:
                row = (each.text, "skos:closeMatch", f"shiyi:{local_name(each.iri)}", each.label_en,
                       each.justification, f"{each.score:.4f}")  # fmt: skip
                print("\t".join(row))
    else:
        for each in mentions:
            found = (
                f"{each.label_zh} / {each.label_en}  {each.cui or 'no CUI'}" if each.iri else "—"
            )
            print(f"{each.text}\t{found}\t{each.score:.2f}{'  negated' if each.negated else ''}")
    return 0 if mentions else _nothing()


def _nothing() -> int:
    print("no mention found", file=sys.stderr)
    return 0
