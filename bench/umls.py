"""How a release of UMLS of any size is read: `python bench/umls.py [--lines 10000000]`.

Writes a synthetic MRCONSO.RRF with MRSTY, MRREL, MRDEF and MRCUI beside it (no content of UMLS),
then makes the index of names and streams what is stated of 5,000 CUIs; gives seconds and peak memory.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from shiyi.ingest.batches import Report
from shiyi.ingest.datasets.umls import Release, index_names, open_umls_linker, umls_batches

SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "in")]


def word(number: int) -> str:
    parts = []
    for _ in range(4):
        number, at = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[at])
    return "".join(parts)


def write_release(folder: Path, lines: int) -> None:
    """Write a release of ``lines`` strings, 2.5 of them a concept."""
    rng = random.Random(7)  # noqa: S311
    concepts = max(1, int(lines / 2.5))
    with (folder / "MRCONSO.RRF").open("w", encoding="utf-8") as conso:
        for number in range(lines):
            cui, first = number * concepts // lines, number % 5 == 0
            name = f"{word(rng.randrange(1 << 28))} {word(number)} {rng.choice(('root', 'pain', 'acid'))}"
            language = "ENG" if number % 10 else "SPA"
            conso.write(
                f"C{cui:07d}|{language}|{'P' if first else 'S'}|L{number:08d}|"
                f"{'PF' if first else 'VO'}|S{number:08d}|{'Y' if first else 'N'}|A{number:08d}"
                f"||M{number}||MSH|PT|D{number}|{name}|0|N|256|\n"
            )
    with (folder / "MRSTY.RRF").open("w", encoding="utf-8") as sty:
        sty.writelines(
            f"C{n:07d}|T{(47, 121, 184)[n % 3]:03d}|A1.2|x|AT{n}|256|\n" for n in range(concepts)
        )
    with (folder / "MRREL.RRF").open("w", encoding="utf-8") as rel:
        rel.writelines(
            f"C{n:07d}|A1|AUI|PAR|C{n // 2:07d}|A2|AUI|isa|R{n}||MSH|MSH||Y|N||\n"
            for n in range(concepts)
        )
    with (folder / "MRDEF.RRF").open("w", encoding="utf-8") as definitions:
        definitions.writelines(
            f"C{n:07d}|A1|AT1||MSH|A made-up meaning.|N||\n" for n in range(0, concepts, 20)
        )
    with (folder / "MRCUI.RRF").open("w", encoding="utf-8") as cui_file:
        cui_file.writelines(f"C{9_000_000 + n:07d}|2020AA|SY|||C{n:07d}|Y|\n" for n in range(1000))


def measure(folder: Path, lines: int, lookups: int) -> dict[str, Any]:
    laps = {}
    started = time.perf_counter()
    write_release(folder, lines)
    laps["made"] = time.perf_counter() - started
    release = Release(folder)
    started, cpu = time.perf_counter(), time.process_time()
    names = index_names(release, folder / "kb")
    laps["index"], laps["index_cpu"] = time.perf_counter() - started, time.process_time() - cpu
    known = {f"C{n:07d}" for n in range(0, int(lines / 2.5), max(1, lines // 12_500))}
    started = time.perf_counter()
    report = Report()
    quads = sum(
        len(batch.make().quads) for batch in umls_batches(release, release.dataset(), known, report)
    )
    laps["known"] = time.perf_counter() - started
    linker = open_umls_linker(folder / "kb")
    if linker is None:
        raise SystemExit("no index was made")
    started = time.perf_counter()
    for number in range(0, lines, max(1, lines // lookups)):
        linker.link(f"{word(number)} root")
    laps["link_ms"] = (time.perf_counter() - started) * 1000 / lookups
    size = sum(path.stat().st_size for path in (folder / "kb" / "umls").iterdir())
    return {
        "lines": lines,
        "names": names,
        "known_cuis": len(known),
        "quads": quads,
        "lookups": lookups,
        **{key: round(each, 2) for key, each in laps.items()},
        "index_mib": size >> 20,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=100_000, help="10000000 for the long form")
    parser.add_argument("--lookups", type=int, default=200, help="names that are looked up then")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(Path(folder), args.lines, args.lookups)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
