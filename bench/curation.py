"""Curation at 350,000 generated claims: queue page, a decision in the next answer, an import.

Usage: bench/curation.py [CLAIMS] [REVIEWS]
"""

import base64
import hashlib
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from flask.testing import FlaskClient

from shiyi.curation.accounts import AccountStore, Role
from shiyi.curation.bundles import _as_json, import_bundle, public_key, read_bundle, signing_key
from shiyi.curation.changes import Change, Changes
from shiyi.model.iris import content_hash, graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Triple, canonical, decimal
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI, SKOS
from shiyi.server.app import create_app
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore

RELATIONS = (
    SHIYI.hasEfficacy,
    SHIYI.relieves,
    SHIYI.indicatedFor,
    SHIYI.interactsWith,
    SHIYI.cautionIn,
)
HARM = {SHIYI.interactsWith.value, SHIYI.cautionIn.value}  # two reviewers decide these
PAGES = 60


def claims(count: int) -> Iterator[tuple[str, list[Quad]]]:
    """Yield claims with one piece of evidence each; three in ten are candidates."""
    chance = random.Random(1)  # noqa: S311 - a bench
    things = [resource(f"substance-g{i}") for i in range(count // 20)]
    ends = [resource(f"symptom-g{i}") for i in range(count // 60)]
    source = resource("source-generated")
    for node, kind in (
        *((t, SHIYI.MFHSubstance) for t in things),
        *((e, SHIYI.Symptom) for e in ends),
    ):
        name = node.value.rpartition("/")[2]
        yield (
            "",
            [Quad(node, RDF.type, kind), Quad(node, SKOS.prefLabel, Literal(name, language="en"))],
        )
    yield (
        "",
        [Quad(source, SHIYI.lineage, Literal("generated")), Quad(source, RDF.type, SHIYI.Source)],
    )
    seen: set[str] = set()
    while len(seen) < count:
        s, p, o = chance.choice(things), chance.choice(RELATIONS), chance.choice(ends)
        iri = f"claim/{content_hash(*map(canonical, (s, p, o)), 'positive')}"
        if iri in seen:
            continue
        seen.add(iri)
        yield iri, _quads(resource(iri), (s, p, o), chance, source)


def _quads(
    claim: NamedNode,
    parts: tuple[NamedNode, NamedNode, NamedNode],
    chance: random.Random,
    source: NamedNode,
) -> list[Quad]:
    candidate = chance.random() < 0.3
    place = graph("candidates") if candidate else DefaultGraph()
    sure, node = decimal(round(chance.uniform(0.2, 0.95), 3)), NamedNode(f"{claim.value}-e")
    status = SHIYI.candidate if candidate else SHIYI.accepted
    s, p, o = parts
    results: list[tuple[NamedNode, NamedNode, Any]] = [
        (claim, RDF.reifies, Triple(*parts)),
        (claim, RDF.type, SHIYI.Claim),
        (claim, SHIYI.status, status),
        (claim, SHIYI.polarity, SHIYI.positive),
        (claim, SHIYI.confidence, sure),
        (claim, SHIYI.evidence, node),
        (node, DCTERMS.source, source),
        (node, SHIYI.extractionConfidence, sure),
        (node, SHIYI.sourceTier, resource("tier-textbook")),
        (node, RDF.type, SHIYI.Evidence),
    ]
    results += (
        [(claim, RDF.subject, s), (claim, RDF.predicate, p), (claim, RDF.object, o)]
        if candidate
        else [parts]
    )
    return [Quad(*row, place) for row in results]


def build(kb: Path, count: int) -> list[str]:
    """Write the base as its files, and give the claims."""
    folder = kb / "generations" / "one"
    (folder / "index").mkdir(parents=True)
    store, names = OxigraphStore.on_disk(folder / "store"), []
    batch: list[Quad] = []
    for name, quads in claims(count):
        names += [resource(name).value] if name else []
        batch += quads
        if len(batch) > 200_000:
            store.load_quads(batch)
            batch = []
    store.load_quads(batch)
    store.close()
    (folder / "manifest.json").write_text(json.dumps({"release": "sha256:generated"}))
    (kb / "CURRENT").write_text("one\n")
    return names


def bundle(kb: Path, names: list[str], count: int) -> bytes:
    """Sign reviews that one and two people might have made elsewhere."""
    chance, key = random.Random(2), signing_key(kb)  # noqa: S311
    lines = [json.dumps({"format": "shiyi-reviews 1", "key": public_key(key)}).encode() + b"\n"]
    for i in range(count):
        kind = chance.choice(("accept", "accept", "reject"))
        notes = ((SHIYI.agreement, decimal(1.0 if kind == "accept" else -1.0)),)
        change = Change(
            resource(f"change/{uuid4().hex}").value,
            i + 1,
            kind,
            chance.choice(("li", "wang")),
            "2026-01-01T00:00:00Z",
            "",
            (chance.choice(names),),
            notes=notes,
        )
        lines.append(json.dumps(_as_json(change)).encode() + b"\n")
    signed = key.sign(hashlib.sha256(b"".join(lines)).digest())
    return b"".join(lines) + json.dumps({"signature": base64.b64encode(signed).decode()}).encode()


def expect(holds: bool, why: str) -> None:
    if not holds:
        raise SystemExit(why)


def time_call(ask: Callable[[], object]) -> tuple[float, float]:
    """Return milliseconds of wall clock and of this process's own work."""
    began, worked = time.perf_counter(), time.process_time()
    ask()
    return (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000


def serve(kb: Path, count: int) -> dict[str, float]:
    """Measure pages and a decision on the running application."""
    person = AccountStore(kb).add("li", Role.EDITOR, "correct horse battery")
    began = time.perf_counter()
    app = create_app(kb)
    opened = time.perf_counter() - began
    site = app.extensions["shiyi"]
    values = {"who": "li", "epoch": person.epoch, "since": int(time.time()), "csrf": "token"}
    cookie = app.session_interface.get_signing_serializer(app).dumps(values)  # type: ignore[attr-defined]
    client: FlaskClient = app.test_client(use_cookies=False)
    headers = {"Cookie": f"shiyi_session={cookie}", "Accept": "text/html"}

    def page(query: str) -> None:
        answer = client.get(f"/curate/queue?{query}", headers=headers)
        expect(answer.status_code == 200, answer.text[:500])

    first, _ = time_call(lambda: page(""))
    queries = [
        "",
        "status=candidate",
        "relation=interactsWith",
        "harm=yes",
        "tier=textbook&from=500",
        "view=all&from=10000",
        "shape=MFHSubstance",
    ]
    group = [time_call(lambda q=q: page(q)) for q in queries * (PAGES // len(queries))]  # type: ignore[misc]
    pages, work = (sorted(column) for column in zip(*group, strict=True))
    decisions = [time_decision(client, headers, i) for i in range(20)]
    took, own = (sorted(column) for column in zip(*decisions, strict=True))
    site.close()
    return {
        "claims": count,
        "open_s": round(opened, 1),
        "first_page_ms": round(first),
        "page_p50_ms": round(statistics.median(pages), 1),
        "page_p95_ms": round(pages[int(len(pages) * 0.95)], 1),
        "page_p95_cpu_ms": round(work[int(len(work) * 0.95)], 1),
        "decision_to_answer_p50_ms": round(statistics.median(took), 1),
        "decision_to_answer_max_ms": round(took[-1], 1),
        "decision_to_answer_max_cpu_ms": round(own[-1], 1),
    }


def time_decision(client: FlaskClient, headers: dict[str, str], i: int) -> tuple[float, float]:
    """Reject a claim that an answer cites, and ask again until it does not; milliseconds."""
    question = f"What are the effects of substance-g{i}?"

    def cited() -> set[str]:
        reply: Any = client.post("/api/ask", json={"question": question, "lang": "en"}).json
        return {
            item["claim"] for item in reply["citations"] if item["predicate"]["iri"] not in HARM
        }

    before = sorted(cited())
    if not before:
        raise SystemExit(f"the answer to {question!r} cites nothing")
    form = {
        "csrf": "token",
        "claim": before[0],
        "kind": "reject",
        "reason": "bench",
        "key": uuid4().hex,
    }
    other = {**headers, "Accept": "application/json"}

    def decide() -> None:
        answer: Any = client.post("/curate/review", data=form, headers=other)
        expect(answer.status_code == 200 and not answer.json["waits"], answer.text[:500])
        expect(before[0] not in cited(), "the next answer still cites the claim")

    return time_call(decide)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 350_000
    reviews = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        kb = Path(folder) / "kb"
        names = build(kb, count)
        number = serve(kb, count)
        content = bundle(kb, names, reviews)
        with KnowledgeBase.open(kb, write=True) as base:
            began, worked = time.perf_counter(), time.process_time()
            changes = read_bundle(content, [public_key(signing_key(kb))])
            result = import_bundle(Changes(base.writer), changes)
            number |= {
                "reviews": reviews,
                "import_s": round(time.perf_counter() - began, 1),
                "import_cpu_s": round(time.process_time() - worked, 1),
                "made": result.made,
                "refused": len(result.refused),
            }
    for name, value in number.items():
        print(f"{name:28} {value:>12}")


if __name__ == "__main__":
    main()
