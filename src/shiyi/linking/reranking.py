"""Candidates put in another order: by a language model, a cross-encoder or an embedder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from shiyi.errors import OutsideError, ReplyError, UsageError
from shiyi.linking.embedding.embedder import Embedder, cross_encoder, open_embedder
from shiyi.linking.linker import Linker
from shiyi.model.answer import Mention
from shiyi.prompts.chat import ChatModel, parse_object
from shiyi.prompts.templates import Prompt

PICKED: Final = "semapv:CompositeMatching"  # SSSOM: found by likeness, then chosen in its context
_ASKED: Final = 20  # mentions of one text; the others stay as they were
_TEXT, _NAME = 4_000, 80  # characters a prompt takes of the text, and of a mention or a label


@dataclass(frozen=True, slots=True)
class Reranking:
    """The mentions after a model was asked, and what went otherwise than it should."""

    mentions: tuple[Mention, ...]
    notices: tuple[str, ...] = ()


def pick(text: str, linker: Linker, model: ChatModel, minimum: float, kind: str = "") -> Reranking:
    """Ask ``model`` to choose among the candidates of each mention of ``text`` that is not certain.

    Certain is a name that means one thing. Of the others (unknown words, likenesses, names of
    several things) the model sees the ten candidates (Yaoshi-RAG) at least ``minimum`` alike,
    those of class ``kind`` first. A choice that is no candidate is refused, and where the model
    cannot be had or talks nonsense the linker's own mentions stand; ``notices`` tells both.
    """
    mentions = linker.link(text)
    offered = {
        place: found
        for place, each in enumerate(mentions)
        if (each.score < 1 or each.alternatives)
        and (found := _candidates(linker, each, text, minimum, kind))
    }
    asked = dict(list(offered.items())[:_ASKED])
    if not asked:
        return Reranking(mentions)
    notices = []
    if len(offered) > _ASKED:
        notices.append(f"{len(offered) - _ASKED} mentions were not put to {model.name}")
    prompt = Prompt.named("choose-concepts").fill(
        text=_plain(text, _TEXT), mentions=_format_list(mentions, asked)
    )
    try:
        picks = _picks(parse_object(model.complete(prompt).text))
    except OutsideError as fault:
        notices.append(f"linked without {model.name}: {fault}")
        return Reranking(mentions, tuple(notices))
    made = list(mentions)
    for number, (place, candidates) in enumerate(asked.items(), 1):
        chosen = picks.get(number)
        if chosen is None or not 0 <= chosen <= len(candidates):
            why = "chose none of its candidates" if chosen is not None else "replied nothing"
            notices.append(f"{model.name} {why} for {made[place].text!r}: linked without it")
            continue
        made[place] = _as(made[place], candidates, chosen)
    return Reranking(tuple(made), tuple(notices))


def _candidates(
    linker: Linker, mention: Mention, text: str, minimum: float, kind: str
) -> tuple[Mention, ...]:
    mentions = linker.candidates(mention.text, context=text, kind=kind)
    return tuple(each for each in mentions if each.score >= minimum)


def _format_list(mentions: Sequence[Mention], asked: Mapping[int, Sequence[Mention]]) -> str:
    lines = []
    for number, (place, candidates) in enumerate(asked.items(), 1):
        named = "; ".join(
            f"{n} {_plain(c.label_zh, _NAME)} / {_plain(c.label_en, _NAME)} ({c.kind})"
            for n, c in enumerate(candidates, 1)
        )
        lines.append(f"{number}. {_plain(mentions[place].text, _NAME)}: {named}")
    return "\n".join(lines)


def _plain(text: str, limit: int) -> str:
    """Keep a text to one line without angle brackets, so that it cannot end its place."""
    return " ".join(text.replace("<", "‹").replace(">", "›").split())[:limit]


def _picks(reply: Mapping[str, Any]) -> dict[int, int]:
    """Read the choices, the first for each mention."""
    listed = reply.get("picks")
    if not isinstance(listed, list):
        raise ReplyError('the reply has no list of "picks"')
    results: dict[int, int] = {}
    for item in listed:
        mention, candidate = (
            (item.get("mention"), item.get("candidate")) if isinstance(item, dict) else (None, None)
        )
        if type(mention) is not int or type(candidate) is not int:  # True is an int too
            raise ReplyError("a pick is two numbers, of a mention and of its candidate")
        results.setdefault(mention, candidate)
    return results


def _as(mention: Mention, candidates: Sequence[Mention], chosen: int) -> Mention:
    if chosen == 0:
        return Mention(mention.text, mention.start, mention.end, negated=mention.negated)
    taken = candidates[chosen - 1]
    others = tuple(iri for iri in (mention.iri, *mention.alternatives) if iri and iri != taken.iri)
    return replace(
        taken,
        text=mention.text,
        start=mention.start,
        end=mention.end,
        negated=mention.negated,
        justification=PICKED,
        alternatives=others,
    )


Reranker = Callable[[str, Sequence[str]], list[float]]  # a question and texts; larger is better
COSINE: Final = "cosine"


def open_reranker(name: str, embedder: Embedder | None) -> Reranker | None:
    """Return what ``recall.reranker`` names: nothing, cosines, or a cross-encoder.

    ``cosine`` takes the vectors of ``embedder``, ``cosine:NAME`` those of the model of that name.

    Raise ``MissingExtraError`` without the extra, ``UsageError`` where no such model can be read.
    """
    if not name:
        return None
    kind, _, other = name.partition(":")
    if kind != COSINE:
        return cross_encoder(name)
    model = open_embedder(other) if other else embedder
    if model is None:
        raise UsageError("recall.reranker: cosine needs an embedding model, and there is none")
    return lambda question, texts: _cosines(model, question, texts)


def _cosines(embedder: Embedder, question: str, texts: Sequence[str]) -> list[float]:
    rows = embedder.encode([question, *texts])
    return [float(cosine) for cosine in rows[1:] @ rows[0]]
