import random
import string

import pytest

from shiyi.columnar.strings import Trie
from shiyi.errors import IndexMismatchError

CHANCE = random.Random(5)  # noqa: S311 - no secret
WORDS = sorted({"".join(CHANCE.choices("abcd 姜枸é", k=CHANCE.randint(1, 7))) for _ in range(2000)})


def test_trie_finds_every_string_and_its_prefixes() -> None:
    trie = Trie.over(Trie.of(WORDS).arrays("some"), "some")
    assert sorted(trie) == WORDS
    for word in WORDS[::50]:
        place = trie.place(word)
        assert place is not None
        assert trie[place] == word
        longer = word + "zz"
        assert [text for text, _ in trie.prefixes(longer)] == [
            longer[:end] for end in range(1, len(longer)) if longer[:end] in WORDS
        ]
        begun = [text for text in WORDS if text.startswith(word[:2])]
        assert [text for text, _ in trie.items_with_prefix(word[:2])] == begun


@pytest.mark.parametrize("text", ["", "nothing of it", "\ud800", "姜" * 5000])
def test_a_trie_is_asked_for_anything(text: str) -> None:
    assert Trie.of(WORDS).place(text) is None


def test_trie_takes_few_bytes_and_none_trie_too() -> None:
    long = [f"{word} {other}" for word in WORDS[:300] for other in string.ascii_letters]
    assert Trie.of(long).arrays("some")["some.trie"].nbytes < sum(map(len, long)) / 3
    none = Trie.over(Trie.of([]).arrays("some"), "some")
    assert (len(none), none.place("a"), list(none.prefixes("a"))) == (0, None, [])


def test_a_damaged_trie_is_refused() -> None:
    arrays = Trie.of(WORDS).arrays("some")
    arrays["some.trie"] = arrays["some.trie"].copy()
    arrays["some.trie"][5] ^= 1
    with pytest.raises(IndexMismatchError, match="damaged"):
        Trie.over(arrays, "some")
