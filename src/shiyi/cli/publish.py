"""``shiyi export``, ``release``, ``diff`` and ``explain``."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Context, Option

from shiyi.cli.terminal import Json, emit, settings_of, warn
from shiyi.errors import FormatError, UsageError

if TYPE_CHECKING:
    from shiyi.publishing.editions import Edition
    from shiyi.settings import Settings
    from shiyi.sparql.store.port import QuadStore


RDF_FORMATS = ("nq", "trig", "ttl", "nt", "jsonld", "rdfxml")
Format = Literal[
    "nq", "trig", "ttl", "nt", "jsonld", "rdfxml", "csv", "neo4j", "kgx", "sssom", "parquet"
]


def export(
    ctx: Context,
    output: Annotated[
        Path,
        Option(
            "--output", "-o", metavar="PATH", help="A file, a folder for tables, or - for stdout."
        ),
    ],
    part: Annotated[
        Literal["all", "sft"],
        Argument(help="sft: the fine-tuning set of the schools, in chat format."),
    ] = "all",
    school: Annotated[str | None, Option(metavar="NAME", help="sft: of this school alone.")] = None,
    profile: Annotated[
        Literal["rdf12", "rdf11", "singleton", "nanopub", "skos"],
        Option(help="RDF profile of claims: rdf12, rdf11, singleton, nanopub or skos."),
    ] = "rdf11",
    form: Annotated[Format, Option("--format", help="Format of the file or tables.")] = "nq",
    licence: Annotated[
        str | None, Option(metavar="L", help="Only what sources under this licence support.")
    ] = None,
) -> None:
    """Write the knowledge base; print how much was written."""
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings_of(ctx)) as base:
        if part == "sft":
            amount = _write_training_set(base.store, output, school)
        elif form in RDF_FORMATS:
            amount = f"{_write_rdf(base.store, output, form, profile, licence)} of {form}"
        else:
            amount = f"{_write_tables(base.store, output, form, licence)} of {form}"
    warn(f"wrote {amount} to {output}")


def _write_rdf(
    store: "QuadStore", output: Path, form: str, profile: str, licence: str | None
) -> str:
    from shiyi.publishing.dumps import check, write_dump

    check(form, profile)
    if str(output) == "-":
        write_dump(store, sys.stdout.buffer, form, profile, licence)
        return "all"
    with _replace_file(output) as file:
        write_dump(store, file, form, profile, licence)
        return f"{file.tell():,} bytes"


def _write_training_set(store: "QuadStore", output: Path, school: str | None) -> str:
    from shiyi.answering.knowledge.overlay import find_school
    from shiyi.answering.retrieval.casebook import chains, training_lines

    wanted = find_school(store, school) if school else ""
    lines = [f"{line}\n".encode() for line in training_lines(chains(store, wanted))]
    if str(output) == "-":
        sys.stdout.buffer.writelines(lines)
    else:
        with _replace_file(output) as file:
            file.writelines(lines)
    return f"{len(lines):,} conversations"


def _write_tables(store: "QuadStore", output: Path, form: str, licence: str | None) -> str:
    from shiyi.publishing import dumps, tables

    if str(output) == "-":
        raise UsageError(f"{form} is several files: name a folder with -o")
    result = {
        "csv": tables.csv_tables,
        "neo4j": tables.neo4j_tables,
        "kgx": tables.kgx_tables,
        "sssom": tables.sssom_tables,
        "parquet": tables.csv_tables,
    }[form](store, licence)
    if form == "parquet":
        return f"{dumps.write_parquet(result, output):,} rows"
    return f"{tables.write_tables(result, output):,} rows"


@contextmanager
def _replace_file(path: Path) -> Iterator[IO[bytes]]:
    """Write beside the target and rename, so that a failed export leaves the old file."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as fault:
        raise UsageError(f"{path} cannot be written: {fault.strerror}") from fault
    finally:
        part.unlink(missing_ok=True)


def release(
    ctx: Context,
    name: Annotated[str, Argument(metavar="VERSION", help="Such as 1.0.0.")],
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="DIR",
            help="DIR/VERSION is written (default: releases/ in the knowledge base).",
        ),
    ] = None,
    date: Annotated[
        str,
        Option(metavar="DAY", help="The day of issue (default: SOURCE_DATE_EPOCH, else today)."),
    ] = "",
    evaluation: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE", help="Output of `shiyi evaluate --json`, or a page of figures (.md)."
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Write a release; status 1 where its data violate their shapes."""
    from shiyi.build import Steps
    from shiyi.publishing.release import ReleaseRequest, issue_date, publish
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    settings = settings_of(ctx)
    home = output or settings.kb / "releases"
    with KnowledgeBase.of(settings) as base:
        order = ReleaseRequest(
            name, date or issue_date(), base.release, settings.base, tuple(evaluation or ())
        )
        result = publish(base.store, home, order, Steps(sys.stderr).begin)
    if as_json:
        emit(
            {
                "folder": str(result.folder),
                "version": name,
                "canonical": result.canonical,
                "release": order.release,
                "conforms": result.conforms,
                "unchanged": result.unchanged,
                "changes": result.changes.counts() if result.changes else None,
            }
        )
    else:
        print(f"{'unchanged' if result.unchanged else 'wrote'} {result.folder}: {result.canonical}")
        if result.changes:
            print(f"since {result.changes.old.version}: {_numbers(result.changes.counts())}")
        if not result.conforms:
            warn("its data violate their shapes; see shacl-report.ttl")
    return 0 if result.conforms else 1


def _numbers(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())


ReleaseName = Annotated[str, Argument(help="A folder or version of a release, or a base's folder.")]


def diff(
    ctx: Context,
    old: ReleaseName = "",
    new: ReleaseName = "",
    school: Annotated[
        list[str] | None, Option(metavar="NAME", help="Twice: compare what two schools state.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Print what changed, claim by claim; status 1 where something did."""
    from shiyi.publishing.editions import compare

    settings = settings_of(ctx)
    names = [*filter(None, (old, new)), *(f"school:{each}" for each in school or ())]
    if len(names) != 2:
        raise UsageError("two are compared: name two releases or bases, or --school NAME twice")
    result = compare(*(edition(name, settings) for name in names))
    if as_json:
        emit(result.to_json())
    else:
        for sentence in result.sentences():
            print(sentence)
        print(_numbers(result.counts()))
    return 1 if result.has_changes else 0


def edition(name: str, settings: "Settings") -> "Edition":
    """Read a release or a base by its folder or version, or ``school:NAME`` of the base."""
    from shiyi.publishing.editions import RECORD, Edition
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    if name.startswith("school:"):
        return _edition_of_school(name.removeprefix("school:"), settings)
    places = (Path(name), settings.kb / "releases" / name)
    for folder in places:
        if (folder / RECORD).is_file():
            return Edition.of_folder(folder)
    if (places[0] / "CURRENT").is_file():
        with KnowledgeBase.open(places[0]) as base:
            return Edition.of_store(base.store, base.release)
    raise UsageError(
        f"{name} is neither a release nor a knowledge base; name a folder with {RECORD}, "
        f"a version in {places[1].parent}, or a folder made by `shiyi build`"
    )


def _edition_of_school(name: str, settings: "Settings") -> "Edition":
    """Read the overlay of a school, or what the books of a school of the table state."""
    from shiyi.answering.knowledge.overlay import (
        find_school,
        overlay_of_books,
        overlay_of_school,
        schools,
    )
    from shiyi.answering.knowledge.updates import open_state
    from shiyi.ingest.documents.books import labels
    from shiyi.model.iris import resource
    from shiyi.model.rdf import NamedNode, canonical
    from shiyi.ontology.schema import Schema
    from shiyi.publishing.editions import Edition, ReleasedClaim
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        facts, known = open_state(base, Schema.load(), base.store).facts, schools(base.store)
        of_books = [label for (kind, _), label in labels().items() if kind == "school"]
        books = next((x for x in of_books if name in (x.id, x.zh, x.en)), None)
        if books and name not in known.values():
            overlay = overlay_of_books(base.store, resource(f"school-{books.id}"), facts)
        elif not known:
            raise FormatError("school", name, [label.id for label in of_books])
        else:
            overlay = overlay_of_school(base.store, find_school(base.store, name), facts)
        accepted_facts = [f for claim in overlay.taught for f in facts.by_claim[claim]]
        labels_of = overlay.over(facts).labels
    claims = {}
    for fact in (*overlay.facts, *accepted_facts):
        start, end = labels_of.get(fact.subject, {}), labels_of.get(fact.object, {})
        claims[fact.claim] = ReleasedClaim(
            fact.claim,
            fact.subject,
            start.get("zh", ""),
            start.get("en", ""),
            fact.predicate.value,
            fact.object if fact.language else canonical(NamedNode(fact.object)),
            end.get("zh", ""),
            end.get("en", ""),
            "positive" if fact.positive else "negative",
            "candidate" if fact.origin else "accepted",
            f"{fact.confidence:g}",
            "",
        )
    return Edition(name, base.release, claims, frozenset())


def explain(
    ctx: Context, claim: Annotated[str, Argument(metavar="CLAIM-IRI")], as_json: Json = False
) -> None:
    """Print a claim, its evidence, and the arithmetic of its confidence."""
    from shiyi.publishing import description
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings_of(ctx)) as base:
        derivation = description.explain_claim(base.store, claim)
    if derivation is None:
        raise UsageError(f"{claim} is no claim of this base; citations carry claim IRIs")
    if as_json:
        emit(derivation)
    else:
        _print(derivation, "")


def _print(derivation: dict[str, Any], indent: str) -> None:
    print(f"{indent}{derivation['subject']} — {derivation['predicate']} — {derivation['object']}")
    status = ", ".join(str(derivation[name]) for name in ("status", "polarity") if derivation[name])
    print(
        f"{indent}{status or 'entailed'}, confidence {derivation['confidence']}: "
        f"{derivation['why']}"
    )
    if parts := derivation["parts"]:
        print(f"{indent}parts: {', '.join(f'{name} {n:g}' for name, n in parts.items())}")
    for item in derivation["evidence"]:
        print(
            f"{indent}- {item['source']} ({item['kind']}, {item['tier']}) {item['locator']}: "
            f"{item['confidence']}"
        )
    if derivation["premises"]:
        print(f"{indent}follows by {', '.join(derivation['rules'])} from:")
    for premise in derivation["premises"]:
        _print(premise, indent + "  ")
