"""Words that show what is asked, in Chinese and English: one table, no grammar."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from shiyi.linking.normalise import fold


class Intent(StrEnum):
    """What a question may want; it may want several things."""

    ADVICE = "advice"
    MAY = "may"
    PROPERTY = "property"
    CONSTITUTION = "constitution"
    MEANING = "meaning"
    STOP = "stop"
    DOSE = "dose"
    DIAGNOSIS = "diagnosis"
    METHOD = "method"
    DRINK = "drink"
    CURE = "cure"
    SUPPLEMENT = "supplement"
    PROOF = "proof"
    AVOID = "avoid"


# Folded text: simplified characters, lower case. English cues are matched as whole words.
ZH: Final[Mapping[Intent, tuple[str, ...]]] = {
    Intent.ADVICE: (
        "推荐", "吃点什么", "吃什么", "喝什么", "喝点什么", "吃些什么", "喝些什么", "吃啥", "喝啥", "哪些食物",
        "什么食物", "什么食疗", "食疗", "药膳", "适合吃", "适合喝", "该吃", "该喝", "怎么调理", "如何调理", "怎么食补",
        "饮食建议", "什么补充剂", "哪些补充剂", "哪种补充剂", "什么保健品", "哪些保健品", "有什么好", "宜吃", "食谱", "几款", "调养", "怎么吃好", "什么汤", "什么粥", "什么茶", "怎么办",
        "什么比较好", "食补", "补一补", "补什么", "补些什么", "补点什么", "怎么补", "能缓解", "有什么吃的", "吃哪些", "喝哪些", "什么对", "如何食养", "调理", "进补",
    ),
    Intent.MAY: (
        "可以吗", "可以吃", "可以喝", "能吃", "能喝", "可不可以", "能不能", "行吗", "能否", "可否", "宜不宜", "好吗",
        "能同吃", "一起吃", "一起喝", "同时吃", "同用", "同服", "能用", "能含", "安全吗", "有没有问题", "有影响吗",
        "要紧吗", "没事吧", "冲突", "相克", "禁忌", "忌口", "不能吃", "不能喝", "合适吗", "适合吗", "吃吗", "喝吗",
        "能服", "可以服", "能泡", "放心", "有害吗", "副作用", "相互作用", "会不会", "影响", "危险", "要紧", "适合",
    ),
    Intent.PROPERTY: (
        "性味", "归经", "功效", "作用", "什么性", "寒性", "热性", "凉性", "温性", "药性", "是什么", "介绍", "性质",
        "寒还是热", "热还是寒", "凉还是", "温还是", "什么是", "什么叫", "什么味", "有什么用", "成分", "好处", "属性", "五味", "四气",
    ),
    Intent.CONSTITUTION: ("什么体质", "哪种体质", "体质类型", "是不是体质", "何种体质", "体质是", "我的体质", "体质判",
                          "体质测", "属于什么体质", "哪类体质"),
    Intent.MEANING: ("意味着", "是不是说", "等于", "说明", "代表", "规定", "标准", "目录", "名单", "法规", "合法",
                     "能宣称", "疗效吗", "有效吗", "怎么判定", "如何判定", "证明", "批准", "标签", "宣传", "广告"),
    Intent.STOP: (
        "停药", "停掉", "停用", "停吃", "停服", "不吃药", "不用药", "别吃药", "断药", "替代", "代替", "取代", "换掉", "换成",
        "减量", "减药", "减少药", "少吃点药", "不打胰岛素", "不再吃药", "停了", "不服药", "停止服", "停止用", "就不用吃", "先停",
        "可以停", "能停", "想停", "戒药", "不用吃", "不必吃", "减半", "当药吃",
    ),
    Intent.DOSE: ("多少克", "吃多少", "喝多少", "用量", "剂量", "几克", "几颗", "多少量", "放多少", "每天多少"),
    Intent.DIAGNOSIS: ("是什么病", "得了什么", "是不是得", "是不是患", "诊断", "帮我看看是不是", "我这是怎么了", "是什么证",
                       "什么证型", "怎么回事", "是不是有病", "哪种病", "得的是"),
    Intent.METHOD: ("怎么做", "怎么煮", "做法", "怎么泡", "如何做", "如何煮", "怎么熬", "怎么吃", "怎么喝", "怎么用",
                    "食用方法", "如何食用"),
    Intent.DRINK: ("饮品", "饮料", "喝什么", "喝点", "喝些", "喝啥", "茶饮", "代茶", "什么茶", "喝什么水", "喝的", "凉茶"),
    Intent.PROOF: ("疗效", "有效", "意味", "等于", "说明", "代表", "证明", "管用", "有用吗", "能治", "治病", "作用吗"),
    Intent.SUPPLEMENT: ("补充剂", "保健品", "膳食补充", "维生素", "保健食品"),
    Intent.CURE: ("根治", "治好", "治愈", "能治", "可以治", "包治", "治疗癌", "抗癌", "断根"),
}  # fmt: skip
EN: Final[Mapping[Intent, tuple[str, ...]]] = {
    Intent.ADVICE: (
        "recommend", "recommendation", "recommendations", "suggest", "suggestion", "suggestions",
        "what should i eat", "what should i drink", "what can i eat", "what can i drink",
        "what to eat", "what to drink", "which food", "which foods", "what food", "what foods",
        "which tea", "what tea", "which drink", "what drink", "which drinks", "what drinks",
        "which soup", "what soup", "which dish", "what dishes", "diet for", "foods for", "food for",
        "remedy", "remedies", "good for", "help with", "helps with", "help me", "what helps",
        "ideas for", "any drinks", "any food", "any foods", "best food", "best foods", "best tea",
        "drinks for", "tea for", "soup for", "eat for", "drink for", "something to drink",
        "something to eat", "foods suit", "food suits", "which supplement", "which supplements", "what else",
        "what supplement", "what supplements", "what is good", "any tea", "any soup", "foods that", "drinks that",
        "what can i give", "what can i take for", "what can i take to", "dry up", "what should i take for", "what can i have for", "what can i use for", "what to take for", "what could help", "what would help", "what should i give", "to give my", "what can i feed", "nourish",
        "nourishing", "how can i lower", "how do i lower", "how to lower", "how can i reduce",
        "what fruit", "which fruit", "what fruits", "which fruits", "what vegetables", "which vegetables",
        "what snack", "what snacks", "which snacks", "what breakfast", "how to reduce", "how can i improve", "how do i improve", "how to improve",
    ),
    Intent.MAY: (
        "can i", "may i", "could i", "should i avoid", "is it ok", "is it okay", "is it safe",
        "safe", "ok to", "okay to", "can you take", "can people", "allowed", "together", "combine",
        "interact", "interaction", "interactions", "avoid", "contraindicated", "side effect",
        "side effects", "mix", "with my", "while taking", "while on", "am i allowed", "can my",
        "can a", "can pregnant", "is there a problem", "harm", "harmful", "dangerous", "risk",
        "risks", "risky", "harms", "hurt", "dangers",
        "can we", "can she", "can he", "should i take", "should i drink", "give my", "alright", "fine",
    ),
    Intent.PROPERTY: (
        "nature", "flavour", "flavor", "meridian", "channel", "properties", "property", "what is",
        "what are", "benefit", "benefits", "effects of", "efficacy", "what does", "cold or hot",
        "warming or cooling", "cooling or warming", "hot or cold", "warm or cool", "tell me about",
        "thermal", "used for", "warming", "cooling", "tropism",
    ),
    Intent.CONSTITUTION: (
        "constitution", "body type", "body constitution", "constitution type", "tcm type",
    ),
    Intent.MEANING: (
        "mean", "means", "meaning", "does being", "imply", "implies", "regulation", "regulations",
        "rule", "rules", "legal", "law", "list", "catalogue", "catalog", "allowed to claim", "claim",
        "label", "prove", "proof", "proven", "standard", "certified", "approved", "advertise",
    ),
    Intent.STOP: (
        "stop taking", "stop my", "stop the", "stopping", "quit", "come off", "go off", "get off",
        "instead of", "replace", "replacement for", "replacement to", "natural replacement", "herbal replacement", "substitute for", "substitutes for", "as a substitute", "to substitute", "substitute my", "skip", "without taking", "wean",
        "reduce my dose", "lower my dose", "cut down", "taper", "discontinue", "rather than",
        "alternative to my", "give up my", "drop my", "halve", "cut my", "reduce my", "no longer need",
        "not take my", "stop using", "be stopped", "stop it", "stopped taking", "throw away my",
    ),
    Intent.DOSE: ("how much", "how many", "dose", "dosage", "how often", "what amount", "grams"),
    Intent.DIAGNOSIS: (
        "diagnose", "diagnosis", "do i have", "what disease", "what illness", "is it cancer",
        "what is wrong with me", "what's wrong with me", "what condition", "which pattern",
        "what pattern", "which syndrome", "what syndrome",
    ),
    Intent.METHOD: ("how to make", "how to cook", "how do i make", "recipe", "how to prepare",
                    "how do i prepare", "how do i cook", "how to brew", "how to use", "how to eat"),
    Intent.DRINK: ("drink", "drinks", "beverage", "beverages", "tea", "teas", "herbal tea"),
    Intent.PROOF: ("mean", "means", "meaning", "work", "works", "prove", "proof", "proven", "proves",
                   "effective", "evidence", "heal", "treat", "efficacy", "imply", "implies"),
    Intent.SUPPLEMENT: ("supplement", "supplements", "vitamin", "vitamins", "nutraceutical"),
    Intent.CURE: ("cure", "cures", "cured", "heal cancer", "get rid of", "treat cancer"),
}  # fmt: skip
MEDICINE: Final = (
    "药", "胰岛素", "化疗", "medicine", "medicines", "medication", "medications", "meds", "pills",
    "tablets", "insulin", "drug", "drugs", "prescription", "chemotherapy", "chemo",
)  # fmt: skip
NEGATED_TAKING: Final = (
    "不吃",
    "不用",
    "不服",
    "别吃",
    "停",
    "不打",
    "不再吃",
    "不再用",
    "不想吃",
    "不愿吃",
    "不肯吃",
    "不敢吃",
    "懒得吃",
)
NEGATED_TAKING_EN: Final = ("stop", "without", "off", "not take", "instead", "replace", "quit")


def words(text: str) -> str:
    """Give folded English words between single spaces, for matching whole words.

    >>> words("Can I, please?")
    ' can i please '
    """
    kept = "".join(c if c.isalnum() or c == "'" else " " for c in fold(text))
    return f" {' '.join(kept.split())} "


def intents_of(text: str) -> frozenset[Intent]:
    """List what the words of a question show.

    >>> sorted(intents_of("夏天喝什么好"))
    [<Intent.ADVICE: 'advice'>, <Intent.DRINK: 'drink'>]
    """
    folded, spaced = fold(text), words(text)
    found = {intent for intent, cues in ZH.items() if any(cue in folded for cue in cues)}
    found |= {i for i, cues in EN.items() if any(f" {cue} " in spaced for cue in cues)}
    if _WHOM.search(folded):
        found.discard(Intent.CONSTITUTION)
    if _SUITS.search(folded):
        found.add(Intent.ADVICE)
    if _EASES.search(folded) or (_GOOD_FOR.search(spaced) and not _WHICH.search(spaced)):
        found = (found | {Intent.MAY}) - {Intent.ADVICE}
    here = spaced if folded.isascii() else f" {folded} "  # Chinese clauses end at their marks
    if _AVOID.search(here):
        rest = _AVOID.sub(" ", here)
        found = (found - {Intent.ADVICE, Intent.MAY}) | {Intent.AVOID} | intents_of(rest)
    return frozenset(found)


# "什么体质不适合喝绿茶" asks about the tea
_WHOM: Final = re.compile(
    r"(?:什么|哪种|哪些|哪类|何种)体质(?:的人)?(?:不|最|更|比较|就)?(?:太|大)?(?:适合|适宜|能|可以|宜|忌)"
)
# "哪些食材适合气虚体质" asks for foods, "哪些人适合吃山药" for people
_SUITS: Final = re.compile(
    r"(?:什么|哪些|哪种|哪类|啥)(?!人|体质|时候|情况)[^,，。？?]{0,12}(?:适合|适宜|有助|改善|缓解|调理)"
    r"|(?:适合|适宜)(?!什么|哪些)[^,，。？?]{1,14}(?:有哪些|有什么|是什么|是哪些)"
)
# what is to be left out is asked for, which is no wish to be recommended anything
_AVOID: Final = re.compile(
    r"(?:什么|哪些|哪种|啥)(?:样的)?(?:食物|东西|食品|吃的)?[^,，。？?]{0,4}(?:加重|诱发|引发|恶化|有害)"
    r"|(?:什么|哪些|哪种|啥)(?:食物|东西|食品|吃的)?[^,，。？?]{0,4}(?:流产|小产|滑胎)"
    r"|(?:什么|哪些|哪种)(?:食物|东西|食品)?对[^,，。？?]{1,10}(?:不好|有害|不利)"
    r"|(?:不能|不可以?|不宜|不要|不该|不应该?|不适合|避免|(?<![奶乳量减缺偏过太较很汗尿血发睡变不])少|忌|(?<!分)别)(?:多)?(?:吃|喝|食用?|饮)(?:点|些)?(?:什么|哪些|啥)"
    r"|(?:忌口?|禁忌|忌食|避免|当心)(?:什么|哪些|啥)"
    r"|(?:什么|哪些|哪种|啥)(?!样?的?人|体质|时候|情况|病|症)[^,，。？?]{0,6}?(?:是)?(?:不能|不可以?|不宜|不要|不该|不应该?|不适合|要少|应少|得少|忌|要避免|应避免|该避免|要停|得停|应停|该停)(?:多)?(?:吃|喝|食用?|饮)?"
    r"|(?:要|得|应|该)?停(?:掉|用|吃)?(?:什么|哪些|啥)(?:保健品|补充剂|维生素|食物)"
    r"|(?:什么|哪些|哪种|啥)[^,，。？?]{0,12}(?:相互作用|相克|冲突|犯冲)"
    r"| (?:what|which) (?:\w+ ){0,3}interacts? with "
    r"| (?:what|which) (?:\w+ ){0,8}(?:avoid|avoided|limit|limited|not eat|not drink|stay away from) "
    r"| (?:what|which) (?:supplements?|vitamins?|herbs?|foods?) (?:\w+ ){0,5}(?:stop|stopped|skip|skipped|pause|paused|quit) "
    r"|(?:饮食禁忌|忌口)(?:有哪些|有什么|是什么)?[？?。 ]*$"
    r"| (?:what|which) (?:\w+ ){0,2}(?:worsens?|aggravates?|triggers?|are bad for|is bad for|harms?) "
    r"| (?:what|which) (?:\w+ ){0,4}(?:causes?|leads? to|brings? on|triggers?|induces?) (?:a |an )?miscarriages? "
    r"| (?:what|which) (?:\w+ ){0,2}makes? (?:\w+ ){1,4}worse "
    r"| (?:what not to (?:eat|drink)|(?:foods?|drinks?|things) (?:to avoid|bad for)) "
)
# "is X good for Y" asks about X; "what is good for Y" asks for anything
_GOOD_FOR: Final = re.compile(
    r" (?:is|are|does|do|will|would|can(?! (?:i|you|we|anyone|someone) )) .{2,60} "
    r"(?:good|help|helps|helpful|beneficial|suitable|useful|recommended) "
)
_EASES: Final = re.compile(r"^(?!.*(?:什么|哪|啥|怎))[^,，。]+能缓解[^的]{1,12}吗")
_WHICH: Final = re.compile(r" (?:what|which|recommend|suggest|any|some|anything|something) ")


def is_cue(text: str) -> bool:
    """Tell whether words only show what is asked, and name nothing.

    >>> is_cue("drinks"), is_cue("hawthorn")
    (True, False)
    """
    folded, spaced = fold(text), words(text)
    plain = any(folded in cue or cue in folded for cues in ZH.values() for cue in cues)
    return plain or any(
        spaced in f" {cue} " or f" {cue} " in spaced for cues in EN.values() for cue in cues
    )


def is_meal(text: str) -> bool:
    """Tell whether words only say at which meal, how often or for whom something is eaten.

    >>> is_meal("早餐"), is_meal("长高")
    (True, False)
    """
    return _MEAL.fullmatch(fold(text).strip()) is not None


_MEAL: Final = re.compile(
    r"(?:一日)?[早中午晚三]?[餐饭]|早饭|午饭|晚饭|夜宵|宵夜|零食|平时|每天|日常|家常|饮食|食物|食品|恢复|身体|健康"
    r"|(?:for )?(?:breakfast|lunch|dinner|supper|meals?|snacks?|daily|every day|diet|family|ideas?|health|healthy|body|fruits?|vegetables?"
    r"|(?:my )?(?:grand(?:ma|pa|mother|father)|mother|mum|mom|father|dad|wife|husband|son|daughter|sister|brother))"
    r"|姐姐|妹妹|哥哥|弟弟|奶奶|爷爷|外婆|外公|姥姥|姥爷|男孩|女孩|妈妈|爸爸|老婆|老公"
)


def names_medicine(text: str) -> bool:
    """Tell whether the question speaks of medicines in general words."""
    folded, spaced = fold(text), words(text)
    return any(cue in folded if not cue.isascii() else f" {cue} " in spaced for cue in MEDICINE)


def names_prescription(text: str) -> bool:
    """Tell whether the question speaks of a prescription of Chinese medicine.

    >>> names_prescription("正在喝含藜芦的中药"), names_prescription("在吃华法林")
    (True, False)
    """
    folded = fold(text)
    return any(cue in folded for cue in _PRESCRIPTION)


_PRESCRIPTION: Final = (
    "中药", "方子", "方剂", "处方", "药方", "汤药", "开的药", "herbal formula", "decoction",
    "chinese medicine prescri", "herbal prescription", "tcm prescription", "chinese herbs",
)  # fmt: skip


def asks_difference(text: str) -> bool:
    """Tell whether two things are to be told apart rather than taken together.

    >>> asks_difference("菊花和金银花有什么不同"), asks_difference("菊花和金银花能一起泡吗")
    (True, False)
    """
    return _DIFFERENCE.search(fold(text)) is not None


_DIFFERENCE: Final = re.compile(
    r"不同|区别|区分|分辨|辨别|鉴别|怎么分|差别|不一样|一样的?吗|是不是一样|同一[种样个]|一回事|\bthe same\b|哪个更|哪种更|\bdiffer\w*|\bcompare[ds]?\b|\bversus\b|\bvs\b|same as|\btell\b.{3,60}\bapart\b|\bdistinguish\b"
)


def asks_to_take(text: str) -> bool:
    """Tell whether something is to be eaten, drunk or taken.

    >>> asks_to_take("糖尿病能喝粥吗"), asks_to_take("糖尿病会不会遗传")
    (True, False)
    """
    return _TAKING.search(fold(text)) is not None


_TAKING: Final = re.compile(r"[吃喝食饮服泡]|\b(?:eat|drink|take|have|use)\b")


def asks_of_one(text: str) -> bool:
    """Tell whether an English question is about what it names: "fennel tea for colic" may be had.

    >>> asks_of_one("Can I have fennel tea for colic?"), asks_of_one("What tea can I have?")
    (True, False)
    """
    spaced = words(text)
    return _MAY_ONE.search(spaced) is not None and not _WHICH.search(spaced)


_MAY_ONE: Final = re.compile(r" (?:can|may|could|should) (?:i|we|you|my|he|she|they|a|an) | is it ")


def refuses(text: str, mention: str) -> bool:
    """Tell whether the words say that the medicine ``mention`` is to be left out.

    >>> refuses("能不能不吃二甲双胍", "二甲双胍"), refuses("吃二甲双胍时能喝茶吗", "二甲双胍")
    (True, False)
    """
    folded, name = fold(text), fold(mention)
    place = folded.find(name)
    if place < 0:
        return False
    before = folded[max(0, place - 6) : place].rstrip(" 了掉用吃服")
    if any(before.endswith(cue.rstrip("吃用服打")) for cue in NEGATED_TAKING):
        return True
    near = words(folded[max(0, place - 24) : place])
    return any(f" {cue} " in near for cue in NEGATED_TAKING_EN)
