"""``shiyi reason``."""

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from shiyi.cli import emit
from shiyi.errors import IndexMismatchError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.model.rdf import Quad
    from shiyi.reasoning.embedding import Model
    from shiyi.reasoning.projection import Projection
    from shiyi.sparql.knowledge_base import KnowledgeBase

WHAT = ("owl", "confidence", "complete", "pagerank", "derived", "entailed", "all")


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi reason`` takes."""
    parser.add_argument(
        "what", choices=WHAT,
        help="owl: consistency; confidence: its parts; complete: predictions; pagerank: importance; "
        "derived: cautions and importance; entailed: what OWL RL lets follow",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument(
        "--held-out", action="store_true", help="complete: measure on hidden claims"
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Check or recompute; status 1 where the ontology is inconsistent."""
    said: dict[str, Any] = {}
    if args.what in ("owl", "all"):
        from shiyi.ontology.reasoner import check_vocabulary

        checked = check_vocabulary()
        said |= {"consistent": checked.consistent, "unsatisfiable": list(checked.unsatisfiable)}
    if args.what != "owl":
        said |= _recompute(args, settings)
    if args.json:
        emit(said)
    else:
        for key, value in said.items():
            print(f"{key}: {value}")
    return 0 if said.get("consistent", True) and not said.get("unsatisfiable") else 1


def _recompute(args: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Make every asked section anew, then swap them all at once."""
    from shiyi.answering.standing import freshen
    from shiyi.ontology.vocabulary import Schema
    from shiyi.reasoning.derive import entailment_quads, rank_quads, rule_quads
    from shiyi.reasoning.projection import Projection
    from shiyi.reasoning.swap import swap
    from shiyi.sparql.knowledge_base import KnowledgeBase

    said: dict[str, Any] = {}
    quads: list[Quad] = []
    sections: list[str] = []

    def made(section: str, found: Iterable["Quad"]) -> None:
        before = len(quads)
        quads.extend(found)
        sections.append(section)
        said[f"{section}_quads"] = len(quads) - before

    with KnowledgeBase.of(settings, write=True) as base:
        if args.what in ("derived", "all"):
            made("rules", rule_quads(base.store))
        if args.what in ("derived", "pagerank", "all"):
            made("pagerank", rank_quads(base.store, settings))
        if args.what in ("entailed", "all"):
            made("entailed", entailment_quads(base.store))
        graph, model = Projection.from_store(base.store, base.release), _embedding(base)
        said["embedding"] = model.kind if model else "none"
        if args.what in ("confidence", "all"):
            made("confidence", _confidence(args, base, graph, model, said))
        if args.what in ("complete", "all"):
            made("complete", _complete(args, settings, base, graph, model, said))
        said["derived_quads"] = swap(base.store, quads, sections)
        freshen(base, Schema.load())
    return said


def _confidence(
    args: argparse.Namespace,
    base: "KnowledgeBase",
    graph: "Projection",
    model: "Model | None",
    said: dict[str, Any],
) -> Iterable["Quad"]:
    from shiyi.reasoning.review_records import decayed_claims, reviewed_claims
    from shiyi.reasoning.weigh import disputes, refused, weigh

    said["reviewed"] = len(reviewed_claims(base.store) & set(graph.claims))
    wrong, decayed = refused(base.store), decayed_claims(base.store)
    said |= {"refused": len(wrong), "decayed": len(decayed)}
    weighed = weigh(graph, disputes(base.store), model, args.seed, wrong, decayed)
    if measured := weighed.calibration:
        said |= {"ece": measured.ece, "brier": measured.brier, "auc": measured.auc}
    return weighed.quads()


def _complete(
    args: argparse.Namespace,
    settings: Settings,
    base: "KnowledgeBase",
    graph: "Projection",
    model: "Model | None",
    said: dict[str, Any],
) -> Iterable["Quad"]:
    from shiyi.ontology.vocabulary import Schema
    from shiyi.reasoning.completion import complete, concept_kinds, prediction_quads
    from shiyi.reasoning.heldout import learnt_scorer, measure, scorer

    kinds, schema = concept_kinds(base.store), Schema.load()
    if args.held_out:
        held = measure(graph, kinds, schema, settings.completion, args.seed)
        said |= {
            "held_out_predicted": held.predicted, "held_out_found": held.found,
            "held_out_precision": held.precision, "held_out_chance": held.chance,
        }  # fmt: skip
    score = learnt_scorer(graph, model) if model else scorer(graph, kinds, schema, args.seed)
    found = list(complete(graph, kinds, schema, score, settings.completion))
    said["predictions"] = len(found)
    return prediction_quads(found)


def _embedding(base: "KnowledgeBase") -> "Model | None":
    """Read the trained embedding of this base; None where none was trained."""
    from shiyi.reasoning.embedding import Model

    folder = base.folder / "index" / "confidence"
    if not folder.is_dir():
        return None
    try:
        return Model.load(folder, base.release)
    except IndexMismatchError as fault:
        raise IndexMismatchError(f"{fault}, or remove {folder}") from fault
