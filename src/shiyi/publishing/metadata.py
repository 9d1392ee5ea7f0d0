"""How a release is cited and harvested: CITATION.cff, DataCite, RO-Crate, README, changelog."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from shiyi.publishing.comparison import Comparison
from shiyi.publishing.description import LICENCE, Distribution

TITLE: Final = (
    "Shiyi 食医: claims about medicine-food homology, Chinese medicine and dietary supplements"
)
SUMMARY: Final = (
    "Claims with evidence and confidence about medicine-food homology (药食同源), traditional "
    "Chinese medicine and dietary supplements, keyed to an OWL vocabulary and UMLS concepts. "
    "For research; no medical advice."
)
CREATOR: Final = "The Shiyi contributors"
_KEYWORDS: Final = (
    "medicine-food homology", "traditional Chinese medicine", "dietary supplements",
    "knowledge graph", "RDF", "uncertain knowledge",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cited:
    """What every form of citation says of a release; ``iri`` is its canonical name."""

    version: str
    issued: str  # YYYY-MM-DD
    iri: str
    release: str
    canonical: str
    claims: int
    evidence: int
    previous: str = ""


def citation(about: Cited) -> str:
    """Write CITATION.cff 1.2."""
    return (
        "cff-version: 1.2.0\nmessage: If you use this release, please cite it as below.\n"
        f'title: "{TITLE}"\ntype: dataset\nversion: "{about.version}"\n'
        f"date-released: {about.issued}\nlicense: CC-BY-4.0\nurl: {about.iri}\n"
        f"identifiers:\n  - type: other\n    value: {about.canonical}\n"
        "    description: SHA-256 of the RDFC-1.0 canonical form\n"
        f"authors:\n  - name: {CREATOR}\n"
        f"keywords: [{', '.join(_KEYWORDS)}]\n"
    )


def datacite(about: Cited, files: Sequence[Distribution]) -> str:
    """Write the DataCite 4 metadata that a repository asks for when it mints a DOI."""
    related = [
        {"relatedIdentifier": about.previous, "relatedIdentifierType": "URL",
         "relationType": "IsNewVersionOf"}
    ] if about.previous else []  # fmt: skip
    return _json({
        "types": {"resourceType": "Dataset", "resourceTypeGeneral": "Dataset"},
        "titles": [{"title": TITLE, "lang": "en"}],
        "creators": [{"name": CREATOR, "nameType": "Organizational"}],
        "publisher": {"name": "Shiyi"}, "publicationYear": about.issued[:4],
        "version": about.version, "language": "zh",
        "identifiers": [
            {"identifier": about.iri, "identifierType": "URL"},
            {"identifier": about.canonical, "identifierType": "RDFC-1.0 SHA-256"},
        ],
        "dates": [{"date": about.issued, "dateType": "Issued"}],
        "subjects": [{"subject": each} for each in _KEYWORDS],
        "rightsList": [{"rights": "Creative Commons Attribution 4.0 International",
                        "rightsUri": LICENCE, "rightsIdentifier": "CC-BY-4.0",
                        "rightsIdentifierScheme": "SPDX"}],
        "descriptions": [{"description": SUMMARY, "descriptionType": "Abstract", "lang": "en"}],
        "formats": sorted({each.media_type for each in files}),
        "sizes": [f"{about.claims} claims", f"{sum(each.bytes for each in files)} bytes"],
        "relatedIdentifiers": related,
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    })  # fmt: skip


def ro_crate(about: Cited, files: Sequence[Distribution], names: Sequence[str]) -> str:
    """Write the metadata file of an RO-Crate 1.2; ``names`` are the files' names, in their order."""
    entities: list[dict[str, Any]] = [
        {"@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": {"@id": "./"},
         "conformsTo": {"@id": "https://w3id.org/ro/crate/1.2"}},
        {"@id": "./", "@type": "Dataset", "name": TITLE, "description": SUMMARY,
         "version": about.version, "datePublished": about.issued, "license": {"@id": LICENCE},
         "identifier": about.iri, "inLanguage": ["zh", "en"], "keywords": list(_KEYWORDS),
         "author": {"@id": "#contributors"}, "publisher": {"@id": "#contributors"},
         "hasPart": [{"@id": name} for name in names]},
        {"@id": "#contributors", "@type": "Organization", "name": CREATOR},
        {"@id": LICENCE, "@type": "CreativeWork", "name": "CC BY 4.0"},
    ]  # fmt: skip
    entities += [
        {"@id": name, "@type": "File", "name": each.title, "encodingFormat": each.media_type,
         "contentSize": str(each.bytes), "sha256": each.sha256}
        for name, each in zip(names, files, strict=True)
    ]  # fmt: skip
    return _json({"@context": "https://w3id.org/ro/crate/1.2/context", "@graph": entities})


def changelog(about: Cited, changes: Comparison | None, earlier: str) -> str:
    """Write what changed, the newest version first; ``earlier`` is the last release's changelog."""
    head = "# Changelog of releases\n"
    if changes is None:
        told = [
            f"First release: {about.claims:,} claims with {about.evidence:,} pieces of evidence."
        ]
    else:
        counts = changes.counts()
        told = [
            f"Since {changes.old.version}: " + ", ".join(
                f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items()
            ) + "; `changes.json` has each."
        ]  # fmt: skip
        told += [f"- `{line}`" for line in list(changes.sentences())[:_SHOWN]]
        if (more := sum(counts.values()) - _SHOWN) > 0:
            told.append(f"- … and {more:,} more")
    body = "\n".join(told)
    rest = earlier.removeprefix(head).lstrip("\n")
    return f"{head}\n## {about.version} ({about.issued})\n\n{body}\n" + (
        f"\n{rest}" if rest else ""
    )


_SHOWN: Final = 50  # changes listed in the changelog; changes.json has all


def readme(about: Cited, files: Sequence[Distribution], names: Sequence[str]) -> str:
    """Write what a person who unpacks the release reads first, in Chinese and English."""
    rows = "\n".join(
        f"| `{name}` | {each.title} | {each.bytes:,} |"
        for name, each in zip(names, files, strict=True)
    )
    return f"""# Shiyi 食医 {about.version}

{TITLE}, {about.issued}. {about.claims:,} claims with {about.evidence:,} pieces of evidence.
论断 {about.claims:,} 条，证据 {about.evidence:,} 条。供研究使用，不作诊疗依据。For research; no medical advice.

- Name 名称: <{about.iri}>
- Base 底本: `{about.release}`
- Canonical hash 规范散列 (RDFC-1.0, SHA-256 of `rdf11/shiyi.nq`): `{about.canonical}`
- Licence 许可: CC BY 4.0; each source states its own terms (`sources.csv`). 各来源条款见 `sources.csv`。

Check 校验: `sha256sum -c SHA256SUMS`.

| file 文件 | what 内容 | bytes 字节 |
|---|---|---|
{rows}
"""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
