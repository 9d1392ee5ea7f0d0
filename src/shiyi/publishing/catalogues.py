"""Data Package, CSV on the Web and Croissant: the tables of a release with their columns."""

import csv
import gzip
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shiyi.publishing.files import ReleaseFiles
from shiyi.publishing.metadata import TITLE, ReleaseCitation
from shiyi.publishing.void import CREATOR, KEYWORDS, LICENCE, SUMMARY, Distribution

_NUMBERS: Final = frozenset({"confidence", "confidence:float", "has_confidence_score"})
_CROISSANT: Final = "http://mlcommons.org/croissant/"
# the terms of Croissant 1.0 that are used here; all others are of schema.org
_TERMS: Final = ("column", "extract", "field", "fileObject", "recordSet", "source")
_CONTEXT: Final[Mapping[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": _CROISSANT,
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
} | {name: f"cr:{name}" for name in _TERMS}


@dataclass(frozen=True, slots=True)
class TableListing:
    """A table among the files of a release, and its columns."""

    name: str
    file: Distribution
    columns: tuple[str, ...]

    @property
    def is_tabbed(self) -> bool:
        """Return whether tabs separate the cells."""
        return ".tsv" in self.name

    @property
    def slug(self) -> str:
        """Return the name in the letters that a Data Package allows.

        >>> TableListing("kgx/edges.tsv", None, ()).slug
        'kgx-edges'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower().partition(".")[0]).strip("-")


def describe_tables(about: ReleaseCitation, files: ReleaseFiles) -> None:
    """Write the three descriptions of the tables that ``files`` lists."""
    tables = [
        TableListing(name, distribution, _header(files, name))
        for name, distribution in sorted(files.listed.items())
        if name.removesuffix(".gz").endswith((".csv", ".tsv"))
    ]
    package = _package(about, tables)
    files.write_json("datapackage.json", "Data Package of the tables", package)
    web = _csvw(about, [listing for listing in tables if not listing.file.packed])
    files.write_json("csvw-metadata.json", "CSV on the Web: the tables that are not packed", web)
    croissant = _croissant(about, files, tables)
    files.write_json("croissant.json", "Croissant: files and records", croissant)


def _header(files: ReleaseFiles, name: str) -> tuple[str, ...]:
    """Return the first row that is no comment."""
    path = files.folder / name
    with gzip.open(path) if name.endswith(".gz") else path.open("rb") as file:
        lines = (line for line in io.TextIOWrapper(file, encoding="utf-8") if line[0] != "#")
        return tuple(next(csv.reader(lines, delimiter="\t" if ".tsv" in name else ",")))


def _package(about: ReleaseCitation, tables: list[TableListing]) -> dict[str, Any]:
    return {
        "name": "shiyi",
        "id": about.iri,
        "title": TITLE,
        "description": SUMMARY,
        "version": about.version,
        "created": f"{about.issued}T00:00:00Z",
        "keywords": list(KEYWORDS),
        "licenses": [{"name": "CC-BY-4.0", "path": LICENCE}],
        "contributors": [{"title": CREATOR, "role": "author"}],
        "resources": [_resource(listing) for listing in tables],
    }


def _resource(table: TableListing) -> dict[str, Any]:
    fields = [
        {"name": name, "type": "number" if name in _NUMBERS else "string"} for name in table.columns
    ]
    made: dict[str, Any] = {
        "name": table.slug,
        "path": table.name,
        "title": table.file.title,
        "format": "tsv" if table.is_tabbed else "csv",
        "mediatype": table.file.media_type,
        "encoding": "utf-8",
        "bytes": table.file.bytes,
        "hash": f"sha256:{table.file.sha256}",
        "schema": {"fields": fields},
    }
    if table.is_tabbed:
        made["dialect"] = {"delimiter": "\t", "commentChar": "#"}
    return made


def _csvw(about: ReleaseCitation, tables: list[TableListing]) -> dict[str, Any]:
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "dc:title": TITLE,
        "dc:license": {"@id": LICENCE},
        "dc:identifier": about.iri,
        "tables": [
            {
                "url": listing.name,
                "dc:title": listing.file.title,
                "dialect": {"delimiter": "\t", "commentPrefix": "#"} if listing.is_tabbed else {},
                "tableSchema": {
                    "columns": [
                        {"titles": name, "datatype": "decimal" if name in _NUMBERS else "string"}
                        for name in listing.columns
                    ]
                },
            }
            for listing in tables
        ],
    }


def _croissant(
    about: ReleaseCitation, files: ReleaseFiles, tables: list[TableListing]
) -> dict[str, Any]:
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "@id": about.iri,
        "conformsTo": f"{_CROISSANT}1.0",
        "name": "shiyi",
        "alternateName": TITLE,
        "description": SUMMARY,
        "license": LICENCE,
        "url": files.url,
        "version": about.version,
        "datePublished": about.issued,
        "creator": {"@type": "sc:Organization", "name": CREATOR},
        "keywords": list(KEYWORDS),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "description": distribution.title,
                "contentUrl": distribution.url,
                "contentSize": f"{distribution.bytes} B",
                "encodingFormat": distribution.media_type,
                "sha256": distribution.sha256,
            }
            for name, distribution in sorted(files.listed.items())
        ],
        "recordSet": [_records(listing) for listing in tables if not listing.file.packed],
    }


def _records(table: TableListing) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": table.slug,
        "name": table.slug,
        "description": table.file.title,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{table.slug}/{name}",
                "name": name,
                "dataType": "sc:Float" if name in _NUMBERS else "sc:Text",
                "source": {"fileObject": {"@id": table.name}, "extract": {"column": name}},
            }
            for name in table.columns
        ],
    }
