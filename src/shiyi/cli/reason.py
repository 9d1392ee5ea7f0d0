"""``shiyi reason`` and ``shiyi train``."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Context, Option

from shiyi.cli.terminal import Json, emit, settings_of
from shiyi.errors import IndexMismatchError, UsageError

if TYPE_CHECKING:
    from shiyi.model.rdf import Quad
    from shiyi.reasoning.adjacency import Projection
    from shiyi.reasoning.embeddings.model import Model
    from shiyi.settings import Settings
    from shiyi.sparql.base.knowledge_base import KnowledgeBase


def reason(
    ctx: Context,
    part: Annotated[
        Literal["owl", "confidence", "complete", "pagerank", "derived", "entailed", "all"],
        Argument(
            help="owl: consistency and defined classes; confidence: its parts; "
            "complete: predictions; pagerank: "
            "importance; derived: cautions and importance; entailed: OWL RL."
        ),
    ],
    seed: Annotated[int, Option(metavar="S", help="Seed of random choices.")] = 0,
    held_out: Annotated[bool, Option("--held-out", help="Measure on hidden claims.")] = False,
    as_json: Json = False,
) -> int:
    """Check or recompute; status 1 where the ontology is inconsistent."""
    report: dict[str, Any] = {}
    settings = settings_of(ctx)
    if part in ("owl", "all"):
        _check(settings, report)
    if part != "owl":
        _recompute(part, seed, held_out, settings, report)
    if as_json:
        emit(report)
    else:
        for key, value in report.items():
            print(f"{key}: {value}")
    wrong = report.get("unsatisfiable") or report.get("differing")
    return 0 if report.get("consistent", True) and not wrong else 1


def _check(settings: "Settings", report: dict[str, Any]) -> None:
    """Reason over the vocabulary and the accepted view; write the class hierarchy that follows."""
    from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, text
    from shiyi.ontology.reasoner import check_ontology
    from shiyi.ontology.terms import RDFS
    from shiyi.reasoning.classification import class_quads, load_defined_members
    from shiyi.reasoning.derivation import replace_derived
    from shiyi.reasoning.rules import ENTAILED
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings, write=True) as base:
        checked = check_ontology(base.store.match(None, None, None, DefaultGraph()))
        report |= {
            "individuals": checked.individuals,
            "statements": checked.statements,
            "consistent": checked.consistent,
            "unsatisfiable": list(checked.unsatisfiable),
        }
        if not checked.consistent:
            report["explanation"] = list(checked.explanation)
            return
        above = (
            Quad(NamedNode(one), RDFS.subClassOf, NamedNode(other), ENTAILED)
            for one, other in checked.hierarchy
        )
        replace_derived(base.store, [*class_quads(base.store), *above], ("classes",))
        found = {
            text(name): frozenset(text(term) for term in members)
            for name, members in load_defined_members(base.store).items()
        }
        report["members"] = {
            name.rpartition("#")[2]: len(group) for name, group in sorted(found.items())
        }
        report["differing"] = sorted(
            name for name, group in (checked.members or {}).items() if group != found.get(name)
        )


def _recompute(
    part: str, seed: int, held_out: bool, settings: "Settings", report: dict[str, Any]
) -> None:
    """Recompute each requested section, then swap them all at once."""
    from shiyi.answering.knowledge.updates import refresh_files
    from shiyi.ontology.schema import Schema
    from shiyi.reasoning.adjacency import Projection
    from shiyi.reasoning.derivation import entailment_quads, rank_quads, replace_derived, rule_quads
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    quads: list[Quad] = []
    sections: list[str] = []

    def add(section: str, derived: Iterable["Quad"]) -> None:
        before = len(quads)
        quads.extend(derived)
        sections.append(section)
        report[f"{section}_quads"] = len(quads) - before

    with KnowledgeBase.of(settings, write=True) as base:
        if part in ("derived", "all"):
            add("rules", rule_quads(base.store))
        if part in ("derived", "pagerank", "all"):
            add("pagerank", rank_quads(base.store, settings))
        if part in ("entailed", "all"):
            add("entailed", entailment_quads(base.store))
        graph, model = Projection.from_store(base.store, base.release), _load_embedding(base)
        report["embedding"] = model.kind if model else "none"
        if part in ("confidence", "all"):
            add("confidence", _weigh(base, graph, model, seed, report))
        if part in ("complete", "all"):
            if held_out:
                report |= _measure_completion(base, graph, settings, seed)
            add("complete", _complete(base, graph, model, seed, settings, report))
        report["derived_quads"] = replace_derived(base.store, quads, sections)
        refresh_files(base, Schema.load())


def _weigh(
    base: "KnowledgeBase",
    graph: "Projection",
    model: "Model | None",
    seed: int,
    report: dict[str, Any],
) -> Iterable["Quad"]:
    from shiyi.reasoning.confidence.fusion import disputes, load_rejected, weigh
    from shiyi.reasoning.confidence.reviews import compute_decayed, list_reviewed

    report["reviewed"] = len(list_reviewed(base.store) & set(graph.claims))
    wrong, decayed = load_rejected(base.store), compute_decayed(base.store)
    report |= {"refused": len(wrong), "decayed": len(decayed)}
    weighed = weigh(graph, disputes(base.store), model, seed, wrong, decayed)
    if calibration := weighed.calibration:
        report |= {"ece": calibration.ece, "brier": calibration.brier, "auc": calibration.auc}
    return weighed.quads()


def _complete(
    base: "KnowledgeBase",
    graph: "Projection",
    model: "Model | None",
    seed: int,
    settings: "Settings",
    report: dict[str, Any],
) -> Iterable["Quad"]:
    from shiyi.ontology.schema import Schema
    from shiyi.reasoning import completion

    kinds, schema = completion.concept_kinds(base.store), Schema.load()
    if model:
        score = completion.learnt_scorer(graph, model)
    else:
        score = completion.scorer(graph, kinds, schema, seed)
    predictions = list(completion.complete(graph, kinds, schema, score, settings.completion))
    report["predictions"] = len(predictions)
    return completion.prediction_quads(predictions) if settings.completion.write else ()


def _measure_completion(
    base: "KnowledgeBase", graph: "Projection", settings: "Settings", seed: int
) -> dict[str, Any]:
    from shiyi.ontology.schema import Schema
    from shiyi.reasoning.completion import concept_kinds, measure

    result = measure(graph, concept_kinds(base.store), Schema.load(), settings.completion, seed)
    return {
        "held_out_predicted": result.predicted,
        "held_out_found": result.found,
        "held_out_precision": result.precision,
        "held_out_chance": result.chance,
    }


def _load_embedding(base: "KnowledgeBase") -> "Model | None":
    """Load the trained embedding of this base; None where none was trained."""
    from shiyi.reasoning.embeddings.model import Model

    folder = base.folder / "index" / "confidence"
    if not folder.is_dir():
        return None
    try:
        return Model.load(folder, base.release)
    except IndexMismatchError as fault:
        raise IndexMismatchError(f"{fault}, or remove {folder}") from fault


def train(
    ctx: Context,
    part: Annotated[
        Literal["embeddings", "reader", "confidence", "transe", "rotate"],
        Argument(
            help="embeddings: of labels, shipped; reader: of questions, shipped; "
            "confidence: of this base's uncertain graph; "
            "transe, rotate: of its graph, for the baselines."
        ),
    ],
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Output: a file for reader, else a folder. Default: its place in the base.",
        ),
    ] = None,
    seed: Annotated[int, Option(help="Of random choices.")] = 7,
    model: Annotated[
        str,
        Option(
            metavar="NAME", help="embeddings: fine-tune this sentence-transformers model into PATH."
        ),
    ] = "",
    samples: Annotated[int, Option(metavar="N", help="embeddings --model: pairs.")] = 5000,
    limit_seconds: Annotated[float, Option(metavar="S", help="confidence: stop by then.")] = 1800.0,
) -> None:
    """Train a model and print where it was written."""
    from shiyi.reasoning.adjacency import Projection
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    if part == "embeddings":
        from shiyi.linking.embedding.training import fine_tune, train_shipped

        if model:
            if output is None:
                raise UsageError("name with -o PATH the folder for the fine-tuned model")
            print(fine_tune(model, output, seed, samples))
            return
        print(train_shipped(output, seed))
        return
    if part == "reader":
        from shiyi.answering.understanding.reader.training import train_reader

        path, measures = train_reader(output)
        print(path)
        shares = ", ".join(f"{name} {share:.3f}" for name, share in measures.accuracy.items())
        print(f"families left out, {measures.count:,} utterances: accuracy {shares};")
        print(
            f"alarms found {measures.alarm_recall:.3f}, false {measures.false_alarm:.3f}; "
            f"calibration error {measures.error:.3f}"
        )
        return
    settings = settings_of(ctx)
    with KnowledgeBase.of(settings) as base:
        graph = Projection.from_store(base.store, base.release)
        index = base.folder / "index"
    if part == "confidence":
        from shiyi.reasoning.embeddings.ukge import train_graph

        trained = train_graph(graph, settings.reasoning, seed, limit_seconds)
        folder = output or index / "confidence"
        trained.model.save(folder)
        print(folder)
        print(f"held-out claims: MSE {trained.errors.mse:.5f}, MAE {trained.errors.mae:.5f}")
        return
    from shiyi.reasoning.embeddings.baselines import train_translation
    from shiyi.reasoning.embeddings.ukge import list_rows

    folder = output or index
    train_translation(list_rows(graph), part, seed=seed, release=graph.release).save(folder)
    print(folder / f"{part}.safetensors")
