"""The part of an entry that speaks of its subject, and the title that names it."""

import re

HIDDEN = "\ue000"  # private use: stands for what is in brackets, place by place
_BRACKETED = re.compile(r"[（(〔〈][^（）()〔〕〈〉]*[）)〕〉]")
_TITLE = re.compile(
    r"^(?:[0-9０-９]+[.．、\s]*|[一二三四五六七八九十百]+[.．、]\s*)|[（(〈【\[〔].*$"
)
_PART = (
    "叶|皮|根|花|子|实|仁|茎|苗|汁|肉|血|骨|脂|胆|角|肝|肺|肾|头|脑|髓|卵|壳|核|梗|蒂|节|须|藤|枝"
    "|白皮|根皮|木皮|树皮|果皮|核仁|种子|茎叶|花叶|根叶|叶及实|膏|油|肠|肚|蹄|乳|屎|尿|毛|皮毛|齿|甲|鳞|心|尾|梢"
)
# where an entry turns to a part, to recipes, to what others said, or to another thing
_TURNS = re.compile(
    r"附方|奇方|单方|又方|验方|方∶|【发明】|【集解】|【正误】|发明|(?<=[。\n])按|案[∶:：]|谨案|谨按|《名医》|曰∶|[云曰][∶“：]|陶隐居"
    r"|\\x[^\\\n]{1,6}\\x"
    r"|(?<=[。；\n])[又别另更]?有?一种"
    rf"|(?:(?<=[。；\n])|(?<=\A))(?:其)?(?:{_PART})(?=[，、∶：:（\ue000 \n]|[味性主治气煮炒捣]|名)"
    r"|(?<=[。；\n])[\u3400-\u9fff]{1,5}[∶：:]"
    r"|\n[\u3400-\u9fff]{1,6}(?=\n|\Z)"
)


# titles of classics that do not tell which of today's materials is meant, and why
UNCLEAR = {
    "芍药": "red and white are told apart since the Song only",
    "枸杞": "the shrub: its fruit, leaf and root bark together",
    "通草": "what is 木通 today, until the Ming",
    "淡竹叶": "the leaf of a bamboo, until the herb took over the name",
    "豆蔻": "what is 草豆蔻 or 草果 today as often as 白豆蔻",
    "鱼": "the rare character that said which fish is lost",
    "黄酒": "the rare character of 黄芪酒 is lost",
    "瓜子": "the seed of the wax gourd, not of the sunflower",
    "生菜": "anything raw, where it is to be avoided",
    "贯众": "several ferns",
}


def bare_title(title: str) -> str:
    """Give a section's title without its number and notes.

    >>> bare_title("１.玉屑"), bare_title("百合（附）"), bare_title("地黄〈微寒〉")
    ('玉屑', '百合', '地黄')
    """
    return _TITLE.sub("", _TITLE.sub("", title.strip())).strip()


def hide_brackets(text: str) -> str:
    """Blank out what stands in brackets, keeping every other place.

    >>> hide_brackets("甘（蜜）平").count(HIDDEN)
    3
    """
    before = ""
    while text != before:
        before = text
        text = _BRACKETED.sub(lambda found: HIDDEN * len(found[0]), text)
    return text


# another thing's entry within this one: 青粱米，味甘 under 粟米
_OTHER = re.compile(r"(?<=[。；\n])(?P<name>[\u3400-\u9fff]{2,5})，(?:气?味|性|主|杀)")
# weights and ways of a recipe: an entry with these is no material's own
DOSED = re.compile(
    r"各?[一二三四五六七八九十半数]+[两钱分升斤]|为末|水煎|上[一二三四五六七八九十]+味"
)


def zone_end(text: str, title: str) -> int:
    """Give where an entry stops speaking of its subject; ``text`` has its brackets hidden."""
    found = _TURNS.search(text)
    others = (
        each.start() for each in _OTHER.finditer(text)
        if each["name"] not in title and title not in each["name"]
    )  # fmt: skip
    return min(found.start() if found else len(text), *others, len(text))
