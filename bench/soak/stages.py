"""What is killed: ten kinds of work on a knowledge base, each with its check."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from tests.support import bases
from tests.support.bases import BATCH, base, batch, batches

from shiyi.build import index_base, validate_quads
from shiyi.curation.accounts import AccountStore, Audit, Role
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import Status
from shiyi.model.rdf import DefaultGraph
from shiyi.ontology.terms import SHIYI
from shiyi.server.site.tokens import Tokens
from shiyi.settings import Settings
from shiyi.sparql.base.backups import back_up, damages, read_listing, restore
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation, compute_release
from shiyi.sparql.base.writer import last_applied
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.snapshots import Snapshot, remove_leftovers
from soak.killing import DamageCount, Say, Stage

_WINDOW = 10  # batches that stand at a time; older ones are taken away


def expected(last: int) -> Counter[int]:
    """Return the batches that stand after the one called ``last``."""
    return Counter(dict.fromkeys(range(max(1, last - _WINDOW + 1), last + 1), BATCH))


def _empty(folder: Path) -> None:
    build_generation(folder / "kb", [], {})


def write(folder: Path, turn: int, say: Say) -> None:
    """Write numbered batches, each of which takes an old one's place."""
    with KnowledgeBase.open(folder / "kb", write=True) as kb:
        while True:
            number = kb.sequence + 1
            kb.writer.write(
                batch(number), batch(number - _WINDOW), key=f"k{number}", agent="w", reason="s"
            )
            say(number)
            if number % 7 == 0:
                kb.store.flush()


def check_written(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether every batch that was acknowledged stands, whole and once."""
    found = DamageCount()
    with KnowledgeBase.open(folder / "kb", write=True) as kb:
        last, message = kb.sequence, max(items, default=0)
        found.lost += max(0, message - last)
        stored, wanted = batches(kb.store), expected(last)
        found.torn += stored != wanted or last_applied(kb.store) != last
        if message:
            again = kb.writer.write([], key=f"k{message}", agent="w", reason="s")
            found.doubled += again != message or kb.sequence != last
    return found


def _desk(folder: Path) -> None:
    bases.build(folder / "kb")


def decide(folder: Path, turn: int, say: Say) -> None:
    """Decide about one claim after another, and take every fourth decision back."""
    with KnowledgeBase.open(folder / "kb", write=True) as kb:
        desk = Decisions(Changes(kb.writer))
        while True:
            at = desk.changes.last + 1
            claim = bases.CLAIMS[at % len(bases.CLAIMS)].iri.value
            verdict = ("accept", "reject", "unsure")[at % 3]
            change = desk.review(
                claim, ReviewDecision(verdict, f"p{at % 5}", f"turn {at}", key=f"d{at}")
            )
            say(change.number)
            if at % 4 == 0:
                say(desk.undo(change.iri, "chief", "").number)


def check_decided(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether each decision is there once, and the claims are what the decisions say."""
    found = DamageCount()
    with KnowledgeBase.open(folder / "kb", write=True) as kb:
        desk = Decisions(Changes(kb.writer))
        numbers = [each.number for each in desk.changes.latest(100_000)]
        found.lost += len(set(items) - set(numbers))
        found.doubled += len(numbers) - len(set(numbers))
        found.torn += sorted(numbers) != list(range(1, len(numbers) + 1))
        for each in bases.CLAIMS:
            weighed = desk.assess(each.iri.value)
            stands = any(kb.store.match(each.subject, each.predicate, each.object, DefaultGraph()))
            if each.object != bases.WARM:  # which is also denied
                found.torn += stands != (weighed.claim.status is Status.ACCEPTED)
            found.torn += not any(kb.store.match(each.iri, SHIYI.evidence))
    return found


def snap(folder: Path, turn: int, say: Say) -> None:
    """Write batches and freeze the base after each, from within and as a reader would."""
    with KnowledgeBase.open(folder / "kb", write=True) as kb:
        while True:
            number = kb.sequence + 1
            kb.writer.write(
                batch(number), batch(number - _WINDOW), key=f"k{number}", agent="w", reason="s"
            )
            made = kb.take_snapshot()
            store = OxigraphStore.read_only(made.path)
            whole = batches(store) == expected(number)
            store.close()
            made.remove()
            seen = Snapshot.of_folder(kb.folder / "store", kb.path / "snapshots")
            store = OxigraphStore.read_only(seen.path)
            whole = whole and batches(store) == expected(number)
            store.close()
            seen.remove()
            if not whole:
                raise AssertionError(f"the snapshot of {number} is not that moment")
            say(number)


def check_snapped(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether the base is whole, and dead owners' snapshots go."""
    found = check_written(folder, turn, items)
    home = folder / "kb" / "snapshots"
    home.mkdir(exist_ok=True)
    remove_leftovers(home)
    if left := [each.name for each in home.iterdir()]:
        found.torn += 1
        found.notes.append(f"left in snapshots: {left}")
    return found


def _kitchen(folder: Path) -> None:
    indexed_kitchen(folder / "kb")


def indexed_kitchen(kb: Path) -> None:
    """Build the kitchen's base with its indexes, and write three changes to it."""
    quads = list(bases.kitchen_quads())
    build_generation(kb, quads, {"quads": len(quads)})
    index_base(replace(Settings(), kb=kb))
    with KnowledgeBase.open(kb, write=True) as base:
        for number in range(1, 4):
            base.writer.write(batch(number), key=f"k{number}", agent="w", reason="s")


def _free(folder: Path) -> Iterator[int]:
    """Yield the numbers of folders that are not there."""
    return (number for number in count() if not (folder / f"out-{number}").exists())


def copy_out(folder: Path, turn: int, say: Say) -> None:
    """Back the base up again and again."""
    for number in _free(folder):
        back_up(folder / "kb", folder / f"out-{number}")
        say(number)


def check_copies(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether every backup that has its name is whole, and can be restored."""
    found = DamageCount()
    found.lost += sum(not (folder / f"out-{number}").is_dir() for number in items)
    outs = sorted(each for each in folder.glob("out-*") if not each.name.endswith(".part"))
    for out in outs:
        found.torn += bool(list(damages(out, read_listing(out))))
    if outs:
        restore(outs[-1], folder / "again")
        found.torn += _state(folder / "again") != _state(folder / "kb")
    _sweep(folder)
    return found


def _stored(folder: Path) -> None:
    _kitchen(folder)
    back_up(folder / "kb", folder / "sound")


def bring_back(folder: Path, turn: int, say: Say) -> None:
    """Restore the same backup to one new folder after another."""
    for number in _free(folder):
        restore(folder / "sound", folder / f"out-{number}")
        say(number)


def check_restored(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether each restored base that has its name holds what was backed up."""
    found = DamageCount()
    found.lost += sum(not (folder / f"out-{number}").is_dir() for number in items)
    wanted = _state(folder / "kb")
    for out in folder.glob("out-*"):
        if not out.name.endswith(".part"):
            found.torn += _state(out) != wanted
    _sweep(folder)
    return found


def _sweep(folder: Path) -> None:
    for each in [*folder.glob("out-*"), folder / "again"]:
        shutil.rmtree(each, ignore_errors=True)


def _state(kb: Path) -> tuple[int, str]:
    with KnowledgeBase.open(kb, write=True) as opened:
        return opened.sequence, compute_release(opened.store.match())


def rebuild(folder: Path, turn: int, say: Say) -> None:
    """Build new generations, with their indexes."""
    number = turn * 1000
    while True:
        quads = [*bases.kitchen_quads(), *base(number)]
        build_generation(folder / "kb", quads, {"number": number})
        say(number)
        index_base(replace(Settings(), kb=folder / "kb"))
        say(number)
        number += 1


def check_built(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether the current generation is one whole build, and its indexes fit or are absent."""
    found = DamageCount()
    with KnowledgeBase.open(folder / "kb") as kb:
        number = int(kb.manifest["counts"].get("number", -1))
        found.lost += max(items, default=-1) > number
        if number >= 0:
            stored = Counter(dict.fromkeys(range(number, number + 100), BATCH))
            stored.update(dict.fromkeys(range(1, 4), BATCH))  # the journal, repeated
            found.torn += batches(kb.store) != stored
        if items.count(number) > 1:
            index = LabelIndex.load(kb.folder / "index", kb.release)
            found.torn += len(index.concepts) < len(bases.CONCEPTS) - 2
        release = kb.release
    index_base(replace(Settings(), kb=folder / "kb"))  # what the next start does
    with KnowledgeBase.open(folder / "kb") as kb:
        LabelIndex.load(kb.folder / "index", release)
    return found


def examine(folder: Path, turn: int, say: Say) -> None:
    """Validate the whole base again and again."""
    number = 0
    while True:
        with KnowledgeBase.open(folder / "kb") as kb:
            validate_quads(list(kb.store.match(graph=DefaultGraph())))
        say(number)
        number += 1


def check_examined(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether validating changed nothing and left nothing."""
    wanted, now = folder / "wanted", _state(folder / "kb")
    if not wanted.exists():
        wanted.write_text(repr(now))
    found = DamageCount(torn=int(wanted.read_text() != repr(now)))
    home = folder / "kb" / "snapshots"
    home.mkdir(exist_ok=True)
    remove_leftovers(home)
    found.torn += any(home.iterdir())
    return found


def admit(folder: Path, turn: int, say: Say) -> None:
    """Add accounts and tokens, revoke every third token, and note each in the audit log."""
    people, tokens, audit = AccountStore(folder / "kb"), Tokens(folder / "kb"), Audit(folder / "kb")
    for number in range(max(1, len(people.all())), 1_000_000):
        if people.find(f"p{number}") is None:
            people.add(f"p{number}", Role.CURATOR, subject=f"elsewhere {number}")
        if f"t{number}" not in {each.name for each in tokens.all()}:
            tokens.add(f"t{number}", "write", 1)
        if number % 3 == 0:
            tokens.revoke(f"t{number}")
        audit.note("added", f"p{number}")
        say(number)


def check_admitted(folder: Path, turn: int, items: list[int]) -> DamageCount:
    """Look whether accounts, tokens and the audit log have what was acknowledged, once, and no more."""
    kb, last = folder / "kb", max(items, default=0)
    found, names = DamageCount(), list(AccountStore(kb).all())
    found.torn += names != [f"p{number}" for number in range(1, len(names) + 1)]
    found.lost += max(0, last - len(names))
    numbers = {int(each.name[1:]) for each in Tokens(kb).all()}
    lasting = {number for number in range(1, len(names) + 1) if number % 3}
    found.lost += len({number for number in lasting if number <= last} - numbers)
    found.torn += len(numbers - lasting - {len(names)})
    noted = [each["who"] for each in Audit(kb).last(10_000)]
    found.lost += len({f"p{number}" for number in items} - set(noted))
    return found


STAGES = (
    Stage("commit", _empty, write, check_written, 0.15),
    Stage("curation", _desk, decide, check_decided, 0.3),
    Stage("snapshot", _empty, snap, check_snapped, 0.2),
    Stage("backup", _kitchen, copy_out, check_copies, 0.25),
    Stage("restore", _stored, bring_back, check_restored, 0.25),
    Stage("index build", _kitchen, rebuild, check_built, 0.8),
    Stage("validation", _kitchen, examine, check_examined, 0.4),
    Stage("tokens and accounts", _empty, admit, check_admitted, 0.05),
)
