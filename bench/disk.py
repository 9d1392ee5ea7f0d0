"""What a base takes of the disk beside a plain store of the same quads: ``python bench/disk.py [KB] [--sizes starter,yaoshi]``.

The plain store is pyoxigraph alone, loaded in bulk from N-Quads and closed at once, without any index for
answers or linking. ``ratio`` is store and indexes over it. Oxigraph merges its tables while a writer has
them open, by which a store of several million quads grows by up to a third, the plain one as ours:
``merged_mb`` is the plain one after that, and ``merged_ratio`` compares with it what was merged of ours.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import pyoxigraph
from ask import WHERE
from grown import SIZES, grown

from shiyi.sparql.knowledge_base import current_generation


def main(kb: Path, sizes: list[str], where: Path) -> None:
    for size in sizes:
        base = kb if size == "starter" else grown(kb, *SIZES[size], where)
        print(json.dumps(measured(size, current_generation(base))), flush=True)


def measured(size: str, generation: Path) -> dict[str, object]:
    """Give megabytes of the plain store, of ours, and of each file of the indexes."""
    quads, plain, merged, seconds = loaded_plainly(generation / "store")
    files = {
        path.name: megabytes(path)
        for path in sorted((generation / "index").iterdir())
        if path.suffix in {".safetensors", ".usearch"}
    }
    store, indexes = megabytes(generation / "store"), round(sum(files.values()), 1)
    return {
        "size": size, "quads": quads, "plain_mb": plain, "plain_load_seconds": seconds,
        "store_mb": store, "index_mb": indexes, "store_ratio": round(store / plain, 2),
        "ratio": round((store + indexes) / plain, 2), "merged_mb": merged,
        "merged_ratio": round((store + indexes) / merged, 2),
        **{f"{n}_mb": held for n, held in files.items()},
    }  # fmt: skip


def loaded_plainly(store: Path) -> tuple[int, float, float, float]:
    """Load a store's quads into a plain one; count them, give its megabytes, those merged, and seconds."""
    with tempfile.TemporaryDirectory(dir=store.parent) as name:
        written, fresh = Path(name) / "every.nq", Path(name) / "plain"
        held = pyoxigraph.Store.read_only(str(store))
        held.dump(str(written), format=pyoxigraph.RdfFormat.N_QUADS)
        started = time.perf_counter()
        plain = pyoxigraph.Store(str(fresh))
        plain.bulk_load(path=str(written), format=pyoxigraph.RdfFormat.N_QUADS)
        plain.flush()
        del plain
        seconds, loaded = round(time.perf_counter() - started, 1), megabytes(fresh)
        again = pyoxigraph.Store(str(fresh))
        again.optimize()
        again.flush()
        del again
        return len(held), loaded, megabytes(fresh), seconds


def megabytes(path: Path) -> float:
    """Give the size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return round(sum(each.stat().st_size for each in files) / 1e6, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=Path, default=Path("kb"))
    parser.add_argument("--sizes", default="starter,yaoshi")
    parser.add_argument("--where", type=Path, default=WHERE)
    said = parser.parse_args()
    main(said.kb, said.sizes.split(","), said.where)
