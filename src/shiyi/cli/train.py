"""``shiyi train``."""

import argparse
from pathlib import Path

from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi train`` takes."""
    parser.add_argument(
        "what", choices=("embeddings", "confidence", "transe", "rotate"),
        help="embeddings: of labels, shipped; confidence: of this base's uncertain graph; "
        "transe, rotate: of its graph, for the baselines",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: where it is looked for"
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--limit-seconds", type=float, default=1800.0, metavar="S", help="confidence: stop by then"
    )


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Train an embedding and say where it lies."""
    if args.what == "confidence":
        return _confidence(args, settings)
    if args.what != "embeddings":
        return _translation(args, settings)
    from shiyi.linking.train import train_shipped

    print(train_shipped(args.output, args.seed))
    return 0


def _confidence(args: argparse.Namespace, settings: Settings) -> int:
    from shiyi.reasoning.projection import Projection
    from shiyi.reasoning.ukge import train_graph
    from shiyi.sparql.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        graph = Projection.from_store(base.store, base.release)
        folder = args.output or base.folder / "index" / "confidence"
    trained = train_graph(graph, settings.reasoning, args.seed, args.limit_seconds)
    trained.model.save(folder)
    print(folder)
    print(f"held-out claims: MSE {trained.errors.mse:.5f}, MAE {trained.errors.mae:.5f}")
    return 0


def _translation(args: argparse.Namespace, settings: Settings) -> int:
    from shiyi.reasoning.projection import Projection
    from shiyi.reasoning.translation import train_translation
    from shiyi.reasoning.ukge import rows_of
    from shiyi.sparql.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        graph = Projection.from_store(base.store, base.release)
        folder = args.output or base.folder / "index"
    train_translation(rows_of(graph), args.what, seed=args.seed, release=graph.release).save(folder)
    print(folder / f"{args.what}.safetensors")
    return 0
