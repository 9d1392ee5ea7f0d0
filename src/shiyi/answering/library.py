"""Claims, definitions and passages as texts, found by their words and by their meaning."""

import itertools
import json
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from shiyi.answering.texts import CLAIM, Unit
from shiyi.errors import IndexMismatchError
from shiyi.linking.embedder import Embedder
from shiyi.linking.normalise import fold, is_cjk
from shiyi.linking.rounded import Rounded
from shiyi.model.mapped import Mapped, write
from shiyi.model.names import iri_of, key_of
from shiyi.model.shortened import Shortened

WORDS_FILE: Final = "texts.sqlite"
VECTORS_FILE: Final = "texts.safetensors"
_FORMAT: Final = "3"
_SCHEMA: Final = """
CREATE TABLE said (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE unit (id INTEGER PRIMARY KEY, iri BLOB, kind TEXT, section TEXT, text);
CREATE TABLE shared (dictionary BLOB);
CREATE TABLE bears (unit INTEGER, claim BLOB, PRIMARY KEY (unit, claim)) WITHOUT ROWID;
CREATE TABLE common (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE word USING fts5(text, content='', tokenize='unicode61 remove_diacritics 0');
"""
# made last, so that it lies in order; the text of a claim bears that claim, which is not said again
_INDEXES: Final = "CREATE INDEX named ON unit (iri); CREATE INDEX bearing ON bears (claim);"
_MOST_WORDS: Final = 96  # of a question; more only slow it down
_COMMON: Final = 0.25  # ours: words of more than this share of the units are not searched for
_STOP: Final = frozenset((  # words that ask, and tell nothing apart
    "a", "an", "the", "and", "or", "of", "for", "in", "on", "to", "with", "is", "are", "was",
    "be", "do", "does", "did", "can", "may", "should", "could", "would", "i", "my", "me", "you",
    "it", "what", "which", "how", "when", "why", "who", "that", "this", "there", "have", "has",
    "if", "as", "at", "by", "from", "not", "any", "some", "什么", "是什", "可以", "怎么", "哪些", "如何",
    "能不", "不能", "以吗", "么好", "吗", "的", "了", "呢", "吃什", "喝什", "请问", "我的",
))  # fmt: skip
_FEWEST: Final = 200  # units below which no word is too common
_BATCH: Final = 4096
_LEARNT: Final = 4  # batches from which is learnt what texts share
_OWN: Final = "SELECT id FROM unit WHERE iri IN (?) AND kind = 'claim'"
_BEARING: Final = "SELECT unit FROM bears WHERE claim IN (?)"


def words(text: str) -> list[str]:
    """Part a text into words; Chinese runs into pairs, a lone character into itself.

    >>> words("枸杞子, 姜 goji-berry")
    ['枸杞', '杞子', '姜', 'goji', 'berry']
    """
    found: list[str] = []
    for kind, run in itertools.groupby(fold(text), _script):
        said = "".join(run)
        if kind == "cjk":
            found += [a + b for a, b in itertools.pairwise(said)] or [said]
        elif kind == "word":
            found.append(said)
    return found


def _script(character: str) -> str:
    if is_cjk(character):
        return "cjk"
    return "word" if character.isalnum() else ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that was recalled: ``score`` is BM25 or a cosine, larger is better."""

    unit: Unit
    score: float


@dataclass(slots=True)
class Library:
    """A full-text index (SQLite FTS5, BM25) and vectors of the same units; safe between threads."""

    connection: sqlite3.Connection
    embedder: Embedder | None
    rows: Rounded | None  # on disk where the index is
    shortened: Shortened  # how texts are packed
    own: bool = False  # whether the connection is to a temporary copy, which may be changed
    _later: Rounded | None = None  # of units that came since
    _gone: int = 0  # units taken out since, whose words are still in the index
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def build(
        cls,
        units: Iterable[Unit],
        release: str,
        embedder: Embedder | None,
        folder: Path | None = None,
    ) -> Self:
        """Index ``units`` below ``folder``, or in a temporary file that goes when it is closed."""
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / WORDS_FILE).unlink(missing_ok=True)
        place = str(folder / WORDS_FILE) if folder is not None else ""
        connection = sqlite3.connect(place, check_same_thread=False)
        connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _SCHEMA)
        said = {"release": release, "model": embedder.identity if embedder else ""}
        kept = said | {"format": _FORMAT}
        connection.executemany("INSERT INTO said VALUES (?, ?)", kept.items())
        vectors: list[Rounded] = []
        start = 1  # a unit's number is the row of its vector, counted from 1
        batches = _batches(units)
        first = [*itertools.islice(batches, _LEARNT)]
        shortened = Shortened.of([unit.text for batch in first for unit in batch])
        connection.execute("INSERT INTO shared VALUES (?)", (shortened.written,))
        for batch in itertools.chain(first, batches):
            _insert(connection, list(enumerate(batch, start)), shortened)
            start += len(batch)
            if embedder is not None:
                vectors.append(Rounded.of(embedder.encode([u.text for u in batch])))
        connection.executescript(_INDEXES)
        connection.execute("INSERT INTO word (word) VALUES ('optimize')")  # lies in one piece
        _mark_common(connection)
        connection.commit()
        if folder is not None:
            connection.execute("VACUUM")  # what was sorted left a fifth of its room empty
        rows = Rounded.joined(vectors) if vectors else None
        if folder is not None and rows is not None:
            write(folder / VECTORS_FILE, rows.arrays("text"), **said)
        return cls(connection, embedder, rows, shortened, own=folder is None)

    @classmethod
    def open(cls, folder: Path, release: str, embedder: Embedder | None) -> Self:
        """Open what :meth:`build` wrote.

        Raises ``IndexMismatchError`` where there is none, or one of another release or model.
        """
        place = folder / WORDS_FILE
        if not place.is_file():
            raise IndexMismatchError(f"{folder} holds no index of texts: run `shiyi build` again")
        count, shared = 0, b""
        try:
            connection = sqlite3.connect(
                f"file:{place}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
            said = dict(connection.execute("SELECT name, value FROM said"))
            if said.get("format") == _FORMAT:
                (count,) = connection.execute("SELECT count(*) FROM unit").fetchone()
                (shared,) = connection.execute("SELECT dictionary FROM shared").fetchone()
        except (sqlite3.DatabaseError, OSError, ValueError, TypeError) as fault:
            raise IndexMismatchError(f"{place} is damaged ({fault}): build again") from fault
        if (said.get("format"), said.get("release")) != (_FORMAT, release):
            raise IndexMismatchError(
                f"{place} was made for {said.get('release')}, not for {release}: build again"
            )
        shortened = Shortened.over(shared)
        rows = None
        if embedder is not None and said.get("model") == embedder.identity:
            file = Mapped.open(folder / VECTORS_FILE, release=release, model=embedder.identity)
            rows = Rounded.over(file, "text")
            if len(rows) != count:
                raise IndexMismatchError(f"{place} has {count} texts, {len(rows)} vectors")
        return cls(connection, embedder, rows, shortened)

    def __len__(self) -> int:
        """Count the units."""
        with self._lock:
            return int(self.connection.execute("SELECT count(*) FROM unit").fetchone()[0])

    def claims(self) -> frozenset[str]:
        """List the claims that have a text of their own."""
        with self._lock:
            return frozenset(
                iri_of(key)
                for (key,) in self.connection.execute(
                    "SELECT iri FROM unit WHERE kind = ?", (CLAIM,)
                )
            )

    def change(
        self, gone: Collection[str], come: Sequence[Unit], read_in: Mapping[str, Collection[str]]
    ) -> None:
        """Take the texts of claims out and put others in; the file of the build stays as it is.

        ``read_in`` gives for each claim that came the passages it was read in.
        """
        vectors: Rounded | None = None
        if self.embedder is not None and self.rows is not None and come:
            vectors = Rounded.of(self.embedder.encode([u.text for u in come]))
        with self._lock:
            if not self.own:
                self._take_copy()
            claims = [(key_of(each),) for each in (*gone, *(u.iri for u in come))]
            dead = [
                place
                for key in claims
                for place in self.connection.execute(
                    "SELECT id FROM unit WHERE iri = ? AND kind = 'claim'", key
                )
            ]
            self.connection.executemany("DELETE FROM unit WHERE id = ?", dead)
            self.connection.executemany("DELETE FROM bears WHERE claim = ?", claims)
            self._gone += len(dead)
            start = self._last() + 1
            _insert(self.connection, list(enumerate(come, start)), self.shortened)
            self.connection.executemany(
                "INSERT OR IGNORE INTO bears SELECT id, ? FROM unit WHERE kind <> 'claim' AND iri = ?",
                [(key_of(claim), key_of(each)) for claim, read in read_in.items() for each in read],
            )
            self.connection.commit()
            if vectors is not None:
                held = self._later
                self._later = vectors if held is None else Rounded.joined((held, vectors))

    def _take_copy(self) -> None:
        copy = sqlite3.connect("", check_same_thread=False)  # spills to a file that goes with it
        self.connection.backup(copy)
        self.connection.close()
        self.connection, self.own = copy, True

    def _last(self) -> int:
        """Give the highest number a unit ever had, which is the count of vectors."""
        if self.rows is None:
            return int(self.connection.execute("SELECT max(rowid) FROM word_docsize").fetchone()[0])
        return len(self.rows) + (0 if self._later is None else len(self._later))

    def by_words(
        self, text: str, k: int, kinds: Collection[str] = (), claims: Collection[str] = ()
    ) -> tuple[Hit, ...]:
        """Give the ``k`` units that share the rarest words with a text, best first (BM25).

        ``kinds`` and ``claims`` leave only units of these kinds, or that bear one of these claims.
        """
        said = dict.fromkeys(words(text))
        asked = [each for each in said if each not in _STOP][:_MOST_WORDS] or list(said)
        if not asked or k < 1:
            return ()
        most = self._gone + (k if not (kinds or claims) else 100 * k)
        own = self._bearing(claims) if claims else set[int]()
        with self._lock:
            common = {
                word
                for (word,) in self.connection.execute(
                    "SELECT word FROM common WHERE word IN (SELECT value FROM json_each(?))",
                    (json.dumps(asked),),
                )
            }
            rare = [each for each in asked if each not in common] or asked
            match = " OR ".join(f'"{each}"' for each in rare)
            found = self.connection.execute(
                "SELECT rowid, -rank FROM word WHERE word MATCH ? ORDER BY rank LIMIT ?",
                (match, most),
            ).fetchall()
        if claims:
            found = [each for each in found if each[0] in own]
        return self._hits(found[: self._gone + k if not kinds else most], k, kinds)

    def by_meaning(self, text: str, k: int, kinds: Collection[str] = ()) -> tuple[Hit, ...]:
        """Give the ``k`` units nearest to a text by cosine; none where there are no vectors."""
        return self.nearest([text], k, kinds)[0]

    def nearest(
        self, texts: Sequence[str], k: int, kinds: Collection[str] = ()
    ) -> tuple[tuple[Hit, ...], ...]:
        """Give for each text the ``k`` nearest units, nearest first."""
        if self.rows is None or self.embedder is None or not texts or k < 1:
            return tuple(() for _ in texts)
        asked = self.embedder.encode(texts)
        most = self._gone + (k if not kinds else 10 * k)
        found = self.rows.nearest(asked, most)
        if self._later is not None:
            start = len(self.rows)
            for near, later in zip(found, self._later.nearest(asked, most), strict=True):
                near += [(start + place, cosine) for place, cosine in later]
                near.sort(key=lambda each: (-each[1], each[0]))
        return tuple(
            self._hits([(place + 1, cos) for place, cos in near[:most] if cos > 0], k, kinds)
            for near in found
        )

    def _hits(
        self,
        found: Sequence[tuple[int, float]],
        k: int,
        kinds: Collection[str],
    ) -> tuple[Hit, ...]:
        units = self._units([place for place, _ in found])
        fitting = (
            Hit(units[place], score) for place, score in found
            if place in units and (not kinds or units[place].kind in kinds)
        )  # fmt: skip
        return tuple(itertools.islice(fitting, k))

    def bearing(self, claims: Collection[str], kinds: Collection[str]) -> tuple[Unit, ...]:
        """Give the texts of some kinds that bear any of these claims."""
        units = self._units(sorted(self._bearing(claims)))
        return tuple(unit for _, unit in sorted(units.items()) if unit.kind in kinds)

    def _bearing(self, claims: Collection[str]) -> set[int]:
        """Give the units that bear a claim, its own text among them."""
        found, keys = set[int](), [key_of(each) for each in claims]
        with self._lock:
            for at in range(0, len(keys), _BATCH):
                some = keys[at : at + _BATCH]
                for query in (_OWN, _BEARING):
                    asked = query.replace("?", ",".join("?" * len(some)))
                    found.update(place for (place,) in self.connection.execute(asked, some))
        return found

    def _units(self, places: Sequence[int]) -> Mapping[int, Unit]:
        found: dict[int, Unit] = {}
        bears: dict[int, list[str]] = {}
        asked = (json.dumps(list(places)),)
        with self._lock:
            for place, claim in self.connection.execute(
                "SELECT unit, claim FROM bears WHERE unit IN (SELECT value FROM json_each(?))",
                asked,
            ):
                bears.setdefault(place, []).append(iri_of(claim))
            for place, key, kind, section, text in self.connection.execute(
                "SELECT id, iri, kind, section, text FROM unit "
                "WHERE id IN (SELECT value FROM json_each(?))",
                asked,
            ):
                iri = iri_of(key)
                claims = (iri,) if kind == CLAIM else tuple(bears.get(place, ()))
                found[place] = Unit(iri, kind, self.shortened.text(text), claims, section)
        return found

    def close(self) -> None:
        """Close the index."""
        self.connection.close()


def _batches(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    found: list[Unit] = []
    for unit in units:
        found.append(unit)
        if len(found) == _BATCH:
            yield found
            found = []
    if found:
        yield found


def _insert(
    connection: sqlite3.Connection, batch: Sequence[tuple[int, Unit]], shortened: Shortened
) -> None:
    connection.executemany(
        "INSERT INTO unit VALUES (?, ?, ?, ?, ?)",
        [(place, key_of(u.iri), u.kind, u.section, shortened.short(u.text)) for place, u in batch],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO bears VALUES (?, ?)",
        [(place, key_of(c)) for place, u in batch if u.kind != CLAIM for c in u.claims],
    )
    connection.executemany(
        "INSERT INTO word (rowid, text) VALUES (?, ?)",
        [(place, " ".join(words(u.text))) for place, u in batch],
    )


def _mark_common(connection: sqlite3.Connection) -> None:
    """Note the words that so many units hold that they tell nothing apart."""
    count = connection.execute("SELECT count(*) FROM unit").fetchone()[0]
    if count < _FEWEST:
        return
    connection.execute("CREATE VIRTUAL TABLE temp.often USING fts5vocab('main', 'word', 'row')")
    connection.execute(
        "INSERT INTO common SELECT term FROM temp.often WHERE doc > ?", (int(_COMMON * count),)
    )
