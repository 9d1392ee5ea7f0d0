"""Every sentence the composer can say, in Chinese and English."""

from collections.abc import Iterable, Mapping
from typing import Final

from shiyi.answering.phrases_people import PEOPLE
from shiyi.errors import FormatError

LANGUAGES: Final = ("zh", "en")

# every key has its Chinese sentence first, then the English one
PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    **PEOPLE,
    # headings
    "h_warnings": ("请先看", "Please read first"),
    "h_branches": ("先分清寒热，再选", "First tell cold from heat, then choose"),
    "h_facts": ("知识库中的记载", "What the knowledge base records"),
    "h_ask": ("还需要知道", "What the answer depends on"),
    "h_doctor": ("什么时候看医生", "When to see a doctor"),
    "h_rules": ("依据", "What the rules say"),
    "h_candidates": ("可能相关的体质（仅为候选）", "Constitutions this may point to (candidates only)"),
    # headings of an answer
    "h_why": ("推荐与理由", "What to consider, and why"),
    "h_held": ("暂不推荐", "Not recommended for now"),
    "h_caution": ("注意", "Take care"),
    "h_paths": ("推理路径", "Reasoning paths"),
    "h_compare": ("依据", "What this rests on"),
    "h_missing": ("知识库没有的", "What the knowledge base does not hold"),
    # cold or heat not known
    "o_said_cold": ("你提到{words}，更像偏寒（只是线索，不是诊断）。",
                    "You mention {words}, which leans towards cold (a clue, not a diagnosis)."),
    "o_said_hot": ("你提到{words}，更像偏热（只是线索，不是诊断）。",
                   "You mention {words}, which leans towards heat (a clue, not a diagnosis)."),
    "b_hot": ("若偏热（例如{signs}）：只考虑平和些的{items}，不宜大寒。",
              "If it is heat (for example {signs}): consider only mild choices such as {items}, nothing very cold."),
    "b_hot_plain": ("若偏热：只考虑平和些的{items}，不宜大寒。",
                    "If it is heat: consider only mild choices such as {items}, nothing very cold."),
    "b_none_cold": ("若偏寒：知识库没有合适的记载。", "If it is cold: the knowledge base holds nothing that fits."),
    "b_none_hot": ("若偏热：没有既合适又不带脾胃虚寒类禁忌的记载，确认之后再选。",
                   "If it is heat: nothing fits that is not warned of in a cold pattern; settle that first."),
    "b_held_cooling": ("偏寒凉，寒热未分清之前不推荐", "cooling, so not recommended until cold or heat is known"),
    "b_held_warming": ("偏温热，寒热未分清之前不推荐", "warming, so not recommended until cold or heat is known"),
    "b_wrong_cold": ("偏寒凉，你的情况更像偏寒，不建议", "cooling, while your trouble leans towards cold; not advised"),
    "b_wrong_hot": ("偏温热，你的情况更像偏热，不建议", "warming, while your trouble leans towards heat; not advised"),
    "b_likely_cold": ("偏寒凉，而你说的情形在记载里多属偏寒，不建议", "cooling, while what you tell is mostly recorded of cold; not advised"),
    "b_likely_hot": ("偏温热，而你说的情形在记载里多属偏热，不建议", "warming, while what you tell is mostly recorded of heat; not advised"),
    "b_held": ("在可能的证候里有禁忌或慎用记载", "recorded against in a pattern that is possible here"),
    "o_avoid": ("关于{x}，下面是有记载不宜或要当心的；这里不作推荐。",
                "For {x}, this is what is on record as unsuitable or to be careful with; nothing is recommended here."),
    "o_unheard": ("没有认出{words}，这里说不了；没有记载不等于没有风险，请问医生或药师。",
                  "{words} was not recognised, so nothing can be said of it here; no record does not mean no risk. Ask a doctor or pharmacist."),
    "o_unheard_thing": ("要吃的是什么", "What is to be taken"),
    "a_avoid_drug": ("正在用{sign}：{items}有相互作用的记载，先问医生或药师。",
                     "With {sign}: interactions are on record for {items}; ask a doctor or pharmacist first."),
    "a_avoid_person": ("{sign}少用或不用：{items}。", "Best avoided by {sign}: {items}."),
    "a_more": ("{x}另有{n}种有记载，没有逐一列出。", "{x}: {n} more are on record and are not listed here."),
    "s_avoid_rest": ("没有列出的不等于没有风险。", "What is not listed is not thereby free of risk."),
    "m_avoid": ("没有{x}不宜吃什么的记载；没有记载不等于没有风险",
                "no record of what {x} forbids; that does not mean no risk"),
    "o_alike": ("下面是知识库中有此记载的；是否适合你，要看体质和病情。",
                "These are on record as such; whether they suit you depends on your constitution and condition."),
    "a_alike": ("{p}{q}：{items}（共{n}种有记载）。", "{p} {q}: {items} ({n} on record)."),
    "b_taboo": ("{sign}时少用或不用：{items}。", "Best avoided with {sign}: {items}."),
    # verdicts on a thing with one or several others
    "b_cold": ("若偏寒（例如{signs}）：可考虑温性的{items}（偏热者不宜）。",
               "If it is cold (for example {signs}): consider warming choices such as {items} (not if it is heat)."),
    "b_cold_plain": ("若偏寒：可考虑温性的{items}（偏热者不宜）。",
                     "If it is cold: consider warming choices such as {items} (not if it is heat)."),
    "v_kind": ("{x}（其中的{y}）", "{x} ({y})"),
    "v_colon": ("：", ": "),
    "v_pair": ("与{y}属配伍禁忌，不要同用{grade}", "recorded as incompatible with {y}; do not take them together{grade}"),
    "v_contra": ("{y}有禁忌记载，不建议食用{grade}", "not advised, being recorded as contraindicated in {y}{grade}"),
    "v_inter": ("与{y}有相互作用的记载{grade}，不能当作没有风险",
                "an interaction with {y} is recorded{grade}, so the combination cannot be treated as free of risk"),
    "v_caution": ("{y}有慎用或不宜的记载{grade}", "caution is recorded in {y}{grade}"),
    "v_adverse": ("{y}本身就是有记载的不良反应{grade}", "{y} is itself recorded as an unwanted reaction to it{grade}"),
    "v_rated": ("{x}用于{y}：来源的评级是“{rating}”；没有查到针对它的禁忌，这不等于没有风险。",
                ("{x} for {y}: a source rates it {rating}, and no taboo was found; that does not mean there is no "
                "risk.")),
    "v_listed": ("{x}与{y}：有来源把它列为用途之一，这不证明有效；没有查到针对它的禁忌，也不等于没有风险。",
                 ("{x} and {y}: a source lists this among its uses, which is no proof that it works; no taboo was found, "
                 "which does not mean there is no risk.")),
    "v_via": ("{y}可见于{state}，而{x}记载适宜{state}；是不是这个证型，须由医生判断。",
              ("{y} can belong to {state}, for which {x} is recorded as suitable; whether that is your pattern is for a "
              "practitioner to tell.")),
    "v_ask": ("不要自行同用、多用或久用，先问医生或药师。",
              "Do not combine them or use them freely on your own; ask your doctor or pharmacist first."),
    "v_ask_prescriber": ("先问开方的医师或药师。", "Ask the practitioner who prescribed it, or a pharmacist, first."),
    "f_bare_contraindicated": ("{y}{grade}", "{grade} in {y}"),
    "f_bare_interaction": ("可能与{y}相互作用{grade}", "may interact with {y}{grade}"),
    "f_bare_incompatible": ("与{y}属配伍禁忌（{grade}）", "incompatible with {y} ({grade})"),
    "f_bare_part": ("含{part}，{part}{said}", "contains {part}, {said}"),
    "v_rating": ("（评级：{rating}）", " (rating: {rating})"),
    "v_good": ("{x}与{y}：有适宜或传统应用的记载，没有查到针对它的禁忌；这不等于没有风险。",
               ("{x} and {y}: suitability or traditional use is recorded, and no taboo was found; that does not mean "
               "there is no risk.")),
    "v_mixed": ("同时也有{x}用于{y}的记载，两说并存。", "A use of {x} for {y} is recorded too; both are shown."),
    "v_effect": ("{x}与{y}：没有直接的记载，只有传统功效{effects}，所对的是{signs}；这不证明有效，也不等于没有风险，请问医生或药师。",
                 ("{x} and {y}: nothing is recorded of them directly, only the traditional efficacy {effects}, which is "
                 "directed at {signs}. That is no proof that it works and does not mean no risk; ask your doctor or pharmacist.")),
    "v_none": ("{x}与{y}：知识库没有相关记载；没有记载不等于没有风险，请问医生或药师。",
               ("{x} and {y}: the knowledge base holds no record. No record does not mean no risk; ask your doctor or "
               "pharmacist.")),
    "f_rating": ("，评级：{rating}", ", rating: {rating}"),
    "f_source": ("（{sources}）", " ({sources})"),
    "f_source_more": ("（{sources}等{n}个来源）", " ({sources} and others, {n} sources)"),
    # why a thing is recommended
    "w_name": ("**{x}**：", "**{x}**: "),
    "r_direct": ("用于{signs}（{sure}）", "recorded for {signs} ({sure})"),
    "r_has": ("传统功效是{signs}（{sure}）", "its traditional efficacy: {signs} ({sure})"),
    "r_for": ("传统功效“{effect}”，所对的是{signs}（{sure}）",
              "its traditional efficacy “{effect}” is directed at {signs} ({sure})"),
    "r_fit": ("合{fits}之用", "fits {fits}"),
    "r_efficacy": ("功效{items}", "traditionally it {items}"),
    "r_how": ("用法：{text}", "use: {text}"),
    "k_drugs": ("正在用{drugs}者先问医生或药师（可能相互作用）",
                "if you take {drugs}, ask your doctor or pharmacist first (possible interaction)"),
    "k_contraindicated": ("{states}忌用", "contraindicated in {states}"),
    "k_caution": ("{states}慎用", "caution in {states}"),
    "l_contraindicated": ("忌用：", "Not for: "),
    "l_caution": ("慎用：", "With caution: "),
    "l_interaction": ("可能相互作用，先问医生或药师：正在用", "Ask your doctor or pharmacist first (possible interaction) with "),
    "l_who": ("{who}（{items}）", "{who} ({items})"),
    "l_has": ("{x}，因含{part}", "{x}, for {part} in it"),
    "p_conflict": ("，各书不一，两说并存", ", as sources differ; both are shown"),
    "p_recorded": ("{s}{parts}", "{s}: {parts}"),
    "p_realises": ("记载用于的证候：{o}", "patterns it is recorded for: {o}"),
    "p_list": ("{p}：{o}", "{p}: {o}"),
    "s_persist": ("如果症状持续、加重或反复，请就医。", "See a doctor if it persists, worsens or keeps coming back."),
    "m_unlinked": ("没有认出“{word}”", "“{word}” was not recognised"),
    "m_profile": ("个人情况里的“{word}”没有认出，未能据此检查，请自行告诉医生或药师",
                  "“{word}” in the profile was not recognised and could not be checked; tell your doctor or pharmacist"),
    "m_contradiction": ("个人情况里既写了男性又写了怀孕；这里按怀孕检查，请核对",
                        "the profile says both male and pregnant; the check was made as for pregnancy, please correct it"),
    "m_unchecked": ("一次问得太多，这几样没有核对，请另问：{x}。", "Too many things at once: these were not checked, please ask again: {x}."),
    "m_pair": ("没有{x}与{y}的记载；没有记载不等于没有风险", "no record joins {x} with {y}; that does not mean no risk"),
    "q_drugs": ("正在用哪些药或补充剂？", "Which medicines or supplements do you take?"),
    "q_drugs_pregnant": ("正在用哪些药或补充剂？是否怀孕或哺乳？",
                         "Which medicines or supplements do you take, and are you pregnant or breastfeeding?"),
    "o_undecided": (
        "{sign}既可见于偏寒的{cold}，也可见于偏热的{hot}，饮食方向相反，请先回答下面的问题。",
        ("{sign} can belong to {cold} (of cold) or to {hot} (of heat), and these call for opposite foods; please "
        "answer the question below first."),
    ),
    "o_open": ("寒热没有分清之前，只列性质平和、这里没有禁忌记载的：{items}。",
               "Until cold or heat is known, only mild choices with nothing recorded against them here: {items}."),
    "o_none_open": ("寒热没有分清之前，这里不直接推荐哪一款。",
                    "Until cold or heat is known, nothing is recommended outright."),
    "r_state": ("适合{state}（{signs}常见于此，{sure}）", "suits {state} ({signs} can belong to it; {sure})"),
    "r_state_again": ("同样适合{state}", "likewise suits {state}"),
    "r_principle": ("适合{state}（治法是{signs}，{sure}）", "suits {state} (treated by {signs}; {sure})"),
    "r_known": ("适合{state}（与{signs}相关，{sure}）", "suits {state} (linked with {signs}; {sure})"),
    "r_rated": ("来源对{signs}的评级：{rating}（{sure}）", "rated by a source for {signs}: {rating} ({sure})"),
    "r_listed": ("有来源列为用于{signs}，不等于证实有效（{sure}）",
                 "listed by a source for {signs}, which is no proof that it works ({sure})"),
    "r_own": ("适合{signs}（{sure}）", "suits {signs} ({sure})"),
    "v_ask_one": ("请先问医生或药师，不要自行多用、久用。",
                  "Ask your doctor or pharmacist first, and do not use it freely on your own."),
    "s_redflag": ("出现{signs}时，请尽快就医。", "See a doctor promptly if you notice {signs}."),
    "s_redflag_persist": ("出现{signs}，或症状持续、加重、反复时，请尽快就医。",
                          "See a doctor promptly if you notice {signs}, or if it persists, worsens or keeps coming back."),
    "d_possible": ("{sign}可见于{states}（都只是可能，需要医生辨证）。",
                   "{sign} can belong to {states} (all only possible; a practitioner has to tell)."),
    # openings
    "o_unclear": ("没有认出你说的不适，所以先不推荐；请换个说法，并说说下面的情况。",
                  ("The trouble you describe was not recognised, so nothing is recommended yet; please put it in other "
                  "words and answer the question below.")),
    "o_recommend": ("可以考虑{items}。", "You could consider {items}."),
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
    # verdicts on pairs
    "v_nobody": ("没有查到{x}不宜于谁或与什么同用的记载；没有记载不等于没有风险。",
                 "Nothing is recorded of whom {x} does not suit or what it does not go with; no record does not mean no risk."),
    "v_others": ("除此之外没有查到禁忌记载，这不等于没有风险。",
                 "Nothing else is recorded against it, which does not mean that there is no risk."),
    "v_for_long": ("天天或长期用：", "Every day or for long: "),
    "w_noted": ("{x}——", "{x} – "),
    "v_for_long_none": ("{x}能否天天用、能用多久：知识库没有记载；没有记载不等于没有风险，打算长期用先问医生或药师。",
                        ("Whether {x} may be taken every day, or how long: the knowledge base holds no record. No record "
                         "does not mean no risk; ask your doctor or pharmacist before long use.")),
    "v_negative": ("有来源称未发现{x}与{y}有问题，但这不能说明没有风险。",
                   "A source reports that no effect of {x} with {y} was found; that does not rule out a risk."),
    # findings
    "f_contraindicated": ("{x}：{y}{grade}", "{x}: {grade} in {y}"),
    "f_caution": ("{x}：{y}{grade}", "{x}: {grade} in {y}"),
    "f_interaction": ("{x}与{y}可能相互作用{grade}", "{x} may interact with {y}{grade}"),
    "f_incompatible": ("{x}与{y}属配伍禁忌（{grade}），不宜同用", "{x} and {y} are an incompatible pair ({grade}) and not to be used together"),
    "f_adverse": ("{x}：{y}是有记载的不良反应", "{x}: {y} is recorded as an unwanted reaction"),
    "f_bare_adverse": ("{y}是有记载的不良反应", "{y} is recorded as an unwanted reaction"),
    "f_toxic": ("{x}：{y}，不要自行食用、泡水、泡酒或炖汤", "{x}: {y}; do not eat, brew, steep or cook with it on your own"),
    "f_toxic_food": ("{x}：{y}，不可生食，也不可多食", "{x}: {y}; never raw, and never in quantity"),
    "f_bare_toxic": ("{y}，不要自行食用", "{y}; not to be taken on your own"),
    "f_bare_toxic_food": ("{y}，不可生食，也不可多食", "{y}; never raw, and never in quantity"),
    "f_aggravates": ("{x}可加重{y}", "{x} may aggravate {y}"),
    "f_through_part": ("{x}含{part}，", "{x} contains {part}; "),
    "g_contraindicated": ("忌用", "contraindicated"),
    "g_caution": ("慎用", "to be used with caution"),
    "g_unsuitable": ("忌食", "to be avoided"),
    "g_unfit": ("不宜", "unsuitable"),
    "g_discouraged": ("不推荐", "not recommended"),
    "g_limited": ("限量", "to be limited"),
    "f_judged": ("{y}：{note}。", "{y}: {note}."),
    "f_case_report": ("证据主要是病例报告：数量少，但不能因此当作没有风险。",
                      "The evidence is mainly case reports: few, but that is no reason to treat it as no risk."),
    "f_confused": ("{x}与{y}不是同一样东西，不要混淆。", "{x} and {y} are not the same thing; do not confuse them."),
    # why
    "w_confidence": ("（置信度 {value}，{word}）", " (confidence {value}, {word})"),
    "p_text": ("{label}：{text}", "{label}: {text}"),
    "c_candidate": ("{state}：{signs}与它有关", "{state}: linked with {signs}"),
    "c_check": ("{sign}也可能由{diseases}引起，宜请医生检查。", "{sign} may also come from {diseases}; have a doctor check."),
    # fixed safety sentences
    "s_emergency": ("{signs}可能是急症，请立即就医或拨打急救电话（中国大陆 120），不要先用食疗。",
                    "{signs} can be an emergency: see a doctor or call your emergency number now; do not try food first."),
    "s_stop": ("不要自行停用、减量或用食物替代{drugs}。食物和保健品不能代替药物；想调整用药，请先和医生或药师商量。",
               ("Do not stop, cut down or replace {drugs} with food on your own. Food and supplements cannot take the place "
               "of medicine; talk to your doctor or pharmacist before any change.")),
    "o_doctor_first": ("先就医，明确原因之后再谈饮食；这里先不列食物推荐。",
                       "See a doctor first; once the cause is known, food can be discussed. No foods are listed here."),
    "s_stop_any": ("正在用的药", "your medicine"),
    "s_tell": ("请告诉医生或药师：正在用{drugs}，想吃（喝）{items}；不要自行停药或改变用量。",
               ("Tell your doctor or pharmacist that you use {drugs} and wish to take {items}; do not stop or change "
               "the medicine yourself.")),
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
    "s_formula": ("方剂是药，须由医师辨证后开方，不要自行配用。",
                  "A formula is medicine: it is for a practitioner to prescribe once the pattern is known, not to be made up on your own."),
    "s_child_fever": ("孩子发热，先弄清原因：请带去看医生，婴儿发热更要尽快；这里不列食物和草药。",
                      "With a fever in a child the cause comes first: see a doctor, the sooner the younger the child. No foods or herbs are listed here."),
    "s_diagnosis": ("这里不能作诊断，下面只列知识库里的可能方向；请让医生当面判断。",
                    "This cannot be a diagnosis; what follows are possible directions from the knowledge base. Let a doctor judge in person."),
    "s_dose": ("知识库没有可引用的用量，这里不给出剂量；请按产品说明或遵医嘱。",
               "The knowledge base holds no amount that can be cited, so none is given; follow the label or your doctor's advice."),
    "s_cure": ("食疗只能作为辅助，不能说“根治”或代替治疗。", "Food can support but cannot be said to cure, and does not replace treatment."),
    "s_composed": ("语言模型没有给出经得起核对的文字，以上由规则从所引论断写成。",
                   "The language model gave no text that stands the check; the above was composed from the cited claims by rule."),
    "s_gone": ("回答时有论断刚被撤下，依据它的内容没有列出",
               "a claim was withdrawn while this was answered; what rested on it is left out"),
    "s_confidence": (
        "置信度表示对这条记载有多可信的估计（来源的类型与多少），不是诊断概率，也不是有效率。",
        ("The confidence says how far the recorded claim can be trusted (kind and number of sources); it is not a "
        "probability of a diagnosis or of success."),
    ),
    "s_not_diagnosis": ("以上是饮食参考，不是诊断或处方。", "This is dietary information, not a diagnosis or a prescription."),
    # missing
    "m_food": ("没有与{sign}相对应的食物记载", "no food is recorded for {sign}"),
    "m_rule": ("没有找到相关的规定", "no rule on this was found"),
    "m_limit": ("路径过多，结果可能不全", "there were more paths than are read; the result may be incomplete"),
    "m_season": ("没有找到同时符合情况与时令或形式的记载", "nothing recorded fits both the condition and the season or form"),
    "m_any": ("没有找到可引用的记载", "no citable record was found"),
    # follow-up
    "q_cold_heat": ("喜欢热的还是凉的？吃了凉的会不会更难受？大便是稀溏还是干结？",
                    "Do warm or cold things feel better? Does cold food make it worse? Are the stools loose or dry?"),
}  # fmt: skip

PROPERTY: Final[Mapping[str, tuple[str, str]]] = {
    "hasNature": ("性{o}", "nature {o}"),
    "hasFlavour": ("味{o}", "flavour {o}"),
    "hasMeridianTropism": ("归{o}经", "channels {o}"),
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
RATED: Final[Mapping[str, str]] = {"likely": "likely effective", "possible": "possibly effective"}
_WORDS: Final = ((0.9, ("高", "high")), (0.75, ("较高", "fairly high")), (0.6, ("中等", "moderate")),
                 (0.0, ("较低", "low")))  # fmt: skip


def say(language: str, key: str, /, **values: str) -> str:
    """Give a sentence of the catalogue with its holes filled.

    >>> say("en", "m_unlinked", word="xyz")
    '“xyz” was not recognised'
    """
    return PHRASES[key][LANGUAGES.index(language)].format(**values)


def listed(language: str, items: Iterable[str], last: str = "and") -> str:
    """Join names as people do; ``last`` stands before the last one in English.

    >>> listed("zh", ["百合", "莲子"]), listed("en", ["lily", "lotus seed", "yam"], "or")
    ('百合、莲子', 'lily, lotus seed or yam')
    """
    names = list(dict.fromkeys(items))
    if language == "zh":
        return "、".join(names)
    if any("," in name for name in names):  # names that are lists themselves
        return "; ".join(names)
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def degree(language: str, confidence: float) -> str:
    """Say a confidence in words and as a number.

    >>> degree("zh", 0.87)
    '（置信度 0.87，较高）'
    """
    word = next(said for least, said in _WORDS if confidence >= least)
    chosen = word[LANGUAGES.index(language)]
    return say(language, "w_confidence", value=f"{confidence:.2f}", word=chosen)


def rank_of_tier(name: str) -> int:
    """Order kinds of sources, the most binding first."""
    names = list(TIERS)
    return names.index(name) if name in names else len(names)


def capital(text: str, language: str) -> str:
    """Begin an English sentence with a capital, after any markup.

    >>> capital("**goji** may", "en"), capital("枸杞", "zh")
    ('**Goji** may', '枸杞')
    """
    if language != "en":
        return text
    start = len(text) - len(text.lstrip("*- "))
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def sure(language: str, confidence: float) -> str:
    """Say a confidence without brackets.

    >>> sure("en", 0.87)
    'confidence 0.87, fairly high'
    """
    return degree(language, confidence).strip(" （）()")


def plain(word: str) -> str:
    """Give words of a stranger without what could be read as markup, at most 40 characters.

    >>> plain("[x](http://e.org) **wow** <b>")
    'xhttp://e.org wow b'
    """
    kept = "".join(c for c in word if c not in "[]()*_#<>|`~!\\\n\r")
    return " ".join(kept.split())[:40]


def check_language(language: str) -> str:
    """Refuse a language we do not write."""
    if language not in LANGUAGES:
        raise FormatError("language", language, LANGUAGES)
    return language
