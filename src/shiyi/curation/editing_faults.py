"""What can be wrong with an editor's form, said in both languages beside its field."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with one field; ``shape`` names the shape that says so, if one does."""

    field: str
    message_zh: str
    message_en: str
    shape: str = ""

    def message(self, language: str) -> str:
        """Give the message in ``zh`` or ``en``."""
        return self.message_zh if language == "zh" else self.message_en


SAID: Final = {
    "no_evidence": ("论断至少要有一条证据，并注明来源。", "A claim needs evidence that names its source."),
    "polarity": ("极性应为肯定或否定。", "A claim is positive or negative."),
    "itself": ("主体与客体相同。", "The same thing stands on both sides."),
    "empty": ("此项必填。", "This may not be empty."),
    "too_long": ("太长。", "This is too long."),
    "control": ("含有控制字符，请删去。", "This holds a control character; remove it."),
    "language": ("文本的语言应为中文或英文。", "A text is in Chinese or in English."),
    "ambiguous": ("“{words}”可指：{names}；请写标识符。",
                  "“{words}” may mean: {names}; write the identifier."),
    "unknown_concept": ("没有叫“{words}”的此类概念；请用首选名、别名或标识符。",
                        "No concept of this kind is called “{words}”; use a label, an alias or the identifier."),
    "unknown_relation": ("没有名为“{words}”的关系。", "There is no relation “{words}”."),
    "relation_not_for": ("形状不允许此类主体有关系“{words}”。",
                         "The shapes do not let such a subject have the relation “{words}”."),
    "unknown_source": ("没有名为“{words}”的来源；请从列表中选。",
                       "There is no source “{words}”; choose one of the list."),
    "unknown_passage": ("没有这个段落。", "There is no such passage."),
    "not_in_passage": ("引文与段落原文不符：须逐字照录。",
                       "The quote does not stand in its passage: copy it word for word."),
    "stands": ("此论断已存在（{status}），不能另存；请打开它：{iri}",
               "This claim stands already ({status}); open it instead: {iri}"),
    "relation_form": ("关系名以小写字母开头，由英文字母组成，如 hasNature。",
                      "A relation's name is letters that begin with a small one, such as hasNature."),
    "term_taken": ("词汇中已有 {words}。", "The vocabulary has {words} already."),
    "unknown_rule": ("请从列表中选。", "Choose one of the list."),
    "bad_pattern": ("正则表达式有误或太长。", "The regular expression is malformed or too long."),
    "unknown_class": ("没有名为“{words}”的类别。", "There is no class “{words}”."),
    "id_form": ("标识符形如 {words}，小写字母与连字符。", "An identifier is {words}, lower-case ASCII with dashes."),
    "id_taken": ("该标识符已用过，不可再用。", "This identifier was used before and is never given again."),
    "label_taken": ("“{words}”已是 {names} 的首选名。", "“{words}” is the preferred label of {names} already."),
    "cycle": ("{words} 已在其下，不能又在其上。", "{words} stands below it, so it cannot stand above."),
    "no_label": ("须有{language}首选名。", "A concept needs a preferred label ({language})."),
}  # fmt: skip


def fault(name: str, what: str, **values: str) -> Fault:
    """Say what is wrong with the field ``name``.

    >>> fault("object", "empty").message("en")
    'This may not be empty.'
    """
    zh, en = SAID[what]
    return Fault(name, zh.format(**values), en.format(**values))
