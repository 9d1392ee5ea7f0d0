"""Claims of a base as premises: every name of both ends, and what the evidence adds."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from shiyi.answering.generation.checker import Premise
from shiyi.model.answer import Citation
from shiyi.model.rdf import local_name

_NOTES: Final = frozenset({
    "note_zh", "note_en", "amount", "dose", "duration", "population", "grade",
})  # fmt: skip


def premise_of(citation: Citation, names: Callable[[str], Iterable[str]]) -> Premise:
    """Return a cited claim as a premise; where sources grade it differently, the gravest.

    ``names`` returns names of a concept besides the label of the citation.
    """
    values: dict[str, list[str]] = {}
    for evidence in citation.evidence:
        for name, value in evidence.qualifiers:
            values.setdefault(name, []).append(value)
    ends = (citation.subject, citation.object)
    subject, object_ = ({end.label, *names(end.iri)} for end in ends)
    relation, rating = (
        local_name(citation.predicate.iri),
        _first(values.get("rating", ()), _CAREFUL),
    )
    # an effect that was studied, or denied, is stated by its rating
    studied = relation in ("isEffectiveFor", "studiedFor") and bool(rating)
    return Premise(
        frozenset(subject),
        "isEffectiveFor" if studied else relation,
        frozenset(object_),
        "positive" if studied else citation.polarity,
        rating,
        _first(values.get("severity", ()), _GRAVE),
        next(iter(values.get("grade", ())), ""),
        tuple(value for name in sorted(_NOTES & values.keys()) for value in values[name]),
        " ".join(dict.fromkeys(each.source for each in citation.evidence)),
    )


_CAREFUL: Final = (
    "major", "moderate", "minor", "ineffective", "insufficient", "possible", "likely", "effective",
)  # fmt: skip
_GRAVE: Final = ("contraindicated", "caution", "monitor")


def _first(values: Iterable[str], order: Iterable[str]) -> str:
    present = set(values)
    return next((each for each in order if each in present), "")


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

    found = []
    for place in range(count):
        relation = cell("relation", place)
        notes = tuple(cell(name, place) for name in ("note_zh", "note_en", "amount", "grade"))
        found.append(
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
    return tuple(found)
