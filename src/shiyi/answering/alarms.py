"""Words of an emergency: what people say for a sign that must not wait, in Chinese and English."""

import re
from typing import Final

from shiyi.linking.normalise import fold


def emergency_signs(question: str, *, pregnant: bool = False) -> tuple[str, ...]:
    """List the names of the emergency signs that the words of a question describe.

    These stand beside the signs that are linked by their labels; ``pregnant`` is what a profile
    says. A sign that the words deny is left out.

    >>> emergency_signs("I blacked out at work")
    ('symptom-fainting',)
    >>> emergency_signs("I never blacked out")
    ()
    """
    text = fold(question)
    if pregnant:
        text = f"怀孕 pregnant: {text}"
    return tuple(
        name for name, cue in _CUES
        if any(not _denied(text[: hit.start()]) for hit in cue.finditer(text))
    )  # fmt: skip


def is_alarm(text: str) -> bool:
    """Tell whether words only say that it is urgent, and so name no thing.

    >>> is_alarm("emergency"), is_alarm("emergency contraceptive")
    (True, False)
    """
    return fold(text).strip() in _ALARMS


def is_only_feared(question: str, sign: str) -> bool:
    """Tell whether poisoning is only asked about: "会中毒吗", "is it poisonous together".

    >>> is_only_feared("维生素C和海鲜一起吃会中毒吗", "symptom-suspected-poisoning")
    True
    """
    return sign.endswith("suspected-poisoning") and bool(_FEARED.search(fold(question)))


_FEARED: Final = re.compile(
    r"(?:会不会|会|能|可能|容易|导致|引起)(?:食物)?中毒(?!了|的?(?:人|症状|怎么))|中毒(?:风险|量|吗|的风险)"
    r"|\b(?:can|could|will|would|does|risk of|cause|causes) (?:\w+ ){0,4}poison(?:ing|ous)?\b"
)


def _denied(before: str) -> bool:
    return bool(_DENIAL.search(before))


def _near(one: str, other: str, gap: int) -> str:
    """Match both within ``gap`` characters of one sentence, in either order."""
    between = f"[^。！？!?.;；]{{0,{gap}}}?"
    return f"(?:{one}){between}(?:{other})|(?:{other}){between}(?:{one})"


_ALARMS: Final = frozenset({
    "emergency", "an emergency", "emergencies", "emergency room", "urgent", "emergent", "er",
    "急", "急症", "急诊", "紧急", "急救", "紧急情况",
})  # fmt: skip
_DENIAL: Final = re.compile(
    r"(?:没有?|并没|并未|从未|从不|不会|无|未)(?:再|出现|过|有)?$"
    r"|\b(?:no|not|never|without|neither|nor|haven't|hasn't|didn't|don't|doesn't)"
    r"(?: (?:had|have|any|been|ever|a|feel|felt|having))* ?$"
)
_CANNOT: Final = r"(?:can't|cannot|can not|could not|couldn't|unable to|not able to)"
_NOT: Final = r"(?:won't|will not|does not|doesn't|would not|wouldn't|refuses to|not)"
_ATE: Final = r"\b(?:ate|drank|swallowed|took|taken|eaten|chewed)\b"
_ATE_ZH: Final = r"(?:吃|喝|吞|服|嚼)(?:了|下|过|完)"
_TOXIC: Final = (
    r"附子|川乌|草乌|乌头|雪上一枝蒿|半夏|天南星|马钱子|巴豆|杏仁|桃仁|果核|白果|银杏果|木薯|野蘑菇|毒蘑菇|河豚"
)  # fmt: skip
_TOXIC_EN: Final = (
    r"aconite|monkshood|kernels?|ginkgo (?:nuts?|seeds?)|cassava|nux vomica|pinellia|"
    r"wild mushrooms?|puffer ?fish"
)  # fmt: skip
_WILD: Final = r"(?:野生?的?|山上的?|毒|不认识的?)(?:蘑菇|菌子?|果子?|菌菇)"
_ILL: Final = (
    r"(?:肚子|胃|腹)[^。？！]{0,4}[疼痛]|腹痛|胃痛|恶心|想吐|难受|不舒服|头晕|发麻|腹泻|拉稀|看不清"
)
_ILL_EN: Final = r"\b(?:sick|nause\w*|(?:stomach|belly|tummy|abdominal)[ -]?(?:\w+ )?(?:aches?|pains?|cramps?|hurts?)|hurts|dizzy|unwell|ill)\b"
_BLACK: Final = (
    r"\b(?:tarry|tar|black(?! (?:sesame|beans?|tea|rice|peppers?|fungus|soy\w*|wolf|seeds?|dates?|plums?|"
    r"chicken|cardamom|mulberr\w+|goji|garlic|cumin|currants?|cohosh)))\b"
)  # foods have the colour too
# what something is taken for is no harm that it did
_AIM_ZH: Final = r"(?:(?!治|缓解|改善|能不能)[^。])"
_AIM_EN: Final = r"(?:(?!\bfor\b|treat|help|reliev|cure)[^.?!])"
_GUM: Final = r"(?![^。！？!?.;；]{0,40}(?:牙|鼻|痔|gum|nose|piles|haemorrhoid|hemorrhoid))"

_TABLE: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("symptom-chest-pressure-spreading-to-the-arm-or-jaw", (
        r"(?:胸|心口).{0,5}(?:压|闷|紧|疼|痛|憋).{0,12}(?:胳膊|手臂|左臂|左手|左肩|下巴|下颌|冷汗)",
        r"(?:胳膊|手臂|左臂|左手|左肩|下巴|下颌).{0,12}(?:胸|心口).{0,5}(?:压|闷|紧|疼|痛|憋)",
        r"\bchest\b.{0,40}\b(?:arm|jaw|shoulder|sweat\w*)\b|\b(?:arm|jaw)\b.{0,40}\bchest\b",
    )),
    ("symptom-chest-pain", (
        r"(?:胸|心口|心脏).{0,4}(?:绞痛|剧痛|压榨|撕裂|压着疼|压着痛|像.{0,3}压)",
        _near(r"\bchest\b", r"crush\w*|squeez\w*|tearing|elephant|severe pain|hurts", 25),
    )),
    ("symptom-difficulty-breathing", (
        r"(?:喘|透)不过来?气|喘不上来?气|呼吸(?:不了|不过来|不上来)|气上不来|嘴唇发?[紫青]",
        (rf"{_CANNOT} (?:breathe|catch (?:my|her|his) breath)|(?:gasping|struggling) (?:for|to) "
        r"(?:air|breathe)|lips? (?:are |is |turned |turning |have gone )?(?:blue|purple)"),
    )),
    ("symptom-swelling-of-the-face-or-throat", (
        r"(?:吃|喝)(?:了|完|过).{0,14}(?:喉|嗓子|舌|嘴唇|口唇|脸).{0,4}(?:肿|发紧)",
        r"(?:过敏|蜇|蛰|突然).{0,10}(?:喉|舌|嘴唇|口唇|脸).{0,4}(?:肿|发紧)",
        r"(?:喉|舌|嘴唇|口唇|脸).{0,4}(?:肿|发紧).{0,8}(?:喘|呼吸|憋)",
        (r"\b(?:throat|tongue|lips?|face)\b.{0,20}\b(?:swell\w*|swollen|swelled|tighten\w*).{0,30}"
        r"\b(?:after|ate|eating|allerg\w*|stung|sting|sudden\w*|breath\w*)\b"),
        (r"\b(?:after|ate|eating|allerg\w*|stung|sting|suddenly)\b.{0,40}"
        r"\b(?:throat|tongue|lips?|face)\b.{0,15}\b(?:swell\w*|swollen|swelled|tighten\w*)"),
        r"\bthroat\b.{0,12}\bclos(?:ing|ed|es)\b|anaphyla\w*",
    )),
    ("symptom-swelling-of-the-face-or-throat", (
        r"严重(?:的)?过敏|过敏性休克|过敏(?:得|到)?[^，。]{0,4}(?:休克|喘|呼吸困难)",
        r"\bsevere(?:ly)? allerg\w*(?: reaction)?|\ballergic shock\b|\bepi-?pen\b",
    )),
    ("symptom-difficulty-swallowing", (
        r"(?:鱼刺|骨头|鸡骨|枣核|异物|假牙)[^。？！]{0,6}(?:卡|扎|噎|堵)|(?:卡|扎|噎)(?:了|着|住|到)?[^。？！]{0,4}(?:鱼刺|鱼骨|骨头|枣核|异物)",
        _near(r"\b(?:fish ?bones?|chicken bones?|bones?|pill|food)\b", r"\b(?:stuck|lodged|caught)\b.{0,12}\b(?:throat|gullet|oesophagus|esophagus)\b", 25),
    )),
    ("symptom-fainting", (
        r"[晕昏](?:过去|倒|厥)|失去知觉|眼前一黑.{0,4}倒",
        (r"\bfaint(?:ed|s|ing)\b|\b(?:pass|black)(?:ed|es|s|ing) out\b|\bcollapsed\b|"
        r"lost consciousness"),
    )),
    ("symptom-impaired-consciousness", (
        r"[叫唤喊]不醒|没有?意识|不省人事|胡言乱语",
        (r"(?:摔|跌|撞|磕|砸)[^。]{0,8}(?:头|脑|一跤|倒|了)[^。]{0,12}(?:头[疼痛晕]|呕吐|吐了|嗜睡|犯困|昏|迷糊|叫不醒)"),
        (r"\b(?:fell|fall|fallen|hit (?:my|his|her|their) head|head injury|bumped (?:my|his|her) head)\b.{0,50}"
        r"\b(?:vomit\w*|throwing up|drows\w*|sleepy|confus\w*|headache|dizzy)\b"),
        rf"(?:{_CANNOT}|{_NOT}|hard to) (?:wake|be woken|respond)|unresponsive|not responding",
    )),
    ("symptom-jaundice", (
        r"(?:皮肤|全身|眼白|眼珠|眼睛)[^，。]{0,4}(?:发黄|变黄|黄了|黄染)",
        _near(r"\b(?:skin|eyes?|whites)\b", r"(?:turn|turned|turning|gone|going|are|is|went|look)"
              r"\w* (?:\w+ )?yellow|yellowing", 12),
    )),
    ("symptom-no-urine-output", (
        r"(?:尿|小便)[^，。]{0,3}(?:不出|不下来|不通)|[天夜]没(?:有)?(?:尿|小便|撒尿)",
        (rf"{_CANNOT} (?:pass (?:any )?(?:urine|water)|urinate|pee|wee)\b|\bno urine\b|"
        r"(?:not|n't) (?:urinated|peed|passed (?:any )?urine)"),
    )),
    ("symptom-vaginal-bleeding-in-pregnancy", (
        rf"{_GUM}(?:怀孕|怀着|孕|胎)[^。！？]{{0,14}}(?:出血|流血|见红|见血)",
        rf"{_GUM}(?:出血|流血|见红)[^。！？]{{0,10}}(?:怀孕|孕期|孕妇|保胎|安胎)",
        rf"{_GUM}pregnan\w*.{{0,40}}\b(?:bleed\w*|bled|spotting)\b",
        rf"{_GUM}\b(?:bleeding|spotting|bled)\b.{{0,40}}pregnan\w*",
    )),
    ("symptom-coughing-up-blood", (
        r"咳[^，。]{0,4}血|痰[^，。]{0,3}血",
        r"\bcough\w* (?:\w+ ){0,3}blood|blood in (?:my |the |his |her )?(?:sputum|phlegm|spit)",
    )),
    ("symptom-vomiting-blood", (
        r"[吐呕](?:了|出)[^，。]{0,4}血|吐[^，。]{0,4}咖啡",
        r"\b(?:vomit\w*|throw\w* up|threw up) (?:\w+ ){0,3}blood|coffee grounds",
    )),
    ("symptom-black-tarry-stools", (
        r"(?:大便|屎|拉的|便便)[^，。]{0,6}(?:发黑|黑色|黑的|漆黑|柏油)",
        _near(r"\b(?:stools?|poo|poop|bowel movements?)\b", _BLACK, 15),
    )),
    ("symptom-sudden-one-sided-weakness", (
        r"(?:半边|一侧|一边|左边|右边|左半|右半)[^。]{0,6}(?:发麻|麻了|动不了|没力|无力|不能动|抬不起|歪)",
        r"(?:嘴[角巴]?|口角|面部|脸)(?:突然|有点|都)?歪|口眼歪斜|口角流涎",
        r"\b(?:mouth|smile|face)\b.{0,12}\b(?:crooked|lopsided|drooping|twisted|droops)\b",
        _near(r"\b(?:one|left|right) side|half of", r"\b(?:numb|weak|droop\w*|paraly\w*)\b", 30),
        r"\bface\b.{0,15}\bdroop\w*",
    )),
    ("symptom-sudden-slurred-speech", (
        r"说话[^，。]{0,4}(?:不清|含糊|不利索|说不出)|大舌头了",
        r"\bslurr?(?:ed|ing|s)\b|suddenly " + _CANNOT + r" (?:speak|talk)",
        _CANNOT + r" (?:speak|talk) (?:clearly|properly|normally)|\bspeech (?:is|has become|became) (?:unclear|garbled|slurred)",
    )),
    ("symptom-sudden-severe-headache", (
        r"头[^，。]{0,4}(?:炸开|裂开|剧痛|剧烈)|从来?没[^，。]{0,6}头[疼痛]",
        r"worst headache|thunderclap|sudden\w* (?:\w+ ){0,3}headache|headache.{0,20}exploding",
    )),
    ("symptom-sudden-loss-of-vision", (
        r"突然[^。]{0,8}(?:看不见|失明|看不到)",
        rf"sudden\w*.{{0,20}}(?:{_CANNOT} see|blind|los\w+ .{{0,10}}(?:sight|vision))",
    )),
    ("symptom-convulsions", (
        r"口吐白沫|[全浑]身抽|抽(?:过去|起来)了",
        r"\bseizures?\b|\bconvuls\w+|foaming at the mouth",
    )),
    ("symptom-suicidal-thoughts", (
        r"不想活|活不下去|不如死|想死了?(?:[，。！？]|$)|自杀|轻生|寻死|(?:结束|了结)(?:自己|生命|我的)",
        (r"\b(?:kill|hurt|harm|cut) myself|end (?:my life|it all)|suicid\w*|want to die|"
        r"(?:don't|do not|not) want to (?:live|be alive|go on)|better off dead|no reason to live"),
    )),
    ("symptom-infant-not-feeding-and-floppy", (
        (r"(?:宝宝|婴儿|新生儿|月大|娃)[^。]{0,16}"
        r"(?:不吃奶|不喝奶|拒奶|软绵绵|叫不醒|嗜睡|没精神|囟门|发紫)"),
        (r"\b(?:baby|newborn|infant|months? old|weeks? old)\b.{0,40}"
        rf"(?:\blimp\b|floppy|{_NOT} (?:feed|wake|drink|nurse)|not feeding|refus\w*|\bblue\b|"
        r"very sleepy)"),
    )),
    ("symptom-suspected-poisoning", (
        r"(?:误吞|误食|误服|吞下|吞了|吞进|咽下了?)[^，。？！]{0,10}(?:电池|磁|硬币|钉|针|玻璃|干燥剂|洗衣|樟脑|药|维生素|异物|纽扣|弹珠)",
        r"(?:毒蘑菇|野蘑菇|野生菌|见手青|野菜|四季豆|豆角|发芽)[^。？！]{0,10}(?:上吐下泻|呕吐|吐了|吐|拉肚子|腹泻|头晕|看到小人|幻觉)",
        _near(rf"(?:{_ATE_ZH}|误食|采了?)[^。？！]{{0,8}}{_WILD}", rf"(?<!治)(?<!缓解){_ILL}", 14),
        (r"\bswallow(?:ed|s)\b[^.?!]{0,30}\b(?:batter(?:y|ies)|magnets?|coins?|pins?|needles?|glass|mothballs?|pods?|gumm(?:y|ies)"
        r"|pills?|tablets?|vitamins?|medicines?|beads?|buttons?)\b"),
        _near(rf"(?:{_ATE}|\bpicked\b).{{0,30}}\b(?:wild|foraged|picked|garden|forest|poisonous) (?:\w+ )?(?:mushrooms?|fungi|berr(?:y|ies))\b", _ILL_EN, 60),
        r"\b(?:wild |foraged )?(?:mushrooms?|fungi)\b[^.?!]{0,40}\b(?:vomit\w*|throwing up|threw up|diarrh\w+|hallucinat\w*)\b",
        r"(?:漂白水|漂白剂|84消毒液|消毒液|双氧水|亚氯酸钠|二氧化氯)[^。？！]{0,8}(?:喝|口服|灌肠|治)|(?:喝|口服|灌肠)[^。？！]{0,6}(?:漂白|消毒液|双氧水|二氧化氯)",
        r"\b(?:drink\w*|drank|enema|swallow\w*|cure|treat|for)\b.{0,25}\b(?:bleach|chlorine dioxide|turpentine|mms)\b|\bbleach enema\b",
        rf"{_ATE_ZH}[^。？！]{{0,10}}(?:生的?|没煮熟的?|未炮制的?|多|\d+[颗粒个])[^。？！]{{0,4}}(?:{_TOXIC})",
        rf"[吃喝服吞嚼误][^。]{{0,8}}(?:{_TOXIC}|药酒){_AIM_ZH}{{0,12}}(?:麻木|发麻|嘴麻|舌麻|舌头麻|心慌|抽|昏)",
        rf"(?:生|没煮熟)[^。]{{0,3}}(?:{_TOXIC})[^。]{{0,8}}(?:吐|晕|头痛|心慌|难受)",
        r"(?:吃|吞|服|喝)(?:了|下|掉)(?:一整?瓶|半瓶|一大把|很多|太多|好多|几十|\d\d+)[^。，]{0,8}(?:药|片|安眠|胶囊|糖浆|口服液)",
        r"(?:药|片)(?:吃|服|喝)(?:多了|过量|了[^。，]{0,4}倍)|[误喝](?:喝|了)[^。]{0,4}(?:农药|消毒|清洁|洗涤|百草枯)",
        (rf"{_ATE}.{{0,30}}\b(?:raw|uncooked|unprocessed|many|handful|\d+)\b.{{0,20}}"
        rf"\b(?:{_TOXIC_EN})"),
        rf"\b(?:{_TOXIC_EN})\b{_AIM_EN}{{0,50}}\b(?:numb\w*|tingl\w*|palpitat\w*|dizzy)\b",
        rf"\b(?:numb\w*|tingl\w*)\b.{{0,20}}\b(?:after|from|since)\b.{{0,30}}\b(?:{_TOXIC_EN})\b",
        (rf"{_ATE}.{{0,15}}\b(?:whole bottle|entire bottle|bottle of|too many|a handful of|"
        r"double|triple|\d\d+\b(?! ?(?:mg|mcg|g|ml|iu|units?)\b))\b.{0,25}\b(?:pills?|tablets?|capsules?|medicines?|doses?|medications?|syrup|paracetamol|acetaminophen|tylenol|ibuprofen|aspirin)\b"),
        r"(?:蛇|蝎子|蜈蚣|毒虫)[^。，]{0,2}(?:咬|蜇|蛰)|\bsnake ?bites?\b|\bbitten by an? [^.?!]{0,12}snake",
        _near(r"(?:喝|饮)(?:了|过|完)[^。？！]{0,8}(?:酒|啤|藿香正气水|十滴水)", r"(?:吃|服|打|输)(?:了|过|完)?[^。？！]{0,4}(?:头孢|甲硝唑)(?!前)", 8),
        _near(r"\bdrank (?:\w+ ){0,4}(?:alcohol|wine|beer|liquor|vodka|whisk\w+)",
              r"\btook (?:\w+ ){0,3}(?:cef\w+|ceph\w+|metronidazole|disulfiram)", 20),
        r"(?:喝|饮)(?:了|过|到|的)?(?:是)?(?:假酒|工业酒精|甲醇)|(?:假酒|工业酒精|甲醇)[^。？！]{0,10}(?:中毒|看不清|看不见|头[痛晕]|吐)",
        r"\b(?:drank|drunk|drinking|swallowed)\b.{0,20}\b(?:methanol|bootleg|fake (?:alcohol|liquor|vodka)|moonshine|antifreeze|rubbing alcohol)\b",
        r"\boverdos\w*|\bpoisoned\b|(?:drank|swallowed) (?:\w+ ){0,2}(?:bleach|pesticide|cleaner)",
    )),
    ("symptom-bleeding-that-does-not-stop", (
        r"血[^，。]{0,3}(?:止不住|停不下来|流不停|不止)|止不住[^，。]{0,4}血",
        rf"\b(?:bleed\w*|blood)\b.{{0,20}}(?:{_NOT} stop\w*|keeps (?:coming|pouring))",
    )),
    ("symptom-severe-abdominal-pain", (
        r"(?:肚子|腹|胃)[^，。]{0,4}(?:剧痛|剧烈[^，。]{0,2}[疼痛]|[疼痛]得[^，。]{0,4}(?:打滚|直不起|受不了))",
        (r"\b(?:severe|excruciating|unbearable|agoni\w+)\b.{0,15}"
        r"\b(?:stomach|abdom\w*|belly|tummy)\b.{0,10}\b(?:pain|aches?|cramps?)\b"),
    )),
    ("symptom-persistent-vomiting", (
        r"[吐呕](?:了一整天|个不停|得停不下来)|喝水[都也]吐|吃什么吐什么",
        (r"\b(?:vomit\w*|throwing up)\b.{0,15}(?:all day|non-?stop|everything)|"
        rf"{_CANNOT} keep (?:anything|water|fluids|food) down"),
    )),
)  # fmt: skip
_CUES: Final = tuple((name, re.compile("|".join(cues))) for name, cues in _TABLE)
