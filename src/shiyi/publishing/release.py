"""A versioned release with its SHACL report."""

import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from shiyi.errors import UsageError
from shiyi.model.rdf import (
    XSD_BOOLEAN,
    BlankNode,
    Literal,
    NamedNode,
    Triple,
    parse_n_quads_lines,
    serialize,
)
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import PREFIXES, RDF, RDFS, SHIYI
from shiyi.publishing import editions, metadata, tables
from shiyi.publishing.catalogues import describe_tables
from shiyi.publishing.dumps import write_lines
from shiyi.publishing.files import SUMS, ReleaseFiles
from shiyi.publishing.metadata import evaluation_files, source_table
from shiyi.publishing.nquads import default_graph_lines, lowered_lines, published_lines, split_line
from shiyi.publishing.vocabulary import definitions, linkml_schema, vocabulary_quads
from shiyi.publishing.void import (
    Counts,
    DatasetDescription,
    coverage,
    disagreements,
    evidence,
    relations,
    void_triples,
)
from shiyi.shapes.partitioning import validate_parts
from shiyi.shapes.validation import Result, shapes_graph
from shiyi.sparql.store.port import QuadStore
from shiyi.sparql.store.visibility import find_restricted

_SH = PREFIXES["sh"]


def report_turtle(results: Iterable[Result], iri: str) -> bytes:
    """Write a ``sh:ValidationReport``; it conforms where nothing is of severity Violation."""
    matches = sorted(results, key=lambda each: (each.focus, each.path, each.value, each.component))
    report = NamedNode(iri)
    conforms = not any(match.severity == "Violation" for match in matches)
    triples = [
        Triple(report, RDF.type, NamedNode(f"{_SH}ValidationReport")),
        Triple(
            report,
            NamedNode(f"{_SH}conforms"),
            Literal(str(conforms).lower(), datatype=XSD_BOOLEAN),
        ),
    ]
    for number, result in enumerate(matches):
        node = BlankNode(f"r{number}")
        triples.append(Triple(report, NamedNode(f"{_SH}result"), node))
        triples.append(Triple(node, RDF.type, NamedNode(f"{_SH}ValidationResult")))
        for name, value in (
            ("focusNode", result.focus),
            ("resultPath", result.path),
            ("sourceConstraintComponent", result.component),
        ):
            if ":" in value:
                triples.append(Triple(node, NamedNode(_SH + name), NamedNode(value)))
        severity = NamedNode(_SH + result.severity)
        triples.append(Triple(node, NamedNode(f"{_SH}resultSeverity"), severity))
        for language, message in (("en", result.message_en), ("zh", result.message_zh)):
            if message:
                term = Literal(message, language=language)
                triples.append(Triple(node, NamedNode(f"{_SH}resultMessage"), term))
    return serialize(triples, "ttl", PREFIXES)


_VERSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,39}")
_DUMPS: Final = (
    ("shiyi.trig.gz", "trig", "rdf11", "everything, RDF 1.1 TriG"),
    ("shiyi.ttl.gz", "ttl", "rdf11", "the accepted view, RDF 1.1 Turtle"),
    ("rdf12/shiyi.trig.gz", "trig", "rdf12", "everything, RDF 1.2 TriG"),
    ("rdf12/shiyi.ttl.gz", "ttl", "rdf12", "the accepted view, RDF 1.2 Turtle"),
    ("shiyi.jsonld.gz", "jsonld", "rdf11", "the accepted view, JSON-LD with its context, RDF 1.1"),
    ("singleton.trig.gz", "trig", "singleton", "each claim also a named graph, RDF 1.1"),
    ("nanopublications.trig.gz", "trig", "nanopub", "one nanopublication a claim, RDF 1.1"),
    ("skos.ttl.gz", "ttl", "skos", "the concepts alone, SKOS"),
)  # fmt: skip
_CLASSES: Final = tuple(str(each).encode() for each in (RDF.type, RDFS.subClassOf))
Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A request for a release: ``issued`` is a day, ``base`` the base IRI of addresses."""

    version: str
    issued: str
    release: str
    base: str
    evaluations: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not _VERSION.fullmatch(self.version):
            raise UsageError(
                f"{self.version!r} is no version; write one such as 1.0.0 or 2026-11, "
                "of letters, digits, dots, hyphens and underscores"
            )
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", self.issued):
            raise UsageError(f"{self.issued!r} is no day; write it as 2026-11-21")

    @property
    def iri(self) -> str:
        """Name the release."""
        return f"{self.base}id/release-{self.version}"


@dataclass(frozen=True, slots=True)
class PublishedRelease:
    """A published release: its folder and canonical hash."""

    folder: Path
    canonical: str
    changes: editions.Comparison | None
    conforms: bool
    unchanged: bool = False  # it stood there already, byte for byte


def issue_date() -> str:
    """Return the day of SOURCE_DATE_EPOCH, else today."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    except (ValueError, OverflowError) as fault:
        raise UsageError(f"SOURCE_DATE_EPOCH is no number of seconds: {epoch[:40]!r}") from fault


def publish(
    store: QuadStore, home: Path, order: ReleaseRequest, step: Step = lambda _: None
) -> PublishedRelease:
    """Write the release into ``home/VERSION`` atomically.

    The last release in ``home`` is what it is compared with. Raises :class:`UsageError` where the
    version stands there with other content: a release is never changed.
    """
    home.mkdir(parents=True, exist_ok=True)
    target = home / order.version
    earlier = [
        path
        for path in editions.list_editions(home)
        if editions.version_key(path.name) < editions.version_key(order.version)
    ]
    with tempfile.TemporaryDirectory(prefix=editions.BEGUN, dir=home) as created:
        folder = Path(created) / order.version
        folder.mkdir()
        release = _fill(store, folder, order, earlier[0] if earlier else None, step)
        if target.exists():
            if (target / SUMS).read_bytes() != (folder / SUMS).read_bytes():
                raise UsageError(
                    f"{target} holds another release {order.version}, and a release is never "
                    "changed: name a new version"
                )
            return replace(release, folder=target, unchanged=True)
        folder.rename(target)
    return replace(release, folder=target)


def _fill(
    store: QuadStore, folder: Path, order: ReleaseRequest, previous: Path | None, step: Step
) -> PublishedRelease:
    files = ReleaseFiles(folder, f"{order.base}releases/{order.version}/")
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        step("gathering what may leave")
        lines = _Lines(Path(aside) / "all.nq")
        lines.keep(published_lines(store, find_restricted(store)))
        digest, canonical = _dumps(lines, files, step, order.issued)
        step("tables")
        _tables(store, files, order.version)
        edition = editions.Edition.of_lines(
            default_graph_lines(lines), editions.mapping_rows(store), order.release, order.version
        )
        files.write(
            editions.CLAIMS,
            "every accepted claim, one row each",
            editions.claims_table(edition.claims.values()),
        )
        changes = _compare_previous(edition, previous, files, order, step)
        step("validating with SHACL")
        conforms = _validate_files(lines, files, order)
        subsets = Counter(split_line(line)[3].decode()[1:-1] for line in lines)
        del subsets[""]
        counts = Counts.of(parse_n_quads_lines(default_graph_lines(lines)))
    stored = _statistics(store, files, counts)
    evaluation_files(order.evaluations, order.release, files)
    about = metadata.ReleaseCitation(
        order.version,
        order.issued,
        order.iri,
        order.release,
        canonical,
        len(edition.claims),
        counts.classes[SHIYI.Evidence.value],
        f"{order.base}id/release-{previous.name}" if previous else "",
    )
    _write_changelog(files, about, changes, previous)
    _write_description(files, order, about, counts, subsets)
    record = {
        "version": order.version,
        "issued": order.issued,
        "iri": order.iri,
        "release": order.release,
        "canonical": {"algorithm": "RDFC-1.0", "hash": canonical},
        "n_quads": digest,
        "previous": previous.name if previous else None,
        "counts": stored,
        "changes": changes.counts() if changes else None,
        "conforms": conforms,
        "files": {name: asdict(each) for name, each in sorted(files.listed.items())},
    }
    files.write_json(editions.RECORD, "this list, for programs", record)
    (folder / SUMS).write_text(files.sums(), encoding="utf-8")
    return PublishedRelease(folder, canonical, changes, conforms)


class _Lines:
    """Lines stored in a file, to be read as often as needed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self, lines: Iterable[bytes]) -> None:
        with self._path.open("wb") as file:
            file.writelines(line + b"\n" for line in lines)

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            for line in file:
                yield line.rstrip(b"\n")


def _dumps(lines: _Lines, files: ReleaseFiles, step: Step, day: str) -> tuple[str, str]:
    """Write every RDF form; return the hashes of the two canonical ones, before they are packed."""
    step("rdf12/shiyi.nq.gz")
    whole, canonical = hashlib.sha256(), hashlib.sha256()
    title = "everything, RDF 1.2 N-Quads, sorted"
    files.stream("rdf12/shiyi.nq.gz", title, _hash_writer(lines, whole.update))
    step("shiyi.nq.gz")
    title = "everything as RDF 1.1 in canonical form (RDFC-1.0)"
    lower = lowered_lines(lines)
    files.stream("shiyi.nq.gz", title, _hash_writer(lower, canonical.update))
    for name, form, profile, title in _DUMPS:
        step(name)
        files.stream(name, title, _rdf_writer(lines, form, profile, day))
    return f"sha256:{whole.hexdigest()}", f"sha256:{canonical.hexdigest()}"


def _hash_writer(
    lines: Iterable[bytes], update: Callable[[bytes], None]
) -> Callable[[IO[bytes]], None]:
    def write(file: IO[bytes]) -> None:
        for line in lines:
            whole = line + b"\n"
            update(whole)
            file.write(whole)

    return write


def _rdf_writer(
    lines: Iterable[bytes], form: str, profile: str, day: str
) -> Callable[[IO[bytes]], None]:
    return lambda file: write_lines(lines, file, form, profile, day)


def _tables(store: QuadStore, files: ReleaseFiles, version: str) -> None:
    for kind, created in (
        ("csv", tables.csv_tables),
        ("neo4j", tables.neo4j_tables),
        ("kgx", tables.kgx_tables),
    ):
        written_tables = list(created(store))
        tables.write_tables(written_tables, files.folder / kind)
        for table in written_tables:
            files.note(f"{kind}/{table.name}", f"{kind}: {table.name.partition('.')[0]}")
    tables.write_tables(tables.sssom_tables(store), files.folder)
    files.note(editions.MAPPINGS, "mappings to other vocabularies, SSSOM")
    tables.write_tables([source_table(store)], files.folder)
    files.note("sources.csv", "sources with tier and licence")
    ontology = serialize((q.triple for q in vocabulary_quads(store)), "ttl", PREFIXES)
    files.write("vocabulary.ttl", "the OWL vocabulary", ontology)
    schema = linkml_schema(Schema.load(), definitions(store), version)
    files.write("vocabulary.linkml.yaml", "the vocabulary as a LinkML schema", schema)


def _compare_previous(
    edition: editions.Edition,
    previous: Path | None,
    files: ReleaseFiles,
    order: ReleaseRequest,
    step: Step,
) -> editions.Comparison | None:
    if previous is None:
        return None
    step(f"comparing with {previous.name}")
    changes = editions.compare(editions.Edition.of_folder(previous), edition)
    title = f"what changed since {previous.name}, claim by claim"
    files.write_json("changes.json", title, changes.to_json())
    return changes


def _validate_files(lines: Iterable[bytes], files: ReleaseFiles, order: ReleaseRequest) -> bool:
    results = validate_parts(
        lambda: parse_n_quads_lines(default_graph_lines(lines)),
        # claims may conflict with candidates, which have their class in another graph
        parse_n_quads_lines(line for line in lines if line.split(b" ", 2)[1] in _CLASSES),
        shapes_graph(),
    )
    name = "shacl-report.ttl"
    files.write(
        name,
        "SHACL report of the accepted view",
        report_turtle(results, f"{files.url}{name}#report"),
    )
    return not any(result.severity == "Violation" for result in results)


def _statistics(store: QuadStore, files: ReleaseFiles, counts: Counts) -> dict[str, int]:
    stored = {
        "triples": counts.triples,
        "claims": counts.classes[SHIYI.Claim.value],
        "evidence": counts.classes[SHIYI.Evidence.value],
        "sources": counts.classes[SHIYI.Source.value],
    }
    lines: dict[str, Any] = {
        "counts": stored, "cui_coverage": coverage(store), "claims_by_property": relations(store),
        "evidence": evidence(store), "recorded_disagreements": disagreements(store),
    }  # fmt: skip
    files.write_json("statistics.json", "what the base holds, counted", lines)
    return stored


def _write_changelog(
    files: ReleaseFiles,
    about: metadata.ReleaseCitation,
    changes: editions.Comparison | None,
    previous: Path | None,
) -> None:
    path = previous / "CHANGELOG.md" if previous else None
    earlier = path.read_text(encoding="utf-8") if path and path.is_file() else ""
    text = metadata.changelog(about, changes, earlier)
    files.write("CHANGELOG.md", "what changed, release by release", text)


def _write_description(
    files: ReleaseFiles,
    order: ReleaseRequest,
    about: metadata.ReleaseCitation,
    counts: Counts,
    subsets: Mapping[str, int],
) -> None:
    files.write("CITATION.cff", "how to cite this release", metadata.citation(about))
    describe_tables(about, files)
    distributions = tuple(distribution for _, distribution in sorted(files.listed.items()))
    names = tuple(sorted(files.listed))
    description = DatasetDescription(
        order.iri,
        about.canonical,
        f"{order.base}id/",
        version=order.version,
        issued=order.issued,
        previous=about.previous,
        page=files.url,
        distributions=distributions,
        subsets=subsets,
    )
    files.write(
        "void.ttl",
        "VoID and DCAT description",
        serialize(void_triples(description, counts), "ttl", PREFIXES),
    )
    files.write_json("datacite.json", "DataCite metadata", metadata.datacite(about, distributions))
    crate = metadata.ro_crate(about, distributions, names)
    files.write_json("ro-crate-metadata.json", "RO-Crate metadata", crate)
    files.write("README.md", "what this is", metadata.readme(about, distributions, names))
