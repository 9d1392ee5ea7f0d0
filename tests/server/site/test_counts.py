"""What a base holds is counted once and stored for the moment it was counted at."""

import json
from pathlib import Path

from shiyi.model.rdf import DefaultGraph, Quad, text
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.publishing.void import Counts as Described
from shiyi.server.site.counts import (
    FILE,
    SPREAD_FILE,
    VOID_FILE,
    ClaimDistribution,
    Counts,
    load_description,
    load_spread,
    store_counts,
    store_description,
)
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.contracts import A


def test_counts_are_cached_until_the_next_write(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb) as base:
        first, place = dict(Counts.of(base, base.store, whole=True)), base.folder / "index" / FILE
        assert first["quads"] == len(base.store)
        stored = json.loads(place.read_text("utf-8").partition("\n")[0])
        stored["counts"]["quads"] = 7
        place.write_text(json.dumps(stored), "utf-8")
        assert Counts.of(base, base.store, whole=True)["quads"] == 7  # as it was stored
        assert Counts.of(base, base.store, whole=False)["quads"] == first["quads"]
    with KnowledgeBase.open(small_kb, write=True) as base:
        base.writer.write([Quad(A, RDF.type, SHIYI.Food)], key="one", agent="me", reason="test")
        after = Counts.of(base, base.store, whole=True)
        assert after["Food"] == first.get("Food", 0) + 1
        assert after["quads"] == len(base.store)


def test_damaged_or_unwritable_counts_are_no_fault(small_kb: Path) -> None:
    with KnowledgeBase.open(small_kb) as base:
        place = base.folder / "index" / FILE
        place.write_bytes(b"[1, 2")
        assert Counts.of(base, base.store, whole=True)["quads"] == len(base.store)
        stored = json.loads(place.read_text("utf-8").partition("\n")[0])["counts"]
        assert stored["quads"] == len(base.store)
        place.unlink()
        place.mkdir()  # nothing can take its place
        assert Counts.of(base, base.store, whole=True)["quads"] == len(base.store)


def test_void_counts_are_stored_until_a_change(starter_kb: Path, small_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        counts = load_description(base)  # by the build
        assert counts is not None
        [row] = base.store.select("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
        assert str(counts.triples) == text(row["n"])
        assert counts.links
    with KnowledgeBase.open(small_kb, write=True) as base:
        assert load_description(base) is None
        store_counts(base)
        before = load_description(base)
        assert before == Described.of(base.store.match(graph=DefaultGraph()))
        base.writer.write([Quad(A, RDF.type, SHIYI.Food)], key="one", agent="me", reason="test")
        assert load_description(base) is None
        assert load_description(base, earlier=True) == before
        now = Described.of(base.store.match(graph=DefaultGraph()))
        after = store_description(base, lambda: now)
        assert load_description(base) == after
        assert after.classes[SHIYI.Food.value] == 1
        place = base.folder / "index" / VOID_FILE
        for damaged in (b"[1, 2", b"{}", place.read_bytes().replace(b'"links"', b'"lines"')):
            place.write_bytes(damaged)
            assert load_description(base) is None


def test_claim_distribution_is_stored_until_a_change(starter_kb: Path, small_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        distribution = load_spread(base)  # by the build
        assert distribution == ClaimDistribution.of(base.store)
        assert sum(distribution.confidence) == sum(distribution.relations.values()) > 10_000
        assert {"classic", "recalled"} <= distribution.tiers.keys()
        assert distribution.kinds
    with KnowledgeBase.open(small_kb, write=True) as base:
        store_counts(base)
        place = base.folder / "index" / SPREAD_FILE
        whole = place.read_bytes()
        assert load_spread(base) == ClaimDistribution.of(base.store)
        for damaged in (b"[1, 2", b"{}", whole.replace(b'"tiers"', b'"tears"')):
            place.write_bytes(damaged)
            assert load_spread(base) is None
        place.write_bytes(whole)
        base.writer.write([Quad(A, RDF.type, SHIYI.Food)], key="one", agent="me", reason="test")
        assert load_spread(base) is None
