"""Source tables: the works that claims cite."""

from pathlib import Path

from shiyi.ingest.tables import Faults, Row, check_columns, read_tables
from shiyi.model.claim import Source, Tier

COLUMNS = (
    "id", "title_zh", "title_en", "tier", "year", "identifier", "licence", "lineage", "note",
)  # fmt: skip


def read_sources(folder: Path, faults: Faults) -> dict[str, Source]:
    """Read every source table of ``folder``, by id."""
    found: dict[str, Source] = {}
    for header, rows in read_tables(folder, faults):
        check_columns(header, ("id", "title_zh", "title_en", "tier"), COLUMNS, rows, faults)
        for row in rows:
            if row.get("id") in found:
                faults.add(row.at("id"), f"source {row.get('id')} is defined twice")
            elif source := _source(row, faults):
                found[source.id] = source
    return found


def _source(row: Row, faults: Faults) -> Source | None:
    if row.get("tier") not in set(Tier):
        faults.unknown(row.at("tier"), "tier", row.get("tier"), Tier)
        return None
    for column in ("id", "title_zh", "title_en"):
        if not row.get(column):
            faults.add(row.at(column), "is empty")
    return Source(
        id=row.get("id"), title_zh=row.get("title_zh"), title_en=row.get("title_en"),
        tier=Tier(row.get("tier")), year=row.get("year"), identifier=row.get("identifier"),
        licence=row.get("licence"), lineage=row.get("lineage"), note=row.get("note"),
    )  # fmt: skip
