"""Claims that the desks changed, written to the claim tables cell by cell."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shiyi.curation.editing_claims import ACCEPTED, StoredClaim, stored_claim
from shiyi.curation.sync_tables import Tables
from shiyi.ingest.claims import LONG, Stated, weighed
from shiyi.model.claim import Claim, Evidence, Polarity
from shiyi.model.names import ID
from shiyi.model.rdf import Literal, NamedNode, local_name, text
from shiyi.settings import ConfidenceSettings
from shiyi.sparql.store import QuadStore

DESK = "claims/desk.tsv"
Key = tuple[str, str]  # claim and evidence


@dataclass(slots=True)
class ClaimSync:
    """What was written, and what has to stay in the base alone."""

    written: int = 0
    removed: int = 0
    kept: list[str] = field(default_factory=list)


def sync_claims(
    tables: Tables, stated: Iterable[Stated], store: QuadStore, touched: Iterable[str],
    weights: ConfidenceSettings,
) -> ClaimSync:  # fmt: skip
    """Make the tables state what the base holds of the touched claims; other cells stay."""
    found, done = ClaimSync(), set(touched)
    said: dict[str, list[Stated]] = defaultdict(list)
    for each in stated:
        if each.claim.iri.value in done:
            said[each.claim.iri.value].append(each)
    for iri in sorted(done):
        held = stored_claim(store, iri)
        held = held if held is not None and held.home == ACCEPTED else None
        _one(tables, said.get(iri, []), held, weights, found, iri)
    return found


def _one(
    tables: Tables, said: list[Stated], held: StoredClaim | None, weights: ConfidenceSettings,
    found: ClaimSync, iri: str,
) -> None:  # fmt: skip
    wanted = {each.iri(NamedNode(iri)).value: each for each in held.claim.evidence} if held else {}
    here = {name: e for name, e in wanted.items() if not e.passage and not e.quote}
    if len(here) < len(wanted):
        found.kept.append(iri)
    known: dict[str, list[tuple[Stated, Evidence]]] = defaultdict(list)
    for each in said:
        for evidence in each.claim.evidence:
            known[evidence.iri(NamedNode(iri)).value].append((each, evidence))
    leaving: dict[int, tuple[Stated, list[Evidence]]] = {}
    for name, places in known.items():
        if name in here and _same(here[name], [e for _, e in places]):
            here.pop(name)
            continue
        for each, evidence in places:
            leaving.setdefault(id(each), (each, []))[1].append(evidence)
    for each, gone in leaving.values():
        stays = [e for e in each.claim.evidence if e not in gone]
        _take_out(tables, each, stays, weights)
        found.removed += len(gone)
    if held:
        for evidence in here.values():
            tables.file(DESK, LONG).append(row_of(held.claim, evidence, weights))
            found.written += 1


def _same(one: Evidence, others: list[Evidence]) -> bool:
    """Tell whether rows say of a piece of evidence what the base says; notes of several add up."""
    qualifiers = {pair for each in others for pair in each.qualifiers}
    return set(one.qualifiers) == qualifiers and all(
        each.checked == one.checked and abs(each.confidence.value - one.confidence.value) < 1e-6
        for each in others
    )


def row_of(claim: Claim, evidence: Evidence, weights: ConfidenceSettings) -> Mapping[str, str]:
    """Write one piece of evidence as a row of a long table."""
    said, predicate = claim.object, local_name(claim.predicate.value)
    if isinstance(said, Literal):
        predicate, target = f"{predicate}@{said.language}", said.value
    else:
        target = text(said).removeprefix(ID)
    own = weighed(evidence.source, evidence.checked, weights)
    return {
        "subject": claim.subject.value.removeprefix(ID), "predicate": predicate, "object": target,
        "source": evidence.source.id, "locator": evidence.locator,
        "checked": evidence.checked.value,
        "confidence": "" if own == evidence.confidence else f"{evidence.confidence.value:g}",
        "polarity": "" if claim.polarity is Polarity.POSITIVE else claim.polarity.value,
        **dict(evidence.qualifiers),
    }  # fmt: skip


def _take_out(
    tables: Tables, each: Stated, stays: list[Evidence], weights: ConfidenceSettings
) -> None:
    """Let a cell state a claim no more; what stays of its evidence stays stated."""
    table, line = tables.file(each.row.place.file), each.row.place.line
    if not table.stands(line):
        return
    if each.column == "object":  # a long row states one claim
        if not stays:
            table.drop(line)
            return
        locators = [e.locator for e in stays]
        table.set(line, "source", "|".join(e.source.id for e in stays))
        table.set(line, "locator", locators[0] if len(set(locators)) == 1 else "|".join(locators))
        return
    values = [x.strip() for x in _parts(table.get(line, each.column), each.column)]
    if each.value in values:
        values.remove(each.value)
        table.set(line, each.column, "|".join(values))
    for evidence in stays:  # of the same cell, from another source of the row
        tables.file(DESK, LONG).append(row_of(each.claim, evidence, weights))
    if not any(table.get(line, column) for column in table.columns if column not in _FRAME):
        table.drop(line)


_FRAME = frozenset({"subject", "source", "locator", "checked", "confidence", "polarity", "note"})


def _parts(cell: str, column: str) -> list[str]:
    return [cell] if "@" in column else cell.split("|")
