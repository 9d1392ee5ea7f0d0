"""Made-up people in made-up cases, from a seed: what names them, and the text it stands in."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from shiyi.model.claim import Claim, Confidence, Evidence, Source, Tier
from shiyi.model.iris import content_hash, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import RDF, RDFS, SHIYI, SKOS

TOGETHER = 50  # texts of one concept


def planted(texts: Sequence[str]) -> Iterator[Quad]:
    """Yield concepts with those texts as names, notes and quoted claims."""
    for at in range(0, len(texts), TOGETHER):
        node = resource(f"food-many-{at}")
        yield Quad(node, RDF.type, SKOS.Concept)
        yield Quad(node, RDF.type, SHIYI.Food)
        yield Quad(node, SKOS.prefLabel, Literal(f"许多{at}", language="zh"))
        for number, text in enumerate(texts[at : at + TOGETHER]):
            found = (SKOS.altLabel, SKOS.hiddenLabel, RDFS.comment)[number % 3]
            yield Quad(node, found, Literal(text, language="zh"))
            claim = quoting(node, text)
            yield from source_quads(claim.evidence[0].source, DefaultGraph())
            yield from claim_quads(claim, DefaultGraph())


def quoting(node: NamedNode, text: str) -> Claim:
    """Make a claim whose source, place and quote are that text."""
    source = Source(f"hostile-{content_hash(text)[:12]}", text, text, Tier.PAPER)
    evidence = Evidence(source, Confidence(0.7), text, quote=text)
    return Claim(node, SHIYI.safetyNote, Literal(text), (evidence,))


ENDINGS = (
    "", "'", '"', "'''", '"""', "\\", "\\'", '\\"', "}", "} }", ")", ">", "> }", ".", " .", "^^", "@en",
    "-->", "]]>", "*/", "%>", "}}", "%}", "\n", "\r\n", "\t", " ;", "#",
)  # fmt: skip
PAYLOADS = (
    "DROP ALL", "CLEAR DEFAULT", "INSERT DATA { <urn:x> <urn:x> <urn:x> }", "UNION { ?s ?p ?o }",
    "SERVICE <http://127.0.0.1:9/> { ?s ?p ?o }", "LOAD <file:///etc/passwd>", "} DELETE WHERE { ?s ?p ?o",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>",
    "<a href=javascript:alert(1)>x</a>", "<iframe srcdoc='<script>alert(1)</script>'>",
    "[x](javascript:alert(1))", "![x](x onerror=alert(1))", "<details open ontoggle=alert(1)>",
    "<math><mtext></mtext><style><img src onerror=alert(1)>", "{{ 7 * 7 }}", "{% import os %}", "${7*7}",
    "%s%s%n", "{0.__class__}", "$(id)", "`id`", "; rm -rf /", "| cat /etc/passwd", "../../etc/passwd",
    "..%2f..%2fetc", "=cmd|' /C calc'!A0", "@SUM(1+1)", "1 OR 1=1", "' OR '1'='1", "null", "undefined",
    "NaN", "-0", "1e400", "0x7fffffff", "9" * 60, "true", "[]", "{}", "Location: https://evil.example/",
)  # fmt: skip
LETTERS = (
    "\u202e右到左", "\u200b\u200c\u200d零宽", "é e\u0301", "ﷺ﷽", "𝒯𝑒𝓍𝓉", "👩‍👩‍👧‍👦", "ı İ ß ſ", "ＦＵＬＬ", "Ω≈ç√∫", "田中さん",
    "사회과학원", "Ṱ̺̺̕o͞ ̷i̲̬͇̪n̝̗v̟̜o̶̙̰k̨e̛", "\ufeff字节序", "\u2028行\u2029段", "\u0600\u06dd", "\ufffd", "\uffff", "\ue000",
    "\U0010fffd", "a" * 1500, "枸杞\u00a0子", "\u061c\u2066x\u2069", "a\u0300" * 200, "ق" * 99,
)  # fmt: skip
CONTROLS = ("\x00", "\x01", "\x07", "\x08", "\x0b", "\x0c", "\x1b[31m", "\x7f", "\x85", "\x9f")
NAMES = (
    "CON", "NUL.txt", ".", "..", "~", "-rf", "--help", "a/b", "a\\b", "a:b", "*", "?", "|", "x.ttl.exe",
    "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x", "//evil.example",
    "/\\evil.example", "https:evil.example", "file:///etc/passwd", "http://169.254.169.254/", "urn:x:<>",
)  # fmt: skip


ELEMENTS = (
    "img", "svg", "body", "video", "audio", "iframe", "object", "embed", "details", "marquee", "input", "form", "select",
    "textarea", "style", "link", "meta", "base", "math", "table", "a", "button", "template", "noscript", "xss",
)  # fmt: skip
EVENTS = (
    "onerror", "onload", "onclick", "onmouseover", "onfocus", "ontoggle", "onstart", "onpointerenter", "onanimationend",
    "onbegin", "OnErRoR", "on\nerror", "on\x00load",
)  # fmt: skip
WRITTEN = (
    "<{0} {1}=alert(1)>", '<{0} src=x {1}="alert(1)">', "<{0}/{1}='alert(1)'/>", '"><{0} {1}=alert`1`>', "'><{0}\t{1}=alert(1) x=",
    "</title><{0} {1}=alert(1)>", "</script><{0} {1}=alert(1)//", "--><{0} {1}=alert(1)>", "]]><{0} {1}=alert(1)>",
    "＜{0} {1}=alert(1)＞", "&lt;{0} {1}=alert(1)&gt;", "%3C{0}%20{1}=alert(1)%3E", "+ADw-{0} {1}=alert(1)+AD4-",
    "<<{0} {1}=alert(1)//<", "<{0} {1}=&#97;lert(1)>", "<{0} {1}=\\u0061lert(1)>", "` {1}=alert(1) <{0}", "\u2028<{0} {1}=alert(1)>",
)  # fmt: skip
BROKEN = ("%s", "[x]", "a>b", "x y")  # with one of our namespaces in front no IRI
PLACES = ("https://w3id.org/shiyi/id/", "https://w3id.org/shiyi/vocab#", "http://e.org/", "urn:x:")


@cache
def texts() -> tuple[str, ...]:
    """Return every text, each once."""
    wrapped = [ending + payload for ending, payload in product(ENDINGS, PAYLOADS)]
    around = [f"goji{name}枸杞" for name in (*LETTERS, *CONTROLS)]
    named = [place + payload for place, payload in product(PLACES, (*PAYLOADS, *ENDINGS))]
    marked = [each.format(*pair) for each in WRITTEN for pair in product(ELEMENTS, EVENTS)]
    return tuple(
        dict.fromkeys(
            (
                *wrapped,
                *PAYLOADS,
                *ENDINGS[1:],
                *LETTERS,
                *CONTROLS,
                *NAMES,
                *around,
                *named,
                *marked,
                *BROKEN,
            )
        )
    )


def sample(start: int, count: int) -> list[str]:
    """Return some of them, others for each start; strides are coprime to their number."""
    every = texts()
    return [every[(start * 97 + at * 2389) % len(every)] for at in range(count)]


_SURNAMES = "王李张刘陈杨赵黄周吴徐孙朱马胡郭林何高梁郑罗宋谢唐韩曹许邓萧冯曾程蔡彭潘袁于董余苏叶吕魏蒋田杜丁沈姜范江傅钟卢汪戴崔任陆廖姚方金邱夏谭韦贾邹石熊孟秦阎薛侯雷白龙段郝孔邵史毛常万顾赖武康贺严尹钱施牛洪龚"
_GIVEN = "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂英华建国志红梅玉珍文博子涵雨轩欣怡浩然思远嘉琪晓东春燕秋菊"
_EN_GIVEN = "James Mary Robert Patricia Michael Jennifer William Linda David Elizabeth Thomas Barbara Charles Susan Daniel Jessica Matthew Karen Anthony Nancy Margaret Sandra Ashley Kimberly Emily Donna Michelle Laura".split()  # noqa: SIM905
_EN_SUR = "Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Wilson Anderson Taylor Moore Jackson Martin Thompson Harris Clark Lewis Robinson O'Brien McDonald Nguyen Patel Kowalski Fischer".split()  # noqa: SIM905
_CITIES = (
    "浙江省杭州市西湖区",
    "江苏省南京市鼓楼区",
    "上海市徐汇区",
    "北京市朝阳区",
    "广东省广州市越秀区",
    "四川省成都市武侯区",
    "湖南省长沙市岳麓区",
    "山东省青岛市市南区",
)
_ROADS = (
    "文三路",
    "中山北路",
    "长乐街道延安路",
    "建国门外大街",
    "解放大道",
    "人民南路",
    "锦绣巷",
    "和平里小区",
)
_STREETS = (
    "Maple Street",
    "Oak Avenue",
    "Elm Road",
    "Washington Blvd",
    "Church Lane",
    "Park Drive",
    "Hill Court",
)
_TOWNS = (
    ("Springfield", "IL"),
    ("Rochester", "MN"),
    ("Portland", "OR"),
    ("Austin", "TX"),
    ("Dayton", "OH"),
)
_COMPLAINTS = (
    "失眠多梦，心悸健忘，舌淡苔白，脉细弱",
    "咳嗽痰白，恶寒无汗，苔薄白，脉浮紧",
    "胃脘隐痛，喜温喜按，大便溏薄",
    "头晕耳鸣，腰膝酸软，五心烦热，脉细数",
)
_EN_COMPLAINTS = (
    "insomnia, palpitations and poor memory",
    "cough with white phlegm and chills",
    "epigastric pain relieved by warmth",
)


@dataclass(frozen=True, slots=True)
class Person:
    """A case in free text, and every string in it that names somebody."""

    text: str
    secrets: tuple[str, ...]


def people(seed: int, count: int) -> Iterator[Person]:
    draw = random.Random(seed)  # noqa: S311
    for number in range(count):
        yield _english(draw) if number % 3 == 2 else _chinese(draw)


def _zh_name(draw: random.Random) -> str:
    return draw.choice(_SURNAMES) + "".join(draw.choices(_GIVEN, k=draw.choice((1, 2, 2))))


def _mobile(draw: random.Random) -> str:
    digits = f"1{draw.choice('3456789')}{draw.randrange(10**9):09}"
    return draw.choice(
        (
            digits,
            f"{digits[:3]}-{digits[3:7]}-{digits[7:]}",
            f"+86 {digits}",
            f"{digits[:3]} {digits[3:7]} {digits[7:]}",
        )
    )


def _chinese(draw: random.Random) -> Person:
    name, kin, phone = _zh_name(draw), _zh_name(draw), _mobile(draw)
    year, month, day = draw.randrange(1935, 2015), draw.randrange(1, 13), draw.randrange(1, 29)
    born = draw.choice(
        (
            f"{year}年{month}月{day}日",
            f"{year}-{month:02}-{day:02}",
            f"{year}/{month}/{day}",
            f"{year}.{month:02}.{day:02}",
        )
    )
    identity = f"{draw.randrange(110000, 659000)}{year}{month:02}{day:02}{draw.randrange(1000):03}{draw.choice('0123456789X')}"
    record = f"{draw.choice(('', 'ZY', 'M'))}{draw.randrange(10**5, 10**8)}"
    home = f"{draw.choice(_CITIES)}{draw.choice(_ROADS)}{draw.randrange(1, 900)}号{draw.choice(('', '3幢502室', '12号楼1单元', '2栋'))}"
    sex, age, message = draw.choice("男女"), draw.randrange(3, 89), draw.choice(_COMPLAINTS)
    landline = f"0{draw.randrange(10, 999)}-{draw.randrange(2 * 10**6, 9 * 10**7):08}"
    mail = f"user{draw.randrange(10**5)}@example.com"
    opening = draw.choice(
        (
            f"姓名：{name}，性别：{sex}，年龄：{age}岁，出生日期：{born}，身份证号：{identity}。",
            f"{name}，{sex}，{age}岁，{born}出生，住{home}，住院号{record}。",
            f"患者{name}，{sex}，{age}岁，身份证{identity}，生于{born}。",
            f"病人{name}，{age}岁，病案号：{record}，出生年月：{born}。",
        )
    )
    middle = draw.choice(
        (
            f"主诉：{message}3月余。家庭住址：{home}，联系电话：{phone}。",
            f"近半年{message}。家住{home}，手机{phone}，固定电话{landline}。",
            f"因{message}就诊，由其女{kin}陪同，电话 {phone}。现住址：{home}。",
            f"{message}。联系人：{kin}，{phone}，邮箱{mail}。",
        )
    )
    title = draw.choice(("女士", "先生", "老师"))
    ending = draw.choice(
        (f"{name}既往体健。", f"{name[0]}{title}诉夜间加重。", "既往有高血压。", f"主治医师：{kin}")
    )
    text = opening + middle + ending
    secrets = [name, kin, born, identity, record, home, phone, landline, mail, f"{name[0]}{title}"]
    return Person(text, tuple(secret for secret in secrets if secret in text))


def _english(draw: random.Random) -> Person:
    first, last = draw.choice(_EN_GIVEN), draw.choice(_EN_SUR)
    name = f"{first} {last}"
    town, state = draw.choice(_TOWNS)
    home = f"{draw.randrange(1, 9999)} {draw.choice(_STREETS)}, {town}, {state} {draw.randrange(10000, 99999)}"
    year, month, day = draw.randrange(1935, 2015), draw.randrange(1, 13), draw.randrange(1, 29)
    born = draw.choice(
        (
            f"{month:02}/{day:02}/{year}",
            f"{year}-{month:02}-{day:02}",
            f"March {day}, {year}",
            f"{day} June {year}",
        )
    )
    phone = draw.choice(
        (
            f"({draw.randrange(200, 999)}) {draw.randrange(200, 999)}-{draw.randrange(10**4):04}",
            f"{draw.randrange(200, 999)}-{draw.randrange(200, 999)}-{draw.randrange(10**4):04}",
            f"+44 20 {draw.randrange(10**4):04} {draw.randrange(10**4):04}",
        )
    )
    ssn = f"{draw.randrange(100, 899)}-{draw.randrange(10, 99)}-{draw.randrange(10**4):04}"
    record = f"{draw.randrange(10**6, 10**8)}"
    message, age = draw.choice(_EN_COMPLAINTS), draw.randrange(18, 88)
    opening = draw.choice(
        (
            f"Patient: {name}. DOB: {born}. MRN: {record}. ",
            f"{name}, a {age}-year-old woman, presented with {message}. Date of birth {born}. ",
            f"Mr. {last}, aged {age}, complains of {message}. Born on {born}, SSN {ssn}. ",
            f"Name: {name}, date of birth: {born}, insurance number {record}. ",
        )
    )
    middle = draw.choice(
        (
            f"Lives at {home}. Phone: {phone}. ",
            f"She has {message}; contact: {name}, tel {phone}. ",
            f"Address: {home}; e-mail {first.lower()}{draw.randrange(999)}@example.org. ",
        )
    )
    text = (
        opening
        + middle
        + draw.choice(
            (f"Mrs {last} denies fever.", f"{last} has a history of diabetes.", "Tongue pale.")
        )
    )
    secrets = [name, last, home, born, phone, ssn, record]
    mails = [word for word in text.replace(";", " ").split() if "@" in word]
    return Person(text, tuple(secret for secret in (*secrets, *mails) if secret.strip(".") in text))
