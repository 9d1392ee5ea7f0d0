"""What answers have to say: a table of questions, each with the reason and what is expected.

``text: a/b`` expects one of two parts in either case, ``no text: a`` that it is not there.
"""

from collections.abc import Callable
from typing import Final

from shiyi.answering.pipeline import Runtime
from shiyi.model.answer import Answer
from shiyi.model.rdf import local_name
from shiyi.ontology.terms import SHIYI
from tests.support.questions import ask
from tests.tables import from_table


def _has(text: str, parts: str) -> bool:
    return any(part.casefold() in text.casefold() for part in parts.split("/"))


def _claims(answer: Answer, part: str) -> int:
    """Return how many claims the first sentence with a part rests on."""
    return next((len(sentence.claims) for sentence in answer.sentences if part in sentence.text), 0)


def _severities(answer: Answer) -> set[str]:
    return {warning.severity for warning in answer.warnings}


def _are_ordered(answer: Answer, parts: str) -> bool:
    places = [answer.text.find(part) for part in parts.split(" < ")]
    return -1 not in places and places == sorted(places)


def _guidance(answer: Answer) -> set[str]:
    """Return subject and topic of each piece of guidance that is cited."""
    return {
        f"{local_name(citation.subject.iri)} {topic}"
        for citation in answer.citations
        if citation.predicate.iri == SHIYI.guidance.value
        for name, topic in citation.evidence[0].qualifiers
        if name == "topic"
    }


def _interacts(answer: Answer, part: str) -> bool:
    return next(w.severity for w in answer.warnings if part in w.text) == "interaction"


_ARE: Final[dict[str, Callable[[Answer], object]]] = {
    "advice": lambda answer: answer.recommendations,
    "first is cited": lambda answer: answer.sentences[0].claims,
    "verdict is rated": lambda answer: answer.verdict.severity,
    "warning": lambda answer: answer.warnings,
}
_HAVE: Final[dict[str, Callable[[Answer, str], bool]]] = {
    "advice": lambda answer, least: len(answer.recommendations) >= int(least),
    "advised": lambda answer, part: any(_has(r.label, part) for r in answer.recommendations),
    "advised among": lambda answer, names: (
        {recommendation.label for recommendation in answer.recommendations}
        <= set(names.split("、"))
    ),
    "advised only": lambda answer, name: [r.label for r in answer.recommendations] == [name],
    "citations": lambda answer, least: len(answer.citations) >= int(least),
    "cited": lambda answer, part: _claims(answer, part) > 0,
    "cited by eight": lambda answer, part: _claims(answer, part) >= 8,
    "early": lambda answer, part: _has(" ".join(s.text for s in answer.sentences[:3]), part),
    "first": lambda answer, part: _has(answer.sentences[0].text, part),
    "first is": lambda answer, text: answer.sentences[0].text == text,
    "gravest": lambda answer, kind: answer.warnings[0].severity == kind,
    "guided": lambda answer, named: named in _guidance(answer),
    "interaction": _interacts,
    "language": lambda answer, language: answer.language == language,
    "leading warning": lambda answer, part: _has(answer.warnings[0].text, part),
    "linked": lambda answer, name: any(name in (m.label_zh, m.label_en) for m in answer.linked),
    "missing": lambda answer, part: _has(" ".join(answer.missing), part),
    "once": lambda answer, part: answer.text.count(part) == 1,
    "only severity": lambda answer, kind: _severities(answer) == {kind},
    "opening": lambda answer, part: _has(answer.text.strip().partition("\n")[0], part),
    "opens": lambda answer, text: answer.text.startswith(text),
    "order": _are_ordered,
    "second": lambda answer, part: _has(answer.sentences[1].text, part),
    "severity": lambda answer, kinds: not _severities(answer).isdisjoint(kinds.split("/")),
    "text": lambda answer, part: _has(answer.text, part),
    "verdict": lambda answer, kind: answer.verdict.kind == kind,
    "verdict text": lambda answer, part: _has(answer.verdict.text, part),
    "warning": lambda answer, part: any(_has(warning.text, part) for warning in answer.warnings),
    "warning opens": lambda answer, part: any(w.text.startswith(part) for w in answer.warnings),
}


def unmet(answer: Answer, expected: list[str]) -> list[str]:
    """Return what an answer does not meet of what is expected of it."""
    results = []
    for each in expected:
        key, _, value = each.removeprefix("no ").removeprefix("not ").partition(": ")
        met = _HAVE[key](answer, value) if value else bool(_ARE[key](answer))
        if met is each.startswith(("no ", "not ")):
            results.append(each)
    return results


@from_table
def test_answer_is_as_expected(
    runtime: Runtime, reason: str, question: str, expected: list[str]
) -> None:
    answer = ask(runtime, question)
    assert unmet(answer, expected) == [], f"{reason}: {answer.text}"


def test_each_expectation_can_fail(runtime: Runtime) -> None:
    answer = ask(runtime, "吃了头孢后能喝白酒吗")
    assert unmet(answer, ["severity: interaction", "no text: 随便喝"]) == []
    wrong = ["no severity: interaction", "text: 随便喝", "advice", "order: 酒 < 没有这几个字"]
    assert unmet(answer, wrong) == wrong
