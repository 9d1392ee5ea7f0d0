"""Candidate CUIs of a concept, from the index of the operator's own UMLS release."""

from pathlib import Path
from typing import Final

from shiyi.curation.mappings_sssom import MappingSet, Row
from shiyi.curation.vocabulary import Entry
from shiyi.errors import UsageError
from shiyi.ingest.umls import linker_of

MOST: Final = 8  # candidates of one concept
GROUND: Final = "semapv:LexicalMatching"


def candidates(entry: Entry, kb: Path) -> MappingSet:
    """Give the CUIs whose names are like a concept's English ones, most alike first.

    The names themselves stay in the index: a UMLS licence lets nobody pass them on.
    ``UsageError`` where no release was ingested, or nothing is alike.
    """
    linker = linker_of(kb)
    if linker is None:
        raise UsageError("there is no index of UMLS names: `shiyi ingest umls FOLDER` makes it")
    best: dict[str, tuple[float, str]] = {}
    for name in (entry.en, *entry.alt_en):
        for match in linker.candidates(name, entry.class_name):
            known = best.get(match.cui, (0.0, ""))
            best[match.cui] = max(known, (match.similarity, match.predicate))
    if not best:
        raise UsageError(f"no name of the UMLS release is like {entry.en!r}")
    ranked = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))[:MOST]
    return MappingSet(tuple(_row(entry, cui, *said) for cui, said in ranked))


def _row(entry: Entry, cui: str, similarity: float, predicate: str) -> Row:
    return Row.of({
        "subject_id": f"shiyi:{entry.id}", "subject_label": entry.en, "predicate_id": predicate,
        "object_id": f"UMLS:{cui}", "mapping_justification": GROUND,
        "confidence": f"{similarity:.2f}", "similarity_score": f"{similarity:.4f}",
        "mapping_tool": "shiyi", "object_source": "infores:umls",
    })  # fmt: skip
