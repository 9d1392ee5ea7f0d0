"""Linked mentions as an SSSOM mapping set: words of a text to concepts, and how each was found."""

import csv
from collections.abc import Iterable
from typing import Final, TextIO

from shiyi.model.mention import Mention
from shiyi.model.names import ID
from shiyi.model.rdf import local_name

COLUMNS: Final = (
    "subject_label", "subject_type", "predicate_id", "object_id", "object_label", "object_category",
    "mapping_justification", "confidence",
)  # fmt: skip
_HEAD: Final = (
    "#mapping_set_id: https://w3id.org/shiyi/mappings/mentions\n"
    "#license: https://creativecommons.org/licenses/by/4.0/\n#mapping_tool: shiyi\n#curie_map:\n"
    f"#  shiyi: {ID}\n#  skos: http://www.w3.org/2004/02/skos/core#\n"
    "#  semapv: https://w3id.org/semapv/vocab/\n"
)


def write_mentions(mentions: Iterable[Mention], out: TextIO) -> int:
    """Write one row for each linked mention, its words as a literal subject; count them.

    A name that means one thing is an ``exactMatch``, a likeness or one of several meanings a
    ``closeMatch``. Unlinkable mentions have no row.
    """
    out.write(_HEAD)
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for each in mentions:
        if each.iri:
            certain = each.score == 1 and not each.alternatives
            writer.writerow([
                each.text, "rdfs literal", f"skos:{'exact' if certain else 'close'}Match",
                f"shiyi:{local_name(each.iri)}", each.label_en, each.kind, each.justification,
                f"{each.score:.4f}",
            ])  # fmt: skip
            count += 1
    return count
