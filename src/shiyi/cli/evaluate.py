"""``shiyi evaluate``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option

from shiyi.cli.terminal import Json, ProgressBar, settings_of
from shiyi.errors import UsageError

if TYPE_CHECKING:
    from shiyi.evaluation.bench import Request
    from shiyi.evaluation.report import Report
    from shiyi.settings import Settings
    from shiyi.sparql.base.knowledge_base import KnowledgeBase


def evaluate(
    ctx: Context,
    task: Annotated[
        str,
        Argument(
            help="mcq, truefalse, recommend, syndrome, linking, extraction, confidence, retrieval, "
            "safety, dialogue, sentences, frames or reading."
        ),
    ],
    file: Annotated[
        str, Argument(help="A question file, or source:NAME for questions made from a source.")
    ] = "",
    generated: Annotated[
        bool,
        Option(
            "--generated", help="safety, mcq, retrieval, recommend: questions made from claims."
        ),
    ] = False,
    train: Annotated[
        list[Path] | None, Option(metavar="FILE", help="May be learnt from, for this run alone.")
    ] = None,
    known: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="confidence: facts to leave out of ranked tails, never learnt from.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        Option(metavar="M", help="Default fused, or the one that --ablate changes; repeatable."),
    ] = None,
    ablate: Annotated[list[str] | None, Option(metavar="A", help="Switch a part off.")] = None,
    without_source: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Withhold what rests on this source alone (source:NAME does so too).",
        ),
    ] = None,
    holdout: Annotated[
        float, Option(metavar="SHARE", help="Ask this share, learn from the rest.")
    ] = 0.0,
    limit: Annotated[int | None, Option(metavar="N", help="First N questions.")] = None,
    seed: Annotated[int, Option(metavar="S", help="Seed of random choices.")] = 0,
    k: Annotated[int | None, Option("--k", metavar="N", help="Paths to keep.")] = None,
    damping: Annotated[
        float | None, Option(metavar="D", help="Damping factor of PageRank.")
    ] = None,
    hops: Annotated[int, Option(metavar="N", help="Maximum hops of a path.")] = 2,
    scorer: Annotated[str, Option(help="specific, or mean_entities (Yaoshi-RAG).")] = "specific",
    with_model: Annotated[
        bool,
        Option(
            "--with-model", help="Let the model of models.answer read what each method retrieves."
        ),
    ] = False,
    limit_seconds: Annotated[
        float, Option(metavar="S", help="confidence: time limit of training.")
    ] = 900.0,
    corpus: Annotated[
        Path | None, Option(metavar="PATH", help="reading: the collection of old books.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Measure, and print a table, or one JSON object a line and method."""
    from shiyi.answering.runtime import Runtime
    from shiyi.evaluation.ablations import usual_method
    from shiyi.evaluation.bench import Request
    from shiyi.evaluation.questions.safety import FROM_CLAIMS
    from shiyi.evaluation.runner import evaluate as measure
    from shiyi.evaluation.tasks.frames import measure_frames
    from shiyi.evaluation.tasks.reading import measure_reading
    from shiyi.evaluation.tasks.sentences import measure_sentences
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    file = FROM_CLAIMS if generated else file
    if not file:
        raise UsageError("name a question file, or use --generated")
    settings = settings_of(ctx)
    if task == "reading":
        return _print(measure_reading(Path(file), corpus), as_json)
    without = tuple(without_source or ())
    if file.startswith("source:") and not without:
        without = (file.removeprefix("source:"),)
    switches = _words(ablate)
    request = Request(
        task,
        file,
        tuple(train or ()),
        _words(method) or (usual_method(switches),),
        switches,
        without,
        limit,
        seed,
        k or settings.paths.top_k,
        damping if damping is not None else settings.pagerank.damping,
        hops,
        scorer,
        holdout,
        limit_seconds,
        with_model=with_model,
        known=tuple(known or ()),
    )
    with ProgressBar() as bar, KnowledgeBase.of(settings) as base:
        report = (
            _measure_extraction(base, settings, request, bar)
            if task == "extraction"
            else measure_sentences(Path(file), base.store, base.release, bar.show)
            if task == "sentences"
            else measure_frames(Path(file), Runtime.open(base, settings))
            if task == "frames"
            else measure(base, settings, request, bar.show)
        )
    return _print(report, as_json)


def _print(report: "Report", as_json: bool) -> int:
    if as_json:
        for record in report.to_json():
            print(json.dumps(record, ensure_ascii=False))
    else:
        print(report.table())
        for failure in report.failures:
            print(f"  {failure['id']} ({failure['method']}): {'; '.join(failure['faults'])}")
    return 0


def _measure_extraction(
    base: "KnowledgeBase", settings: "Settings", request: "Request", bar: ProgressBar
) -> "Report":
    """Measure the extractors of ``shiyi ingest``; a model's replies are stored with the base."""
    from shiyi.evaluation.tasks.extraction import measure_extraction
    from shiyi.ingest.datasets.dataset import Dataset
    from shiyi.ingest.gate import Gate
    from shiyi.ingest.sources import EXTRACTORS, ExtractorFactory
    from shiyi.linking.labels import LabelIndex
    from shiyi.model.claim import Source, Tier

    index = LabelIndex.from_store(base.store, base.release)
    gate = Gate(index)
    questions = Dataset("held", "1", Source("held", "评测", "held", Tier.CLASSIC))
    ways = {name: ExtractorFactory(name, index, gate, settings, base.path) for name in EXTRACTORS}
    makers = {name: lambda each=each: each.extractor(questions) for name, each in ways.items()}
    chosen = request if request.methods != ("fused",) else replace(request, methods=("rules",))
    try:
        return measure_extraction(index, base.release, chosen, makers, bar.show)
    finally:
        for factory in ways.values():
            factory.close()


def _words(values: list[str] | None) -> tuple[str, ...]:
    """Return the words of a repeatable option, each of which may hold several after commas."""
    return tuple(dict.fromkeys(w for value in values or () for w in value.split(",") if w))
