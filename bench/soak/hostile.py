"""Hostile requests by the thousand, made from a seed, at a real server: it lives, stays small, says no.

They come from some addresses of this machine, good requests beside them from another.
"""

import http.client
import json
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import psutil
from tests.support import bases
from tests.support.processes import serving

from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation, compute_release

_DEADLINE = 0.5  # seconds that the server allows a free query here
_PAGES = tuple(sorted(bases.CONCEPTS))[:20]
_GOOD = f"/sparql?query={quote('SELECT ?s { ?s ?p ?o } LIMIT 5')}"
_FRIEND = "127.0.2.1"
_NOTES = 20


@dataclass(slots=True)
class AttackReport:
    """Requests sent, their answers by status, good requests beside them, and the server's memory."""

    requests: int = 0
    kinds: int = 0
    addresses: int = 0  # that the hostile ones came from
    statuses: dict[str, int] = field(default_factory=dict)
    faults: int = 0  # answers of 500, or none
    late: int = 0  # answers later than deadline + 0.5 s, counted from when they were sent
    good: int = 0
    good_failed: int = 0
    good_p99_ms: dict[str, float] = field(default_factory=dict)  # by kind
    grown_mib: float = 0.0  # the server's process alone
    grown_mib_by_quarter: list[float] = field(default_factory=list)
    slowest: float = 0.0
    notes: list[str] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        values = asdict(self)
        del values["times"]
        return values


def _nest(chance: random.Random, begin: str, end: str, core: str) -> str:
    depth = chance.choice((50, 200, 900, 3000, 9000))
    return begin * depth + core + end * depth


def _query(text: str) -> tuple[str, str, bytes, str]:
    body = f"query={quote(text, errors='replace')}".encode()
    return "POST", "/sparql", body, "application/x-www-form-urlencoded"


def _json(path: str, text: Any) -> tuple[str, str, bytes, str]:
    return "POST", path, json.dumps(text).encode(), "application/json"


def _product(chance: random.Random) -> str:
    patterns = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(chance.randrange(4, 8)))
    shape = chance.choice(
        (
            "SELECT (COUNT(*) AS ?n) {{ {} }}",
            "SELECT * {{ {} }} ORDER BY ?a0 ?c1",
            "CONSTRUCT {{ ?a0 ?b1 ?c2 }} {{ {} }}",
            "SELECT DISTINCT ?a0 ?c3 {{ {} }}",
        )
    )
    return shape.format(patterns)


def _doubling(chance: random.Random) -> str:
    steps = chance.randrange(28, 60)
    joined = " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(steps))
    return f"SELECT ?x{steps} {{ BIND('0123456789' AS ?x0) {joined} }}"


def _noise(chance: random.Random, most: int = 400) -> str:
    pieces = (
        "{",
        "}",
        "(",
        ")",
        "<",
        ">",
        '"',
        "'",
        "\\",
        "SELECT",
        "WHERE",
        "?x",
        "a",
        ".",
        ";",
        "FILTER",
        "\\u0000",
        "\x00",
        "\ud7ff",
        "﷽",
        "OPTIONAL",
        "UNION",
        "<<(",
        ")>>",
        "LOAD",
        "#",
    )
    return " ".join(chance.choices(pieces, k=chance.randrange(1, most)))


def _replacing(chance: random.Random) -> tuple[str, str, bytes, str]:
    times = chance.randrange(2, 60)
    grown = "REPLACE(" * times + "'aa'" + ", 'a', 'aaaaaaaa')" * times
    return _query("SELECT (STRLEN(" + grown + ") AS ?n) {}")


KINDS: dict[str, Callable[[random.Random], tuple[str, str, bytes, str]]] = {
    "braces": lambda c: _query("SELECT * " + _nest(c, "{", "}", "")),
    "parentheses": lambda c: _query(f"ASK {{ ?a ?b ?c FILTER({_nest(c, '(', ')', '1')}) }}"),
    "exists": lambda c: _query(f"ASK {{ {_nest(c, 'FILTER EXISTS {', '}', '')} }}"),
    "optional": lambda c: _query(f"SELECT * {{ {_nest(c, 'OPTIONAL {', '}', '?a ?b ?c')} }}"),
    "if": lambda c: _query(f"ASK {{ FILTER({_nest(c, 'IF(true,', ',1)', '1')}) }}"),
    "negation": lambda c: _query(f"ASK {{ ?a ?b ?c FILTER({'!' * c.randrange(100, 60_000)}?a) }}"),
    "sum": lambda c: _query(f"ASK {{ FILTER({'1+' * c.randrange(100, 30_000)}1 > 0) }}"),
    "triple terms": lambda c: _query(
        f"ASK {{ ?s ?p {_nest(c, '<<( <a:a> <a:b> ', ' )>>', '<a:c>')} }}"
    ),
    "union": lambda c: _query(f"SELECT * {{ {' UNION '.join(['{ ?a ?b ?c }'] * c.randrange(50, 900))} }}"),
    "values": lambda c: _query(f"SELECT * {{ VALUES ?x {{ {'1 ' * c.randrange(100, 30_000)} }} }}"),
    "product": lambda c: _query(_product(c)),
    "doubling": lambda c: _query(_doubling(c)),
    "path": lambda c: _query(f"SELECT * {{ ?a (!<a:{c.random()}>|^!<b:b>)* ?b . ?c (!<c:c>)+ ?d }}"),
    "long path": lambda c: _query(f"ASK {{ ?a {'/'.join(['<a:a>?'] * c.randrange(20, 400))} ?b }}"),
    "regex": lambda c: _query(f"SELECT * {{ ?s ?p ?o FILTER REGEX(STR(?o), '{'(a+)+' * c.randrange(1, 40)}$') }}"),
    "replace": _replacing,
    "service": lambda c: _query(f"SELECT * {{ SERVICE {c.choice(('', 'SILENT '))}<http://127.0.0.1:{c.randrange(1, 65536)}/> {{ ?s ?p ?o }} }}"),
    "update": lambda c: _query(c.choice(("DROP ALL", "CLEAR DEFAULT", "LOAD <file:///etc/passwd>",
    "INSERT DATA { <a:a> <a:a> 1 }"))),
    "noise": lambda c: _query(_noise(c)),
    "noise in query": lambda c: _query(f"SELECT * {{ {_noise(c)} }}"),
    "long": lambda c: _query("#" * c.randrange(70_000, 900_000)),
    "big iri": lambda c: _query(f"ASK {{ <{'a:' + 'b' * c.randrange(1000, 60_000)}> ?p ?o }}"),
    "big number": lambda c: _query(f"SELECT ({'9' * c.randrange(100, 50_000)} * 2 AS ?n) {{}}"),
    "prefixes": lambda c: _query("".join(f"PREFIX p{n}: <a:{n}> " for n in range(c.randrange(10,
    1500))) + "ASK {}"),
    "subqueries": lambda c: _query(_nest(c, "SELECT * { { ", " } }", "SELECT * {}")),
    "group": lambda c: _query("SELECT (GROUP_CONCAT(CONCAT(STR(?a), STR(?f), STR(?i))) AS ?x) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"),
    "bad bytes": lambda c: ("POST", "/sparql", b"query=" + c.randbytes(c.randrange(1, 500)),
    "application/x-www-form-urlencoded"),
    "bad type": lambda c: ("POST", "/sparql", c.randbytes(50), c.choice(("text/html", "x", "",
    "application/sparql-query; charset=utf-7"))),
    "raw query": lambda c: ("POST", "/sparql", c.randbytes(c.randrange(0, 200)),
    "application/sparql-query"),
    "raw update": lambda c: ("POST", "/sparql", b"DROP ALL", "application/sparql-update"),
    "twice": lambda c: ("GET", "/sparql?query=ASK%7B%7D&query=ASK%7B%7D", b"", ""),
    "graph store": lambda c: (c.choice(("PUT", "POST", "DELETE")), "/rdf-graph-store?default",
    b"<a:a> <a:a> 1 .", "text/turtle"),
    "deep json": lambda c: ("POST", "/api/ask", b"[" * (n := c.randrange(100, 100_000)) + b"]" * n,
    "application/json"),
    "json noise": lambda c: ("POST", "/api/ask", _noise(c).encode(errors="replace"),
    "application/json"),
    "types": lambda c: _json("/api/ask", {"question": c.choice((1, None, [], {}, True, "", " ",
    "x" * 3000)), "profile": c.choice((None, 1, [], {"age": "x"}, {"age": 1e308}))}),
    "context": lambda c: _json("/api/ask", {"question": "goji", "context": c.choice((1, "x",
    {"questions": 1}, {"questions": [1]}, {"questions": ["x"] * 500}))}),
    "link": lambda c: _json("/api/link", {"text": _noise(c, 200)}),
    "complete": lambda c: ("GET",
    f"/api/complete?q={quote(_noise(c, 30))}&limit={c.choice(('x', '-1', '1e9', '0', '99999999999'))}", b"", ""),
    "names": lambda c: ("GET", c.choice(("/id/", "/page/", "/data/", "/vocab/",
    "/releases/")) + quote(_noise(c, 20), safe=""), b"", ""),
    "paths": lambda c: ("GET", c.choice(("/../../etc/passwd", "/static/../../shiyi.toml",
    "/releases/..%2f..%2fetc", "//evil.example/", "/%00", "/id/%2e%2e%2f")), b"", ""),
    "headers": lambda c: ("GET", "/", b"", _noise(c, 20).encode("ascii",
    "ignore").decode().replace("\x00", "")),
    "desk": lambda c: ("POST", c.choice(("/curate/review", "/curate/undo", "/curate/edit",
    "/curate/people")), _noise(c).encode(errors="replace"), "application/x-www-form-urlencoded"),
}  # fmt: skip


LIMITS = {
    f"SHIYI_QUERY_{name}": str(value)
    for name, value in {
        "TIMEOUT": _DEADLINE, "TIMEOUT_CAP": _DEADLINE, "MEMORY_MIB": 384, "WORKERS": 4,
    }.items()
}  # fmt: skip


def hostile(count: int, seed: int, clients: int = 3, addresses: int = 3) -> AttackReport:
    """Send ``count`` hostile requests of every kind to a server of its own, with good ones beside."""
    found = AttackReport(kinds=len(KINDS), addresses=addresses)
    with TemporaryDirectory() as folder:
        kb, quads = Path(folder) / "kb", list(bases.kitchen_quads())
        build_generation(kb, quads, {"quads": len(quads)})
        before = _state(kb)
        with (
            serving(kb, LIMITS) as (address, server),
            ProcessPoolExecutor(clients, get_context("spawn")) as enemies,
        ):
            process = psutil.Process(server.pid)
            crowd = Attackers(address.removeprefix("http://"), clients, addresses, enemies)
            _siege(crowd, count // 10, seed - 1, AttackReport())  # so that what is stored is there
            first = _resident(process)
            parts = [count * part // 4 - count * (part - 1) // 4 for part in range(1, 5)]
            for part, share in enumerate(parts):
                _siege(crowd, share, seed + 7 * part, found)
                found.grown_mib_by_quarter.append(round(_resident(process) - first, 1))
            found.grown_mib = found.grown_mib_by_quarter[-1]
            found.requests = count
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                found.faults += 1
                found.notes.append("the server has died")
        if _state(kb) != before:
            found.faults += 1
            found.notes.append("the store has changed")
    return found


@dataclass(frozen=True, slots=True)
class Attackers:
    """Who besieges a server, from how many addresses, each client in a process of its own."""

    host: str
    clients: int
    addresses: int
    enemies: ProcessPoolExecutor


def _state(kb: Path) -> str:
    with KnowledgeBase.open(kb) as opened:
        return compute_release(opened.store.match())


def _good(number: int) -> tuple[str, str]:
    """Return kind and path: a query that is stored, one that never came before, a page."""
    fresh = f"SELECT ?s {{ ?s ?p ?o }} LIMIT {number % 9973 + 1}"
    return (
        ("cached query", _GOOD),
        ("new query", f"/sparql?query={quote(fresh)}"),
        ("page", f"/page/{_PAGES[number % len(_PAGES)]}"),
    )[number % 3]


def _siege(crowd: Attackers, count: int, seed: int, found: AttackReport) -> None:
    stop = threading.Event()
    asker = threading.Thread(target=_ask, args=(crowd.host, stop, found))
    asker.start()
    attacks = [
        crowd.enemies.submit(
            _attack, crowd.host, seed, range(n, count, crowd.clients), crowd.addresses
        )
        for n in range(crowd.clients)
    ]
    statuses = Counter(found.statuses)
    for each in attacks:
        part = each.result()
        statuses.update(part.statuses)
        found.slowest = max(found.slowest, part.slowest)
        found.late += part.late
        found.faults += part.faults
        found.notes = [*found.notes, *part.notes][:_NOTES]
    stop.set()
    asker.join()
    found.statuses = dict(sorted(statuses.items()))
    found.good_p99_ms = {
        kind: round(statistics.quantiles(times, n=100, method="inclusive")[98], 1)
        for kind, times in sorted(found.times.items())
        if len(times) > 1
    }


def _attack(host: str, seed: int, numbers: range, addresses: int) -> AttackReport:
    """Send the requests of those numbers, one after the other."""
    found, statuses = AttackReport(), Counter[str]()
    chance = random.Random(f"{seed} {numbers.start}")  # noqa: S311 - inputs, not secrets
    for number in numbers:
        kind = list(KINDS)[number % len(KINDS)]
        request = KINDS[kind](chance)
        # as many as clients or fewer: each client has its own
        place = numbers.start if addresses <= numbers.step else chance.randrange(addresses)
        start = time.perf_counter()
        status = _sent(host, request, f"127.0.{3 + place // 250}.{1 + place % 250}")
        took = time.perf_counter() - start
        statuses[str(status)] += 1
        found.slowest = round(max(found.slowest, took), 2)
        late, faulty = took > _DEADLINE + 0.5, status in {0, 500}
        found.late += late
        found.faults += faulty
        if (late or faulty) and len(found.notes) < _NOTES:
            found.notes.append(
                f"{kind}: {status} after {took:.1f} s for {request[1][:80]} {request[2][:80]!r}"
            )
    found.statuses = dict(statuses)
    return found


def _ask(host: str, stop: threading.Event, found: AttackReport) -> None:
    """Send good requests, twenty a second, until instructed to stop."""
    while not stop.is_set():
        kind, path = _good(found.good)
        start = time.perf_counter()
        status = _sent(host, ("GET", path, b"", ""), _FRIEND)
        found.times.setdefault(kind, []).append((time.perf_counter() - start) * 1000)
        found.good += 1
        found.good_failed += status != 200
        if status != 200 and len(found.notes) < _NOTES:
            found.notes.append(f"good {kind}: {status}")
        time.sleep(0.05)


def _sent(host: str, request: tuple[str, str, bytes, str], source: str = _FRIEND) -> int:
    method, path, body, kind = request
    connection = HTTPConnection(host, timeout=60, source_address=(source, 0))
    try:
        headers = {"Accept": "application/sparql-results+json, */*"}
        if kind:
            headers["Content-Type"] = kind
        connection.request(method, path, body or None, headers)
        reply = connection.getresponse()
        try:
            reply.read()
        except http.client.IncompleteRead as part:  # a result past its limit is broken off
            return 507 if path.startswith("/sparql") and len(part.partial) > 1 << 17 else 0
        return reply.status
    except (OSError, http.client.HTTPException):
        return 0
    except ValueError:  # what no client sends
        return 400
    finally:
        with suppress(OSError):
            connection.close()


def _resident(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 2**20
