"""Saving an edit is killed at any moment: afterwards the old state stands, or the new, never half."""

import subprocess
import sys
import time
from pathlib import Path

from shiyi.curation.editing_changes import ACCEPT, replaced
from shiyi.curation.editing_claims import StoredClaim, stored_claim
from shiyi.model.claim import Claim
from shiyi.model.names import resource
from shiyi.model.rdf import DefaultGraph
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests import kitchen

SAVING = """
import sys
from pathlib import Path
from shiyi.curation.changes import Changes
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests.test_desk_killed import edit_of, turned
with KnowledgeBase.open(Path(sys.argv[1]), write=True) as base:
    changes = Changes(base.writer)
    print("ready", flush=True)
    for at in range(10_000):
        changes.make(edit_of(base.store, at), "li")
        print(at, flush=True)
"""
ENDS = ("nature-cold", "nature-hot")


def turned(at: int) -> Claim:
    return kitchen.claim("syndrome-cold", "hasThermalNature", resource(ENDS[at % 2]))


def edit_of(store: object, at: int) -> object:
    old = stored_claim(store, turned(at).iri.value)  # type: ignore[arg-type] # a real store
    assert isinstance(old, StoredClaim), at
    evidence = old.claim.evidence
    new = Claim(old.claim.subject, old.claim.predicate, turned(at + 1).object, evidence)
    from shiyi.curation.state import version_of

    seen = version_of(store, old.iri.value)  # type: ignore[arg-type] # a real store
    return replaced(store, old, [new], f"turn {at}", seen, ACCEPT)  # type: ignore[arg-type] # the same


def test_killed_while_saving_the_claim_stands_whole_as_old_or_as_new(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    quads = list(kitchen.quads())
    build_generation(kb, quads, {"quads": len(quads)})
    root = Path(__file__).parents[1]
    saved, seen = 0, set()
    for turn in range(5):
        start = SAVING.replace("range(10_000)", f"range({saved}, 10_000)")
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
            [sys.executable, "-c", start, str(kb)], cwd=root, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.04 + 0.05 * turn)
        process.kill()
        told = process.stdout.read().split()
        process.stdout.close()
        process.wait()
        with KnowledgeBase.open(kb, write=True) as base:
            status = [_standing(base, at) for at in (0, 1)]
        assert sorted(status) in (["accepted", "retracted"], ["accepted", "nothing"]), status
        now = status.index("accepted")
        seen.add(now)
        least = int(told[-1]) + 1 if told else saved
        assert now in (least % 2, (least + 1) % 2)
        saved = least if least % 2 == now else least + 1  # what was told saved, is saved
    assert saved > 6


def _standing(base: KnowledgeBase, at: int) -> str:
    claim = turned(at)
    held = stored_claim(base.store, claim.iri.value)
    triple = base.store.match(claim.subject, claim.predicate, claim.object, DefaultGraph())
    if held is None:
        assert list(triple) == []
        return "nothing"
    assert (len(list(triple)) == 1) == (held.status == "accepted")
    assert len(held.claim.evidence) == 1
    return held.status
