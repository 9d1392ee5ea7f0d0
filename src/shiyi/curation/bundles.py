"""Signed bundles of reviews."""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shiyi.curation.accounts import NAME
from shiyi.curation.changes import (
    REVIEWS,
    Change,
    Changes,
    Note,
    graph_name,
    parse_iri,
    read_change,
)
from shiyi.curation.reviews import REVIEWING, Decisions
from shiyi.errors import StaleError, UsageError
from shiyi.model.iris import graph
from shiyi.model.rdf import Literal, NamedNode
from shiyi.sparql.store.files import verify_checksum, write_checksummed
from shiyi.sparql.store.oxigraph import n_quads, parse_n_quads

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT: Final = "shiyi-reviews 1"
KEY: Final = "signing.key"
AT_ONCE: Final = 250  # changes of one journal record; killed in between, an import goes on later
_INTERNAL: Final = frozenset({REVIEWS.value, graph("journal").value, graph("derived").value})
_PLAIN: Final = frozenset({"comment", "skip", "assign"})
_LARGEST: Final = 200_000_000  # bytes of a bundle


@dataclass(slots=True)
class ImportResult:
    """The result of an import: changes made, known before, and refused with the reason."""

    made: int = 0
    known: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


def export_bundle(results: Sequence[Change], kb: Path, release: str) -> Iterator[bytes]:
    """Yield the lines of a bundle: a header, one line a change in order, an Ed25519 signature."""
    key = signing_key(kb)
    digest = hashlib.sha256()
    head = {"format": FORMAT, "release": release, "changes": len(results), "key": public_key(key)}
    for values in (head, *map(_as_json, results)):
        line = json.dumps(values, ensure_ascii=False, sort_keys=True).encode() + b"\n"
        digest.update(line)
        yield line
    signature = base64.b64encode(key.sign(digest.digest())).decode()
    yield json.dumps({"signature": signature}).encode() + b"\n"


def read_bundle(content: bytes, trusted: Iterable[str]) -> list[Change]:
    """Return the changes of a bundle with a valid signature of a trusted key.

    Raises ``UsageError`` for a malformed, changed or untrusted one; nothing of it is used then.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if len(content) > _LARGEST:
        raise UsageError(f"a bundle has at most {_LARGEST:,} bytes")
    lines = content.splitlines(keepends=True)
    try:
        head, end = json.loads(lines[0]), json.loads(lines[-1])
        if head["format"] != FORMAT:
            raise UsageError(f"this is not a bundle of the format {FORMAT}")
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(head["key"]))
        public.verify(
            base64.b64decode(end["signature"]), hashlib.sha256(b"".join(lines[:-1])).digest()
        )
    except InvalidSignature as fault:
        raise UsageError("the bundle was changed after it was signed; nothing was used") from fault
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as fault:
        raise UsageError(f"this is no bundle of reviews: {fault}") from fault
    if head["key"] not in set(trusted):
        raise UsageError(
            f"the bundle is signed with the key {head['key']}, which is not trusted; ask its "
            "sender whether it is theirs, then name it"
        )
    try:
        return [_change(json.loads(line)) for line in lines[1:-1]]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise UsageError(f"a change of the bundle cannot be read: {fault}") from fault


def import_bundle(changes: Changes, results: Sequence[Change]) -> ImportResult:
    """Import changes under their own names, times and reasons; known ones are skipped.

    A review is re-evaluated against this base's evidence and other reviews; any other change is
    made as it was if all it removes is here, and refused otherwise.
    """
    result, decisions = ImportResult(), Decisions(changes)
    waiting: list[Change] = []
    touched: set[str] = set()

    def flush() -> None:
        changes.write(waiting)
        result.made += len(waiting)
        waiting.clear()
        touched.clear()

    with changes.writer.turn():
        for change in results:
            if read_change(changes.store, change.iri) is not None:
                result.known += 1
                continue
            if touched & {*change.about, change.reverses}:
                flush()
            try:
                again = _rebase_change(decisions, change)
            except (UsageError, StaleError) as fault:
                result.refused.append((change.iri, str(fault)))
                continue
            waiting.append(replace(again, number=changes.last + len(waiting) + 1))
            touched |= {*change.about, change.iri}
            if len(waiting) >= AT_ONCE:
                flush()
        flush()
    return result


def signing_key(kb: Path) -> "Ed25519PrivateKey":
    """Return this base's signing key, created on first use and readable by its owner alone."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = kb / KEY
    if path.exists():
        key = base64.b64decode(verify_checksum(path.read_bytes(), path))
        return Ed25519PrivateKey.from_private_bytes(key)
    created = Ed25519PrivateKey.generate()
    write_checksummed(path, base64.b64encode(created.private_bytes_raw()).decode() + "\n")
    return created


def public_key(key: "Ed25519PrivateKey") -> str:
    """Return the public half of a key, as bundles name it."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def _rebase_change(decisions: Decisions, change: Change) -> Change:
    """Return a change of another base as it applies to this one."""
    if change.reverses:
        target = read_change(decisions.store, change.reverses)
        if target is None:
            raise UsageError(f"it takes back {change.reverses}, which is not here")
        quads, added_quads = decisions.reversal(target)
        return replace(change, removed=quads, added=added_quads)
    if change.kind in REVIEWING:
        quads, added_quads, notes = decisions.effect(change)
        return replace(change, removed=quads, added=added_quads, notes=notes)
    if change.kind in _PLAIN:
        return replace(change, removed=(), added=())
    outside = [q for q in (*change.removed, *change.added) if graph_name(q) in _INTERNAL]
    if outside:
        raise UsageError(f"it writes to {graph_name(outside[0])}, which no change may")
    decisions.changes.check_fits(change)
    return change


def _as_json(change: Change) -> dict[str, Any]:
    plain = ["iri", "number", "kind", "who", "when", "reason", "reverses"]
    return {name: getattr(change, name) for name in plain} | {
        "about": list(change.about),
        "removed": n_quads(change.removed).decode(),
        "added": n_quads(change.added).decode(),
        "notes": [[name.value, *_term(value)] for name, value in change.notes],
    }


def _term(value: object) -> list[str]:
    if isinstance(value, Literal):
        return ["literal", value.value, value.datatype.value, value.language or ""]
    return ["iri", str(getattr(value, "value", ""))]


def _change(values: dict[str, Any]) -> Change:
    if not NAME.fullmatch(str(values["who"])):
        raise UsageError(f"{str(values['who'])[:60]!r} is no name of a person")
    datetime.fromisoformat(values["when"])  # ValueError, which the caller explains
    return Change(
        parse_iri(values["iri"]).value,
        int(values["number"]),
        str(values["kind"]),
        str(values["who"]),
        str(values["when"]),
        str(values["reason"]),
        tuple(parse_iri(value).value for value in values["about"]),
        parse_n_quads(values["removed"].encode()),
        parse_n_quads(values["added"].encode()),
        str(values["reverses"]),
        tuple(_note(value) for value in values["notes"]),
    )


def _note(values: list[str]) -> Note:
    name, kind, value, *more = values
    if kind == "iri":
        return NamedNode(name), NamedNode(value)
    datatype, language = more
    if language:
        return NamedNode(name), Literal(value, language=language)
    return NamedNode(name), Literal(value, datatype=NamedNode(datatype))
