"""The sentence checker, measured on annotated sentences."""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

from shiyi.answering.generation.checker import fault_of
from shiyi.answering.generation.premises import Premise
from shiyi.answering.knowledge.names import Names
from shiyi.errors import UsageError
from shiyi.evaluation.items import Skips
from shiyi.evaluation.report import Report, Run
from shiyi.linking.labels import LabelIndex
from shiyi.model.iris import ID
from shiyi.sparql.store.port import QuadStore

COLUMNS: Final = (
    "id", "sentence", "label", "fault", "claims", "relation", "subject", "subject_zh",
    "subject_en", "object", "object_zh", "object_en", "polarity", "rating", "severity", "grade",
    "amount", "note_zh", "note_en", "source",
)  # fmt: skip
FAITHFUL, UNFAITHFUL = "faithful", "unfaithful"


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read a table of annotated sentences.

    Raise :class:`UsageError` where a column is missing, a label is unknown or no row is there.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows:
        raise UsageError(f"{path} holds no sentence")
    if missing := [name for name in COLUMNS if rows[0].get(name) is None]:
        raise UsageError(f"{path} lacks the columns {', '.join(missing)}")
    for row in rows:
        if row["label"] not in (FAITHFUL, UNFAITHFUL):
            raise UsageError(f"{path}, {row['id']}: label {row['label']!r} is none of the two")
    return rows


def measure_sentences(
    path: Path,
    store: QuadStore,
    release: str,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Report:
    """Return the share of unfaithful sentences that pass and of faithful ones that remain.

    Each sentence is checked against the claims of its row alone. Ends of claims that the base
    knows bear all their names there. Each failure lists the sentence and why.
    """
    rows = read_rows(path)
    names, by_label = Names(store), _by_label(LabelIndex.from_store(store, release))
    started = perf_counter()
    passed, retained, failures = list[float](), list[float](), []
    for number, row in enumerate(rows, 1):
        claims = [
            _name_premise(premise, row, place, names, by_label)
            for place, premise in enumerate(premises_of_row(row))
        ]
        fault = fault_of(row["sentence"], claims)
        if row["label"] == UNFAITHFUL:
            passed.append(float(not fault))
        else:
            retained.append(float(not fault))
        if bool(fault) == (row["label"] == FAITHFUL):
            reason = fault or f"passed, though {row['fault']}"
            failures.append({"id": row["id"], "method": "checker", "faults": [reason]})
        progress("checker", number, len(rows))
    values = {"unfaithful_passed": passed, "faithful_kept": retained}
    run = Run("checker", {k: v for k, v in values.items() if v}, perf_counter() - started)
    return Report(
        "sentences",
        str(path),
        (),
        len(rows),
        Skips(),
        (run,),
        release,
        {"seed": 0},
        failures=tuple(failures),
    )


def premises_of_row(row: Mapping[str, str]) -> tuple[Premise, ...]:
    """Return the premises of a row of annotated sentences; two claims are parted by `` || ``.

    Columns: ``relation``, ``subject_zh``, ``subject_en``, ``object_zh``, ``object_en``,
    ``polarity``, ``rating``, ``severity``, ``grade``, ``amount``, ``note_zh``, ``note_en``,
    ``source``. A list of properties (sweet, sour) names each of them.
    """
    count = int(row["claims"])

    def cell(name: str, place: int) -> str:
        parts = [each.strip() for each in row[name].split("||")] if count > 1 else [row[name]]
        return parts[place] if place < len(parts) else parts[0]

    def names(end: str, place: int, relation: str) -> frozenset[str]:
        labels = [cell(f"{end}_zh", place), cell(f"{end}_en", place)]
        if end == "object" and relation in {"hasFlavour", "hasMeridianTropism"}:
            labels = [part for label in labels for part in label.replace("、", ",").split(",")]
        return frozenset(label.strip() for label in labels if label.strip())

    premises = []
    for place in range(count):
        relation = cell("relation", place)
        notes = tuple(cell(name, place) for name in ("note_zh", "note_en", "amount", "grade"))
        premises.append(
            Premise(
                names("subject", place, relation),
                relation,
                names("object", place, relation),
                cell("polarity", place),
                cell("rating", place),
                cell("severity", place),
                cell("grade", place),
                tuple(filter(None, notes)),
                cell("source", place),
            )
        )
    return tuple(premises)


def _by_label(index: LabelIndex) -> Mapping[str, str]:
    return {label.text: index.concepts[label.concept].iri for label in reversed(index.labels)}


def _name_premise(
    premise: Premise,
    row: Mapping[str, str],
    place: int,
    all_names: Names,
    by_label: Mapping[str, str],
) -> Premise:
    def names(end: str, known: Iterable[str]) -> frozenset[str]:
        cells = row[end].split("||")
        cell = cells[min(place, len(cells) - 1)].strip()
        iris = {ID + part for part in cell.split("|")} | {by_label.get(name, "") for name in known}
        return frozenset(known).union(*(all_names.of(iri) for iri in iris if iri))

    return replace(
        premise, subject=names("subject", premise.subject), object=names("object", premise.object)
    )
