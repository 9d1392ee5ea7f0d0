"""From a question to an answer: link, retrieve by a method, check, compose, and keep a trace."""

import hashlib
import json
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from shiyi.answering.composer import Composed, compose, ranked
from shiyi.answering.cues import Intent
from shiyi.answering.heard import Linker
from shiyi.answering.leanings import leaning_of
from shiyi.answering.memory import from_memory
from shiyi.answering.methods import METHODS, RETRIEVE, Query
from shiyi.answering.parts import Desk, Part
from shiyi.answering.paths import Retrieved
from shiyi.answering.phrases import check_language
from shiyi.answering.reading import Reading, read_question
from shiyi.answering.roles import EDIBLE, SUPPLEMENT
from shiyi.answering.runtime import Runtime
from shiyi.answering.telling import Listener
from shiyi.answering.thermal import Differential, differentiate
from shiyi.answering.voice import Voice
from shiyi.answering.wanted import wants_advice
from shiyi.answering.writer import Care, write_with_model
from shiyi.answering.writing import write
from shiyi.errors import FormatError, TooLargeError, UsageError
from shiyi.linking.normalise import language_of
from shiyi.model.answer import Answer, Recommendation, Trace
from shiyi.model.path import Path
from shiyi.model.profile import Profile
from shiyi.model.tally import TALLY
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel
from shiyi.prompts.recording import Recorder
from shiyi.settings import Settings

__all__ = ["METHODS", "ask"]
_SECTIONS: Final = (  # of the settings: what changes an answer
    "answer", "baselines", "chain", "linking", "pagerank", "paths", "recall", "reflection", "terms",
)  # fmt: skip


@dataclass(slots=True)
class Clock:
    """Milliseconds of each stage."""

    spent: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def lap(self, name: str) -> None:
        """Book the time since the last lap."""
        now = time.perf_counter()
        self.spent[name] = self.spent.get(name, 0.0) + (now - self._since) * 1000
        TALLY.took("answer_seconds", name, now - self._since)
        self._since = now


def ask(
    runtime: Runtime,
    question: str,
    *,
    method: str = "fused",
    language: str | None = None,
    k: int | None = None,
    profile: Profile = Profile(),  # noqa: B008 - frozen
    model: ChatModel | None = None,
    listener: Listener | None = None,
) -> Answer:
    """Answer a question from the knowledge base, with citations, warnings and a trace.

    With a ``model`` the method may consult it and it writes the text, sentence by sentence checked;
    without one, and wherever it fails, scored checks and the composer do. A ``listener`` hears of
    the answer while it is made.

    Raises ``FormatError`` for an unknown method or language, ``UsageError`` for an empty or
    unreadable question, ``TooLargeError`` for one that is too long.
    """
    _check(question, method, k, runtime)
    spoken = check_language(language) if language else language_of(question)
    most = k or runtime.settings.paths.top_k
    recorder = Recorder(model) if model else None
    clock = Clock()
    reading = read_question(question, spoken, profile, runtime.linker, runtime.facts)
    known = (*reading.constitutions, *_syndromes(reading, runtime), *reading.person.states)
    differential = differentiate(runtime.facts, reading.ailments, known, leaning_of(question))
    voice = Voice(spoken, runtime.facts, runtime.evidences)
    desk = Desk(reading, runtime.facts, runtime.evidences, runtime.safety, voice, differential)
    clock.lap("link")
    retrieved = RETRIEVE[method](_query(runtime, reading, most), runtime, recorder)
    clock.lap("retrieve")
    part = write(desk, retrieved, runtime, method)
    clock.lap("rank")
    composed = compose(part, runtime.evidences, spoken)
    clock.lap("answer")
    asked = _asked(question, language, k, profile, runtime.settings)
    answer = Answer(
        question, spoken, method, runtime.release, composed.sentences, composed.text,
        composed.citations, _paths(part, most), reading.mentions,
        _grounded(part, composed), ranked(part.warnings), tuple(part.follow_up[:3]),
        not composed.citations and not part.warnings, tuple(part.missing), None,
        _trace(reading, differential, retrieved, composed, clock, asked),
    )  # fmt: skip
    TALLY.add("answers", "abstained" if answer.abstained else method)
    if listener is not None:
        listener.drafted(answer)
    if recorder is None:
        return answer
    if method == "none":
        written = from_memory(answer, recorder, runtime.linker)
    else:
        written = _written(answer, composed, recorder, runtime.linker, listener)
    return _recorded(written, recorder)


def _written(
    answer: Answer,
    composed: Composed,
    model: ChatModel,
    linker: Linker,
    listener: Listener | None,
) -> Answer:
    """Let a model write from all that the text rests on; keep what it cites."""
    every = replace(answer, citations=(*answer.citations, *composed.more))
    care = Care(composed.care, composed.care_sentences)
    written = write_with_model(every, model, linker, listener, care)
    said = {claim for sentence in written.sentences for claim in sentence.claims}
    used = tuple(c for c in composed.more if c.claim in said)
    return replace(written, citations=(*answer.citations, *used))


def _grounded(part: Part, composed: Composed) -> tuple[Recommendation, ...]:
    """Give the recommendations with those of their claims that are cited."""
    cited = {each.claim for each in composed.citations}
    return tuple(
        replace(each, claims=tuple(c for c in each.claims if c in cited))
        for each in part.recommendations
    )


def _trace(
    reading: Reading,
    differential: Differential,
    retrieved: Retrieved,
    composed: Composed,
    clock: Clock,
    asked: Mapping[str, Any],
) -> Trace:
    leaning = (f"leaning {differential.leaning}",) if differential.leaning else ()
    return Trace(
        queries=retrieved.queries,
        relation_paths=tuple(tuple(map(str, p)) for p in retrieved.relation_paths),
        rounds=retrieved.rounds,
        milliseconds=tuple(clock.spent.items()),
        notes=(*sorted(str(i) for i in reading.intents), *leaning, *retrieved.notes),
        asked=asked,
        steps=retrieved.steps,
        claims=tuple((each.fact.claim, each.score) for each in retrieved.claims),
        texts=tuple({"iri": u.iri, "kind": u.kind, "section": u.section} for u in retrieved.texts),
        more=tuple(each.claim for each in composed.more),
    )


def _recorded(answer: Answer, recorder: Recorder) -> Answer:
    """Put what was said to the model into the trace."""
    said = tuple(each.to_json() for each in recorder.exchanges)
    return replace(answer, trace=replace(answer.trace, exchanges=said))


def _asked(
    question: str, language: str | None, k: int | None, profile: Profile, settings: Settings
) -> dict[str, Any]:
    """Give what must be said again to have the same answer."""
    return {"question": question, "language": language, "k": k, "profile": profile.to_json(),
            "settings": settings_digest(settings)}  # fmt: skip


def settings_digest(settings: Settings) -> str:
    """Give a digest of the settings that change an answer."""
    chosen = {name: asdict(getattr(settings, name)) for name in _SECTIONS}
    said = json.dumps(chosen, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _query(runtime: Runtime, reading: Reading, k: int) -> Query:
    """Say what is to be looked for: advice starts from the trouble, and from the person."""
    advice, seeds = wants_advice(reading), tuple[str, ...]()
    if advice:
        seeds = (
            *reading.ailments, *reading.constitutions, *reading.aims,
            *_profile_seeds(runtime, reading),
        )  # fmt: skip
    wanted = SUPPLEMENT if reading.wants(Intent.SUPPLEMENT) else EDIBLE
    return Query(reading, seeds, wanted, advice, k, runtime.settings.answer.recommend_from)


def _check(question: str, method: str, k: int | None, runtime: Runtime) -> None:
    if method not in METHODS:
        raise FormatError("method", method, METHODS)
    if k is not None and not 1 <= k <= _MOST_PATHS:
        raise UsageError(f"k is a number of paths from 1 to {_MOST_PATHS}")
    limit = runtime.settings.answer.max_question_chars
    if len(question) > limit:
        raise TooLargeError("the question", len(question), limit)
    if any(unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\r\t" for c in question):
        raise UsageError("the question holds control characters; send plain text")
    if not any(c.isalnum() for c in question):
        raise UsageError("the question is empty; ask something such as 枸杞的性味？")


_MOST_PATHS: Final = 200


def _syndromes(reading: Reading, runtime: Runtime) -> list[str]:
    return [a for a in reading.ailments if runtime.facts.is_a(a, SHIYI.Syndrome)]


def _profile_seeds(runtime: Runtime, reading: Reading) -> list[str]:
    """Take who it is for as a seed, where the question names no trouble and no effect.

    Who wants to stop nursing (回奶) is not helped by what suits nursing women.
    """
    mine = [s for s in reading.person.states if runtime.facts.is_a(s, SHIYI.Constitution)]
    if reading.ailments or reading.aims:
        return mine
    return [*mine, *reading.populations]


def _paths(part: Part, k: int) -> tuple[Path, ...]:
    """Keep ``k`` paths, those the text rests on first; the best stand first."""
    kept = list({tuple(h.claim for h in path.hops): path for path in part.paths}.values())[:k]
    return tuple(sorted(kept, key=lambda path: -path.score))
