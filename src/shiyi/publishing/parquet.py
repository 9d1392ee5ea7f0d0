"""The tables as Parquet files, for tools that read columns."""

from collections.abc import Iterable
from pathlib import Path

from shiyi.errors import MissingExtraError
from shiyi.publishing.tables import Table


def write_parquet(tables: Iterable[Table], folder: Path) -> int:
    """Write each table into ``folder`` as one file, every column a text; count the rows.

    Raises :class:`MissingExtraError` without the extra ``parquet``.
    """
    try:
        import duckdb
    except ImportError as fault:
        raise MissingExtraError("Parquet", "parquet") from fault
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with duckdb.connect(config={"threads": 1}) as database:  # one thread: the same bytes each time
        for table in tables:
            columns = ", ".join(f'"{name}" VARCHAR' for name in table.header)
            database.execute(f"CREATE OR REPLACE TABLE rows ({columns})")
            if table.rows:
                holes = ", ".join("?" for _ in table.header)
                database.executemany(f"INSERT INTO rows VALUES ({holes})", list(table.rows))  # noqa: S608 # holes alone
            path = folder / Path(table.name).with_suffix(".parquet")
            database.execute("COPY rows TO $path (FORMAT parquet)", {"path": str(path)})
            count += len(table.rows)
    return count
