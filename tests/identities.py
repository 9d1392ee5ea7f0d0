"""Made-up people in made-up cases, from a seed: what names them, and the text it stands in."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

_SURNAMES = "王李张刘陈杨赵黄周吴徐孙朱马胡郭林何高梁郑罗宋谢唐韩曹许邓萧冯曾程蔡彭潘袁于董余苏叶吕魏蒋田杜丁沈姜范江傅钟卢汪戴崔任陆廖姚方金邱夏谭韦贾邹石熊孟秦阎薛侯雷白龙段郝孔邵史毛常万顾赖武康贺严尹钱施牛洪龚"
_GIVEN = "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂英华建国志红梅玉珍文博子涵雨轩欣怡浩然思远嘉琪晓东春燕秋菊"
_EN_GIVEN = "James Mary Robert Patricia Michael Jennifer William Linda David Elizabeth Thomas Barbara Charles Susan Daniel Jessica Matthew Karen Anthony Nancy Margaret Sandra Ashley Kimberly Emily Donna Michelle Laura".split()  # fmt: skip  # noqa: SIM905
_EN_SUR = "Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Wilson Anderson Taylor Moore Jackson Martin Thompson Harris Clark Lewis Robinson O'Brien McDonald Nguyen Patel Kowalski Fischer".split()  # fmt: skip  # noqa: SIM905
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
    return draw.choice((digits, f"{digits[:3]}-{digits[3:7]}-{digits[7:]}", f"+86 {digits}", f"{digits[:3]} {digits[3:7]} {digits[7:]}"))  # fmt: skip


def _chinese(draw: random.Random) -> Person:
    name, kin, phone = _zh_name(draw), _zh_name(draw), _mobile(draw)
    year, month, day = draw.randrange(1935, 2015), draw.randrange(1, 13), draw.randrange(1, 29)
    born = draw.choice((f"{year}年{month}月{day}日", f"{year}-{month:02}-{day:02}", f"{year}/{month}/{day}", f"{year}.{month:02}.{day:02}"))  # fmt: skip
    identity = f"{draw.randrange(110000, 659000)}{year}{month:02}{day:02}{draw.randrange(1000):03}{draw.choice('0123456789X')}"
    record = f"{draw.choice(('', 'ZY', 'M'))}{draw.randrange(10**5, 10**8)}"
    home = f"{draw.choice(_CITIES)}{draw.choice(_ROADS)}{draw.randrange(1, 900)}号{draw.choice(('', '3幢502室', '12号楼1单元', '2栋'))}"
    sex, age, told = draw.choice("男女"), draw.randrange(3, 89), draw.choice(_COMPLAINTS)
    landline = f"0{draw.randrange(10, 999)}-{draw.randrange(2 * 10**6, 9 * 10**7):08}"
    mail = f"user{draw.randrange(10**5)}@example.com"
    opening = draw.choice((
        f"姓名：{name}，性别：{sex}，年龄：{age}岁，出生日期：{born}，身份证号：{identity}。",
        f"{name}，{sex}，{age}岁，{born}出生，住{home}，住院号{record}。",
        f"患者{name}，{sex}，{age}岁，身份证{identity}，生于{born}。",
        f"病人{name}，{age}岁，病案号：{record}，出生年月：{born}。",
    ))  # fmt: skip
    middle = draw.choice((
        f"主诉：{told}3月余。家庭住址：{home}，联系电话：{phone}。", f"近半年{told}。家住{home}，手机{phone}，固定电话{landline}。",
        f"因{told}就诊，由其女{kin}陪同，电话 {phone}。现住址：{home}。", f"{told}。联系人：{kin}，{phone}，邮箱{mail}。",
    ))  # fmt: skip
    title = draw.choice(("女士", "先生", "老师"))
    ending = draw.choice(
        (f"{name}既往体健。", f"{name[0]}{title}诉夜间加重。", "既往有高血压。", f"主治医师：{kin}")
    )
    text = opening + middle + ending
    secrets = [name, kin, born, identity, record, home, phone, landline, mail, f"{name[0]}{title}"]
    return Person(text, tuple(each for each in secrets if each in text))


def _english(draw: random.Random) -> Person:
    first, last = draw.choice(_EN_GIVEN), draw.choice(_EN_SUR)
    name = f"{first} {last}"
    town, state = draw.choice(_TOWNS)
    home = f"{draw.randrange(1, 9999)} {draw.choice(_STREETS)}, {town}, {state} {draw.randrange(10000, 99999)}"
    year, month, day = draw.randrange(1935, 2015), draw.randrange(1, 13), draw.randrange(1, 29)
    born = draw.choice((f"{month:02}/{day:02}/{year}", f"{year}-{month:02}-{day:02}", f"March {day}, {year}", f"{day} June {year}"))  # fmt: skip
    phone = draw.choice((
        f"({draw.randrange(200, 999)}) {draw.randrange(200, 999)}-{draw.randrange(10**4):04}",
        f"{draw.randrange(200, 999)}-{draw.randrange(200, 999)}-{draw.randrange(10**4):04}",
        f"+44 20 {draw.randrange(10**4):04} {draw.randrange(10**4):04}",
    ))  # fmt: skip
    ssn = f"{draw.randrange(100, 899)}-{draw.randrange(10, 99)}-{draw.randrange(10**4):04}"
    record = f"{draw.randrange(10**6, 10**8)}"
    told, age = draw.choice(_EN_COMPLAINTS), draw.randrange(18, 88)
    opening = draw.choice((
        f"Patient: {name}. DOB: {born}. MRN: {record}. ", f"{name}, a {age}-year-old woman, presented with {told}. Date of birth {born}. ",
        f"Mr. {last}, aged {age}, complains of {told}. Born on {born}, SSN {ssn}. ",
        f"Name: {name}, date of birth: {born}, insurance number {record}. ",
    ))  # fmt: skip
    middle = draw.choice((
        f"Lives at {home}. Phone: {phone}. ", f"She has {told}; contact: {name}, tel {phone}. ", f"Address: {home}; e-mail {first.lower()}{draw.randrange(999)}@example.org. ",
    ))  # fmt: skip
    text = (
        opening
        + middle
        + draw.choice(
            (f"Mrs {last} denies fever.", f"{last} has a history of diabetes.", "Tongue pale.")
        )
    )
    secrets = [name, last, home, born, phone, ssn, record]
    mails = [word for word in text.replace(";", " ").split() if "@" in word]
    return Person(text, tuple(each for each in (*secrets, *mails) if each.strip(".") in text))
