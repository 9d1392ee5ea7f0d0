"""What each verb of ``shiyi review`` does."""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from shiyi.cli import emit
from shiyi.cli.review import chosen_changes, full, told, write_lines
from shiyi.curation.bundle import export_bundle, import_bundle, public_of, read_bundle, signing_key
from shiyi.curation.changes import Changes, changes_about, is_live
from shiyi.curation.columns import Columns, classes_of
from shiyi.curation.decisions import Decisions
from shiyi.curation.ledger import Change, last_number, numbered, read_change
from shiyi.curation.opinions import Opinions
from shiyi.curation.people import People
from shiyi.curation.queue import Filter, Queue
from shiyi.curation.roles import Right, require
from shiyi.curation.standing import held
from shiyi.curation.state import state_of, version_of
from shiyi.errors import ConformanceError, UsageError
from shiyi.model.rdf import text
from shiyi.ontology.terms import SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.server.reading import Reader
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase


def queue(args: argparse.Namespace, settings: Settings, base: KnowledgeBase) -> int:
    """List what waits."""
    del settings
    schema = Schema.load()
    columns = Columns(base.store, schema, classes_of(base.store, schema))
    said = {k: v for k, v in vars(args).items() if isinstance(v, str)}
    chosen = Filter.of({**said, "harm": "yes" if args.harm else "", "whose": args.whose or "open"})
    page = Queue(columns, Opinions(base.store)).page(args.who, chosen, 0, args.limit)
    if args.json:
        emit({"total": page.total, "claims": [
            {"claim": each.claim, "priority": each.priority, "confidence": each.confidence,
             "status": each.status.value, "safety": each.safety, "assigned": each.assigned,
             "reviewers": list(each.reviewers)} for each in page.items
        ]})  # fmt: skip
        return 0
    reader = Reader(base.store, "zh")
    for each in page.items:
        print(f"{each.priority:8.3f}  {each.confidence:.2f}  {each.status.value:10}  "
              f"{_says(reader, each.claim)}  {each.claim}")  # fmt: skip
    print(f"{page.total} wait in all", file=sys.stderr)
    return 0


def show(args: argparse.Namespace, settings: Settings, base: KnowledgeBase) -> int:
    """Show one claim."""
    del settings
    iri, store = full(args.claim), base.store
    claim = held(state_of(store, iri), iri)
    made = changes_about(store, iri)
    opinions = [
        {"who": each.who, "agreement": each.agreement, "when": each.when, "change": each.change}
        for each in Opinions(store).of(iri).values()
    ]
    said = {
        "claim": iri, "subject": claim.subject.value, "predicate": claim.predicate.value,
        "object": text(claim.triple.object), "polarity": "positive" if claim.positive else "negative",
        "status": claim.status.value, "confidence": claim.confidence,
        "version": version_of(store, iri), "reviews": opinions, "history": [told(e) for e in made],
    }  # fmt: skip
    if args.json:
        emit(said)
        return 0
    print(_says(Reader(store, "zh"), iri))
    for name in ("status", "confidence", "polarity", "version"):
        print(f"{name}: {said[name]}")
    for each in opinions:
        print(f"{each['who']} {each['agreement']:+.2f} {each['when']}")
    for change in made:
        _line(base, change)
    return 0


def log(args: argparse.Namespace, settings: Settings, base: KnowledgeBase) -> int:
    """List changes, the newest first."""
    del settings
    store = base.store
    if args.thing:
        found = list(reversed(changes_about(store, full(args.thing))))[: args.limit]
    else:
        top = last_number(store)
        names = (numbered(store, n) for n in range(top, max(0, top - args.limit), -1))
        found = [each for name in names if name and (each := read_change(store, name))]
    if args.json:
        emit([{**told(each), "live": is_live(store, each.iri)} for each in found])
    for change in () if args.json else found:
        _line(base, change)
    return 0


def export(args: argparse.Namespace, settings: Settings, base: KnowledgeBase) -> int:
    """Write a bundle."""
    store = base.store
    names = (numbered(store, n) for n in range(1, last_number(store) + 1))
    found = [each for name in names if name and (each := read_change(store, name))]
    count = write_lines(Path(args.output), export_bundle(found, settings.kb, base.release)) - 2
    key = public_of(signing_key(settings.kb))
    if args.json:
        emit({"changes": count, "key": key, "file": args.output})
    else:
        print(f"{count} changes in {args.output}, signed with {key}")
    return 0


def decide(args: argparse.Namespace, settings: Settings, changes: Changes) -> Change:
    """Accept, reject, leave open or skip a claim."""
    del settings
    decisions, iri = Decisions(changes), full(args.claim)
    if args.does == "skip":
        return decisions.skip(iri, args.who, args.reason)
    return decisions.review(iri, args.does, args.who, args.reason, agreement=args.agreement)


def comment(args: argparse.Namespace, settings: Settings, changes: Changes) -> Change:
    """Comment on something."""
    del settings
    return Decisions(changes).comment(full(args.claim), args.who, args.reason)


def undo(args: argparse.Namespace, settings: Settings, changes: Changes) -> Change:
    """Take a change back: one's own, or as an editor anybody's."""
    change = chosen_changes(changes, args.change)
    if change.who != args.who:
        require(People(settings.kb).get(args.who).role, Right.APPROVE)
    return Decisions(changes).undo(change.iri, args.who, args.reason)


def edit(args: argparse.Namespace, settings: Settings, changes: Changes) -> Change:
    """Change fields of a claim, checked by the shapes that gate extraction."""
    from shiyi.curation.editing import Draft, claim_of
    from shiyi.curation.editing_changes import ACCEPT, PROPOSE, replaced
    from shiyi.curation.editing_check import Checker
    from shiyi.curation.editing_claims import classes_of as kinds_of
    from shiyi.curation.editing_claims import stored_claim

    iri, store = full(args.claim), changes.store
    old = stored_claim(store, iri)
    if old is None or not args.reason:
        raise UsageError("an edit names a claim that there is, and its --reason")
    said = dict(each.partition("=")[::2] for each in args.set)
    known = {"subject", "relation", "object", "language", "polarity"}
    if set(said) - known:
        raise UsageError(
            f"an edit sets {', '.join(sorted(known))}, not {sorted(set(said) - known)}"
        )
    claim, faults = claim_of(replace(Draft.of_claim(old), **said), store, settings.confidence)
    if claim is None:
        raise ConformanceError([f"{each.field}: {each.message_en}" for each in faults])
    ends = [claim.subject.value, text(claim.object)]
    checker = Checker()
    try:
        results = checker.claim(claim, {end: kinds_of(store, end) for end in ends if "://" in end})
    finally:
        checker.close()
    if wrong := [str(each) for each in results if each.severity == "Violation"]:
        raise ConformanceError(wrong)
    safety = any(
        Schema.load().property(each.predicate.value.rpartition("#")[2]).is_safety
        for each in (claim, old.claim)
    )
    outcome = PROPOSE if safety and claim.iri != old.iri else ACCEPT
    return changes.make(
        replaced(store, old, [claim], args.reason, version_of(store, iri), outcome), args.who
    )


def merge(args: argparse.Namespace, settings: Settings, changes: Changes) -> Change:
    """Let one concept go into another."""
    from shiyi.curation.vocabulary_moves import merged

    del settings
    source, target = full(args.source), full(args.target)
    store = changes.store
    made = merged(store, source, target, args.reason, version_of(store, source))
    return changes.make(made, args.who)


def retract(args: argparse.Namespace, settings: Settings, changes: Changes) -> Change:
    """Say that a source was retracted; its claims stay, and its vote for them counts half."""
    from shiyi.curation.changes import Edit
    from shiyi.model.rdf import DefaultGraph, NamedNode, Quad
    from shiyi.ontology.terms import RDF
    from shiyi.reasoning.review_records import is_retracted

    del settings
    iri = full(args.source)
    if not any(changes.store.match(NamedNode(iri), RDF.type, SHIYI.Source)):
        raise UsageError(f"this base holds no source {iri}; sources.csv of a release lists them")
    if not args.reason:
        raise UsageError("a retraction says its --reason: where the source was taken back, and why")
    if is_retracted(changes.store, iri):
        raise UsageError(f"{iri} is retracted already; see `shiyi review log {args.source}`")
    said = Quad(NamedNode(iri), SHIYI.status, SHIYI.retracted, DefaultGraph())
    made = changes.make(Edit("retract", (iri,), args.reason, added=(said,)), args.who)
    print("run `shiyi reason confidence` to weigh its claims anew", file=sys.stderr)
    return made


def take(args: argparse.Namespace, settings: Settings, changes: Changes) -> int:
    """Take a bundle in; 1 where some of it was refused."""
    own = public_of(signing_key(settings.kb))
    found = read_bundle(Path(args.file).read_bytes(), [own, args.trust])
    result = import_bundle(changes, found)
    if args.json:
        emit({"made": result.made, "known": result.known,
              "refused": [{"change": iri, "why": why} for iri, why in result.refused]})  # fmt: skip
    else:
        print(f"{result.made} made, {result.known} known before, {len(result.refused)} refused")
        for iri, why in result.refused[:20]:
            print(f"{iri}: {why}", file=sys.stderr)
    return 1 if result.refused else 0


def _line(base: KnowledgeBase, change: Change) -> None:
    live = "" if is_live(base.store, change.iri) else "  (taken back)"
    agreed = change.note(SHIYI.agreement)
    print(f"#{change.number}  {change.when}  {change.who}  {change.kind} {agreed}{live}  "
          f"{change.about[0]}  {change.reason}")  # fmt: skip


def _says(reader: Reader, iri: str) -> str:
    from shiyi.model.rdf import NamedNode

    return reader.premise(NamedNode(iri)).label


READ: Final[Mapping[str, Callable[[argparse.Namespace, Settings, KnowledgeBase], int]]] = {
    "queue": queue, "show": show, "log": log, "export": export,
}  # fmt: skip
WRITE: Final[Mapping[str, Callable[[argparse.Namespace, Settings, Changes], Change | int]]] = {
    "decide": decide, "comment": comment, "undo": undo, "edit": edit, "merge": merge,
    "retract": retract, "import": take,
}  # fmt: skip
