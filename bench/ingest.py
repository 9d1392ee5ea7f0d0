"""How fast a collection becomes a tree, passages and claims: `python bench/ingest.py [BOOKS]`.

Without a collection it makes one: `--made N` books of a size like the classics'.
"""

import argparse
import json
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from shiyi.artefacts import artefact
from shiyi.errors import ShiyiError
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.documents.document import tree_of
from shiyi.ingest.documents.files import read_books
from shiyi.ingest.extraction.rules import RulesExtractor, relation_of
from shiyi.linking.labels import LabelIndex
from shiyi.settings import IngestSettings

ENTRY = (
    "<目录>卷{chapter}\r\r\n\n<篇名>{herb}\r\n\r\n内容：味甘、辛，性温，无毒。入脾、胃二经。主头痛，"
    "咳嗽，腹痛，治香港脚， \r\n水肿。反甘遂、海藻。孕妇忌服。"
    + "生川谷，二月、八月采根，曝干。" * 40
    + "\r\n\r\n"
)


def made(folder: Path, books: int) -> Path:
    path = folder / "books.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for number in range(books):
            herbs = ("甘草", "当归", "生姜", "山药", "百合", "莲子", "麦芽", "序") * 20
            text = "".join(ENTRY.format(chapter=i // 8, herb=herb) for i, herb in enumerate(herbs))
            said = {
                "file": f"{number}.txt",
                "no": f"{number}",
                "title": f"书{number}",
                "text": text,
            }
            out.write(json.dumps(said, ensure_ascii=False) + "\n")
    return path


def measure(path: Path, books: int) -> dict[str, Any]:
    settings, dataset = IngestSettings(), load_dataset("tcm-ancient-books")
    lexicon = Lexicon(LabelIndex.from_tables(artefact("ontology/concepts")))
    rules, claims, repaired = RulesExtractor(lexicon), Counter[str](), Counter[str]()
    counts, spent = Counter[str](), Counter[str]()
    started, cpu = time.perf_counter(), time.process_time()
    for number, book in enumerate(read_books(path, dataset, settings.max_text_bytes)):
        if number == books:
            break
        if isinstance(book, ShiyiError):
            counts["failures"] += 1
            continue
        tree = tree_of(book, settings.passage_least, settings.passage_most)
        repaired += tree.repaired
        counts += Counter(
            books=1,
            characters=len(book.text),
            sections=len(tree.sections),
            passages=len(tree.passages),
        )
        before = time.process_time()
        for passage in tree.passages:
            claims.update(map(relation_of, rules.extract(passage, book.source).found))
        spent["rules"] += int((time.process_time() - before) * 1e6)
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    in_rules = spent["rules"] / 1e6
    return {
        **counts,
        "claims": dict(claims.most_common()),
        "repaired": dict(repaired),
        "wall_seconds": round(seconds, 1),
        "cpu_seconds": round(used, 1),
        "tree_cpu_seconds": round(used - in_rules, 1),
        "rules_passages_per_cpu_second": round(counts["passages"] / max(in_rules, 1e-9)),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("books", nargs="?", type=Path)
    parser.add_argument("--made", type=int, default=20)
    parser.add_argument("--limit", type=int, default=-1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(args.books or made(Path(folder), args.made), args.limit)
    print(json.dumps(found, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
