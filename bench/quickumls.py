"""Our UMLS linker beside QuickUMLS, on the same names and sentences.

`python bench/quickumls.py --python ENV/bin/python [--names N]`, where ENV is a separate environment
with the package quickumls (it brings spaCy, so it is no part of Shiyi's). QuickUMLS wants an English
spaCy model and NLTK's stop words, which cannot be downloaded everywhere: it gets a blank pipeline
and a short list here, which only makes it faster.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.linking.labels import Concept, Label, LabelIndex
from shiyi.linking.linker import Linker
from shiyi.linking.umls.index import UmlsNames
from shiyi.linking.umls.linker import UmlsLinker
from shiyi.linking.umls.sources import UmlsName

FILLER = (
    "the",
    "patient",
    "was",
    "seen",
    "at",
    "home",
    "on",
    "that",
    "day",
    "and",
    "felt",
    "well",
    "after",
    "a",
    "long",
    "walk",
    "with",
    "friends",
)
THEIRS = """
import json, sys, time
from quickumls import QuickUMLS
started = time.perf_counter()
matcher = QuickUMLS(sys.argv[1], threshold=0.7, window=5, accepted_semtypes={"T121"})
opened = time.perf_counter() - started
sentences = json.load(open(sys.argv[2]))
matcher.match(sentences[0][0])
started, found = time.process_time(), 0
for text, cuis in sentences:
    result = {each["cui"] for match in matcher.match(text, best_match=True) for each in match}
    found += len(result & set(cuis))
taken = time.process_time() - started
print(json.dumps({"open s": round(opened, 2), "sentences/s": round(len(sentences) / taken, 1),
                  "found": found}))
"""


def make_names(count: int) -> dict[str, str]:
    """Join words of real English labels by twos and threes into names with a CUI each."""
    chance = random.Random(3)  # noqa: S311
    labels = LabelIndex.from_tables(artefact("ontology/concepts")).labels
    english = " ".join(label.text for label in labels if label.language == "en").lower()
    words = sorted(
        {word for word in english.split() if word.isascii() and word.isalpha() and len(word) > 3}
        - set(FILLER)
    )
    names: dict[str, str] = {}
    while len(names) < count:
        name = " ".join(chance.sample(words, chance.randint(2, 3)))
        names.setdefault(name, f"C{len(names):07d}")
    return names


def make_sentences(names: dict[str, str], count: int) -> list[tuple[str, list[str]]]:
    """Place two names into each sentence of about twenty-five words."""
    chance, listed = random.Random(4), list(names)  # noqa: S311
    sentences = []
    for _ in range(count):
        two = chance.sample(listed, 2)
        parts = [" ".join(chance.choices(FILLER, k=7)) for _ in range(3)]
        sentences.append(
            (f"{parts[0]} {two[0]} {parts[1]} {two[1]} {parts[2]}.", [names[each] for each in two])
        )
    return sentences


def time_shiyi(
    names: dict[str, str], sentences: list[tuple[str, list[str]]], folder: Path
) -> list[dict[str, object]]:
    """Time the similarity linker and the dictionary."""
    index = UmlsNames.build(
        (UmlsName(name, cui, True, frozenset({"T121"})) for name, cui in names.items()), folder
    )
    linker = UmlsLinker(index)
    concepts = tuple(Concept(cui, "Drug", "", name, cui) for name, cui in names.items())
    labels = tuple(Label(name, "en", place, "preferred") for place, name in enumerate(names))
    plain = Linker(LabelIndex("bench", concepts, labels)).dictionary
    plain.build_automaton()
    systems: dict[str, Callable[[str], set[str]]] = {
        "UmlsLinker (similar, whole mention)": lambda text: {
            match.cui for match in linker.find(text)
        },
        "Dictionary (exact)": lambda text: {
            concepts[hit.senses[0].concept].cui for hit in plain.find(text) if hit.senses
        },
    }
    return [{"system": title, **time_sentences(find, sentences)} for title, find in systems.items()]


def time_sentences(
    find: Callable[[str], set[str]], sentences: list[tuple[str, list[str]]]
) -> dict[str, float]:
    """Return sentences a second of processor time, and the share of names found."""
    find(sentences[0][0])
    started = time.process_time()
    result = sum(len(find(text) & set(cuis)) for text, cuis in sentences)
    taken = time.process_time() - started
    return {
        "sentences/s": round(len(sentences) / taken, 1),
        "recall": round(result / 2 / len(sentences), 4),
    }


def time_quickumls(
    python: str, names: dict[str, str], sentences: list[tuple[str, list[str]]], folder: Path
) -> dict[str, object]:
    """Install QuickUMLS on the same names and time it in its own environment."""
    rrf, base, stubs = folder / "rrf", folder / "base", folder / "stubs"
    for path in (rrf, base, stubs / "en_core_web_sm", stubs / "nltk" / "corpora" / "stopwords"):
        path.mkdir(parents=True)
    (stubs / "en_core_web_sm" / "__init__.py").write_text(
        "import spacy\ndef load(**options):\n    return spacy.blank('en')\n", "utf-8"
    )
    (stubs / "nltk" / "corpora" / "stopwords" / "english").write_text("the\nof\nand\n", "utf-8")
    (stubs / "en_core_web_sm-3.8.0.dist-info").mkdir()
    (stubs / "en_core_web_sm-3.8.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: en_core_web_sm\nVersion: 3.8.0\n", "utf-8"
    )
    with (rrf / "MRCONSO.RRF").open("w", encoding="utf-8") as out:
        for name, cui in names.items():
            out.write(f"{cui}|ENG|P|L|PF|S|Y|A||||SRC|PT|1|{name}|0|N||\n")
    (rrf / "MRSTY.RRF").write_text(
        "".join(f"{cui}|T121|A1|Pharmacologic Substance|AT||\n" for cui in names.values()), "utf-8"
    )
    asked = folder / "sentences.json"
    asked.write_text(json.dumps(sentences), "utf-8")
    env = {**os.environ, "PYTHONPATH": str(stubs), "NLTK_DATA": str(stubs / "nltk")}
    subprocess.run(  # noqa: S603 - the interpreter the caller names
        [python, "-m", "quickumls.install", "-L", str(rrf), str(base)],
        check=True,
        env=env,
        capture_output=True,
    )
    process = subprocess.run(  # noqa: S603
        [python, "-c", THEIRS, str(base), str(asked)],
        check=True,
        env=env,
        capture_output=True,
        text=True,
    )
    output = json.loads(process.stdout.splitlines()[-1])
    return {
        "system": "QuickUMLS 1.4 (threshold 0.7, window 5)",
        "sentences/s": output["sentences/s"],
        "recall": round(output["found"] / 2 / len(sentences), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="of an environment with quickumls; without: Shiyi alone")
    parser.add_argument("--names", type=int, default=100_000)
    parser.add_argument("--sentences", type=int, default=300)
    options = parser.parse_args()
    names = make_names(options.names)
    sentences = make_sentences(names, options.sentences)
    with tempfile.TemporaryDirectory() as name:
        rows = time_shiyi(names, sentences, Path(name) / "shiyi")
        if options.python:
            rows.append(time_quickumls(options.python, names, sentences, Path(name)))
        else:
            print("no --python of an environment with quickumls: Shiyi alone", file=sys.stderr)
    print(json.dumps({"names": len(names), "sentences": len(sentences), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
