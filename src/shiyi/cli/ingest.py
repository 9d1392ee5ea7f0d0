"""``shiyi ingest``, ``shiyi forget``, ``shiyi corpus`` and ``shiyi verify``."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Context, Option

from shiyi.cli.terminal import Json, ProgressBar, emit, new_group, print_table, settings_of, warn
from shiyi.errors import UsageError

if TYPE_CHECKING:
    from shiyi.ingest.batches import Report
    from shiyi.verification.comparison import Outcome

corpus, verify = new_group(), new_group()
Sample = Annotated[int, Option(metavar="N", help="N drawn at random, the same each time.")]


def ingest(
    ctx: Context,
    source: Annotated[
        str,
        Argument(
            help="books, text, cases, umls, sssom, skos, owl, table, "
            "or a folder of ingest/ such as idisk2."
        ),
    ],
    paths: Annotated[list[Path], Argument(metavar="PATH...", help="Files; of tables a folder.")],
    extractor: Annotated[
        Literal["rules", "llm"],
        Option(help="rules needs no model; llm asks the one that models.extract names."),
    ] = "rules",
    school: Annotated[
        str, Option(metavar="NAME", help="Fill the overlay of this school or practitioner too.")
    ] = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Count everything, write nothing.")] = False,
    resume: Annotated[bool, Option("--resume", help="Skip what was written before.")] = False,
    limit: Annotated[int, Option(metavar="N", help="First N passages or rows.")] = 0,
    as_json: Json = False,
    workers: Annotated[str, Option(metavar="N|ray", help="Processes that read, or Ray.")] = "1",
    mapping: Annotated[
        Path | None,
        Option(metavar="FILE", help="table: a mapping.toml with its source.ttl beside it."),
    ] = None,
    languages: Annotated[str, Option(metavar="A,B", help="umls: languages, such as ENG,CHI.")] = "",
    sources: Annotated[str, Option(metavar="A,B", help="umls: such as MSH,SNOMEDCT_US.")] = "",
    types: Annotated[
        str, Option(metavar="A,B", help="umls: semantic types, such as T047,T121.")
    ] = "",
) -> int:
    """Ingest each path and print a report; status 1 where a part of a source failed."""
    from shiyi.build import rederive
    from shiyi.ingest import run
    from shiyi.ingest.batches import Report
    from shiyi.ingest.datasets.dataset import AdmissionPolicy
    from shiyi.ingest.extraction.feedback import lessons_section, list_lessons
    from shiyi.ingest.gate import Gate
    from shiyi.ingest.retraction import SeenNodes, sweep
    from shiyi.ingest.sources import ExtractorFactory, IngestRequest, open_batches
    from shiyi.linking.labels import FILE, LabelIndex
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    if limit < 0:
        raise UsageError("--limit counts from 1; 0 takes everything")
    request = IngestRequest(
        source, extractor, school, limit, workers, mapping, languages, sources, types
    )
    settings = settings_of(ctx)
    reports: list[Report] = []
    with ProgressBar() as bar, KnowledgeBase.of(settings, write=not dry_run) as base:
        folder = base.folder / "index"
        names = (
            LabelIndex.load(folder, base.release)
            if (folder / FILE).is_file()
            else LabelIndex.from_store(base.store, base.release)
        )
        gate = Gate(names)
        options = run.Options(limit, resume, lambda report: _show(bar, report))
        extracting = ExtractorFactory(
            extractor,
            names,
            gate,
            settings,
            None if dry_run else base.path,
            lessons_section(list_lessons(base.store)),
        )
        # what another way of reading found before stays
        others = {"rules", "llm", "school"} - {extractor, "school" if school else ""}
        for path in paths:
            report = Report()
            dataset, batches = open_batches(request, path, extracting, base, report)
            if path.is_file() and dataset.differs(path):
                report.notes.append(f"{path.name} is not the file that source.ttl describes")
            writer = None if dry_run else base.writer
            nodes = SeenNodes()
            watched = replace(options, watch=nodes.add, entry=AdmissionPolicy(dataset, base.store))
            reports.append(run.ingest(dataset, batches, report, gate, writer, watched))
            if writer and not (resume or limit or report.failures or report.waiting):
                report.taken_back += Counter(sweep(writer, dataset, nodes, others))
            extracting.report_usage(report, dataset)
        extracting.close()
        if not dry_run and any(each.asserted for each in reports):
            rederive(base, settings)
    if as_json:
        emit([each.to_json() for each in reports])
    else:
        print("\n".join(line for each in reports for line in each.lines()))
    return 1 if any(each.failures for each in reports) else 0


def _show(bar: ProgressBar, report: "Report") -> None:
    task = (
        f"{report.dataset}: {report.documents:,} texts, {report.rows:,} rows, "
        f"{sum(report.claims.values()):,} claims; passages"
    )
    bar.show(report.dataset, report.passages, None, task)


def forget(
    ctx: Context,
    source: Annotated[
        str, Argument(metavar="SOURCE[@VERSION]", help="As `shiyi ingest` named it.")
    ],
    as_json: Json = False,
) -> None:
    """Delete a source, and rewrite the files that had it; print the counts."""
    from shiyi.build import rederive, renew_base
    from shiyi.ingest.retraction import forget as forget_source
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    settings = settings_of(ctx)
    name, _, version = source.partition("@")
    with KnowledgeBase.of(settings, write=True) as base:
        counts = forget_source(
            base.writer, "tcm-ancient-books" if name == "books" else name, version
        )
        if counts["asserted"]:
            rederive(base, settings)
    if not settings.store:
        renew_base(settings)
    if as_json:
        emit(counts)
    else:
        print(
            f"forgot {source}: {counts['quads']:,} quads, {counts['evidence']:,} pieces of "
            f"evidence, {counts['claims']:,} claims that stood on them alone"
        )


@corpus.command("add")
def add_corpus(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="As `shiyi corpus list` names it.")],
    path: Annotated[Path, Argument(metavar="PATH", help="The folder with its files.")],
) -> None:
    """Install a corpus, after the digest of each of its files was compared."""
    from shiyi.verification.corpora import Registry
    from shiyi.verification.rows import unpack

    registry = Registry(settings_of(ctx).kb)
    added_corpus = registry.add(name, path)
    unpack(added_corpus, path.resolve(), registry.folder)
    print(f"installed {name} of version {added_corpus.version}: {len(added_corpus.digests)} files")


@corpus.command("list")
def list_corpora(ctx: Context, as_json: Json = False) -> None:
    """List every corpus that evidence may point to, and where it is installed."""
    from shiyi.verification.corpora import Registry

    registry = Registry(settings_of(ctx).kb)
    paths = registry.paths()
    rows = [
        {
            "name": name,
            "kind": each.kind,
            "version": each.version,
            "origin": each.origin,
            "files": len(each.digests),
            "path": str(paths.get(name, "")),
        }
        for name, each in sorted(registry.known.items())
    ]
    if as_json:
        emit(rows)
    else:
        print_table(
            ("name", "kind", "files", "installed at", "origin"),
            ((x["name"], x["kind"], x["files"], x["path"] or "-", x["origin"]) for x in rows),
        )


@corpus.command("remove")
def remove_corpus(ctx: Context, name: Annotated[str, Argument(metavar="NAME")]) -> None:
    """Unregister a corpus; its files stay where they are."""
    from shiyi.verification.corpora import Registry

    Registry(settings_of(ctx).kb).remove(name)
    print(f"removed {name}; its files were not touched")


@verify.command("pointers")
def verify_pointers(ctx: Context, sample: Sample = 0, as_json: Json = False) -> int:
    """Re-read every pointer of evidence; status 1 where one moved, or none could be read."""
    from shiyi.verification.corpora import Registry
    from shiyi.verification.pointers import check

    result = check(Registry(settings_of(ctx).kb), sample=sample)
    if as_json:
        emit(
            {
                "checked": result.total,
                "moved": len(result.faults),
                "corpora": result.read,
                "not_installed": result.missing,
                "faults": result.faults,
            }
        )
    else:
        for line in result.faults[:1]:
            warn(line)
        print(f"{result.total:,} pointers re-read, {len(result.faults):,} moved")
    for name, number in result.missing.items():
        warn(f"{name}: not installed, {number:,} pointers not read; `shiyi corpus add {name} PATH`")
    return int(bool(result.faults) or not result.total)


@verify.command("claims")
def verify_claims(
    ctx: Context,
    relation: Annotated[str, Option(metavar="R", help="Only claims of this relation.")] = "",
    corpora: Annotated[
        list[str] | None, Option("--corpus", metavar="NAME", help="Repeatable; default: all.")
    ] = None,
    sample: Sample = 0,
    sheet: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write 5 % of the pointers with their words, for people."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Compare claims with installed corpora and write a pointer for each that one speaks of.

    With --sample nothing is written. A corpus is skipped where nothing changed since its last run.
    """
    from shiyi.ingest.tables.starter import load_starter
    from shiyi.ontology.schema import Schema
    from shiyi.verification import comparison
    from shiyi.verification.corpora import Registry

    settings = settings_of(ctx)
    if relation and relation not in (properties := Schema.load().properties):
        raise UsageError(f"{relation!r} is no relation; known: {', '.join(sorted(properties))}")
    registry = Registry(settings.kb)
    starter = load_starter(weights=settings.confidence, pointers=False)
    with ProgressBar() as bar:
        outcome = comparison.verify_claims(
            comparison.Comparison(starter, relation, sample),
            registry,
            corpora or (),
            progress=lambda name, number, total: bar.show("claims", number, total, name),
        )
    if sheet:
        comparison.write_sheet(sheet, outcome, registry, starter.concepts)
    _print_outcome(outcome, as_json)
    return int(len(outcome.missing) == len(tuple(corpora or registry.known)))


def _print_outcome(outcome: "Outcome", as_json: bool) -> None:
    counts = outcome.counts()
    if as_json:
        emit({"corpora": counts, "unchanged": outcome.skipped, "not_installed": outcome.missing})
        return
    print_table(
        ("corpus", "verdict", "relation", "claims"),
        (
            (name, verdict, relation, number)
            for name, verdicts in counts.items()
            for verdict, relations in verdicts.items()
            for relation, number in relations.items()
        ),
    )
    for name in outcome.missing:
        warn(f"{name}: not installed; `shiyi corpus add {name} PATH`")
