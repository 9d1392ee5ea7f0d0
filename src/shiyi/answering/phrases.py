"""Every sentence the composer can say, in Chinese and English."""

from collections.abc import Iterable, Mapping
from typing import Final

from shiyi.errors import FormatError

LANGUAGES: Final = ("zh", "en")

# every key has its Chinese sentence first, then the English one
PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    # headings
    "h_warnings": ("请先看", "Please read first"),
    "h_why": ("可以考虑，以及为什么", "What to consider, and why"),
    "h_branches": ("先分清寒热，再选", "First tell cold from heat, then choose"),
    "h_states": ("相关体质，以及对应的食物", "Related constitutions, and what is recorded for each"),
    "t_state": ("{sign} → {state}{degree}：{items}", "{sign} → {state}{degree}: {items}"),
    "h_paths": ("推理路径", "Reasoning paths"),
    "h_held": ("暂不推荐", "Held back for now"),
    "h_facts": ("知识库中的记载", "What the knowledge base records"),
    "h_how": ("怎么做、怎么用", "How to prepare and use it"),
    "h_caution": ("注意", "Take care"),
    "h_ask": ("还需要知道", "What the answer depends on"),
    "h_doctor": ("什么时候看医生", "When to see a doctor"),
    "h_missing": ("知识库没有的", "What the knowledge base does not hold"),
    "h_rules": ("依据", "What the rules say"),
    "h_candidates": ("可能相关的体质（仅为候选）", "Constitutions this may point to (candidates only)"),
    "h_check": ("值得请医生排查", "Worth having a doctor check"),
    "h_compare": ("逐项查对", "Checked one by one"),
    # openings
    "o_undecided": (
        "{sign}既可见于偏寒的{cold}，也可见于偏热的{hot}，两者饮食方向相反，所以先分清寒热再选。",
        ("{sign} can belong to {cold}, which is of cold, or to {hot}, which is of heat; they call for "
        "opposite foods, so first tell cold from heat."),
    ),
    "o_open": ("寒热未分清之前，可先考虑性质平和的：{items}。",
               "Until that is clear, milder choices are: {items}."),
    "o_recommend": ("可以考虑：{items}。", "You could consider: {items}."),
    "o_none_open": ("寒热未分清之前，没有可以直接推荐的；下面按寒热分列。",
                    "Until that is clear nothing is recommended outright; the choices are listed for each case."),
    "o_nothing": ("知识库里没有找到合适而又没有禁忌记载的推荐。",
                  "The knowledge base holds nothing that fits and has nothing recorded against it."),
    "o_leaning_cold": ("你描述的情况更像偏寒（仅为线索，不是诊断）。",
                       "What you describe leans towards cold (a clue, not a diagnosis)."),
    "o_leaning_hot": ("你描述的情况更像偏热（仅为线索，不是诊断）。",
                      "What you describe leans towards heat (a clue, not a diagnosis)."),
    "o_loosened": ("没有找到既对应你的情况、又符合所要时令或形式的记载；下面只按时令和形式列出，并去掉了有禁忌记载的。",
                   ("Nothing recorded fits both your condition and the season or form you asked for; the list "
                   "below fits season and form only, without what is recorded as unsuitable.")),
    "o_not_known": ("知识库里没有足够的记载来回答这个问题。", "The knowledge base does not hold enough to answer this."),
    "o_constitution": (
        "体质要用九种体质问卷逐项计分来判定，不能凭一两句描述下结论；下面只列出候选。",
        ("A constitution is determined by the nine-type questionnaire and its scores, not from a sentence or "
        "two; what follows are candidates only."),
    ),
    "o_list_no": (
        "不能这样理解。进入药食同源目录说明它有传统食用习惯、依法可以作为食品，是一种法定身份，不等于有疗效。",
        ("No. Being on the medicine-food list is a legal identity: the substance has a tradition of being eaten "
        "and may be used as food. It is no evidence that it works."),
    ),
    "o_rules": ("下面是知识库中与此有关的规定和通则。", "These rules and general points in the knowledge base bear on it."),
    "o_sheet": ("关于{items}，知识库的记载如下。", "This is what the knowledge base records about {items}."),
    "o_about": ("关于{items}，知识库的记载如下（不构成诊断）。",
                "This is what the knowledge base records about {items} (not a diagnosis)."),
    # verdicts on pairs
    "v_contra": ("{x}与{y}：有禁忌记载，不建议自行使用。", "{x} and {y}: recorded as contraindicated; do not use them on your own."),
    "v_inter": ("{x}与{y}：有相互作用的记载，不能当作没有风险；同用之前先问医生或药师。",
                ("{x} and {y}: an interaction is recorded, so the combination cannot be treated as free of risk; ask "
                "your doctor or pharmacist first.")),
    "v_caution": ("{x}与{y}：有慎用或不宜的记载，先问医生或药师，不要自行多用、久用。",
                  "{x} and {y}: caution is recorded; ask your doctor or pharmacist first, and do not use it freely."),
    "v_good": ("{x}与{y}：有适宜或传统应用的记载，目前没有查到针对它的禁忌；这不等于没有风险。",
               ("{x} and {y}: suitability or traditional use is recorded and no taboo was found for it; that does "
               "not mean there is no risk.")),
    "v_mixed": ("同时也有适宜或传统应用的记载：{y} → {x}。", "Suitability or traditional use is recorded too: {y} → {x}."),
    "v_none": ("{x}与{y}：知识库没有相关记载。没有记载不等于没有风险。",
               "{x} and {y}: the knowledge base holds no record. No record does not mean no risk."),
    "v_negative": ("有来源称未发现{x}与{y}有问题，但这不能说明没有风险。",
                   "A source reports that no effect of {x} with {y} was found; that does not rule out a risk."),
    # findings
    "f_contraindicated": ("{x}：{y}{grade}。", "{x}: {grade} in {y}."),
    "f_caution": ("{x}：{y}{grade}。", "{x}: {grade} in {y}."),
    "f_interaction": ("{x}与{y}可能相互作用{grade}。", "{x} may interact with {y}{grade}."),
    "f_incompatible": ("{x}与{y}属配伍禁忌（{grade}），不宜同用。", "{x} and {y} are an incompatible pair ({grade}); do not use them together."),
    "f_aggravates": ("{x}可加重{y}。", "{x} may aggravate {y}."),
    "f_allergen": ("{y}是你所说的过敏物，不要食用。", "You say you are allergic to {y}; do not take it."),
    "f_allergy": ("{x}含有或来自你所说的过敏物{y}，不要食用。", "{x} contains or comes from {y}, to which you say you are allergic; do not take it."),
    "f_through_part": ("{x}含{part}。", "{x} contains {part}. "),
    "f_through_kind": ("（按“{part}”的记载）", " (recorded for {part})"),
    "g_contraindicated": ("忌用", "contraindicated"),
    "g_caution": ("慎用", "to be used with caution"),
    "g_unsuitable": ("忌食", "to be avoided"),
    "f_source": ("（{sources}）", " ({sources})"),
    "f_case_report": ("证据主要是病例报告：数量少，但不能因此当作没有风险。",
                      "The evidence is mainly case reports: few, but that is no reason to treat it as no risk."),
    "f_rating": ("，评级：{rating}", ", rating: {rating}"),
    "f_if": ("{x}：{y}{grade}。", "{x}: {grade} in {y}."),
    "f_if_drug": ("正在用{y}的人：可能与{x}相互作用{grade}，先问医生或药师。",
                  "If you take {y}: it may interact with {x}{grade}; ask your doctor or pharmacist first."),
    "f_if_pair": ("{x}与{y}属配伍禁忌，不要同用。", "{x} and {y} are an incompatible pair; do not combine them."),
    "f_adverse": ("有记载的不良反应：{x} → {y}。", "Recorded unwanted reactions: {x} → {y}."),
    "f_confused": ("{x}与{y}不是同一样东西，不要混淆。", "{x} and {y} are not the same thing; do not confuse them."),
    # why
    "w_path": ("{label}：{chain}", "{label}: {chain}"),
    "w_fit": ("{label}适用于{fits}。", "{label} fits: {fits}."),
    "w_confidence": ("（置信度 {value}，{word}）", " (confidence {value}, {word})"),
    "w_branch": ("偏{state}者：{items}", "For {state}: {items}"),
    "b_cold": ("若偏寒（例如{signs}）：可考虑{items}。", "If it is cold (for example {signs}): consider {items}."),
    "b_hot": ("若偏热（例如{signs}）：可考虑{items}。", "If it is heat (for example {signs}): consider {items}."),
    "b_cold_plain": ("若偏寒：可考虑{items}。", "If it is cold: consider {items}."),
    "b_hot_plain": ("若偏热：可考虑{items}。", "If it is heat: consider {items}."),
    "b_none_cold": ("若偏寒：知识库没有合适的记载。", "If it is cold: the knowledge base holds nothing that fits."),
    "b_none_hot": ("若偏热：知识库没有合适的记载。", "If it is heat: the knowledge base holds nothing that fits."),
    "b_held_cooling": ("{x}偏寒凉，寒热未分清之前不推荐。", "{x} is cooling; it is not recommended until cold or heat is known."),
    "b_held_warming": ("{x}偏温热，寒热未分清之前不推荐。", "{x} is warming; it is not recommended until cold or heat is known."),
    "b_held": ("{x}在可能的证候里有禁忌或慎用记载，暂不推荐。", "{x} is recorded against in a pattern that is possible here; it is held back."),
    "b_vetoed": ("{x}不列入推荐：", "{x} is left out: "),
    "p_recorded": ("{s}：{parts}。", "{s}: {parts}."),
    "p_conflict": ("（各书不一，两说并存）", " (sources differ; both are shown)"),
    "p_text": ("{label}：{text}", "{label}: {text}"),
    "p_list": ("{s}的{p}：{o}", "{s}, {p}: {o}"),
    "c_candidate": ("{state}：{signs}与它有关", "{state}: linked with {signs}"),
    "c_check": ("{sign}也可能由{diseases}引起，宜请医生检查。", "{sign} may also come from {diseases}; have a doctor check."),
    "d_possible": ("{sign}可见于{states}（都只是可能，需要医生辨证）。",
                   "{sign} can belong to {states} (all only possible; a practitioner has to tell)."),
    # fixed safety sentences
    "s_emergency": ("{signs}可能是急症，请立即就医或拨打急救电话（中国大陆 120），不要先用食疗。",
                    "{signs} can be an emergency: see a doctor or call your emergency number now; do not try food first."),
    "s_stop": ("不要自行停用、减量或用食物替代{drugs}。食物和保健品不能代替药物；想调整用药，请先和医生或药师商量。",
               ("Do not stop, cut down or replace {drugs} with food on your own. Food and supplements cannot take the place "
               "of medicine; talk to your doctor or pharmacist before any change.")),
    "o_doctor_first": ("先就医，明确原因之后再谈饮食；这里先不列食物推荐。",
                       "See a doctor first; once the cause is known, food can be discussed. No foods are listed here."),
    "s_stop_any": ("正在用的药", "your medicine"),
    "s_tell": ("请把正在用的{drugs}和想吃的{items}一起告诉医生或药师；不要自行停药或改变用量。",
               "Tell your doctor or pharmacist about both {drugs} and {items}; do not stop or change the medicine yourself."),
    "s_inr": ("华法林一类药需要按医嘱监测凝血指标（INR），饮食或补充剂有变化时更要复查，并留意异常出血。",
              ("Medicines like warfarin need INR monitoring as prescribed, all the more when diet or supplements change; "
              "watch for unusual bleeding.")),
    "s_bleeding": ("留意牙龈出血、瘀斑、黑便等出血迹象，出现即就医。",
                   "Watch for signs of bleeding such as bleeding gums, bruises or black stools, and see a doctor if they appear."),
    "s_glucose": ("血糖方面：甜食和含糖饮品要计入当天的碳水总量，并按医嘱监测血糖。",
                  "For blood sugar: count sweet foods and drinks as carbohydrate and monitor your glucose as advised."),
    "s_sedation": ("留意嗜睡，感到困倦时不要开车。", "Watch for drowsiness, and do not drive when drowsy."),
    "s_pressure": ("请按医嘱监测血压（含甘草者还要留意低血钾和浮肿）。",
                   "Monitor your blood pressure as advised (with liquorice also watch for low potassium and swelling)."),
    "s_prescriber": ("方药的加减请问开方的医师，不要自行加减。", "Ask the practitioner who wrote the prescription; do not add or remove anything yourself."),
    "s_diagnosis": ("这里不能作诊断，下面只列知识库里的可能方向；请让医生当面判断。",
                    "This cannot be a diagnosis; what follows are possible directions from the knowledge base. Let a doctor judge in person."),
    "s_dose": ("知识库没有可引用的用量，这里不给出剂量；请按产品说明或遵医嘱。",
               "The knowledge base holds no amount that can be cited, so none is given; follow the label or your doctor's advice."),
    "s_cure": ("食疗只能作为辅助，不能说“根治”或代替治疗。", "Food can support but cannot be said to cure, and does not replace treatment."),
    "s_redflag": ("出现{signs}时，请尽快就医。", "See a doctor promptly if there is {signs}."),
    "s_persist": ("如果症状持续、加重或反复，请就医。", "See a doctor if it persists, worsens or keeps coming back."),
    "s_confidence": (
        "置信度表示对这条记载有多可信的估计（来源的类型与多少），不是诊断概率，也不是有效率。",
        ("The confidence says how far the recorded claim can be trusted (kind and number of sources); it is not a "
        "probability of a diagnosis or of success."),
    ),
    "s_not_diagnosis": ("以上是饮食参考，不是诊断或处方。", "This is dietary information, not a diagnosis or a prescription."),
    "s_pregnant_child": ("孕期、哺乳期、婴幼儿和老人用任何药食同源物质或补充剂之前，先问医生。",
                         "In pregnancy, while breastfeeding, for infants and for older people, ask a doctor before any medicinal food or supplement."),
    # missing
    "m_unlinked": ("没有认出“{word}”", "“{word}” was not recognised"),
    "m_profile": ("个人情况里的“{word}”没有认出，未能据此检查，请自行告诉医生或药师",
                  "“{word}” in the profile was not recognised and could not be checked; tell your doctor or pharmacist"),
    "m_pair": ("{x}与{y}之间没有记载；没有记载不等于没有风险", "no record joins {x} and {y}; that does not mean no risk"),
    "m_food": ("没有与{sign}相对应的食物记载", "no food is recorded for {sign}"),
    "m_rule": ("没有找到相关的规定", "no rule on this was found"),
    "m_limit": ("路径过多，结果可能不全", "there were more paths than are read; the result may be incomplete"),
    "m_season": ("没有找到同时符合情况与时令或形式的记载", "nothing recorded fits both the condition and the season or form"),
    "m_any": ("没有找到可引用的记载", "no citable record was found"),
    # follow-up
    "q_cold_heat": ("喜欢热的还是凉的？吃了凉的会不会更难受？大便是稀溏还是干结？",
                    "Do warm or cold things feel better? Does cold food make it worse? Are the stools loose or dry?"),
    "q_pregnant": ("是否怀孕、备孕或哺乳？", "Are you pregnant, planning to be, or breastfeeding?"),
    "q_drugs": ("正在用哪些药或补充剂？", "Which medicines or supplements do you take?"),
    "q_state": ("有没有{signs}？（有助于区分{state}）", "Do you have {signs}? (it helps to tell {state})"),
    "q_material": ("你说的{x}具体是哪一种：{items}？", "Which {x} do you mean: {items}?"),
}  # fmt: skip

PROPERTY: Final[Mapping[str, tuple[str, str]]] = {
    "hasNature": ("性{o}", "{o} in nature"),
    "hasFlavour": ("味{o}", "{o} in flavour"),
    "hasMeridianTropism": ("归{o}经", "entering the {o} channels"),
    "hasEfficacy": ("功效：{o}", "traditional efficacy: {o}"),
}
TIERS: Final[Mapping[str, tuple[str, str]]] = {
    "regulation": ("法规公告", "regulation"), "pharmacopoeia": ("药典", "pharmacopoeia"),
    "standard": ("标准", "standard"), "textbook": ("教科书", "textbook"),
    "monograph": ("专论", "monograph"), "review": ("综述", "review"), "trial": ("试验", "trial"),
    "paper": ("论文", "paper"), "classic": ("古籍", "classic"),
    "case-report": ("病例报告", "case report"), "webpage": ("网页", "web page"),
    "model": ("模型推断", "model"),
}  # fmt: skip
RATINGS: Final[Mapping[str, str]] = {
    "major": "严重", "moderate": "中等", "minor": "轻微", "effective": "有效", "likely": "很可能有效",
    "possible": "可能有效", "insufficient": "证据不足", "ineffective": "无效",
}  # fmt: skip
_WORDS: Final = ((0.9, ("高", "high")), (0.75, ("较高", "fairly high")), (0.6, ("中等", "moderate")),
                 (0.0, ("较低", "low")))  # fmt: skip


def say(language: str, key: str, /, **values: str) -> str:
    """Give a sentence of the catalogue with its holes filled.

    >>> say("en", "m_unlinked", word="xyz")
    '“xyz” was not recognised'
    """
    return PHRASES[key][LANGUAGES.index(language)].format(**values)


def listed(language: str, items: Iterable[str]) -> str:
    """Join names as people do.

    >>> listed("zh", ["百合", "莲子"]), listed("en", ["lily", "lotus seed", "yam"])
    ('百合、莲子', 'lily, lotus seed and yam')
    """
    names = list(dict.fromkeys(items))
    if language == "zh":
        return "、".join(names)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def degree(language: str, confidence: float) -> str:
    """Say a confidence in words and as a number.

    >>> degree("zh", 0.87)
    '（置信度 0.87，较高）'
    """
    word = next(said for least, said in _WORDS if confidence >= least)
    chosen = word[LANGUAGES.index(language)]
    return say(language, "w_confidence", value=f"{confidence:.2f}", word=chosen)


def tier(language: str, name: str) -> str:
    """Name a kind of source."""
    known = TIERS.get(name)
    return known[LANGUAGES.index(language)] if known else name


def check_language(language: str) -> str:
    """Refuse a language we do not write."""
    if language not in LANGUAGES:
        raise FormatError("language", language, LANGUAGES)
    return language
