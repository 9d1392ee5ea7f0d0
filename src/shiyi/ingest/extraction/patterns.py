"""The wording of materia medica entries, as patterns; places are those of the text given."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from shiyi.ingest.extraction.zone import HIDDEN

H = HIDDEN


class Item(NamedTuple):
    """A word that an entry states, in a relation, and the span that states it."""

    relation: str
    word: str
    start: int
    end: int


_EDGE = rf"(?=[，、。；,\s{H}]|\Z|[无有大小微性味气甘辛苦酸咸淡涩寒热温凉平])"
_ANCHOR = re.compile(
    rf"(?:(?<=\A)|(?<=[。；，\n】{H}\\]))(?:【气味】|【性味】|【性味归经】|性味归经|性味|气味|味|性|气)[:：∶]?[ \u3000]*"
)
_TOKEN = re.compile(
    rf"[、，。,\s{H}]*(?:而|兼|又|略|性|味|气|其)*"
    rf"(?:(?P<tox>无毒|有大毒|大毒|有小毒|小毒|有毒)"
    rf"|(?P<nature>(?:大|微)?(?:寒|热|温)|凉|平){_EDGE}"
    rf"|(?:微|略|大)?(?P<flavour>[甘辛苦酸咸淡涩甜]){_EDGE})"
)
_BARE = re.compile(r"(?:\A|\n)(?:\\x[^\\\n]*\\x\s*)?(?=[甘辛苦酸咸淡涩微大])")


def properties(text: str) -> Iterator[Item]:
    """Yield natures, flavours and toxicity of ``味甘，平，无毒`` and the like, once an entry."""
    for anchor in (*_ANCHOR.finditer(text), *_BARE.finditer(text)):
        bare = anchor.re is _BARE
        found = list(_run(text, anchor.end()))
        kinds = {each.relation for each in found}
        if len(kinds) < (2 if bare else 1) or kinds == {"hasToxicity"}:
            continue
        start = anchor.end() if bare else anchor.start()
        end = found[-1].end
        if text[end : end + 1] not in {"", "，", "。", "、", "；", ",", "\n", " ", H, "\u3000"}:
            continue
        for each in found:
            yield Item(each.relation, each.word, start, end)
        return


def _run(text: str, at: int) -> Iterator[Item]:
    while token := _TOKEN.match(text, at):
        relation, word = next(
            (name, token[group])
            for group, name in (("tox", "hasToxicity"), ("nature", "hasNature"), ("flavour", "hasFlavour"))
            if token[group]
        )  # fmt: skip
        yield Item(relation, word, at, token.end())
        at = token.end()


_ORGAN = "大肠|小肠|心包络?|膀胱|三焦|肺|心|脾|胃|肝|肾|胆"
_STAGE = "太阴|少阴|厥阴|阳明|太阳|少阳"
_TROPISM = re.compile(
    rf"(?<![不未])(?:归|入|走)(?P<list>(?:(?:手足|手|足)?(?:{_STAGE}|{_ORGAN})"
    rf"(?:[{H}]*[、，及与兼]?(?:经)?[、，]?))+)(?P<close>[二两三四五六七诸]?经|气分|血分)?(?!药)"
)
_CHANNEL = re.compile(
    rf"(?P<limb>手足|手|足)(?P<stage>{_STAGE})(?P<own>{_ORGAN})?|(?P<organ>{_ORGAN})"
)
_CHANNELS = {
    "手太阴": "肺", "足太阴": "脾", "手少阴": "心", "足少阴": "肾", "手厥阴": "心包", "足厥阴": "肝",
    "手阳明": "大肠", "足阳明": "胃", "手太阳": "小肠", "足太阳": "膀胱", "手少阳": "三焦", "足少阳": "胆",
}  # fmt: skip


def tropisms(text: str) -> Iterator[Item]:
    """Yield the organs of ``入肝、肾二经`` and ``入手太阴``; an organ without 经 is no channel."""
    for found in _TROPISM.finditer(text):
        said = found["list"]
        closed = bool(found["close"]) or said.rstrip("、，" + H).endswith("经")
        for each in _CHANNEL.finditer(said):
            if each["stage"]:
                limbs = "手足" if each["limb"] == "手足" else each["limb"]
                for limb in limbs:
                    yield Item("hasMeridianTropism", _CHANNELS[limb + each["stage"]], *found.span())
            elif closed:
                yield Item("hasMeridianTropism", each["organ"].removesuffix("络"), *found.span())


_USES = re.compile(
    rf"(?:(?<=\A)|(?<=[。；\n】{H}])|(?<=毒，)|(?<=毒、))(?:【主治】|主治|主疗|治疗|能治|专治|善治|又治|兼治|亦治"
    r"|功专|【功效】|【功能】|功效|功能|功用|主|治|疗)[:：∶]?[ \u3000]*(?P<list>[^。\n]+)"
)
_ITEM = re.compile(rf"[^，、；,。\s{H}]+")
_STOPS = re.compile(
    r"[不勿忌禁无非恐若如但令则故盖堪按∶]|多食|多服|久食|服之|煎|捣|同|为末|酒服|调服"
)
_VERBS = re.compile(r"^(?:及|并|兼|又|与)?(?:治|主|疗|除|止|去|一切|诸般)*")


def uses(text: str, sentences: int = 99) -> Iterator[Item]:
    """Yield what ``主…`` and ``治…`` list, until the list turns to something else."""
    for number, found in enumerate(_USES.finditer(text)):
        if number >= sentences:
            return
        shift = found.start("list")
        for item in _ITEM.finditer(found["list"]):
            if _STOPS.search(item[0]):
                break
            yield Item("use", item[0], found.start(), shift + item.end())


def without_verb(word: str) -> str:
    """Give a condition without the verb before it.

    >>> without_verb("兼治头痛")
    '头痛'
    """
    return _VERBS.sub("", word)


_LIST_AFTER = re.compile(r"[，。；、\s]*(?P<list>[^。\n]+)")


def efficacies(text: str, after: int) -> Iterator[Item]:
    """Yield the words of the sentence that follows nature and flavour, as in ``甘平。润肺清肝``."""
    found = _LIST_AFTER.match(text, after)
    if found is None:
        return
    for item in _ITEM.finditer(found["list"]):
        if _STOPS.search(item[0]):
            break
        shift = found.start("list")
        yield Item("hasEfficacy", item[0], shift + item.start(), shift + item.end())


_NAMES = re.compile(
    rf"(?:(?<=\A)|(?<=[，。；、\n{H}]))(?:一名|又名|别名[:：]?|亦名|俗名)(?P<name>[\u3400-\u9fff]{{2,4}})(?<!也)(?=[，。；、\n{H}]|\Z)"
)


# 又小胡麻，一名三角胡麻: the sentence speaks of another kind
_OF_ANOTHER = re.compile(r"(?:[。；\n]|\A)(?:又|别|另)(?!名)(?:有)?[^。；\n]*\Z|一种[^。；\n]*\Z")


def aliases(text: str) -> Iterator[Item]:
    """Yield the names of ``一名…``; one with a lost character is left out."""
    for found in _NAMES.finditer(text):
        if not _OF_ANOTHER.search(text, 0, found.start()):
            yield Item("altLabel", found["name"], *found.span())


_AGAINST = re.compile(
    r"(?:(?<=\A)|(?<=[，。；（、∶\n]))(?P<verb>相反|反|畏|恶|忌)(?P<list>[^。；）\n（]+)"
)
_AGAIN = re.compile(r"^(?P<verb>相反|反|畏|恶(?!实)|忌)(?=.)")
_PAIRS = {"反": "opposes", "相反": "opposes", "畏": "fears", "恶": "incompatibleWith",
          "忌": "incompatibleWith"}  # fmt: skip
_NAME = re.compile(r"[^，、和及与]+")


def pairs(text: str) -> Iterator[Item]:
    """Yield the materials of ``恶干姜、藜芦，反甘草``."""
    at = 0
    while found := _AGAINST.search(text, at):
        at = found.end()
        verb, listed = found["verb"], found["list"]
        if "使" in listed:  # 忌火，白术为使: the last name is a helper, not an enemy
            listed = listed[: max(0, listed.rfind("，", 0, listed.index("使")))]
        for item in _NAME.finditer(listed):
            word = item[0].strip()
            if again := _AGAIN.match(word):
                verb, word = again["verb"], word[len(again["verb"]) :]
            if re.search(r"[得杀若去]", word):
                break
            yield Item(_PAIRS[verb], word, found.start(), found.start("list") + item.end())


_FORBIDS = re.compile(
    r"(?:(?<=\A)|(?<=[，。；、\n]))(?P<who>[^，。；\n]{2,16}?)(?P<person>者|人|之人)?(?:切|尤|皆|俱|并|均|大|最)*"
    r"(?P<how>忌服|忌用|忌食|忌之|禁用|禁服|忌|禁|勿服|勿食|勿用|不可服|不可用|不可食|不宜服|不宜用|不宜食|不宜|慎用|慎服)"
    rf"(?P<rest>之)?(?=[，。；\n{H}）]|\Z)"
)
_PREGNANT = re.compile(
    r"^(?:若|凡|惟|其|而|但|有)*(?:孕妇|妊妇|娠妇|妊娠|胎前|有孕|怀孕)(?:妇人|之人)?$"
)
_LEAD = re.compile(r"^(?:若|凡|惟|其|而|但|有|患|及|诸|一切)+")
CAUTIONS = frozenset({"不宜", "不宜服", "不宜用", "不宜食", "慎用", "慎服"})


def forbidden(text: str) -> Iterator[Item]:
    """Yield for whom ``孕妇忌服`` and ``阴虚者勿用`` speak; ``非…者勿用`` says the contrary."""
    for found in _FORBIDS.finditer(text):
        who = found["who"]
        relation = "cautionIn" if found["how"] in CAUTIONS else "contraindicatedIn"
        if _PREGNANT.match(who):
            yield Item(relation, "孕妇", *found.span())
            continue
        if not found["person"] or re.search(r"[非无不未勿]", who):
            continue
        for word in re.split(r"[、及与和]", _LEAD.sub("", who)):
            yield Item(relation, word, *found.span())


_METHOD = re.compile(
    r"(?:【用法用量】|【用法】|用法用量[:：]|用法[:：])[ \u3000]*(?P<text>[^【】\n]{4,120}?[。\n]|[^【】\n]{4,120}\Z)"
)


def methods(text: str) -> Iterator[Item]:
    """Yield the wording of a section headed 用法."""
    for found in _METHOD.finditer(text):
        yield Item("consumptionMethod", found["text"].strip(), *found.span("text"))
