"""TransE and RotatE of ours beside PyKEEN's, on the same triples of the starter base.

`python bench/pykeen.py KB --python ENV/bin/python [--epochs N]`, where ENV is a separate environment
with the package pykeen (it brings some forty others, so it is no part of Shiyi's). Both get the same
triples, dimension, epochs, batches, negatives, step size and loss (Sun et al. 2019), one thread, and
both are ranked by the function below; PyKEEN's own figure for the same model stands beside.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shiyi.reasoning.projection import Projection
from shiyi.reasoning.translation import KINDS, TranslationSettings, train_translation
from shiyi.reasoning.triples import Floats, Longs, Names, Numbered, Row
from shiyi.reasoning.ukge import rows_of
from shiyi.sparql.knowledge_base import KnowledgeBase

HERE = Path(__file__).parent
HELD = 0.1  # of the triples
Scores = Callable[[Longs, int], Floats]  # of some triples with every entity at column 0 or 2
THEIRS = """
import json, sys, time
import numpy as np, torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.losses import NSSALoss
from pykeen.models import RotatE, TransE
from pykeen.training import SLCWATrainingLoop
from pykeen.triples import CoreTriplesFactory
said = json.loads(sys.argv[1])
torch.set_num_threads(1)
train, test = (torch.from_numpy(np.load(f"{name}.npy")) for name in ("train", "test"))
factory = CoreTriplesFactory(train, num_entities=said["entities"], num_relations=said["relations"])
common = {"triples_factory": factory, "random_seed": said["seed"],
          "loss": NSSALoss(margin=6.0, adversarial_temperature=said["temperature"], reduction="mean")}
model = (TransE(embedding_dim=said["dim"], scoring_fct_norm=1, **common) if said["kind"] == "transe"
         else RotatE(embedding_dim=said["dim"] // 2, **common))
loop = SLCWATrainingLoop(model=model, triples_factory=factory,
                         optimizer=torch.optim.Adam(model.parameters(), lr=said["learning_rate"]),
                         negative_sampler_kwargs={"num_negs_per_pos": said["negatives"]})
started = time.process_time()
loop.train(triples_factory=factory, num_epochs=said["epochs"], batch_size=said["batch"],
           use_tqdm=False)
taken = time.process_time() - started
model.eval()
with torch.no_grad():
    for column, name, score in ((0, "heads", model.score_h), (2, "tails", model.score_t)):
        asked = test[:, 1:] if column == 0 else test[:, :2]
        np.save(name, np.concatenate([score(part).numpy() for part in asked.split(256)]))
own = RankBasedEvaluator(filtered=True).evaluate(
    model, mapped_triples=test, additional_filter_triples=[train], use_tqdm=False, batch_size=256)
print(json.dumps({"seconds": taken, "own_mrr": own.get_metric("both.realistic.inverse_harmonic_mean_rank")}))
"""


def parted(rows: list[Row], seed: int) -> tuple[list[Row], list[Row]]:
    """Hold triples out that name nothing else than what the rest names."""
    order = np.random.default_rng(seed).permutation(len(rows))
    held = [rows[i] for i in order[: int(HELD * len(rows))]]
    kept = [rows[i] for i in order[int(HELD * len(rows)) :]]
    ends = {end for row in kept for end in (row[0], row[2])}
    relations = {row[1] for row in kept}
    known = [row for row in held if {row[0], row[2]} <= ends and row[1] in relations]
    return kept, known


def ranked(scores: Scores, test: Longs, every: Longs) -> dict[str, float]:
    """Give filtered MRR and hits@10 over both ends; ties count half, other true ones are left out."""
    places: list[float] = []
    for column in (0, 2):
        others = [each for each in range(3) if each != column]
        true: dict[tuple[int, ...], list[int]] = {}
        for triple in every.tolist():
            true.setdefault(tuple(triple[each] for each in others), []).append(triple[column])
        for start in range(0, len(test), 256):
            part = test[start : start + 256]
            for triple, row in zip(part.tolist(), scores(part, column), strict=True):
                own = row[triple[column]]
                row = row.copy()
                row[true[tuple(triple[each] for each in others)]] = -np.inf
                places.append(1 + float((row > own).sum()) + float((row == own).sum()) / 2)
    found = np.array(places)
    return {"mrr": round(float((1 / found).mean()), 4), "hits@10": round(float((found <= 10).mean()), 4)}  # fmt: skip


def ours(
    kept: list[Row], kind: str, settings: TranslationSettings, seed: int, test: Longs, every: Longs
) -> dict[str, object]:
    """Train and rank ours."""
    started = time.process_time()
    model = train_translation(kept, kind, settings, seed)
    taken = time.process_time() - started

    def scores(part: Longs, column: int) -> Floats:
        count = len(model.names.entities)
        rows = np.repeat(part, count, axis=0)
        rows[:, column] = np.tile(np.arange(count), len(part))
        return -model.distances(rows).reshape(len(part), count)

    return {"model": kind, "system": "Shiyi", "processor s/epoch": round(taken / settings.epochs, 3),
            **ranked(lambda part, column: np.concatenate([scores(each[None], column) for each in part]),
                     test, every)}  # fmt: skip


def theirs(
    python: str, kind: str, settings: TranslationSettings, seed: int, names: Names,
    train: Longs, test: Longs, every: Longs,
) -> dict[str, object]:  # fmt: skip
    """Train PyKEEN's in its own environment, and rank what it scores."""
    said = {
        "kind": kind, "seed": seed, "entities": len(names.entities),
        "relations": len(names.relations), "dim": settings.dim, "epochs": settings.epochs,
        "batch": settings.batch, "negatives": settings.negatives,
        "learning_rate": settings.learning_rate, "temperature": settings.temperature,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "train.npy", train)
        np.save(folder / "test.npy", test)
        done = subprocess.run(  # noqa: S603 - the interpreter the caller names
            [python, "-c", THEIRS, json.dumps(said)],
            check=True, cwd=folder, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        told = json.loads(done.stdout.splitlines()[-1])
        matrices = {0: np.load(folder / "heads.npy"), 2: np.load(folder / "tails.npy")}
    at = {tuple(triple): place for place, triple in enumerate(test.tolist())}

    def scores(part: Longs, column: int) -> Floats:
        return np.asarray(matrices[column][[at[tuple(each)] for each in part.tolist()]], np.float32)

    return {
        "model": kind, "system": "PyKEEN",
        "processor s/epoch": round(told["seconds"] / settings.epochs, 3),
        **ranked(scores, test, every), "mrr by PyKEEN": round(told["own_mrr"], 4),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", type=Path)
    parser.add_argument(
        "--python", default=os.environ.get("PYKEEN_PYTHON"),
        help="of an environment with pykeen (or PYKEEN_PYTHON); without: ours alone",
    )  # fmt: skip
    parser.add_argument("--epochs", type=int, default=TranslationSettings().epochs)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with KnowledgeBase.open(asked.kb) as base:
        rows = rows_of(Projection.from_store(base.store, base.release))
    # a triple once, whatever its confidence
    rows = list({row[:3]: row for row in rows}.values())
    kept, held = parted(rows, asked.seed)
    names = Names.of(kept)
    train, test = (Numbered.of(each, names).triples for each in (kept, held))
    every = np.concatenate([train, test])
    settings = TranslationSettings(epochs=asked.epochs)
    if not asked.python:
        print("no --python of an environment with pykeen: ours alone", file=sys.stderr)
    found = []
    for kind in KINDS:
        found.append(ours(kept, kind, settings, asked.seed, test, every))
        if asked.python:
            found.append(theirs(asked.python, kind, settings, asked.seed, names, train, test, every))  # fmt: skip
    about = {"triples": len(train), "held out": len(test), "entities": len(names.entities),
             "relations": len(names.relations), "dim": settings.dim, "epochs": settings.epochs,
             "negatives": settings.negatives}  # fmt: skip
    for each in found:
        print(json.dumps(about | each))


if __name__ == "__main__":
    main()
