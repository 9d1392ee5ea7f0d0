"""What is read from outside is read or refused, never an unforeseen fault: made-up inputs by the thousand."""

import json
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.errors import KnowledgeBaseError, QueryError, ShiyiError
from shiyi.model.profile import Profile
from shiyi.model.rdf import Literal, Quad
from shiyi.prompts.replies import Replies
from shiyi.server.inputs import context_field, count_field, profile_of_form, text_field
from shiyi.settings import Settings
from shiyi.sparql.backups import LISTING, read_listing
from shiyi.sparql.guard import check_query, check_update
from shiyi.sparql.journal import Record, read_journal
from tests.contracts import A, B, P
from tests.hostile_texts import texts

MANY = settings(
    max_examples=int(os.environ.get("SHIYI_EXAMPLES", "20000" if os.environ.get("SHIYI_NIGHTLY") else "120")),
    deadline=None, suppress_health_check=list(HealthCheck), derandomize=True,
)  # fmt: skip
WORDS = st.sampled_from(
    ["SELECT", "ASK", "SERVICE", "LOAD", "{", "}", "(", ")", "<a:a>", "'", '"', "'''", "\\", "#", "\n", "a:b",
     ":", "?x", "INSERT", "DATA", "DELETE", "WHERE", ";", ".", "PREFIX", "BASE", "<", ">", "<<(", ")>>", "\\u0041",
     "FILTER", "EXISTS", "GRAPH", "VALUES", "UNION", "*", "/", "|", "^", "!", "=", "1", "1e9", "@en", "^^"]
)  # fmt: skip
SOUP = st.lists(WORDS | st.sampled_from(texts()) | st.text(max_size=20), max_size=60).map(" ".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.sampled_from(texts()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
FIELDS = st.sampled_from([
    "age", "sex", "pregnant", "lactating", "medicines", "allergies", "conditions", "constitution",
    "questions", "asked", "profile", "release", "made", "files", "size",
])  # fmt: skip


@MANY
@given(SOUP)
def test_the_guard_lets_through_or_refuses_any_text(text: str) -> None:
    for check in (check_query, check_update):
        try:
            check(text, 10_000)
        except (QueryError, ShiyiError):
            continue


@MANY
@given(st.text(max_size=300) | SOUP)
def test_a_question_is_taken_or_refused(text: str) -> None:
    try:
        assert text_field("question", text, 250) == text.strip()
    except ShiyiError:
        return


@MANY
@given(st.dictionaries(FIELDS, VALUES, max_size=6) | VALUES)
def test_a_profile_and_a_context_are_taken_or_refused(said: object) -> None:
    with suppress(ShiyiError):
        assert isinstance(Profile.from_json(said), Profile)
    with suppress(ShiyiError):
        context_field(said)
    with suppress(ShiyiError):
        count = count_field("k", said, 1, 20)
        assert said in (None, "") if count is None else 1 <= count <= 20
    if isinstance(said, dict):
        with suppress(ShiyiError):
            form = {key: str(value) for key, value in said.items()}
            assert isinstance(profile_of_form(form), Profile)


RECORD = Record(1, "k", "w", "why", "2026-01-01", (Quad(A, P, B),), (Quad(A, P, Literal("第\n一")),)).to_bytes()  # fmt: skip


@MANY
@given(
    st.lists(
        st.tuples(st.integers(0, len(RECORD) - 1), st.binary(max_size=6)), min_size=1, max_size=4
    )
)
def test_a_journal_that_was_tampered_with_is_refused_or_the_same(
    cuts: list[tuple[int, bytes]],
) -> None:
    written = RECORD
    for at, more in cuts:
        written = written[:at] + more + written[at + len(more) :]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        path.write_bytes(written)
        try:
            found = list(read_journal(path))
        except KnowledgeBaseError:
            return
        assert found in ([], [Record.from_lines(RECORD.splitlines(keepends=True))])


@MANY
@given(st.binary(max_size=200) | VALUES.map(lambda v: json.dumps(v).encode()) | st.dictionaries(FIELDS, VALUES).map(lambda v: json.dumps(v).encode()))  # fmt: skip
def test_a_listing_of_a_backup_is_read_or_refused(written: bytes) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / LISTING).write_bytes(written)
        try:
            made = read_listing(Path(folder))
        except KnowledgeBaseError:
            return
        assert {"release", "made", "files", "size"} <= json.loads(written).keys()
        assert made.release == json.loads(written)["release"]


@MANY
@given(st.text(max_size=200) | SOUP, st.dictionaries(st.sampled_from(
    ["SHIYI_PATHS_TOP_K", "SHIYI_SERVER_PORT", "SHIYI_SERVER_RESTRICTED", "SHIYI_STORE", "SHIYI_BASE"]), st.text(max_size=20)))  # fmt: skip
def test_settings_are_read_or_refused(toml: str, env: dict[str, str]) -> None:
    try:
        read = Settings.read(toml, env)
    except ShiyiError:
        return
    for section, key in (("paths", "top_k"), ("server", "port")):
        value = getattr(getattr(read, section), key)
        assert type(value) is int
        said = env.get(f"SHIYI_{section.upper()}_{key.upper()}")
        assert said is None or value == int(said)


def test_replies_that_were_kept_badly_are_not_read(tmp_path: Path) -> None:
    Replies.open(tmp_path).close()
    for path in tmp_path.iterdir():
        path.write_bytes(b"no database " * 400)
    with pytest.raises(ShiyiError):
        Replies.open(tmp_path)
