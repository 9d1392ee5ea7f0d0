"""Names of dietary ingredients to CUIs: `python bench/umls.py DATA`.

DATA holds the open crosswalks (iDISK2.0's DSI_public.csv, MONDO, Disease Ontology, SUPP.AI, iDISK 1).
Asked are the names of those rows of iDISK2.0 whose CUI another of these sources has too.
"""

import argparse
import csv
import gzip
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from shiyi.linking.umls import UmlsLinker
from shiyi.linking.umls_names import UmlsNames
from shiyi.linking.umls_sources import UmlsName, open_names

HERE = Path(__file__).parent
_CUI = re.compile(r"C\d{7}")
Asked = Sequence[tuple[str, frozenset[str]]]


def rows(data: Path) -> list[dict[str, str]]:
    """Read iDISK2.0's public ingredients."""
    with (data / "idisk2" / "DSI_public.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def supported(data: Path) -> frozenset[str]:
    """Collect the CUIs that the other open sources hold."""
    files = [*data.glob("mondo/*umls*"), *data.glob("doid/allXREF*"), *data.glob("suppai/*"),
             *data.glob("idisk1/*")]  # fmt: skip
    found: set[str] = set()
    for path in files:
        content = path.read_bytes()
        text = gzip.decompress(content) if path.suffix == ".gz" else content
        found.update(_CUI.findall(text.decode("utf-8")))
    return frozenset(found)


def names_of(row: dict[str, str]) -> list[str]:
    """Give a row's names, the preferred one first."""
    said = [row["Name"].strip()]
    for column in ("NHP_Name", "DSLD_Name", "MSKCC_Name"):
        said += [each.strip() for each in (row[column] or "").split(" | ")]
    return list(dict.fromkeys(filter(None, said)))


def misspelt(asked: Asked) -> Asked:
    """Leave out or swap one letter within each name of eight letters or more."""
    chance, made = random.Random(2), []  # noqa: S311
    for name, cuis in asked:
        if len(name) >= 8:
            at = chance.randrange(1, len(name) - 2)
            swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
            made.append((name[:at] + name[at + 1 :] if chance.random() < 0.5 else swapped, cuis))
    return made


def measured(linker: UmlsLinker, asked: Asked) -> dict[str, float]:
    """Give recall and precision against the CUIs the table has for the name."""
    started = time.perf_counter()
    said = [(linker.link(name, "DSIngredient"), cuis) for name, cuis in asked]
    seconds = time.perf_counter() - started
    given = [match.cui in cuis for match, cuis in said if match is not None]
    return {
        "names": len(asked),
        "recall": round(sum(given) / len(asked), 4),
        "precision": round(statistics.mean(given), 4) if given else 0.0,
        "names/s": round(len(asked) / seconds),
    }


def by_name(pairs: Iterable[tuple[str, str]]) -> Asked:
    """Put the CUIs of one name together: rows of the table may share a name."""
    cuis: dict[str, set[str]] = {}
    for name, cui in pairs:
        cuis.setdefault(name, set()).add(cui)
    return [(name, frozenset(each)) for name, each in cuis.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    table, held = rows(data), supported(data)
    asked = by_name((name, row["CUI"]) for row in table if row["CUI"] in held
                    for name in names_of(row))  # fmt: skip
    plural = [(f"{name}s", cuis) for name, cuis in asked if name[-1:].isalpha() and name[-1] != "s"]
    without = [name for row in table if not _CUI.fullmatch(row["CUI"]) for name in names_of(row)]
    with tempfile.TemporaryDirectory() as folder:
        listed: list[UmlsName] = list(open_names(data))
        linker = UmlsLinker(UmlsNames.build(listed, Path(folder)))
        found = {
            "names in the index": len(listed),
            "as written": measured(linker, asked),
            "one letter left out or swapped": measured(linker, misspelt(asked)),
            "plural": measured(linker, plural),
            "without a CUI": {
                "names": len(without),
                "got one": sum(linker.link(name, "DSIngredient") is not None for name in without),
            },
        }
    text = json.dumps(found, ensure_ascii=False, indent=1)
    print(text)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "umls.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
