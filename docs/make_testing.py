"""Fill the figures of docs/TESTING.md from docs/testing-figures.json and from the tests themselves.

python docs/make_testing.py [build/soak.json …] merges the JSON of runs into the figures first.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_DAY = 50 * 86_400  # requests (R7)
PAGE, FIGURES = ROOT / "docs" / "TESTING.md", ROOT / "docs" / "testing-figures.json"


def lines(folder: Path, kinds: str = "*.py") -> int:
    """Count lines of code files beneath a folder."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.rglob(kinds))


def counts() -> str:
    """Give how much there is of code and of tests."""
    code, tests = lines(ROOT / "src"), lines(ROOT / "tests")
    files = [*(ROOT / "tests").rglob("test_*.py")]
    named = sum(
        len(re.findall(r"^\s*def test_", path.read_text("utf-8"), re.MULTILINE)) for path in files
    )
    return (
        f"{code:,} lines of code, {tests:,} lines of tests in {len(files)} files with {named:,} test functions "
        "(many run for each of a list of cases)."
    )


def runs(held: dict[str, dict[str, Any]]) -> str:
    """Give a table of the long runs."""
    rows = ["| run | how much | acknowledged | lost | torn | doubled | seconds | day, load |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, row in held.items():
        if not {"kills", "cuts", "curators"} & row.keys():
            continue
        much = (
            f"{row['kills']} kills" if "kills" in row else f"{row['cuts']} cuts" if "cuts" in row
            else f"{row['curators']} at once, {row['items']} claims"
        )  # fmt: skip
        done = row.get("acknowledged", row.get("decided", 0))
        more = (
            ""
            if "serial" not in row
            else ("; a serial order" if row["serial"] else "; NO serial order")
        )
        rows.append(f"| {name} | {much}{more} | {done:,} | {row.get('lost', 0)} | {row.get('torn', '–')} | {row.get('doubled', '–')} "
                    f"| {row['seconds']} | {row['day']}, {row['load']} |")  # fmt: skip
    total = sum(row.get("kills", 0) for row in held.values())
    slowest = max((row.get("slowest_check", 0.0) for row in held.values()), default=0.0)
    rows.append(
        f"\nKills in all: {total:,}; the base was open again and looked through after {slowest} s at most."
    )
    return "\n".join(rows)


def sieges(held: dict[str, dict[str, Any]]) -> str:
    """Give the hostile run, the load and the fuzzing."""
    said = [_siege(held[name]) for name in ("hostile requests", "hostile crowd") if name in held]
    said += [_load(held[name]) for name in ("load", "peak") if name in held]
    said += [_long(held[name]) for name in ("load", "endurance") if name in held]
    said += [_day(held[name]) for name in ("day", "day and back") if name in held]
    said += [_whole_day(held["whole day"])] if "whole day" in held else []
    if back := held.get("way back"):
        said.append(
            f"- The way back: of a base of {back['quads']:,} quads all was lost but a backup and the journal, which had 100 changes "
            f"more; {back['lost']} of those were missing afterwards, and the hash of every quad was {'another' if back['torn'] else 'the same'}. The "
            f"backup took {back['backup_seconds']} s; restored, every byte checked, the journal repeated and open to write after "
            f"{back['back_seconds']} s. Load of the machine {back['load']}."
        )
    if safety := held.get("safety"):
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in safety["kinds"].items())
        said.append(
            f"- Safety of answers: {safety['questions']:,} questions over {safety['situations']:,} situations that the base "
            f"{safety['release'][:15]}… holds a warning for ({kinds} questions), each in five ways and two languages, and "
            f"{safety['written_by_hand']:,} cases written by hand; {safety['unsafe']:,} answers without the warning, with a dose no "
            f"claim states, or resting on nothing. {safety['seconds']} s, load of the machine {safety['load']}."
        )
    if model := held.get("model faults"):
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(model["faults"].items()))
        bad = sum(
            model.get(name, 0)
            for name in ("twice", "not verbatim", "parked with facts", "reason with the key")
        )
        said.append(
            f"- A model that fails: {model['calls']:,} calls of which {model['rate']:.0%} fail ({kinds}), seed {model['seed']}: of "
            f"{model['passages']:,} passages {model['facts']:,} facts, {model['lost']} lost, {bad} twice, not verbatim, of a passage that was parked, "
            f"or with the key in a reason; {model['seconds']} s, {model['peak_mib']} MiB at most, load of the machine {model['load']}."
        )
    if nameless := held.get("names removed"):
        said.append(
            f"- De-identification: {nameless['cases']:,} made-up cases with {nameless['identifiers']:,} strings that name somebody, "
            f"{nameless['left']:,} left; {nameless['read_in']:,} cases read into a base, and {nameless['searched_for']:,} of their "
            f"strings looked for in {nameless['searched_mib']} MiB of store, journal, index, log and output: {nameless['found']} found. "
            f"Seeds {', '.join(map(str, nameless['seeds']))}; {nameless['seconds']} s, load of the machine {nameless['load']}."
        )
    if fuzz := held.get("fuzzing"):
        each = ", ".join(
            f"{name} {row['inputs']:,}" for name, row in sorted(fuzz["targets"].items())
        )
        said.append(
            f"- Fuzzing led by coverage (atheris), seed {fuzz['seed']}: {fuzz['inputs']:,} inputs, {fuzz['faults']} faults, in "
            f"{fuzz['seconds']} s ({each}). Load of the machine {fuzz['load']}."
        )
    if api := held.get("api fuzzing"):
        said.append(
            f"- Requests made from the API's description (schemathesis), seed {api['seed']}: {api['inputs']:,} to "
            f"{api['operations']} operations, {api['faults']} answers that were a 500 or not as described, 0 quads changed."
        )
    return "\n".join(said)


def _siege(siege: dict[str, Any]) -> str:
    statuses = ", ".join(f"{count:,} × {status}" for status, count in siege["statuses"].items())
    p99 = ", ".join(f"{kind} {value} ms" for kind, value in siege["good_p99_ms"].items())
    grown = ", ".join(f"{value}" for value in siege["grown_mib_by_quarter"])
    return (
        f"- Hostile requests: {siege['requests']:,} of {siege['kinds']} kinds from {siege['addresses']:,} addresses with seed "
        f"{siege['seed']}, all to one process: {statuses}; {siege['faults']} faults (500, no answer, a dead server, a changed "
        f"store), slowest {siege['slowest']} s with a deadline of 0.5 s, {siege['late']} later than 1 s; {siege['good']:,} good "
        f"requests beside them from another address, {siege['good_failed']} refused, p99: {p99}; the server's process grew by "
        f"{grown} MiB after each quarter. {siege['seconds']} s, load of the machine {siege['load']}."
    )


def _load(load: dict[str, Any]) -> str:
    steady, good = load["steady"], load["steady"]["all good"]
    by_kind = ", ".join(
        f"{kind} {row['p99_ms']} ms" for kind, row in steady.items()
        if isinstance(row, dict) and "p99_ms" in row and kind not in {"all good", "hostile"}
    )  # fmt: skip
    how = (
        f"{load['readers']} readers of gunicorn beside the writer"
        if load["readers"]
        else "`shiyi serve`"
    )
    before, after = load["memory_before"], load["memory_after"]
    text = (
        f"- Mixed load: {load['rate']:.0f} requests a second for {load['minutes']:g} minutes, {how}, {load['writes']} updates "
        f"meanwhile: p50 {good['p50_ms']} ms, p95 {good['p95_ms']} ms, p99 {good['p99_ms']} ms of {good['n']:,} good requests "
        f"({by_kind}); {steady['shed']:,} told to come again, {steady['faults']} faults; descriptors "
        f"{before['descriptors']:g} to {after['descriptors']:g}. Load of the machine {load['load']}."
    )
    if "answered_per_second" in load:
        text += f" {load['answered_per_second']:,.0f} answered a second."
    if rush := load.get("five_times"):
        text += (
            f" Five times as much for ten seconds: {rush['shed']:,} told to come again, {rush['faults']:,} faults, as before "
            f"after {load['recovered_seconds']} s."
        )
    return text


def _long(run: dict[str, Any]) -> str:
    """Tell whether the memory that servers have for themselves grew in a long run."""
    steady, grown, after = run["steady"], run["growth"], run["memory_after"]
    sizes = [row["writer_mib"] + row["readers_mib"] for row in run["by_minute"]]
    how = f"{run['readers']} readers beside the writer" if run["readers"] else "`shiyi serve` alone"
    poor = [row["faults"] for row in run["by_minute"] if row["faults"]]
    silent = steady["statuses"].get("0", 0)
    told = f", in {len(poor)} minutes; {silent} of them no answer in 30 s" if poor else ""
    return (
        f"- Memory over {run['minutes']:g} minutes at {run['rate']:.0f} requests a second, {how}, with {run['writes']} updates "
        f"and 1 % hostile (load of the machine {run['load']}): what the servers have for themselves, without files they map, "
        f"was {sizes[0]:.0f} MiB after the first minute, {sizes[min(4, len(sizes) - 1)]:.0f} after the fifth and {sizes[-1]:.0f} at the end: "
        f"{run['grown_after_5_minutes']:+.1%} after the first five minutes; in the last two thirds {grown['mib_per_hour']:+.0f} "
        f"({grown['from']:+.0f} to {grown['to']:+.0f}, 95 %) MiB an hour, at the end {sizes[-1] - sizes[-4]:+.1f} in three minutes; "
        f"query workers {after['workers_mib']:.0f} MiB, descriptors {run['by_minute'][len(sizes) // 2]['descriptors']:g} half way "
        f"and {after['descriptors']:g} at the end; {steady['answered']:,} answered, {steady['shed']:,} told to come again, "
        f"{steady['faults']} faults{told}."
    )


def _whole_day(run: dict[str, Any]) -> str:
    """Tell what the requests and updates of a day at 50 a second, sent in an hour or so, leave in memory."""
    rows, steady, good = run["by_minute"], run["steady"], run["steady"]["all good"]
    sizes = [row["writer_mib"] + row["readers_mib"] for row in rows]
    step = len(rows) // 6
    parts = ", ".join(
        f"{sum(part) / step:.0f}"
        for part in (sizes[n : n + step] for n in range(0, 6 * step, step))
    )
    return (
        f"- A day's requests, {sum(steady['statuses'].values()):,}, as many as 50 a second are in 24 hours, and {run['writes']:,} updates, one for each "
        f"500, in {run['minutes']:g} minutes at {run['rate']:.0f} a second to {run['readers']} readers beside the writer (load of the machine {run['load']}): "
        f"p50 {good['p50_ms']} ms, p95 {good['p95_ms']} ms, p99 {good['p99_ms']} ms; {steady['shed']:,} told to come again, {steady['faults']} faults. "
        f"What the servers have for themselves was {parts} MiB in the sixths of the run, {run['grown_after_5_minutes']:+.1%} after its first five "
        f"minutes; descriptors {rows[len(rows) // 2]['descriptors']:g} half way and {rows[-1]['descriptors']:g} at the end, with those of connections."
    )


def _day(run: dict[str, Any]) -> str:
    """Tell what the updates of a day, one each ten seconds, leave in memory and on the disk."""
    rows, steady = run["by_minute"], run["steady"]
    quarters = [rows[round(len(rows) * part / 4) - 1] for part in range(1, 5)]
    sizes = ", ".join(f"{row['writer_mib']:.0f}" for row in quarters)
    done = ", ".join(f"{row['writes']:,}" for row in quarters)
    last, disk = rows[-1], [row["disk_mib"] for row in rows[len(rows) // 2 :]]
    does = "take back what the one before brought, or add" if run["back"] else "add"
    return (
        f"- Updates of {last['writes'] / 360:.0f} hours at one in ten seconds, in {run['minutes']:g} minutes beside {run['rate']:.0f} requests a second, "
        f"`shiyi serve` alone (load of the machine {run['load']}): after {done} updates that {does} 51 quads each, the server had {sizes} MiB for itself, "
        f"query workers {last['workers_mib']:.0f} MiB at the end; descriptors {quarters[1]['descriptors']:g} half way and "
        f"{last['descriptors']:g} at the end, with those of connections; {last['copies']} copies of the store that somebody reads; the folder had "
        f"{min(disk):.0f} to {max(disk):.0f} MiB in the second half, of which the journal, that keeps all, had {last['journal_mib']:.0f} at the end "
        f"({last['journal_mib'] * 1024 / last['writes']:.1f} KB an update). {steady['answered']:,} answered, {steady['shed']:,} told to come again, {steady['faults']} faults."
    )


def _named(run: dict[str, Any]) -> str:
    """Name a run of bench/load.py by what it is for."""
    if run["rate"] * run["minutes"] * 60 >= _DAY:
        return "whole day"
    if run["writes"] > 60 * run["minutes"]:
        return "day and back" if run["back"] else "day"
    if run["rate"] < 100:
        return "endurance"
    return "peak" if run["rate"] >= 1000 else "load"


def main() -> None:
    """Merge what was given, and fill the page."""
    held = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    for name in sys.argv[1:]:
        said = json.loads(Path(name).read_text("utf-8"))
        held |= {_named(said): said} if "steady" in said else said
    FIGURES.write_text(
        json.dumps(held, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8"
    )
    page = PAGE.read_text("utf-8")
    for mark, text in {"counts": counts(), "runs": runs(held), "sieges": sieges(held)}.items():
        pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = pattern.sub(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)  # type: ignore[misc] # bound now
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
