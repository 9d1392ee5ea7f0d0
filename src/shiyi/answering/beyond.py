"""What is asked and is no matter of food: heredity, contagion, price, which doctor, how long one lives."""

import re
from collections.abc import Mapping
from typing import Final

from shiyi.answering.cues import words
from shiyi.linking.normalise import fold

TOPICS: Final[Mapping[str, tuple[str, str]]] = {
    "heredity": ("遗传", "heredity"),
    "contagion": ("传染", "contagion"),
    "price": ("价格和费用", "prices and costs"),
    "purchase": ("购买和品牌", "where to buy things, and brands"),
    "department": ("科室、医院和医生", "which doctor or hospital to go to"),
    "outlook": ("病程和预后", "how an illness goes on and how long people live with it"),
    "tests": ("检查和确诊", "tests and how something is diagnosed"),
    "fertility": ("生育", "fertility"),
    "abortion": ("终止妊娠", "ending a pregnancy"),
    "animals": ("动物能吃什么", "what animals may eat"),
    "activity": ("运动、出行和日常活动", "exercise, travel and everyday activities"),
}
MEDICAL: Final = frozenset(TOPICS) - {"price", "purchase", "animals"}  # what a doctor can be asked
_HOW_TO_ZH: Final = r"(?:想|要|怎么|如何|怎样)(?:才能|能)?(?:自己|自然|快速)?"
_MAY_ZH: Final = r"(?:会不会|是不是会?|是否会?|能不能|可不可以|还?能|还?可以|会)?"
_ZH: Final[tuple[tuple[str, str], ...]] = (
    ("heredity", rf"{_MAY_ZH}(?:遗传|传给(?:孩子|下一代|儿女|子女))(?:性|病)?(?:给[^，。？?]{{1,6}})?(?:吗|呢)?"),
    ("contagion", rf"{_MAY_ZH}(?:传染|传播|过给)(?!病)(?:性|人)?(?:强不强)?(?:给[^，。？?]{{1,6}})?(?:吗|呢)?"),
    ("price", r"多少钱|什么价|价格|价钱|贵不贵|贵吗|几块钱|要花多少|费用|医保|报销"),
    ("purchase", r"(?:在|去|从)?哪(?:里|儿|家)?(?:能|可以)?(?:买|有卖|卖)|怎么买|买得到|(?:哪个|什么|哪种)(?:牌子|品牌)|网购"),
    ("department", r"(?:挂|看)(?:什么|哪个?|哪一)科|(?:哪家|哪个|什么|哪种)(?:医院|医生|大夫|专家|诊所)"),
    ("outlook", (r"(?:还?能|还?可以|还)活(?:多久|几年|多长|到)[^，。？?]{0,6}|寿命|还有多久|(?:存活|生存|治愈|死亡|复发)率|预后"
                 r"|会不会死|会死(?:吗|么)|多(?:久|长时间)(?:才|能|会|可以)+(?:痊愈|恢复|好)|几天(?:才|能|会)+好|严重不严重|严重吗")),
    ("tests", r"(?:怎么|如何)(?:检查|确诊|化验|查出)|(?:做|查|要做)(?:什么|哪些)(?:检查|化验|项目)?(?=[吗呢？?，。]|$)|要不要(?:做|打)[^，。？?]{1,8}"),
    ("fertility", (r"(?:会不会|会)?影响(?:生育|怀孕|要孩子)|(?:还?能|还?可以|能不能)(?:生育|生孩子|要孩子|怀孕|怀上|生二胎)(?:吗)?")),
    ("abortion", (rf"(?:打|堕)(?:掉)?胎(?:儿)?|{_HOW_TO_ZH}(?:把孩子|把胎儿)?(?:流产|流掉|打掉)(?:孩子|胎儿)?"
                  r"|(?<!别)(?:吃|喝)(?:什么|啥|哪些)(?:东西|食物|药)?(?:才|就|会|能|可以|容易)*(?:自然)?(?:流产|流掉|小产)")),
    ("animals", r"(?:我家|给|家里的?|喂)?(?:猫咪?|狗狗|小狗|狗|宠物|仓鼠|兔子|鹦鹉)(?:能不能|可不可以|可以|能|会)?(?:吃|喝|误食|舔)(?:了|过|到)?[^，。？?]{0,8}"),
    ("activity", (r"(?:能不能|可不可以|还?能|还?可以)(?:去)?(?:运动|跑步|游泳|健身|爬山|坐飞机|开车|同房|洗头|洗澡|拔牙|纹身|上班|打疫苗|接种)[^，。？?]{0,4}")),
)  # fmt: skip
_EN: Final[tuple[tuple[str, str], ...]] = (
    ("heredity", (r"(?:is|are|was) (?:\w+ ){1,4}(?:hereditary|genetic|inherited|inheritable|passed down)|runs? in (?:the |my |our )?famil(?:y|ies)"
                  r"|(?:get|inherit) it from (?:my|their|our) (?:mother|father|parents?)|(?:pass|passed) (?:it )?(?:on )?to my (?:children|kids|child)"
                  r"|hereditary|heritable")),
    ("contagion", r"(?:is|are) (?:\w+ ){1,4}(?:contagious|infectious|catching|transmissible)|contagious|can (?:i|you|we|my \w+) catch|spreads? (?:by|through|from person|to others)"),
    ("price", r"how much (?:does|do|is|are|will|would) (?:\w+ ){1,5}(?:cost|costs)|how much (?:is|are) (?:a|one|the)|price|prices|cost of|costs?|covered by (?:my )?insurance|cheapest"),
    ("purchase", r"where (?:can|could|do|should|to) (?:i |we |you )?(?:buy|get|find|order|purchase)|(?:which|what|best) brands?|buy (?:it )?online"),
    ("department", r"(?:which|what) (?:kind of |type of )?(?:doctor|specialist|department|hospital|clinic)|who should i see|where should i go for treatment"),
    ("outlook", (r"how long (?:do|does|will|can|have|has) (?:\w+ ){1,5}(?:live|last|got|left|survive)|life expectancy|survival(?: rate)?|prognosis|how long to live"
                 r"|(?:will|am|is|are) (?:i|he|she|they|my \w+) (?:going to )?(?:die|dying)|(?:is|are) (?:\w+ ){1,3}(?:fatal|deadly|terminal|curable|serious)|how serious is")),
    ("tests", r"how (?:is|are|do (?:they|doctors) ) ?(?:\w+ ){0,3}diagnosed?|(?:what|which) (?:blood )?tests?|do i need (?:a|an) (?:scan|x ray|blood test|mri|ct|vaccine)"),
    ("fertility", r"(?:affect|affects|hurt|harm) (?:my )?fertility|can i (?:still )?(?:get pregnant|conceive|have (?:children|kids|a baby))"),
    ("abortion", (r"(?:have an |an |self |induce an? )?(?:abortion|miscarriage) (?:naturally|at home|herbs?|tea|pills?)|(?:end|terminate|abort) (?:my|the|this|a) (?:pregnancy|baby)"
                  r"|(?:cause|induce|bring on|have) an? (?:abortion|miscarriage)|get rid of (?:my|the|this) (?:pregnancy|baby)")),
    ("animals", r"my (?:\w+ )?(?:cat|dog|puppy|kitten|pet|hamster|rabbit|parrot)s? (?:ate|eat|eats|has eaten|drank|licked|swallowed|have|has|take)(?: \w+){0,3}|(?:can|may|should) (?:my )?(?:cats?|dogs?|puppies|kittens?|pets?|rabbits?) (?:eat|drink|have|take)(?: \w+){0,3}"),
    ("activity", r"(?:can|may|should|could) i (?:still )?(?:exercise|run|jog|swim|fly|drive|work|travel|have sex|go to work|get vaccinated|get a tattoo|shower|bathe)"),
)  # fmt: skip
_CUES_ZH: Final = tuple((topic, re.compile(cues)) for topic, cues in _ZH)
_CUES_EN: Final = tuple((topic, re.compile(rf" (?:{cues})(?= )")) for topic, cues in _EN)


def beyond_food(question: str) -> tuple[str, ...]:
    """List the topics a question names that are no matter of food.

    >>> beyond_food("糖尿病会不会遗传"), beyond_food("糖尿病吃什么")
    (('heredity',), ())
    """
    return _read(question)[0]


def food_in(question: str) -> str:
    """Give the question without the words that ask about something else.

    >>> food_in("糖尿病会不会遗传，吃什么好")
    '糖尿病 ,吃什么好'
    """
    return _read(question)[1]


# who fears to lose a child asks what to avoid; who wants to lose it is sent to a doctor
_FEARED: Final = re.compile(
    r"(?:怕|担心|害怕|避免|防止?|预防|以免|导致|史|习惯性|先兆)(?:会|要|不小心|容易|再次?|有)*(?:流产|小产|滑胎)|(?:流产|小产)(?:史|过)|流过产|保胎|保住|不小心|误[吃食]"
    r"|\b(?:afraid|scared|worried|fear|fearing|anxious|avoid|avoiding|prevent|risk|history)\b[^.?!]{0,24}\bmiscarr\w+"
    r"|\bmiscarr\w+[^.?!]{0,40}\b(?:afraid|scared|worried|avoid|by accident|accidentally)\b|\b(?:avoid|not) (?:having |to have )?a miscarriage\b"
)
_WANTED: Final = re.compile(
    rf"(?:打|堕)(?:掉)?胎|{_HOW_TO_ZH}(?:流产|流掉|小产)|不想要(?:孩子|小孩|宝宝|这个|他|她|它|了)|意外怀孕|(?<!会)(?:流|打)掉|人流"
    r"|\babort\w*|\b(?:end|terminate|get rid of) (?:my|the|this|a)\b|\bunwanted\b|\binduce\b|\b(?:don't|do not) want (?:this|the|a|to be)\b"
)


def fears_miscarriage(question: str) -> bool:
    """Tell whether somebody asks in fear of a miscarriage, and none is wanted.

    >>> fears_miscarriage("怀孕了怕流产，吃什么会流产"), fears_miscarriage("怕疼，吃什么能流产")
    (True, False)
    """
    text = fold(question)
    return bool(_FEARED.search(text)) and not _WANTED.search(text)


def _read(question: str) -> tuple[tuple[str, ...], str]:
    folded, feared, found = fold(question), fears_miscarriage(question), []
    text, cues = (words(question), _CUES_EN) if folded.isascii() else (folded, _CUES_ZH)
    for topic, cue in cues:
        if cue.search(text) and not (topic == "abortion" and feared):
            found.append(topic)
            text = cue.sub(" ", text)
    return tuple(found), text if found else question
