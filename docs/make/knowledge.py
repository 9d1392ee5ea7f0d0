"""Write bench/tables/knowledge.md: what the tables hold, and how they agree with open data.

``python docs/make/knowledge.py [DATA]``: DATA, or the environment variable SHIYI_DATA, is a folder
with ``chp/`` and ``idisk1/`` as public repositories hold them; without it the cross-checks of the
page before are stored as they stand.
"""

import csv
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from shiyi.ingest.tables.concepts import KINDS, Concept
from shiyi.ingest.tables.starter import Starter, load_starter
from shiyi.model.claim import Claim, Status
from shiyi.model.rdf import local_name, text
from shiyi.ontology.schema import Schema

PAGE = Path(__file__).parents[2] / "bench/tables/knowledge.md"
CROSS = "## Cross-checks"
VERIFICATION = "\n## Verification\n"  # written by hand, with the figures of the last run
BOOKS = ("zhongyaoxue-7", "zhongyi-yinshi-yingyangxue", "chp-2020")  # never the table compared with
THE_TABLE = "tcm-mkg-chp"
CLASSES = {
    "hasNature": ("Therapeutic nature", "nature"),
    "hasFlavour": ("Medicinal flavor", "flavour"),
    "hasMeridianTropism": ("Meridian tropism", "channel"),
}
WORDS = {
    "Cold": "寒", "Cool": "凉", "Neutral": "平", "Warm": "温", "Hot": "热", "Pungent": "辛",
    "Sweet": "甘", "Sour": "酸", "Bitter": "苦", "Salty": "咸", "Astringent": "涩", "Lung": "肺",
    "Large intestine": "大肠", "Stomach": "胃", "Spleen": "脾", "Heart": "心", "Bladder": "膀胱",
    "Small intestine": "小肠", "Kidney": "肾", "Pericardium": "心包", "Gallbladder": "胆",
    "Triple energizer": "三焦", "Liver": "肝", "Triple burner": "三焦",
}  # fmt: skip
# rows of the table that stand for more or other than the material, read one by one
OTHER = {
    "甜杏仁": "the row joins sweet and bitter kernels and gives the values of the bitter one",
    "姜": "the row is that of 干姜; 生姜 and 干姜 are compared on their own",
    "黑芝麻": "the row is 野芝麻 with white and black sesame and the oil",
    "火麻仁": "the row joins leaf, seed and whole plant of hemp",
    "紫苏": "the row joins leaf, whole plant and oil",
    "黄芥子": "the row joins yellow and red mustard and their oil",
    "白果": "the row joins ginkgo under its species name",
    "姜黄": "the book holds 姜黄 warm and 郁金 cold",
}
FLATTENED = {"微寒": "寒", "大寒": "寒", "微温": "温", "大热": "热"}


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a Markdown table."""
    names = list(header)
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def percent(part: int, whole: int) -> str:
    """Write a share, or a dash of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def count_rows(starter: Starter) -> Iterator[str]:
    """Return what the tables hold."""
    counts = starter.counts()
    yield (
        f"{counts['claims']:,} claims with {counts['evidence']:,} pieces of evidence on "
        f"{counts['concepts']:,} concepts from {counts['sources']} sources; "
        f"{counts['mappings']:,} mappings."
    )
    classes = {item.class_name for item in starter.concepts.by_id.values()}
    yield "\n## Concepts and UMLS identifiers\n"
    mapped = {mapping.subject for mapping in starter.mappings if mapping.cui}
    exact = {
        mapping.subject
        for mapping in starter.mappings
        if mapping.cui and mapping.predicate.value.endswith("exactMatch")
    }
    rows = []
    for name in sorted(classes):
        concepts = [c for c in starter.concepts.by_id.values() if c.class_name == name]
        hoped = [c for c in concepts if not c.tcm_only]
        number = sum(c.id in mapped for c in hoped)
        rows.append(
            (
                name,
                len(concepts),
                len(hoped),
                number,
                sum(c.id in exact for c in hoped),
                percent(number, len(hoped)) if number else "–",
            )
        )
    yield table(("class", "concepts", "nameable", "with CUI", "of these exact", "coverage"), rows)
    yield """
*Nameable* leaves out signs that only Chinese medicine names (tongue, pulse, what eases or worsens),
which are right without an identifier. A CUI stands only where MONDO, HP, the Disease Ontology,
iDISK or SUPP.AI hold it and a source that gives names (for medicines also PharmGKB) holds it for
that very concept; the comment of each mapping names the row read. Why coverage stops where it does:

- **Medicines**: MONDO and the Disease Ontology hold no drugs, and SUPP.AI groups 6,796 drug CUIs
  but gives no names. The names come from two sources: the 236 drug CUIs of the MSKCC relations, and
  for the rest the table of drugs of PharmGKB (now ClinPGx, CC BY-SA 4.0), read one medicine at a
  time; what it gave stands only if SUPP.AI knows the CUI too. Left without are combinations and
  patent medicines, for which no row was taken; medicines newer than the copy read (apixaban,
  empagliflozin, semaglutide); and those where it holds only a salt or an ester (fluticasone) or
  tells drug and prodrug apart where the concept does not (dabigatran).
- **Symptoms**: the HP–UMLS set that is open names 1,083 terms and lacks everyday complaints (chills,
  thirst, bad breath, sneezing, a blocked nose, hiccups, nocturia).
- **Classes of Chinese medicine** (patterns, constitutions, efficacies, therapies) have none by
  nature: UMLS has few of them."""


def count_claimed(starter: Starter) -> Iterator[str]:
    """Return what is claimed and on what ground."""
    yield "\n## Claims by relation\n"
    accepted = [item for item in starter.claims if item.status is Status.ACCEPTED]
    found = Counter(local_name(item.predicate.value) for item in accepted)
    opened = Counter(local_name(item.predicate.value) for item in accepted if is_opened(item))
    labels = Schema.load().properties
    yield table(
        ("relation", "zh", "accepted claims", "opened", "share"),
        [
            (f"`{name}`", labels[name].label_zh, n, opened[name], percent(opened[name], n))
            for name, n in found.most_common()
        ],
    )
    yield "\n## Evidence by tier and kind\n"
    pieces = [evidence for claim in starter.claims for evidence in claim.evidence]
    by = Counter((e.source.tier.value, e.kind.value) for e in pieces)
    tiers = sorted({tier for tier, _ in by}, key=lambda t: -sum(by[t, c] for c in HOW_KNOWN))
    yield table(
        ("tier", *HOW_KNOWN, "all"),
        [(t, *(by[t, c] for c in HOW_KNOWN), sum(by[t, c] for c in HOW_KNOWN)) for t in tiers],
    )
    yield """
`read`: read in the work, or in a named page that restates it. `row`: taken from a row of an open
table. `inferred`: by an editor's rule. `recalled`: common professional knowledge for which no work
was opened; it may name a work in which to look, counts least, and all of it is one vote.
"""
    yield "| accepted claims | opened | all | share | mean confidence opened | not opened |\n|---|---|---|---|---|---|"
    for name, properties in SHARES.items():
        some = [
            c
            for c in starter.claims
            if c.status is Status.ACCEPTED
            and (not properties or local_name(c.predicate.value) in properties)
        ]
        sure = {
            item: [c.confidence.value for c in some if is_opened(c) is item]
            for item in (True, False)
        }
        means = (f"{sum(v) / len(v):.2f}" if v else "–" for v in sure.values())
        share = f"{100 * len(sure[True]) / len(some):.1f} %"
        yield f"| {name} | {len(sure[True])} | {len(some)} | {share} | {' | '.join(means)} |"


def is_opened(claim: Claim) -> bool:
    """Return whether a work or a table was opened for a claim."""
    return any(item.kind.is_opened for item in claim.evidence)


SHARES = {
    "all": (),
    "safety": (
        "interactsWith", "contraindicatedIn", "cautionIn", "hasToxicity", "incompatibleWith",
        "opposes",
    ),
    "nature, flavour, channels": ("hasNature", "hasFlavour", "hasMeridianTropism"),
}  # fmt: skip


HOW_KNOWN = ("read", "row", "inferred", "recalled")


class Chp:
    """The open table of Chinese herbal pieces: nature, flavour and channels by name."""

    def __init__(self, folder: Path) -> None:
        self.of: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for row in read(folder / "CHP_Medicinal_properties.tsv"):
            word = re.sub(r" (therapeutic|medicinal|meridian)$", "", row["Medicinal_properties"])
            self.of[row["CHP_ID"]][row["Class"]].add(WORDS.get(word, word))
        self.preferred: dict[str, str] = {}
        self.synonym: dict[str, str] = {}
        for row in read(folder / "Chinese_herbal_pieces.tsv"):
            self.preferred.setdefault(row["Chinese_herbal_pieces"], row["CHP_ID"])
            for name in (row["Chinese_synonyms"] or "").split("|"):
                self.synonym.setdefault(name.strip(), row["CHP_ID"])

    def find(self, concept: Concept) -> str:
        """Return the row of a concept, by its name, a synonym of theirs or an alias of Shiyi's."""
        for name in (concept.zh, *concept.alt_zh):
            if row := self.preferred.get(name) or self.synonym.get(name):
                return row
        return ""


def read(path: Path) -> list[dict[str, str]]:
    """Read a tab-separated file, with a byte order mark or without."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def against_chp(starter: Starter, chp: Chp) -> Iterator[str]:
    """Compare what the textbooks say of the 106 with the table, value by value."""
    fields: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    zh = {item.id: item.zh for item in starter.concepts.by_id.values()}
    for claim in starter.claims:
        if (name := local_name(claim.predicate.value)) in CLASSES:
            key = local_name(claim.subject.value), name
            fields[key][zh[local_name(text(claim.object))]] |= {
                (e.suggested or e.source).id for e in claim.evidence
            }
    compared, rows, totals = 0, [], {name: Counter[str]() for name in CLASSES}
    for concept in catalogue(starter):
        found = chp.find(concept)
        compared += bool(found)
        for name, (column, label) in CLASSES.items():
            own, theirs = book_values(fields[concept.id, name]), chp.of[found][column]
            if not found or not own or not theirs:  # an empty cell is no record
                totals[name]["not comparable"] += 1
                continue
            values = {FLATTENED.get(item, item) for item in own}
            count(totals[name], values, theirs)
            if values != theirs:
                why = explain_difference(values - theirs, theirs - values, fields[concept.id, name])
                why += "; " + OTHER[concept.zh] if concept.zh in OTHER else ""
                rows.append(
                    (concept.zh, label, "、".join(sorted(own)), "、".join(sorted(theirs)), why)
                )
    yield from agreement(compared, rows, totals)


def book_values(values: dict[str, set[str]]) -> set[str]:
    """Keep what a textbook or the pharmacopoeia says: the first of them that speaks."""
    for book in BOOKS:
        if spoken := {value for value, sources in values.items() if book in sources}:
            return spoken
    return set()


def count(total: Counter[str], found: set[str], theirs: set[str]) -> None:
    """Add one comparison to the totals."""
    total["compared"] += 1
    total["same"] += found == theirs
    total["overlapping"] += bool(found & theirs)
    total["both"] += len(found & theirs)
    total["books only"] += len(found - theirs)
    total["table only"] += len(theirs - found)


def explain_difference(found: set[str], theirs: set[str], values: dict[str, set[str]]) -> str:
    """Return why the two differ."""
    listed = []
    if theirs and all(THE_TABLE in values.get(value, ()) for value in theirs):
        listed.append(
            f"{'、'.join(sorted(theirs))} stands as a claim of the table beside the book's"
        )
    elif theirs:
        listed.append(f"the table alone has {'、'.join(sorted(theirs))}, not taken over")
    if "淡" in found:
        listed.append("the table has no 淡")
    if rest := sorted(found - {"淡"}):
        listed.append(f"the book alone has {'、'.join(rest)}")
    return "; ".join(listed)


def agreement(
    compared: int, rows: list[tuple[str, ...]], totals: dict[str, Counter[str]]
) -> Iterator[str]:
    """Write the figures, then every disagreement."""
    yield f"### Nature, flavour and channels of the catalogue against the CHP table\n\n{compared} materials were found in the table. Degrees (微寒, 大热) count as their base value: the table has none.\n"
    yield table(
        (
            "",
            "compared",
            "overlap",
            "the same set",
            "values of both",
            "books only",
            "table only",
            "agreement",
        ),
        [
            (
                CLASSES[name][1],
                t["compared"],
                percent(t["overlapping"], t["compared"]),
                percent(t["same"], t["compared"]),
                t["both"],
                t["books only"],
                t["table only"],
                percent(2 * t["both"], 2 * t["both"] + t["books only"] + t["table only"]),
            )
            for name, t in totals.items()
        ],
    )
    whole = sum(totals.values(), Counter[str]())
    twice = 2 * whole["both"]
    yield f"\nOver all values the two agree on {percent(twice, twice + whole['books only'] + whole['table only'])} (Dice). Every disagreement:\n"
    yield table(("material", "of what", "books", "table", "how it stands"), rows)


def catalogue(starter: Starter) -> list[Concept]:
    """List the catalogue names and the named parts of those that are groups."""
    numbered = [
        item
        for item in starter.concepts.by_id.values()
        if any(re.fullmatch(r"MFH-\d{3}", code) for code in item.notation)
    ]
    return sorted(numbered, key=lambda item: (item.notation, item.id))


class Names:
    """Finds what a row of the MSKCC relations names, among our concepts."""

    def __init__(self, starter: Starter) -> None:
        self._labels: dict[str, set[str]] = defaultdict(set)
        self._cuis: dict[str, set[str]] = defaultdict(set)
        self._kinds = {each.id: KINDS[each.class_name] for each in starter.concepts.by_id.values()}
        for item in starter.concepts.by_id.values():
            for label in (item.en, *item.alt_en, *item.latin):
                self._labels[plain(label)].add(item.id)
        for mapping in starter.mappings:
            if mapping.cui:
                self._cuis[mapping.cui].add(mapping.subject)

    def herbs(self, row: dict[str, str]) -> set[str]:
        """Return the supplements and materials of the row's herb, by name or CUI."""
        found = self._labels[plain(row["mskcc_name"])] | self._cuis[row["idisk2_cui"]]
        return {item for item in found if self._kinds.get(item) in ("supplement", "substance")}

    def drugs(self, row: dict[str, str]) -> set[str]:
        """Return the medicines the row's own words name, or its CUI where linked to those words."""
        found = {c for c in self._labels[plain(row["original_string"])] if self._kinds[c] == "drug"}
        if not found and plain(row["term"]) in plain(row["original_string"]):
            return {c for c in self._cuis[row["id"]] if self._kinds.get(c) == "drug"}
        return found


def against_mskcc(starter: Starter, path: Path) -> Iterator[str]:
    """Return how many MSKCC interactions whose both ends the base knows are in it."""
    names, stored = Names(starter), interacting(starter)
    pairs: dict[tuple[str, str], bool] = {}
    for row in read(path):
        if row["relation"] == "interacts_with":
            herbs, drugs = names.herbs(row), names.drugs(row)
            if herbs and drugs:
                pair = (row["mskcc_name"], row["original_string"].strip())
                stands = any((herb, drug) in stored for herb in herbs for drug in drugs)
                pairs[pair] = pairs.get(pair, False) or stands
    standing = sum(pairs.values())
    yield (
        "\n### Interactions against MSKCC About Herbs, as iDISK holds it\n\n"
        f"{len(pairs)} pairs have both ends in the base; {standing} stand "
        f"({percent(standing, len(pairs))})."
    )
    if missed := [f"{a} × {b}" for (a, b), stands in pairs.items() if not stands]:
        yield "\nMissing: " + "; ".join(missed) + "."


def plain(label: str) -> str:
    """Bring a label to a form in which spellings meet."""
    low = re.sub(r"[^a-z0-9]+", " ", label.lower()).strip()
    return re.sub(r"(?<=[a-z]{3})s\b", "", low)


def interacting(starter: Starter) -> set[tuple[str, str]]:
    """List interacting pairs both ways, with what a class of medicines says of its members."""
    members: dict[str, set[str]] = defaultdict(set)
    for child in starter.broader:
        waiting = list(starter.broader[child])
        while waiting:
            above = waiting.pop()
            members[above].add(child)
            waiting += starter.broader.get(above, [])
    found = set()
    for claim in starter.claims:
        if local_name(claim.predicate.value) == "interactsWith":
            one, other = local_name(claim.subject.value), local_name(text(claim.object))
            found |= {(one, other), (other, one)} | {(one, member) for member in members[other]}
    return found


def incompatible(starter: Starter) -> Iterator[str]:
    """Count the eighteen incompatibilities and the nineteen fears."""
    found = Counter(local_name(claim.predicate.value) for claim in starter.claims)
    yield f"\n### Incompatible pairs\n\n{found['opposes']} of 52 pairs of the eighteen incompatibilities and their two supplements; {found['fears']} of 10 pairs of the nineteen fears. `tests/ingest/tables/test_starter.py` names each."


def main() -> None:
    """Write the page."""
    starter = load_starter()
    argv = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SHIYI_DATA", "")
    parts = [
        "# What the starter base holds\n\nWritten by `make docs` from the tables of `ontology/`.\n"
    ]
    parts += [*count_rows(starter), *count_claimed(starter), ""]
    written = PAGE.read_text("utf-8") if PAGE.is_file() else ""
    if argv and (data := Path(argv)).is_dir():
        parts += [CROSS, "", *against_chp(starter, Chp(data / "chp"))]
        parts += [*against_mskcc(starter, data / "idisk1" / "mskcc_relations.tsv")]
        parts += [*incompatible(starter), VERIFICATION + written.partition(VERIFICATION)[2]]
    elif written:
        parts.append(CROSS + written.partition(CROSS)[2].rstrip())
    PAGE.write_text("\n".join(parts).rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()
