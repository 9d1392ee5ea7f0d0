"""Our classes and properties in Biolink terms, as the vocabulary's mapping set has them."""

import csv
from collections.abc import Mapping
from functools import cache

from shiyi.artefacts import artefact

# a broader category is still true of what it is said of; a broader relation would overstate
_FOR_CLASSES = ("skos:exactMatch", "skos:closeMatch", "skos:broadMatch")
_FOR_PROPERTIES = _FOR_CLASSES[:2]


@cache
def biolink_terms() -> Mapping[str, str]:
    """Give the Biolink CURIE of a class or property by its local name, the closest first.

    >>> (
    ...     biolink_terms()["Syndrome"],
    ...     biolink_terms()["interactsWith"],
    ...     "cautionIn" in biolink_terms(),
    ... )
    ('biolink:DiseaseOrPhenotypicFeature', 'biolink:interacts_with', False)
    """
    text = artefact("ontology/mappings/vocabulary.sssom.tsv").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    found: dict[str, tuple[int, str]] = {}
    for row in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE):
        name = row["subject_id"].removeprefix("voc:")
        wanted = _FOR_CLASSES if name[:1].isupper() else _FOR_PROPERTIES
        fits = row["object_id"].startswith("biolink:") and row["predicate_id"] in wanted
        if fits and not row["predicate_modifier"]:
            closeness = (wanted.index(row["predicate_id"]), row["object_id"])
            found[name] = min(found.get(name, closeness), closeness)
    return {name: curie for name, (_, curie) in found.items()}
