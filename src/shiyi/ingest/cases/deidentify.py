"""Who a case is about goes at the door: names, phones, addresses, ids, birth dates.

What stands in a field of its own is taken from the text wherever it occurs; the rest is found by
its form. What is removed is counted by kind; its words are kept nowhere.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from shiyi.linking.words import words

_DATE: Final = (
    r"(?:(?:19|20)\d\d\s*[-年./]\s*\d{1,2}(?:\s*[-月./]\s*\d{1,2}\s*日?)?月?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d\d"
    r"|\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?[A-Z][a-z]{2,8}\.?,?\s+(?:19|20)\d\d"
    r"|[A-Z][a-z]{2,8}\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+(?:19|20)\d\d"
    r"|[一二][九〇○零]?[〇○零一二三四五六七八九]{2,3}年[一二三四五六七八九十正冬腊]{1,3}月(?:[初一二三四五六七八九十廿卅]{1,4}[日号]?)?)"
)
_UNIT: Final = r"省|自治区|特别行政区|市|自治州|州|盟|县|旗|区|镇|乡|街道|村|屯|庄|社区|小区|花园|家园|公寓|路|街|大街|大道|巷|弄|胡同|里|组|号楼|号院|号|栋|幢|座|楼|层|单元|室"  # fmt: skip
_STREET: Final = r"Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Place|Pl|Terrace|Close|Crescent|Square|Parkway|Highway"  # fmt: skip
_LABEL: Final = r"[\s:：#.=为是]*"

_FORMS: Final = (
    ("phone", rf"(?i:电话|手机号?码?|联系方式|tel(?:ephone)?|phone|mobile|cell|fax){_LABEL}[+\d][\d() .-]{{5,}}\d"),
    ("e-mail", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("e-mail", rf"(?i:微信号?|wechat|QQ号?){_LABEL}[A-Za-z0-9][\w-]{{4,}}"),
    ("birth date", rf"(?i:出生日期|出生年月日?|出生于|出生|生日|生于|生辰|d\.?o\.?b\.?|date\s+of\s+birth|birth\s*date|birthday|born(?:\s+(?:on|in))?){_LABEL}{_DATE}"),
    ("birth date", rf"{_DATE}\s*(?:出生|生人|所生|生(?=[，。,;；）)]))"),
    ("id", r"(?<![\dA-Za-z])\d{6}[ -]?(?:19|20)\d{2}[ -]?(?:0\d|1[0-2])[ -]?\d{2}[ -]?\d{3}[\dXx](?![\dA-Za-z])"),
    ("id", r"(?<![\dA-Za-z.])\d{17}[\dXx](?![\dA-Za-z])|(?<![\d.])\d{15}(?!\d)"),
    ("id", r"(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)"),
    ("id", rf"(?i:身份证号?码?|病案号|病历号|住院号|门诊号|就诊卡号?|登记号|档案号|编号|医保卡?号?|社保卡?号?|护照号?码?|MRN|SSN|NHS(?:\s+number)?|passport(?:\s+(?:no|number))?|medical\s+record(?:\s+(?:no|number|id))?|record\s+(?:no|number)|chart\s+(?:no|number)|hospital\s+(?:no|number)|insurance\s+(?:no|number)|patient\s+id|ID(?:\s+(?:no|number|card))?){_LABEL}[A-Za-z]{{0,4}}[- ]?\d[\dA-Za-z/-]{{2,}}"),
    ("id", r"(?<![A-Za-z0-9])[EGDSP][A-Z]?\d{7,8}(?![A-Za-z0-9])"),
    ("phone", r"(?:\+?86[- ]?)?(?<![\d.])1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?!\d)"),
    ("phone", r"(?<![\d.])\(?0\d{2,3}\)?[- ]?\d{7,8}(?:转\d+)?(?!\d)|(?<!\d)[48]00-?\d{3}-?\d{4}(?!\d)"),
    ("phone", r"(?<![\d.])\+\d{1,3}[-. ]?(?:\(?\d{1,4}\)?[-. ]?){2,5}\d{2,4}(?!\d)"),
    ("phone", r"(?<![\d.])\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?!\d)"),
    ("address", rf"(?:家庭住址|现住址|户籍地|住址|地址|家住|现住于?|居住于|居住在|住在|住于|籍贯|工作单位|就职于|供职于|任职于){_LABEL}[^，。；,;\n]{{2,60}}"),
    ("address", rf"[\u4e00-\u9fff]{{2,6}}(?:省|自治区|市)(?:[\u4e00-\u9fffA-Za-z0-9]{{1,10}}?(?:{_UNIT}))+[0-9A-Za-z一二三四五六七八九十-]*(?:号|室|栋|楼)?"),
    ("address", rf"(?:[\u4e00-\u9fff]{{1,8}}?(?:路|街|大道|巷|弄|胡同|村|小区|花园|公寓))(?:[0-9一二三四五六七八九十]+(?:{_UNIT}))+[0-9]*"),
    ("address", rf"(?i:\baddress|\blives?\s+(?:at|in)|\bliving\s+(?:at|in)|\bresid(?:es|ing|ent)\s+(?:at|in|of)|\bresidence|\bemployer){_LABEL}[^.;\n]{{3,80}}"),
    ("address", rf"\b\d{{1,5}}[A-Za-z]?\s+(?:[A-Z][\w'.-]*\s+){{1,4}}(?:{_STREET})\b\.?(?:,?\s+(?:Apt|Flat|Unit|Suite|#)\.?\s*\w+)?(?:,\s*[A-Z][A-Za-z .'-]+){{0,3}}(?:,?\s*[A-Z]{{2}}\s+\d{{5}}(?:-\d{{4}})?)?"),
)  # fmt: skip
_PATTERNS: Final = tuple((kind, re.compile(form)) for kind, form in _FORMS)
_OLD = re.compile(r"(?<!\d)(?:9\d|1[01]\d)(?=\s*(?:岁|周岁|years?\b|-year))")
_SURNAMES = words("surnames")
_SUR = "(?:" + "|".join(sorted(map(re.escape, _SURNAMES), key=lambda each: -len(each))) + ")"
_GIVEN = r"[\u4e00-\u9fff]{1,2}"
_HIDDEN = r"(?:某某?|[×xX＊*○〇□]{1,2})"
_TITLE: Final = r"(?:先生|女士|小姐|太太|夫人|阿姨|叔叔|大爷|大妈|大娘|爷爷|奶奶|老师|老伯|同志|同学|小朋友|医生|大夫|医师|主任|教授)"
_ZH_NAMES: Final = tuple(re.compile(each) for each in (
    rf"(?:姓名|患者姓名|病人姓名|联系人|家属|陪同者?|主治医师|主管医师|经治医师|医师|记录者|签名|代诉)[\s:：为是]+(?P<name>{_SUR}{_GIVEN}|[\u4e00-\u9fff·]{{2,12}})(?=[\s，。；,;（(、\n]|\Z|男|女)",
    rf"(?:患者|病人|病者|患儿|产妇|孕妇|伤者|老人|案主)[\s:：]*(?P<name>{_SUR}(?:{_GIVEN}|{_HIDDEN}))(?=[\s，,、；;（(。:：]|男|女|于|因|自|近|\d)",
    rf"(?:\A|[\n。；;，,（(“])\s*(?P<name>{_SUR}(?:{_GIVEN}|{_HIDDEN}))(?=[\s，,、（(]{{1,2}}(?:男|女|年|[0-9一二三四五六七八九十]{{1,3}}岁))",
    rf"(?P<name>{_SUR}(?:{_GIVEN})??{_TITLE})",
    rf"(?P<name>{_SUR}{_HIDDEN})(?![\u4e00-\u9fff]?[片丸汤])",
    rf"(?:其[妻夫子女父母兄弟姐妹]|(?:其|患者)?(?:妻子|丈夫|儿子|女儿|母亲|父亲|配偶|爱人|监护人|兄弟|姐姐|哥哥|妹妹|弟弟))[\s:：]*(?P<name>{_SUR}{_GIVEN})(?=[，,。；;（(、\s]|陪|代|电|告|送|说|称|于)",
    rf"(?:名叫|叫做|自称|名为|化名)(?P<name>{_SUR}{_GIVEN})(?=[，,。；;（(、\s]|的|\Z)",
))  # fmt: skip
_CAP = r"(?:[A-Z]['’])?[A-Z][a-zà-ÿ]+(?:[A-Z][a-zà-ÿ]+)?(?:['’-][A-Z]?[a-zà-ÿ]+)?"
_EN_NAMES: Final = tuple(re.compile(each) for each in (
    rf"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Sir|Madam)\b\.?\s+(?P<name>(?:[A-Z]\.?\s+){{0,2}}{_CAP}(?:\s+(?:{_CAP}|[A-Z]\.)){{0,2}})",
    rf"\b(?i:patient(?:'s)?\s+name|full\s+name|name|patient|contact|next\s+of\s+kin|physician|signed)\s*[:=]\s*(?P<name>{_CAP}(?:,?\s+(?:{_CAP}|[A-Z]\.?(?![a-z]))){{0,3}})",
    rf"\b(?:[Tt]he\s+)?[Pp]atient,?\s+(?P<name>{_CAP}(?:\s+(?:{_CAP}|[A-Z]\.?(?![a-z]))){{1,2}})",
    rf"(?:\A|[.\n;]\s*)(?P<name>{_CAP}(?:\s+(?:{_CAP}|[A-Z]\.?(?![a-z]))){{1,2}})(?=\s*,?\s+(?:is\s+)?(?:an?\s+)?(?:\d{{1,3}}|aged))",
    rf"\b(?:named|called|daughter|son|wife|husband|mother|father|brother|sister),?\s+(?P<name>{_CAP}(?:\s+{_CAP}){{1,2}})",
))  # fmt: skip
# words that begin like a name and are none
_NO_NAMES: Final = frozenset(words("no-names"))
_MARKS: Final = {
    "name": "［姓名］", "phone": "［电话］", "address": "［地址］", "id": "［证号］",
    "birth date": "［出生日期］", "e-mail": "［邮箱］", "age over 89": "90",
}  # fmt: skip


def deidentify(text: str, identity: Mapping[str, str], removed: Counter[str]) -> str:
    """Give a text without who it is about; ``removed`` counts what went, by kind.

    >>> counted = Counter()
    >>> deidentify("患者王小明，男，42岁，电话13812345678。", {}, counted)
    '患者［姓名］，男，42岁，［电话］。'
    >>> sorted(counted)
    ['name', 'phone']
    """
    for kind, value in identity.items():
        for each in re.split(r"[;；|]", value):
            text = _without(text, each.strip(), kind, removed)
    for kind, pattern in _PATTERNS:
        text, count = pattern.subn(_MARKS[kind], text)
        _count(removed, kind, count)
    for name in dict.fromkeys(_names(text)):
        text = _without(text, name, "name", removed)
    text, count = _OLD.subn(_MARKS["age over 89"], text)
    _count(removed, "age over 89", count)
    return text


def names_in(text: str) -> tuple[str, ...]:
    """Give the names that a text shows by their place, so that they go from its other parts too.

    >>> names_in("患者王小明，男，42岁。")
    ('王小明',)
    """
    return tuple(dict.fromkeys(each for each in _names(text) if len(each) > 1))


def _count(removed: Counter[str], kind: str, count: int) -> None:
    if count:
        removed[kind] += count


def _without(text: str, value: str, kind: str, removed: Counter[str]) -> str:
    """Take a known value out wherever it stands; one too short to be told from words stays."""
    if len(value) < 2 or (value.isascii() and len(value) < 3):
        return text
    pattern = re.escape(value)
    if value.isascii():
        pattern = rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
    text, count = re.subn(pattern, _MARKS[kind], text, flags=re.IGNORECASE)
    _count(removed, kind, count)
    return text


def _names(text: str) -> Iterator[str]:
    """Yield the names found by their place, and of English ones each part that may stand alone."""
    for pattern in (*_ZH_NAMES, *_EN_NAMES):
        for found in pattern.finditer(text):
            name = found["name"]
            if not _is_none(name):
                yield name
                yield re.sub(_TITLE + r"\Z", "", name)
                if name.isascii():
                    yield from (each for each in re.split(r"[\s,.]+", name) if len(each) > 2 and not _is_none(each))  # fmt: skip


@cache
def _is_none(name: str) -> bool:
    return name.lower() in _NO_NAMES or any(part.lower() in _NO_NAMES for part in name.split())
