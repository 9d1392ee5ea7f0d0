"""``shiyi review`` and ``shiyi sync``."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Option

from shiyi.cli.terminal import Json, Tables, emit, new_group, print_table, select, settings_of, warn
from shiyi.curation.accounts import NAME, Account, AccountStore, Right, require
from shiyi.curation.bundles import (
    export_bundle,
    import_bundle,
    public_key,
    read_bundle,
    signing_key,
)
from shiyi.curation.changes import (
    Change,
    Changes,
    Edit,
    change_of_number,
    last_number,
    list_changes,
    read_change,
    state_of,
    version_of,
)
from shiyi.curation.desks import forms
from shiyi.curation.desks.desk import Desk
from shiyi.curation.desks.forms import full_iri
from shiyi.curation.editing.form import ClaimDraft
from shiyi.curation.editing.validation import EditChecker
from shiyi.curation.opinions import Opinions
from shiyi.curation.queue import Filter, Queue
from shiyi.curation.reviews import read_reviewed_claim
from shiyi.errors import ConformanceError, FormError, RightsError, UsageError
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.reasoning.confidence.reviews import is_live
from shiyi.sparql.base.knowledge_base import KnowledgeBase

review, sync = new_group(), new_group()

Who = Annotated[str, Option("--as", metavar="NAME", help="The account that acts.")]
Reason = Annotated[
    str, Option("--reason", metavar="TEXT", help="Reason, visible to other curators.")
]
ClaimName = Annotated[str, Argument(metavar="CLAIM", help="Its IRI, or what follows …/id/.")]
Agreement = Annotated[float | None, Option(metavar="R", help="From -1 to 1.")]
Value = Annotated[str, Option(metavar="VALUE")]


@review.command()
def queue(
    ctx: Context,
    who: Annotated[str, Option("--as", metavar="NAME", help="The curator.")] = "",
    limit: Annotated[int, Option(metavar="N", help="Claims to list.")] = 25,
    source: Value = "",
    relation: Value = "",
    shape: Value = "",
    tier: Value = "",
    school: Value = "",
    status: Value = "",
    concept: Value = "",
    owner: Value = "open",
    harm: Annotated[bool, Option("--harm", help="Safety claims alone.")] = False,
    as_json: Json = False,
) -> None:
    """List the claims that wait for review, the most urgent first."""
    chosen = Filter.of(
        {
            "source": source, "relation": relation, "shape": shape, "tier": tier, "school": school,
            "status": status, "concept": concept, "view": owner, "harm": "yes" if harm else "",
        }
    )  # fmt: skip
    with KnowledgeBase.of(settings_of(ctx)) as base:
        page = Queue(base.store, Opinions(base.store)).page(who, chosen, 0, limit)
        if not as_json:
            rows = [
                (
                    f"{item.priority:8.3f}",
                    f"{item.confidence:.2f}",
                    item.status.value,
                    _sentence(base, item.claim),
                    item.claim,
                )
                for item in page.items
            ]
            print_table(("priority", "confidence", "status", "claim", "IRI"), rows)
            warn(f"{page.total} wait in all")
            return
    names = (
        "claim", "priority", "confidence", "status", "safety", "unread", "assigned", "reviewers",
    )  # fmt: skip
    claims = [
        select(item, *names) | {"status": item.status.value, "reviewers": list(item.reviewers)}
        for item in page.items
    ]
    emit({"total": page.total, "claims": claims})


@review.command()
def show(ctx: Context, claim: ClaimName, as_json: Json = False) -> None:
    """Show a claim, its reviews and its history."""
    with KnowledgeBase.of(settings_of(ctx)) as base:
        iri, store = full_iri(claim), base.store
        stored, history = read_reviewed_claim(state_of(store, iri), iri), list_changes(store, iri)
        votes = Opinions(store).of(iri).values()
        opinions = [select(vote, "who", "agreement", "when", "change") for vote in votes]
        fields = {
            "status": stored.status.value,
            "confidence": stored.confidence,
            "polarity": "positive" if stored.positive else "negative",
            "version": version_of(store, iri),
        }
        if as_json:
            emit(
                {
                    "claim": iri,
                    "subject": stored.subject.value,
                    "predicate": stored.predicate.value,
                    "object": text(stored.triple.object),
                    **fields,
                    "reviews": opinions,
                    "history": [_change_values(change) for change in history],
                }
            )
            return
        print(_sentence(base, iri))
        for name, value in fields.items():
            print(f"{name}: {value}")
        for opinion in opinions:
            print(f"{opinion['who']} {opinion['agreement']:+.2f} {opinion['when']}")
        _print_changes(base, history)


@review.command()
def log(
    ctx: Context,
    thing: Annotated[str, Argument(help="A claim or concept; none: all changes.")] = "",
    limit: Annotated[int, Option(metavar="N", help="Changes to list.")] = 50,
    as_json: Json = False,
) -> None:
    """List the newest changes, or those about one thing."""
    with KnowledgeBase.of(settings_of(ctx)) as base:
        store = base.store
        if thing:
            changes = list(reversed(list_changes(store, full_iri(thing))))[:limit]
        else:
            newest = last_number(store)
            changes = _read_changes(base, range(newest, max(0, newest - limit), -1))
        if as_json:
            emit([_change_values(each) | {"live": is_live(store, each.iri)} for each in changes])
        else:
            _print_changes(base, changes)


@review.command("export")
def export_reviews(
    ctx: Context,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Output file.")],
    as_json: Json = False,
) -> None:
    """Write all reviews as a signed bundle."""
    settings = settings_of(ctx)
    with KnowledgeBase.of(settings) as base:
        changes = _read_changes(base, range(1, last_number(base.store) + 1))
        lines = list(export_bundle(changes, settings.kb, base.release))
    part = output.with_name(f".{output.name}.new")
    part.write_bytes(b"".join(lines))
    part.replace(output)
    count, key = len(lines) - 2, public_key(signing_key(settings.kb))
    if as_json:
        emit({"changes": count, "key": key, "file": str(output)})
    else:
        print(f"{count} changes in {output}, signed with {key}")


def _decision(verdict: str) -> Callable[..., None]:
    """Return the command that records a verdict on a claim."""

    def decide(
        ctx: Context,
        claim: ClaimName,
        who: Who,
        agreement: Agreement = None,
        reason: Reason = "",
        as_json: Json = False,
    ) -> None:
        with _open_for_writing(ctx, who, Right.REVIEW, as_json) as (desk, person, report):
            asked = {"claim": claim, "kind": verdict, "agreement": agreement, "reason": reason}
            report(desk.decide(person, forms.Decision.read(asked)))

    return decide


review.command("accept", help="Accept a claim.")(_decision("accept"))
review.command("reject", help="Reject a claim.")(_decision("reject"))
review.command("unsure", help="Mark a claim as unsure.")(_decision("unsure"))


@review.command()
def skip(
    ctx: Context, claim: ClaimName, user: Who, reason: Reason = "", as_json: Json = False
) -> None:
    """Leave a claim to other curators."""
    with _open_for_writing(ctx, user, Right.REVIEW, as_json) as (desk, person, report):
        asked = {"claim": claim, "kind": "skip", "reason": reason}
        report(desk.decide(person, forms.Decision.read(asked)))


@review.command()
def comment(
    ctx: Context,
    thing: Annotated[str, Argument(metavar="THING", help="A claim or concept.")],
    user: Who,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Comment on a claim or concept; @name notifies a curator."""
    with _open_for_writing(ctx, user, Right.COMMENT, as_json) as (desk, person, report):
        report(desk.comment(person, forms.Comment.read({"thing": thing, "text": reason})))


@review.command()
def edit(
    ctx: Context,
    claim: ClaimName,
    fields: Annotated[
        list[str], Argument(metavar="FIELD=VALUE...", help="relation, object, polarity, …")
    ],
    user: Who,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Edit a claim; the shapes that gate extraction check it."""
    values: dict[str, Any] = dict(field.partition("=")[::2] for field in fields)
    known = {"subject", "relation", "object", "language", "polarity"}
    if set(values) - known:
        raise UsageError(
            f"an edit sets {', '.join(sorted(known))}, not {', '.join(sorted(set(values) - known))}"
        )
    with _open_for_writing(ctx, user, Right.EDIT, as_json) as (desk, person, report):
        try:
            report(_edit(desk, person, full_iri(claim), values, reason))
        except FormError as error:
            raise ConformanceError([f"{e.field}: {e.message_en}" for e in error.faults]) from error


def _edit(desk: Desk, person: Account, iri: str, values: dict[str, Any], reason: str) -> Change:
    old = desk.editable(iri)
    if old is None or not reason:
        raise UsageError("an edit names a claim of this base, and its --reason")
    draft = ClaimDraft.of_claim(old).model_copy(update=values)
    version = version_of(desk.store, iri)
    return desk.save_claim(
        person, forms.ClaimEdit(claim=iri, drafts=[draft], reason=reason, version=version)
    )


@review.command()
def merge(
    ctx: Context,
    concept: Annotated[str, Argument(metavar="CONCEPT", help="The concept to merge.")],
    target: Annotated[str, Argument(metavar="INTO", help="The concept that remains.")],
    user: Who,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Merge one concept into another."""
    asked = forms.ConceptMerge.read({"concept": concept, "target": target, "reason": reason})
    with _open_for_writing(ctx, user, Right.EDIT, as_json) as (desk, person, report):
        report(desk.merge(person, asked))


@review.command()
def retract(
    ctx: Context,
    source: Annotated[str, Argument(help="Its IRI, or what follows …/id/.")],
    user: Who,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Mark a source as retracted: its vote counts half; undo takes it back."""
    from shiyi.reasoning.confidence.reviews import is_retracted

    with _open_for_writing(ctx, user, Right.APPROVE, as_json) as (desk, _, report):
        iri, changes = full_iri(source), desk.writing()
        if not any(changes.store.match(NamedNode(iri), RDF.type, SHIYI.Source)):
            raise UsageError(f"this base has no source {iri}; sources.csv of a release lists them")
        if not reason:
            raise UsageError("a retraction needs its --reason: where it was published, and why")
        if is_retracted(changes.store, iri):
            raise UsageError(f"{iri} is retracted already; see `shiyi review log {source}`")
        status = Quad(NamedNode(iri), SHIYI.status, SHIYI.retracted, DefaultGraph())
        report(changes.make(Edit("retract", (iri,), reason, added=(status,)), user))
    warn("run `shiyi reason confidence` to recompute the confidence of its claims")


@review.command()
def undo(
    ctx: Context,
    change: Annotated[str, Argument(metavar="NUMBER|IRI")],
    user: Who,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Undo a change: one's own, or as an editor anybody's."""
    request = forms.UndoRequest.read({"change": change, "reason": reason})
    with _open_for_writing(ctx, user, Right.REVIEW, as_json) as (desk, person, report):
        report(desk.undo(person, request))


@review.command("import")
def import_reviews(
    ctx: Context,
    file: Annotated[Path, Argument(metavar="FILE", help="What `review export` wrote.")],
    user: Who,
    trust: Annotated[str, Option(metavar="KEY", help="The key it is signed with.")] = "",
    reason: Reason = "",
    as_json: Json = False,
) -> int:
    """Import the reviews of a bundle; status 1 where some were refused."""
    del reason
    own = public_key(signing_key(settings_of(ctx).kb))
    with _open_for_writing(ctx, user, Right.APPROVE, as_json) as (desk, *_):
        result = import_bundle(desk.writing(), read_bundle(file.read_bytes(), [own, trust]))
    if as_json:
        refused = [{"change": iri, "why": why} for iri, why in result.refused]
        emit({"made": result.made, "known": result.known, "refused": refused})
    else:
        print(f"{result.made} made, {result.known} known before, {len(result.refused)} refused")
        for iri, why in result.refused[:20]:
            warn(f"{iri}: {why}")
    return 1 if result.refused else 0


@contextmanager
def _open_for_writing(
    ctx: Context, agent: str, right: Right, as_json: bool
) -> Iterator[tuple[Desk, Account, Callable[[Change], None]]]:
    """Open the base for a curator's change; print what is reported once all of it is written."""
    settings, written_changes = settings_of(ctx), list[Change]()
    person = AccountStore(settings.kb).get(agent)
    if not person.active:
        raise RightsError(f"the account {person.name} is closed")
    require(person.role, right)
    with KnowledgeBase.of(settings, write=True) as base, closing(EditChecker()) as checker:
        changes = Changes(base.writer)
        opinions = Opinions(base.store)
        desk = Desk(
            base.store,
            lambda: changes,
            lambda: Queue(base.store, opinions, changes),
            checker,
            settings.confidence,
            settings.kb,
            settings.curation.second_reviewer == "all",
        )
        yield desk, person, written_changes.append
        derived = _rederive(base)
    for change in written_changes:
        if as_json:
            values = {"change": change.iri} | select(change, "number", "kind")
            emit(values | {"about": list(change.about), "derived": derived})
            continue
        print(f"#{change.number} {change.kind} {change.about[0]}")
        if derived:
            warn(f"{derived} inherited cautions changed with it")


def _rederive(base: KnowledgeBase) -> int:
    """Bring the inherited cautions up to date, as a running server does; count the changed."""
    from shiyi.reasoning.derivation import compare, read_derived, ways_by_claim
    from shiyi.reasoning.rules import Premises, infer

    ways = ways_by_claim(infer(Premises.read(base.store, Schema.load())))
    result = compare(base.store, read_derived(base.store), ways)
    if result.added or result.removed:
        base.writer.write(
            result.added,
            result.removed,
            key=f"rederive after {base.writer.sequence}",
            agent="shiyi",
            reason="inherited cautions after a change",
        )
    return len(result.claims)


def _change_values(change: Change) -> dict[str, Any]:
    names = ("number", "iri", "kind", "who", "when", "reason", "about", "reverses")
    return select(change, *names) | {"about": list(change.about)}


def _read_changes(base: KnowledgeBase, numbers: range) -> list[Change]:
    names = (change_of_number(base.store, number) for number in numbers)
    return [change for name in names if name and (change := read_change(base.store, name))]


def _print_changes(base: KnowledgeBase, changes: list[Change]) -> None:
    for change in changes:
        live = "" if is_live(base.store, change.iri) else "  (taken back)"
        print(
            f"#{change.number}  {change.when}  {change.who}  {change.kind} "
            f"{change.note(SHIYI.agreement)}{live}  {change.about[0]}  {change.reason}"
        )


def _sentence(base: KnowledgeBase, iri: str) -> str:
    """Return a claim as a sentence in Chinese."""
    from shiyi.server.views.reader import Reader

    return Reader(base.store, "zh").premise(NamedNode(iri)).label


@sync.command()
def status(ctx: Context, tables: Tables = None, as_json: Json = False) -> int:
    """Compare the base with the tables; status 1 where they differ."""
    from shiyi.curation.sync.sync import read_incoming, write_outgoing

    settings, folder = settings_of(ctx), _folder(tables)
    with KnowledgeBase.of(settings) as base:
        out = write_outgoing(base, folder, settings.confidence)
        incoming = read_incoming(base, folder, settings.confidence)
    _warn_of_unapplied(len(out.unapplied))
    added, removed = len(incoming.added), len(incoming.removed)
    if as_json:
        emit({"to_tables": out.counts(), "to_base": {"added": added, "removed": removed}})
    else:
        numbers = ", ".join(f"{count} {name}" for name, count in out.counts().items() if count)
        print(f"to the tables: {numbers or 'nothing'}")
        print(f"to the base: {added:,} statements to add, {removed:,} to remove")
    return 0 if out.is_empty and incoming.is_empty else 1


@sync.command("export")
def export_patch(
    ctx: Context,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write the patch there.")
    ] = None,
    tables: Tables = None,
) -> None:
    """Print the curators' changes as a patch for git apply."""
    from shiyi.curation.sync.sync import write_outgoing

    settings = settings_of(ctx)
    with KnowledgeBase.of(settings) as base:
        out = write_outgoing(base, _folder(tables), settings.confidence)
    _warn_of_unapplied(len(out.unapplied))
    if output:
        output.write_text(out.tables.patch(), encoding="utf-8", newline="\n")
    else:
        sys.stdout.write(out.tables.patch())


@sync.command("apply")
def write_tables(ctx: Context, tables: Tables = None, as_json: Json = False) -> None:
    """Write the curators' changes into the tables."""
    from shiyi.curation.sync.sync import write_outgoing

    settings, folder = settings_of(ctx), _folder(tables)
    with KnowledgeBase.of(settings) as base:
        out = write_outgoing(base, folder, settings.confidence)
    _warn_of_unapplied(len(out.unapplied))
    written = out.tables.write(folder.parent)
    if as_json:
        emit(out.counts() | {"written": written})
    else:
        print("\n".join(written) or "the tables are up to date")


@sync.command("import")
def import_tables(
    ctx: Context,
    who: Annotated[str, Option(metavar="NAME", help="The account of the change.")] = "sync",
    dry_run: Annotated[bool, Option("--dry-run", help="Only count.")] = False,
    tables: Tables = None,
    as_json: Json = False,
) -> None:
    """Bring changes of the tables into the base."""
    from shiyi.curation.sync.sync import apply_table_changes, read_incoming

    if not NAME.fullmatch(who):
        raise UsageError(f"--who is the name of an account, which {who[:60]!r} cannot be")
    settings = settings_of(ctx)
    with KnowledgeBase.of(settings, write=not dry_run) as base:
        change = read_incoming(base, _folder(tables), settings.confidence)
        report = {"added": len(change.added), "removed": len(change.removed)}
        if not (change.is_empty or dry_run):
            report["change"] = apply_table_changes(Changes(base.writer), change, who).number
    if as_json:
        emit(report)
        return
    print(f"{report['added']} statements added, {report['removed']} removed")
    if "change" in report:
        print(f"change {report['change']}; run `shiyi reason all` to update what follows from it")


def _folder(tables: Path | None) -> Path:
    from shiyi.artefacts import artefact

    return (tables or artefact("ontology")).resolve()


def _warn_of_unapplied(count: int) -> None:
    if count:
        warn(
            f"{count} accepted claims rest on passages of ingested sources; they stay in the base "
            "and its journal"
        )
