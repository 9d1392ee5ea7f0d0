"""``shiyi reason``."""

import argparse

from shiyi.cli import emit
from shiyi.settings import Settings

WHAT = ("owl", "derived", "all")


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi reason`` takes."""
    parser.add_argument("what", choices=WHAT, help="owl: consistency; derived: cautions and ranks")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Check or recompute; status 1 where the ontology is inconsistent."""
    said: dict[str, object] = {}
    if args.what in ("owl", "all"):
        from shiyi.ontology.reasoner import check_vocabulary

        checked = check_vocabulary()
        said |= {"consistent": checked.consistent, "unsatisfiable": list(checked.unsatisfiable)}
    if args.what in ("derived", "all"):
        from shiyi.cli.making import derive
        from shiyi.sparql.knowledge_base import KnowledgeBase

        with KnowledgeBase.open(settings.kb, write=True) as base:
            said["derived_quads"] = derive(base.store, settings)
    if args.json:
        emit(said)
    else:
        for key, value in said.items():
            print(f"{key}: {value}")
    return 0 if said.get("consistent", True) and not said.get("unsatisfiable") else 1
