"""CITATION.cff, DataCite, RO-Crate, tables of sources and figures."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shiyi.errors import UsageError
from shiyi.model.rdf import Literal, NamedNode, local_name, text
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI
from shiyi.publishing.editions import Comparison
from shiyi.publishing.files import ReleaseFiles
from shiyi.publishing.tables import Table
from shiyi.publishing.void import CREATOR, KEYWORDS, LICENCE, SUMMARY, Distribution
from shiyi.sparql.store.port import QuadStore

TITLE: Final = (
    "Shiyi 食医: claims about medicine-food homology, Chinese medicine and dietary supplements"
)


@dataclass(frozen=True, slots=True)
class ReleaseCitation:
    """The citation of a release; ``iri`` is its canonical name."""

    version: str
    issued: str  # YYYY-MM-DD
    iri: str
    release: str
    canonical: str
    claims: int
    evidence: int
    previous: str = ""


def citation(about: ReleaseCitation) -> str:
    """Write CITATION.cff 1.2."""
    return (
        "cff-version: 1.2.0\nmessage: If you use this release, please cite it as below.\n"
        f'title: "{TITLE}"\ntype: dataset\nversion: "{about.version}"\n'
        f"date-released: {about.issued}\nlicense: CC-BY-4.0\nurl: {about.iri}\n"
        f"identifiers:\n  - type: other\n    value: {about.canonical}\n"
        "    description: SHA-256 of the RDFC-1.0 canonical form\n"
        f"authors:\n  - name: {CREATOR}\n"
        f"keywords: [{', '.join(KEYWORDS)}]\n"
    )


def datacite(about: ReleaseCitation, files: Sequence[Distribution]) -> dict[str, Any]:
    """Return the DataCite 4 metadata that a repository asks for when it mints a DOI."""
    related = (
        [
            {
                "relatedIdentifier": about.previous,
                "relatedIdentifierType": "URL",
                "relationType": "IsNewVersionOf",
            }
        ]
        if about.previous
        else []
    )
    return {
        "types": {"resourceType": "Dataset", "resourceTypeGeneral": "Dataset"},
        "titles": [{"title": TITLE, "lang": "en"}],
        "creators": [{"name": CREATOR, "nameType": "Organizational"}],
        "publisher": {"name": "Shiyi"},
        "publicationYear": about.issued[:4],
        "version": about.version,
        "language": "zh",
        "identifiers": [
            {"identifier": about.iri, "identifierType": "URL"},
            {"identifier": about.canonical, "identifierType": "RDFC-1.0 SHA-256"},
        ],
        "dates": [{"date": about.issued, "dateType": "Issued"}],
        "subjects": [{"subject": term} for term in KEYWORDS],
        "rightsList": [
            {
                "rights": "Creative Commons Attribution 4.0 International",
                "rightsUri": LICENCE,
                "rightsIdentifier": "CC-BY-4.0",
                "rightsIdentifierScheme": "SPDX",
            }
        ],
        "descriptions": [{"description": SUMMARY, "descriptionType": "Abstract", "lang": "en"}],
        "formats": sorted({file.media_type for file in files}),
        "sizes": [f"{about.claims} claims", f"{sum(file.bytes for file in files)} bytes"],
        "relatedIdentifiers": related,
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    }


def ro_crate(
    about: ReleaseCitation, files: Sequence[Distribution], names: Sequence[str]
) -> dict[str, Any]:
    """Return the metadata file of an RO-Crate 1.2; ``names`` are the files' names in order."""
    entities: list[dict[str, Any]] = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.2"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": TITLE,
            "description": SUMMARY,
            "version": about.version,
            "datePublished": about.issued,
            "license": {"@id": LICENCE},
            "identifier": about.iri,
            "inLanguage": ["zh", "en"],
            "keywords": list(KEYWORDS),
            "author": {"@id": "#contributors"},
            "publisher": {"@id": "#contributors"},
            "hasPart": [{"@id": name} for name in names],
        },
        {"@id": "#contributors", "@type": "Organization", "name": CREATOR},
        {"@id": LICENCE, "@type": "CreativeWork", "name": "CC BY 4.0"},
    ]
    entities += [
        {
            "@id": name,
            "@type": "File",
            "name": distribution.title,
            "encodingFormat": distribution.media_type,
            "contentSize": str(distribution.bytes),
            "sha256": distribution.sha256,
        }
        for name, distribution in zip(names, files, strict=True)
    ]
    return {"@context": "https://w3id.org/ro/crate/1.2/context", "@graph": entities}


def changelog(about: ReleaseCitation, changes: Comparison | None, earlier: str) -> str:
    """Write what changed, the newest version first; ``earlier`` is the last release's changelog."""
    head = "# Changelog of releases\n"
    if changes is None:
        lines = [
            f"First release: {about.claims:,} claims with {about.evidence:,} pieces of evidence."
        ]
    else:
        counts = changes.counts()
        lines = [
            f"Since {changes.old.version}: "
            + ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
            + "; `changes.json` has each."
        ]
        lines += [f"- `{line}`" for line in list(changes.sentences())[:_SHOWN]]
        if (more := sum(counts.values()) - _SHOWN) > 0:
            lines.append(f"- … and {more:,} more")
    body = "\n".join(lines)
    rest = earlier.removeprefix(head).lstrip("\n")
    return f"{head}\n## {about.version} ({about.issued})\n\n{body}\n" + (
        f"\n{rest}" if rest else ""
    )


_SHOWN: Final = 50  # changes listed in the changelog; changes.json has all


def readme(about: ReleaseCitation, files: Sequence[Distribution], names: Sequence[str]) -> str:
    """Write the README of the release, in Chinese and English."""
    rows = "\n".join(
        f"| `{name}` | {distribution.title} | {distribution.bytes:,} |"
        for name, distribution in zip(names, files, strict=True)
    )
    return f"""# Shiyi 食医 {about.version}

{TITLE}, {about.issued}. {about.claims:,} claims with {about.evidence:,} pieces of evidence.
论断 {about.claims:,} 条，证据 {about.evidence:,} 条。供研究使用，不作诊疗依据。
For research; no medical advice.

- Name 名称: <{about.iri}>
- Base 底本: `{about.release}`
- Canonical hash 规范散列 (RDFC-1.0, SHA-256 of `shiyi.nq`): `{about.canonical}`
- Licence 许可: CC BY 4.0; each source states its own terms. 各来源条款见 `sources.csv`。

Check 校验: `sha256sum -c SHA256SUMS`.

| file 文件 | what 内容 | bytes 字节 |
|---|---|---|
{rows}
"""


def evaluation_files(paths: Sequence[Path], release: str, files: ReleaseFiles) -> None:
    """Add evaluation results to the release: JSON lines become one table, pages stay as they are.

    Raises :class:`UsageError` for a file that is neither. A figure of another base is marked.
    """
    rows: list[dict[str, Any]] = []
    for path in paths:
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise UsageError(f"evaluation {path} cannot be read: {fault}") from fault
        if path.suffix == ".md":
            files.write(f"evaluation/{path.name}", f"evaluation: {path.stem}", content)
        else:
            rows += _rows(path, content)
    if rows:
        remaining = [{key: value for key, value in row.items() if key != "seconds"} for row in rows]
        lines = "".join(
            json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in remaining
        )
        files.write("evaluation/results.jsonl", "evaluation: figures for programs", lines)
        files.write("evaluation/table.md", "evaluation: the table", _table(rows, release))


def _rows(path: Path, content: str) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in content.splitlines() if line.strip()]
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"evaluation {path} is not JSON lines: {fault}") from fault
    if not all(
        isinstance(row, dict) and {"task", "method", "metrics"} <= row.keys() for row in rows
    ):
        raise UsageError(f"evaluation {path} is not what `shiyi evaluate --json` prints")
    return rows


def _table(rows: Sequence[dict[str, Any]], release: str) -> str:
    lines = [
        "# Evaluation",
        "",
        "| task | file | method | n | metric | value | 95 % | base |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        same = "this" if row.get("release") == release else f"other: {row.get('release')}"
        for name, item in row["metrics"].items():
            span = f"{item['low']:.3f}–{item['high']:.3f}" if item.get("low") is not None else ""
            lines.append(
                f"| {row['task']} | {row.get('file', '')} | {row['method']} | {row.get('n', '')} "
                f"| {name} | {item['value']:.3f} | {span} | {same} |"
            )
    return "\n".join(lines) + "\n"


_COLUMNS = (
    ("tier", SHIYI.sourceTier), ("year", DCTERMS.date), ("identifier", DCTERMS.identifier),
    ("licence", DCTERMS.license), ("lineage", SHIYI.lineage),
)  # fmt: skip


def source_table(store: QuadStore) -> Table:
    """Return one row for each source, in the order of their IRIs."""
    results = {text(quad.subject) for quad in store.match(None, RDF.type, SHIYI.Source)}
    rows = []
    for iri in sorted(results):
        node = NamedNode(iri)
        titles = {
            term.language: term.value
            for quad in store.match(node, RDFS.label)
            if isinstance(term := quad.object, Literal)
        }
        cells = [
            min((text(quad.object) for quad in store.match(node, predicate)), default="")
            for _, predicate in _COLUMNS
        ]
        cells[0] = local_name(cells[0]).removeprefix("tier-")
        rows.append([iri, titles.get("zh", ""), titles.get("en", ""), *cells])
    header = ("iri", "title_zh", "title_en", *(name for name, _ in _COLUMNS))
    return Table("sources.csv", header, tuple(rows))
