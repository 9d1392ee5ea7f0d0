"""A client of one server, over HTTP, with the standard library only."""

import hashlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote, urlencode, urlsplit

from shiyi_client.errors import RefusedError, ShiyiClientError, UnreachableError, error_of
from shiyi_client.values import Answer, Claim, Concept, Mention, Release, Row

_ID: Final = "https://w3id.org/shiyi/id/"
_VOCAB: Final = "https://w3id.org/shiyi/vocab#"
_NUMBERS: Final[Mapping[str, type[int] | type[float]]] = {
    "integer": int,
    "decimal": float,
    "double": float,
    "float": float,
}
_FORMS: Final = ("ttl", "nt", "nq", "trig", "jsonld", "rdf")


class Shiyi:
    """A server at ``url``; ``timeout`` in seconds applies to every request.

    Raises :class:`UnreachableError` where nothing answers, and the fitting
    :class:`ServerError` where the server says no.
    """

    def __init__(self, url: str = "http://127.0.0.1:8000", timeout: float = 60.0) -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise ShiyiClientError(
                f"{url!r} is no address; write one such as http://127.0.0.1:8000"
            )
        self.url, self.timeout = url.rstrip("/"), timeout

    def ask(
        self, question: str, *, lang: str | None = None, method: str | None = None,
        k: int | None = None, profile: Mapping[str, Any] | None = None,
    ) -> Answer:  # fmt: skip
        """Answer a question with citations; ``profile`` describes the person, for warnings.

        A profile is such as ``{"age": 34, "pregnant": True, "medicines": ["warfarin"]}``.
        """
        fields = {"question": question, "lang": lang, "method": method, "k": k, "profile": profile}
        given = {key: value for key, value in fields.items() if value is not None}
        return Answer.read(self._post("/api/ask", given))

    def link(self, text: str) -> list[Mention]:
        """Find the concepts that a text mentions."""
        post = self._post("/api/link", {"text": text})["mentions"]
        names = Mention.__slots__
        return [Mention(**{n: item[n] for n in names if item.get(n) is not None}) for item in post]

    def search(self, words: str, limit: int = 10) -> list[Concept]:
        """Find concepts by the beginning of a name in Chinese, pinyin or English."""
        found = self._json("/api/complete", q=words, limit=str(limit))["completions"]
        return [
            Concept(item["iri"], item["label_zh"], item["label_en"], item["kind"]) for item in found
        ]

    def query(self, sparql: str, *, timeout: float | None = None) -> list[Row]:
        """Run a SELECT query; numbers are returned as numbers, everything else as text."""
        form = {"query": sparql} | ({"timeout": str(timeout)} if timeout else {})
        with self._open(
            "/sparql", urlencode(form).encode(), "application/x-www-form-urlencoded",
            "application/sparql-results+json",
        ) as reply:  # fmt: skip
            found = json.load(reply)
        if "boolean" in found:
            return [{"boolean": found["boolean"]}]
        return [
            {name: _value(term) for name, term in row.items()}
            for row in found["results"]["bindings"]
        ]

    def claims(
        self, subject: str = "", predicate: str = "", object: str = "", *,
        min_confidence: float = 0.0, limit: int = 100,
    ) -> list[Claim]:  # fmt: skip
        """List accepted claims by confidence; ends are IRIs, the predicate also a local name."""
        where = [
            f"VALUES ?{name} {{ {_iri(value)} }}"
            for name, value in (("s", subject), ("p", _term(predicate)), ("o", object))
            if value
        ]
        rows = self.query(
            f"PREFIX shiyi: <{_VOCAB}> "
            "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
            "SELECT ?c ?s ?p ?o ?n ?polarity { "
            + " ".join(where)
            + (" ?s ?p ?o . " if subject or object else " ")
            + "?c rdf:reifies <<( ?s ?p ?o )>> ; shiyi:status shiyi:accepted ; "
            "shiyi:polarity ?polarity ; shiyi:confidence ?n "
            f"FILTER(?n >= {float(min_confidence)}) }} "
            f"ORDER BY DESC(?n) ?c LIMIT {int(limit)}"
        )
        return [
            Claim(str(r["c"]), str(r["s"]), str(r["p"]), str(r["o"]), float(r["n"]),
                  str(r["polarity"]).rpartition("#")[2])
            for r in rows
        ]  # fmt: skip

    def claim(self, iri: str) -> Claim:
        """Return one claim of any status, with the IRIs of its evidence."""
        nodes = json.loads(self.describe(iri, "jsonld"))["@graph"]
        short = iri.replace(_ID, "id:")
        named = (item for item in nodes if item["iri"] in {iri, short})
        node: dict[str, Any] = next(named, {})
        if "rdf:predicate" not in node:
            raise ShiyiClientError(f"{iri} is no claim; describe() tells what it is")
        return Claim(
            iri,
            _long(node["rdf:subject"]),
            _long(node["rdf:predicate"]),
            _long(node["rdf:object"]),
            float(node["confidence"]["@value"]),
            _name(node["polarity"]),
            _name(node["status"]),
            tuple(sorted(_long(item) for item in _list(node.get("evidence", [])))),
        )

    def describe(self, iri: str, form: str = "ttl") -> str:
        """Return the data about any IRI of the server as text: ttl, nt, nq, trig, jsonld or rdf."""
        if form not in _FORMS:
            raise ShiyiClientError(f"{form!r} is no form; there are {', '.join(_FORMS)}")
        name = iri.removeprefix(_ID)
        if name == iri and ":" in iri:
            raise ShiyiClientError(f"{iri} is not an IRI of this server; those begin with {_ID}")
        with self._open(f"/data/{quote(name, safe='/:~')}.{form}") as reply:
            return str(reply.read().decode("utf-8"))

    def releases(self) -> list[Release]:
        """List the published releases, the newest first."""
        return [_release(item) for item in self._json("/releases/")["releases"]]

    def release(self, version: str = "latest") -> Release:
        """Return one release with the checksums of its files."""
        return _release(self._json(f"/releases/{quote(version)}/"))

    def download(self, name: str, folder: Path | str = ".", version: str = "latest") -> Path:
        """Download one file of a release and check its SHA-256; return its path."""
        release = self.release(version)
        if name not in release.files:
            raise ShiyiClientError(f"release {release.version} has no {name}; it has "
                                   + ", ".join(sorted(release.files)))  # fmt: skip
        target, digest = Path(folder) / Path(name).name, hashlib.sha256()
        part = target.with_name(target.name + ".part")
        with (
            self._open(f"/releases/{release.version}/{quote(name)}") as reply,
            part.open("wb") as file,
        ):
            while piece := reply.read(1 << 20):
                digest.update(piece)
                file.write(piece)
        if digest.hexdigest() != release.files[name]:
            part.unlink()
            raise ShiyiClientError(f"{name} came damaged: its SHA-256 is not that of the release")
        return part.replace(target)

    def health(self) -> dict[str, Any]:
        """Return the release of the server, and its counts."""
        return self._json("/healthz")

    def _json(self, path: str, **parameters: str) -> dict[str, Any]:
        with self._open(f"{path}?{urlencode(parameters)}" if parameters else path) as reply:
            found: dict[str, Any] = json.load(reply)
            return found

    def _post(self, path: str, value: Mapping[str, Any]) -> dict[str, Any]:
        with self._open(path, json.dumps(value).encode(), "application/json") as reply:
            found: dict[str, Any] = json.load(reply)
            return found

    @contextmanager
    def _open(
        self,
        path: str,
        body: bytes | None = None,
        kind: str = "",
        accept: str = "application/json, */*;q=0.5",
    ) -> Iterator[IO[bytes]]:
        headers = {"Accept": accept} | ({"Content-Type": kind} if kind else {})
        request = urllib.request.Request(self.url + path, body, headers)  # noqa: S310 # http alone
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as reply:  # noqa: S310 # the same
                yield reply
        except urllib.error.HTTPError as fault:
            with fault:
                problem = _problem(fault.read(), fault.code)
            raise error_of(fault.code, problem, fault.headers.get("Retry-After")) from None
        except (urllib.error.URLError, TimeoutError, ConnectionError) as fault:
            why = getattr(fault, "reason", fault)
            raise UnreachableError(
                f"no server answers at {self.url} ({why}); start one with `shiyi serve`, or name "
                "another address"
            ) from fault


def _problem(body: bytes, status: int) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {"title": f"status {status}", "detail": body[:200].decode("utf-8", "replace")}
    return found if isinstance(found, dict) else {"title": f"status {status}"}


def _value(term: Mapping[str, str]) -> str | int | float | bool:
    kind = term.get("datatype", "").rpartition("#")[2]
    if kind == "boolean":
        return term["value"] in {"true", "1"}
    number = _NUMBERS.get(kind)
    return number(term["value"]) if number else term["value"]


def _release(fields: Mapping[str, Any]) -> Release:
    files = {name: item["sha256"] for name, item in fields.get("files", {}).items()}
    return Release(
        fields["version"], fields["issued"], fields["iri"], fields["canonical"]["hash"],
        int(fields["counts"]["claims"]), files,
    )  # fmt: skip


def _term(name: str) -> str:
    return name if not name or ":" in name else _VOCAB + name


def _iri(value: str) -> str:
    """Return an IRI for a query; refuse characters that could end it."""
    if any(mark in value for mark in '<>"{}|\\^`') or any(ord(mark) <= 32 for mark in value):
        raise RefusedError(400, {"detail": f"{value!r} is no IRI"})
    return f"<{value}>"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _long(value: Any) -> str:
    if isinstance(value, str):
        return value
    if "@value" in value:
        return str(value["@value"])
    prefix, _, name = str(value["iri"]).partition(":")
    return {"id": _ID, "shiyi": _VOCAB}.get(prefix, f"{prefix}:") + name


def _name(value: Any) -> str:
    return _long(value).rpartition("#")[2]
