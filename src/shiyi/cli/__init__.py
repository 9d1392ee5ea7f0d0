"""``shiyi``, the command: one module per verb, each over the package that does it."""

import argparse
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from shiyi.errors import ConformanceError, OutsideError, SettingError, ShiyiError
from shiyi.settings import Settings

VERBS = {
    "build": "make the starter knowledge base from the project's own tables",
    "ask": "ask one question; get an answer with citations",
    "chat": "ask question after question, each in the light of those before",
    "ingest": "read books, texts or tables into passages and candidate claims",
    "forget": "remove an ingested source and what stood on it alone",
    "serve": "serve pages, API, SPARQL endpoint and linked data",
    "mcp": "serve assistants over the Model Context Protocol",
    "token": "say who may write over HTTP: add, list, revoke",
    "review": "curate without a browser: queue, show, accept, reject, edit, merge, undo, log",
    "user": "say who may curate: add, role, password, disable, list",
    "sync": "carry what curators changed to the tables, and what the tables changed to the base",
    "query": "run a SPARQL 1.2 query, read-only",
    "link": "find the concepts a text mentions",
    "validate": "check the knowledge base, or files, against the shapes",
    "export": "write the knowledge base in another form",
    "release": "write a hashed, documented release of everything that may leave",
    "diff": "say what changed between two releases, claim by claim",
    "reason": "check the ontology, or recompute importance and inherited cautions",
    "explain": "say where a claim comes from and how its confidence was made",
    "evaluate": "measure methods, baselines and ablations on question files",
    "train": "train the shipped embedding",
    "index": "write what answers open anew: after an upgrade, or when much was ingested",
    "backup": "copy the whole base to a new folder, also while it is served",
    "restore": "check a backup, and make a new base of it",
    "doctor": "say what is installed and what the knowledge base holds",
}


def main(argv: list[str] | None = None) -> int:
    """Run one verb; return 0, or 1 for a finding, 2 for bad input, 3 for a fault outside."""
    # measured: on busy cores a product of one vector waits up to 30 ms for a second BLAS thread
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = sys.argv[1:] if argv is None else argv
    args = _parser(arguments).parse_args(arguments)
    try:
        settings = read_settings(args.kb)
        return int(import_module(f"shiyi.cli.{args.verb}").run(args, settings))
    except ConformanceError as fault:
        return _fail(fault, 1)
    except OutsideError as fault:
        return _fail(fault, 3)
    except ShiyiError as fault:
        return _fail(fault, 2)
    except BrokenPipeError:  # the reader of a pipe went away
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("stopped; run the same command again to go on", file=sys.stderr)
        return 130


def read_settings(kb: str | None) -> Settings:
    """Read ``shiyi.toml`` where ``SHIYI_SETTINGS`` or the working folder has one."""
    env = dict(os.environ)
    if kb:
        env["SHIYI_KB"] = kb
    named = env.get("SHIYI_SETTINGS")
    path = Path(named or "shiyi.toml")
    if named and not path.is_file():
        raise SettingError("SHIYI_SETTINGS", f"names no file: {named}")
    try:
        toml = path.read_text(encoding="utf-8") if path.is_file() else ""
    except UnicodeDecodeError as fault:
        raise SettingError(str(path), "is not UTF-8") from fault
    return Settings.read(toml, env)


def emit(value: Any) -> None:
    """Print one JSON object for programs."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shiyi", description="An open knowledge platform for medicine-food homology 食医."
    )
    parser.add_argument("--kb", metavar="DIR", help="the knowledge base (default kb/, or SHIYI_KB)")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, does in VERBS.items():
        sub = verbs.add_parser(verb, help=does, description=f"{does[0].upper()}{does[1:]}.")
        if verb in arguments:  # only the verb at hand is imported
            import_module(f"shiyi.cli.{verb}").configure(sub)
    return parser


def _fail(fault: ShiyiError, status: int) -> int:
    print(f"shiyi: {fault}", file=sys.stderr)
    return status
