"""The long runs: ``python -m soak short|whole``; prints a table and writes JSON.

``--only`` picks runs, ``--kills`` takes another number of kills. Everything is made in a temporary folder.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FORMS = {
    "short": {"kills": 5, "cuts": 400, "faults": 8, "bits": 60, "events": 4, "curators": 4, "decisions": 25, "items": 10, "hostile": 200,
              "situations": 40, "seeds": 1, "people": 1000, "cases": 50, "quads": 20_000},
    "whole": {"kills": 200, "cuts": 10_000, "faults": 400, "bits": 1000, "events": 80, "curators": 8, "decisions": 1000, "items": 100,
              "hostile": 10_000, "situations": 0, "seeds": 3, "people": 20_000, "cases": 2000,
              "quads": 1_000_000},
}  # fmt: skip

# of a hundred power cuts
SHARES = {
    "commit": 25, "curation": 10, "snapshot": 5, "backup": 15, "restore": 10, "index build": 8,
    "tokens and accounts": 20, "ingest": 4, "migration (forget)": 3,
}  # fmt: skip


def runs(form: dict[str, int], seed: int) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return every run by its name."""
    from soak.deciding import rush
    from soak.disk.damage import damage
    from soak.disk.faults import system_call_faults
    from soak.disk.power import power_cuts
    from soak.drill import drill
    from soak.health import namelessness, safety
    from soak.histories import histories
    from soak.hostile import hostile
    from soak.killing import soak
    from soak.reading_stages import READING
    from soak.stages import STAGES

    found: dict[str, Callable[[], dict[str, Any]]] = {
        stage.name: lambda stage=stage: soak(stage, form["kills"], seed).to_json()  # type: ignore[misc] # bound now
        for stage in (*STAGES, *READING)
    }
    named = {stage.name: stage for stage in (*STAGES, *READING)}
    for name, share in SHARES.items():
        count, stage = form["cuts"] * share // 100, named[name]
        found[f"power cut: {name}"] = lambda stage=stage, count=count: power_cuts(  # type: ignore[misc] # bound now
            stage, count, seed
        ).to_json()
        found[f"system calls: {name}"] = lambda stage=stage: system_call_faults(  # type: ignore[misc] # bound now
            stage, form["faults"], seed
        ).to_json()
    found["curators at once"] = lambda: rush(
        form["curators"], form["decisions"], form["items"], seed
    ).to_json()
    found["histories"] = lambda: histories(form["curators"], form["events"], seed).to_json()
    found["damage"] = lambda: damage(form["bits"], seed).to_json()
    found["way back"] = lambda: drill(form["quads"]).to_json()
    found["hostile requests"] = lambda: hostile(form["hostile"], seed).to_json()
    found["hostile crowd"] = lambda: hostile(form["hostile"] // 4, seed, 6, 1000).to_json()
    seeds = [seed + number for number in range(form["seeds"])]
    found["safety"] = lambda: safety(form["situations"] or None, seeds).to_json()
    found["names removed"] = lambda: namelessness(form["people"], form["cases"], seeds).to_json()
    return found


def main() -> int:
    """Do the runs; status 1 where anything was lost, torn or doubled."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--only", default="", help="names of runs, with commas")
    parser.add_argument("--kills", type=int, default=0, help="instead of the form's number")
    parser.add_argument("--json", type=Path, help="merge the figures into this file")
    chosen = parser.parse_args()
    form = dict(FORMS[chosen.form])
    if chosen.kills:
        form["kills"] = chosen.kills
    every = runs(form, chosen.seed)
    names = [name.strip() for name in chosen.only.split(",") if name.strip()] or list(every)
    bad = False
    for name in names:
        start = time.monotonic()
        row = {
            **every[name](),
            "seconds": round(time.monotonic() - start, 1),
            "seed": chosen.seed,
            "load": round(os.getloadavg()[0], 1),
            "day": f"{datetime.now(UTC):%Y-%m-%d}",
            "python": platform.python_version(),
        }
        wrong = {
            key: row[key] for key in ("lost", "torn", "doubled", "stuck", "faults") if row.get(key)
        }
        bad |= bool(wrong) or row.get("serial") is False
        sys.stdout.write(f"{name:<20} {json.dumps(row, ensure_ascii=False)}\n")
        sys.stdout.flush()
        if chosen.json:
            _keep(chosen.json, name, row)
    return int(bad)


def _keep(path: Path, name: str, row: dict[str, Any]) -> None:
    reply = json.loads(path.read_text("utf-8")) if path.exists() else {}
    reply[name] = row
    path.write_text(json.dumps(reply, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
