"""Whether a word says what its concept's own name says: an alias may be wider or narrower than it."""

import re

# what a word may say and a name leave out: a limb, a lack, a fullness, pain, an action
_MARKS = ("手足脚膝腿臂肢", "虚", "实", "痛疼", "醒", "解")
_ENDING = re.compile(r"(?:类病|证|病|症)$")
_WEAK = re.compile(r"[弱损亏衰]$")


# words that meant another thing than the concept that bears them today, and what
OLD_SENSES = {"反胃": "food that comes up hours after it was eaten", "翻胃": "as 反胃"}


def says_the_same(word: str, name: str) -> bool:
    """Tell whether ``word``, an alias, may stand for the condition called ``name``.

    A name that holds the word and more is narrower; one that lacks its limb or its pain is wider;
    a class of diseases is meant by its own stem alone.

    >>> says_the_same("中满", "湿阻中满证"), says_the_same("脚肿", "水肿")
    (False, False)
    >>> says_the_same("症瘕", "积聚类病"), says_the_same("疝病", "疝气类病")
    (False, True)
    >>> says_the_same("泄泻", "腹泻"), says_the_same("脾胃虚寒", "脾胃阳虚证")
    (True, True)
    """
    stem = _WEAK.sub("", _ENDING.sub("", name))
    bare = _WEAK.sub("", _ENDING.sub("", word))
    if bare == stem:
        return True
    if name.endswith("类病"):
        return bare in stem or stem in bare
    if len(bare) > 1 and bare in stem:
        return False
    return all(not set(marks) & set(word) or set(marks) & set(name) for marks in _MARKS)
