"""``shiyi query``, ``shiyi audit`` and ``shiyi link``."""

import json
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Context, Option

from shiyi.cli.terminal import (
    Json,
    configured_model,
    emit,
    print_table,
    read_text,
    settings_of,
    warn,
)
from shiyi.errors import UsageError
from shiyi.model.iris import ROOT

if TYPE_CHECKING:
    from shiyi.linking.linker import Linker
    from shiyi.model.answer import Mention
    from shiyi.settings import Settings
    from shiyi.sparql.base.knowledge_base import KnowledgeBase


def query(
    ctx: Context,
    file: Annotated[str, Argument(help="A file with one SPARQL query, or - for stdin.")],
    form: Annotated[
        Literal["json", "xml", "csv", "tsv", "ttl", "nt", "nq", "trig", "rdf"] | None,
        Option("--format", help="Default: tsv for rows, ttl for graphs."),
    ] = None,
    timeout: Annotated[float | None, Option(metavar="S", help="Seconds, up to the cap.")] = None,
) -> None:
    """Run the query in a confined worker and print its result."""
    from shiyi.sparql.base.knowledge_base import KnowledgeBase
    from shiyi.sparql.queries.requests import FreeQuery
    from shiyi.sparql.queries.results import ResultFormat
    from shiyi.sparql.sandbox.pool import open_pool

    settings, text = settings_of(ctx), read_text(file)
    accepted = ResultFormat.of(form) if form else ResultFormat("tsv", "ttl")
    with KnowledgeBase.of(settings) as base, open_pool(base, settings.query) as pool:
        text = _with_search(text, base, settings)
        # a reader of the folder may read all of it
        result = pool.stream(FreeQuery(text, accepted, timeout, whole=True))
    last = b""
    with result.body as body:
        for last in body.parts():
            sys.stdout.buffer.write(last)
    if not last.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")


def _with_search(text: str, base: "KnowledgeBase", settings: "Settings") -> str:
    """Return a query with what it searches for; the indexes are opened for a search alone."""
    if f"<{ROOT}search>" not in text:
        return text
    from shiyi.answering.runtime import Runtime
    from shiyi.server.site.search import insert_results, searcher

    return insert_results(text, searcher(cache(lambda: Runtime.open(base, settings))))


def audit(
    ctx: Context,
    file: Annotated[str, Argument(metavar="FILE|-", help="A text, or - for standard input.")],
    language: Annotated[
        Literal["zh", "en"] | None,
        Option("--lang", help="Language of labels (default: that of the text)."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Print a verdict on each sentence; status 1 where one is dangerous or contradicted."""
    from shiyi.answering.generation.audit import CONTRADICTED, DANGEROUS, Auditor, count_verdicts
    from shiyi.answering.runtime import Runtime
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    settings, text = settings_of(ctx), read_text(file)
    with KnowledgeBase.of(settings) as base:
        runtime = Runtime.open(base, settings)
        sentences = Auditor(runtime).audit(text, language or "")
    counts = count_verdicts(sentences)
    if as_json:
        emit({"sentences": [each.to_json() for each in sentences], "counts": counts})
    else:
        for sentence in sentences:
            print(f"{sentence.verdict.replace('_', ' ')}: {sentence.text}")
            print("".join(f"    {reason}\n" for reason in sentence.reasons), end="")
            for c in sentence.claims:
                print(f"    {c.subject.label} · {c.predicate.label} · {c.object.label}  {c.claim}")
        print(", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in counts.items()))
    return 1 if counts[DANGEROUS] or counts[CONTRADICTED] else 0


def link(
    ctx: Context,
    text: Annotated[str, Argument(metavar="TEXT|-", help="A text, or - for standard input.")] = "",
    passages: Annotated[
        str,
        Option(
            metavar="FILE|SOURCE",
            help='Link many: JSON Lines of {"id", "text"}, or an ingested source.',
        ),
    ] = "",
    out: Annotated[
        Path | None, Option(metavar="FILE", help="With --passages: written, or continued, here.")
    ] = None,
    workers: Annotated[int, Option(metavar="N", help="Number of processes.")] = 1,
    pick: Annotated[bool, Option("--pick", help="Let the model choose candidates.")] = False,
    kind: Annotated[
        str, Option(metavar="CLASS", help="With --pick: the class to prefer, such as Syndrome.")
    ] = "",
    as_json: Json = False,
    sssom: Annotated[bool, Option("--sssom", help="Print SSSOM rows.")] = False,
) -> int:
    """Print the mentions of a text and their concepts; status 1 where there is none."""
    from shiyi.linking.linker import write_mentions

    settings = settings_of(ctx)
    if as_json and sssom:
        raise UsageError("choose one of --json and --sssom")
    if passages:
        if pick:
            raise UsageError("--pick is for one TEXT, not for --passages")
        if out is None:
            raise UsageError("--passages needs --out, the file for the mentions")
        return _link_passages(passages, out, workers, settings)
    if not text:
        raise UsageError("name a TEXT, - for standard input, or --passages")
    text = read_text("-") if text == "-" else text
    linker = open_linker(settings)
    mentions, notices = _pick(text, linker, settings, kind) if pick else (linker.link(text), ())
    for notice in notices:
        warn(notice)
    if as_json:
        values: dict[str, Any] = {"mentions": [mention.to_json() for mention in mentions]}
        emit(values | {"notices": list(notices)} if pick else values)
    elif sssom:
        write_mentions(mentions, sys.stdout)
    else:
        print_table(("mention", "concept", "score"), map(_row, mentions))
    if not mentions:
        warn("no mention found")
    return 0 if mentions else 1


def _row(mention: "Mention") -> tuple[str, str, str]:
    concept = f"{mention.label_zh} / {mention.label_en}  {mention.cui or 'no CUI'}"
    negated = "  negated" if mention.negated else ""
    return mention.text, concept if mention.iri else "—", f"{mention.score:.2f}{negated}"


def _pick(
    text: str, linker: "Linker", settings: "Settings", kind: str
) -> "tuple[tuple[Mention, ...], tuple[str, ...]]":
    from shiyi.linking.labels import KINDS
    from shiyi.linking.reranking import pick

    if kind and kind not in KINDS:
        raise UsageError(f"there is no class {kind}; there are {', '.join(KINDS)}")
    result = pick(text, linker, configured_model(settings), settings.linking.pick_from, kind)
    return result.mentions, result.notices


def _link_passages(name: str, out: Path, workers: int, settings: "Settings") -> int:
    from shiyi.linking.linker import link_passages

    source = Path(name)
    if not source.is_file():
        source = out.with_name(out.name + ".passages")
        _write_passages(name, source, settings)
    count = link_passages(source, out, partial(open_linker, settings), workers)
    print(f"{count:,} passages linked now; {out} has all that are done")
    return 0


def open_linker(settings: "Settings") -> "Linker":
    """Open the linker of a knowledge base, once in each process."""
    from shiyi.answering.knowledge.updates import concepts_since
    from shiyi.linking.linker import Linker
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        linker = Linker.open(base.folder, base.store, base.release, settings.linking)
        return linker.amend(base.store, concepts_since(base, linker.index.through))


def _write_passages(name: str, path: Path, settings: "Settings") -> None:
    """Write the passages of a source, in the order of their names, for linking."""
    from shiyi.model.rdf import NamedNode, text
    from shiyi.ontology.terms import RDF, SHIYI
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        store = base.store
        passages = {
            text(quad.subject)
            for quad in store.match(None, RDF.type, SHIYI.Passage)
            if f"/source/{name}@" in str(quad.graph_name)
        }
        if not passages:
            raise UsageError(f"{name} is no file, and no source of this base that has passages")
        partial_file = path.with_name(path.name + ".part")
        with partial_file.open("w", encoding="utf-8") as out:
            for iri in sorted(passages):
                value = next(iter(store.match(NamedNode(iri), RDF.value)), None)
                if value is not None:
                    row = {"id": iri, "text": text(value.object)}
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
        partial_file.replace(path)
