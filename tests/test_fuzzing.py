"""Whatever bytes our parsers are given, they take them or refuse them by an error of ours: the short form.

The long form, led by coverage, is ``python -m tests.fuzzing``.
"""

import os
import random

import pytest

from tests.fuzzing.targets import SEEDS, TARGETS, tried
from tests.hostile_texts import texts

MUTATIONS = int(os.environ.get("SHIYI_MUTATIONS", "60"))
_PIECES = (b"\x00", b"\xff", b"[" * 2000, b"{" * 2000, b'"', b"\\", b"\n", b"\t", b"\r", b"\xed\xa0\x80", b"9" * 400, b"1e999",
           b"NaN", b"null", b"\xf0\x9f\x91\xa9", b"<", b">", b"<!DOCTYPE a [<!ENTITY b SYSTEM 'c'>]>", b"-", b"")  # fmt: skip


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Cut, double, overwrite or insert at random places."""
    for _ in range(chance.randrange(1, 5)):
        start = chance.randrange(len(content) + 1)
        end = min(len(content), start + chance.randrange(9))
        piece = chance.choice((*_PIECES, content[start:end] * 2, chance.randbytes(3)))
        content = content[:start] + piece + content[end:]
    return content


def test_every_target_has_seeds_and_takes_at_least_one() -> None:
    assert TARGETS.keys() == SEEDS.keys()
    assert len(TARGETS) > 12
    refused = {"bundles", "journal"}  # they are signed, or carry a digest
    assert {name for name in TARGETS if not any(tried(name, each) for each in SEEDS[name])} <= refused  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", TARGETS)
def test_made_up_bytes_are_taken_or_refused(target: str) -> None:
    chance = random.Random(f"7 {target}")  # noqa: S311 - inputs, not secrets
    content = [mutated(chance.choice(SEEDS[target]), chance) for _ in range(MUTATIONS)]
    content += [chance.randbytes(chance.randrange(200)) for _ in range(MUTATIONS // 4)]
    content += [each.encode("utf-8", "surrogatepass") for each in texts()[:: max(1, 3000 // MUTATIONS)]]  # fmt: skip
    taken = [tried(target, each) for each in (*SEEDS[target], *content)]
    assert len(taken) > MUTATIONS


def test_a_target_that_fails_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(content: bytes) -> None:
        raise KeyError(content)

    monkeypatch.setitem(TARGETS, "guard", broken)
    with pytest.raises(KeyError):
        tried("guard", b"x")
