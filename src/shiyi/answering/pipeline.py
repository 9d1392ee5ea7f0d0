"""Question to answer, its trace, and its replay."""

import hashlib
import json
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal

from shiyi.answering.generation.rewriter import Composition, Listener, add_memory, write_with_model
from shiyi.answering.knowledge.facts import EDIBLE, SUPPLEMENT
from shiyi.answering.methods import METHODS, RETRIEVE, Query
from shiyi.answering.runtime import Runtime
from shiyi.answering.sections.guidance import judge
from shiyi.answering.sections.plan import write
from shiyi.answering.understanding.differentiation import differentiate
from shiyi.answering.understanding.frame import Frame
from shiyi.answering.understanding.mentions import link_question
from shiyi.answering.understanding.question import Question, resolve
from shiyi.answering.understanding.reader.model import shipped_reader
from shiyi.answering.understanding.reading import read_question
from shiyi.answering.wording.draft import (
    AnswerContext,
    ComposedAnswer,
    Contribution,
    compose,
    remove_unopened,
    sort_gravest,
)
from shiyi.answering.wording.verbalization import Verbalizer, check_language
from shiyi.errors import FormatError, TooLargeError, UsageError
from shiyi.linking.normalization import QuestionText, is_traditional, language_of, to_traditional
from shiyi.metrics import ANSWER_SECONDS, ANSWERS
from shiyi.model.answer import Answer, Mention, Recommendation, Trace
from shiyi.model.path import Path
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.caching import RecordingModel, ReplayModel
from shiyi.prompts.chat import ChatModel
from shiyi.settings import Settings

__all__ = ["METHODS", "AskRequest", "Runtime", "ask"]


_SECTIONS: Final = (  # of the settings: what changes an answer
    "answer", "baselines", "chain", "linking", "pagerank", "paths", "recall", "reflection", "terms",
    "understanding",
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
        ANSWER_SECONDS.labels(name).observe(now - self._since)
        self._since = now


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question, how to look for its answer, and the person it is for.

    ``language`` is that of the answer, by default the question's; ``k`` bounds the paths shown.
    ``evidence`` overrides the setting ``answer.evidence``. A conversation gives the ``frame`` and
    the mentions that it has read already, whether the answer is to be ``brief``, what was ``asked``
    back in it before, and its ``earlier`` questions. ``school`` and ``overlay`` override
    ``chain.school`` and ``chain.overlay``. The default method is ``chain`` for a school.
    """

    question: str
    method: str = ""
    language: str | None = None
    k: int | None = None
    profile: Profile = field(default_factory=Profile)
    evidence: Literal["any", "opened"] | None = None
    frame: Frame | None = None
    mentions: tuple[Mention, ...] = ()
    brief: bool = False
    asked: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    school: str = ""
    overlay: Literal["general", "school", "both"] | None = None

    def __post_init__(self) -> None:
        if not self.method:
            object.__setattr__(self, "method", "chain" if self.school else METHODS[0])


def ask(
    runtime: Runtime,
    request: AskRequest,
    model: ChatModel | None = None,
    listener: Listener | None = None,
) -> Answer:
    """Answer a question from the knowledge base, with citations, warnings and a trace.

    With a ``model`` the method may consult it and it writes the text, sentence by sentence checked;
    without one, and where it fails, scored checks and the composer do. A ``listener`` hears of
    the answer while it is made.

    Raises ``FormatError`` for an unknown method or language, ``UsageError`` for an empty or
    unreadable question, ``TooLargeError`` for one that is too long.
    """
    check_request(request, runtime)
    question, method, profile = request.question, request.method, request.profile
    spoken = check_language(request.language) if request.language else language_of(question)
    most = request.k or runtime.settings.paths.top_k
    recorder = RecordingModel(model) if model else None
    clock = Clock()
    settings = runtime.settings
    opened = (request.evidence or settings.answer.evidence) == "opened"
    if opened:  # nothing recalled is sure enough to recommend
        least = max(settings.answer.recommend_from, settings.confidence.recalled + 0.01)
        answering = replace(settings.answer, evidence="opened", recommend_from=least)
        runtime = replace(runtime, settings=replace(settings, answer=answering))
    runtime = apply_overlays(runtime, request)
    frame, mentions = request.frame, request.mentions
    if frame is None:
        frame, mentions = read_question(
            QuestionText.of(question),
            runtime.linker,
            runtime.facts,
            shipped_reader(),
            pregnant=bool(profile.pregnant),
            language=spoken,
        )
    parsed = resolve(
        frame, mentions, profile, runtime.linker, runtime.facts, settings.understanding
    )
    syndromes = [a for a in parsed.ailments if runtime.facts.is_a(a, SHIYI.Syndrome)]
    constitutions = (*parsed.constitutions, *syndromes, *parsed.person.states)
    differential = differentiate(runtime.facts, parsed.ailments, constitutions, frame.leaning)
    verbalizer = Verbalizer(spoken, runtime.facts, runtime.evidences)
    context = AnswerContext(
        parsed, runtime.facts, runtime.evidences, runtime.safety, verbalizer, differential
    )
    clock.lap("link")
    query = _query(runtime, parsed, most)
    retrieved = replace(RETRIEVE[method](query, runtime, recorder), k=most)
    clock.lap("retrieve")
    part = write(context, retrieved, runtime, method)
    part.omit_questions(request.asked)
    if request.brief:
        part.shorten()
    clock.lap("rank")
    if opened:
        remove_unopened(part, verbalizer)
    composed = compose(part, runtime.evidences, spoken)
    clock.lap("answer")
    leaning = [f"leaning {differential.leaning}"] if differential.leaning else []
    answer = Answer(
        question,
        spoken,
        method,
        runtime.release,
        composed.sentences,
        composed.text,
        composed.citations,
        _paths(part, most),
        parsed.mentions,
        _ground(part, composed),
        sort_gravest(part.warnings),
        tuple(part.follow_up[:3]),
        not composed.citations and not part.warnings,
        tuple(part.missing),
        None,
        judge(context, part, composed),
        Trace(
            queries=(*part.queries, *retrieved.queries),
            relation_paths=tuple(tuple(map(str, p)) for p in retrieved.relation_paths),
            rounds=retrieved.rounds,
            milliseconds=tuple(clock.spent.items()),
            notes=(*parsed.asks, *leaning, *retrieved.notes),
            asked=_replay_parameters(request, settings),
            steps=retrieved.steps,
            claims=tuple((fact.fact.claim, fact.score) for fact in retrieved.claims),
            texts=tuple(
                {"iri": u.iri, "kind": u.kind, "section": u.section} for u in retrieved.texts
            ),
            more=tuple(citation.claim for citation in composed.more),
            frame=parsed.frame.to_json(),
            engine=retrieved.engine,
        ),
    )
    ANSWERS.labels("abstained" if answer.abstained else method).inc()
    if listener is not None:
        listener.receive_draft(_convert_script(answer))
    if recorder is None:
        return _convert_script(answer)
    if method == "none":
        written = add_memory(answer, recorder)
    else:
        composition = Composition(
            composed.care, composed.care_sentences, composed.more, request.earlier
        )
        written = write_with_model(answer, recorder, runtime, composition, listener)
    return _convert_script(_add_exchanges(written, recorder))


def _convert_script(answer: Answer) -> Answer:
    """Return what is written to the asker in the script of the question."""
    if answer.language != "zh" or not is_traditional(answer.question):
        return answer
    convert = to_traditional
    return replace(
        answer,
        text=convert(answer.text),
        sentences=tuple(replace(s, text=convert(s.text)) for s in answer.sentences),
        recommendations=tuple(replace(r, label=convert(r.label)) for r in answer.recommendations),
        warnings=tuple(replace(w, text=convert(w.text)) for w in answer.warnings),
        follow_up=tuple(map(convert, answer.follow_up)),
        missing=tuple(map(convert, answer.missing)),
        verdict=replace(answer.verdict, text=convert(answer.verdict.text)),
    )


def apply_overlays(runtime: Runtime, request: AskRequest) -> Runtime:
    """Return what the question is answered from: with its school, and the releases it names."""
    settings = runtime.settings
    school, overlay = request.school or settings.chain.school, request.overlay
    if request.school and request.method != "chain":
        raise UsageError(f"a school is for the method chain, not for {request.method}")
    if overlay:
        chain = replace(settings.chain, overlay=overlay)
        runtime = replace(runtime, settings=replace(settings, chain=chain))
    if school and request.method == "chain" and runtime.settings.chain.overlay != "general":
        runtime = runtime.with_school(school)
    if not runtime.release_names:
        return runtime
    named = [f.text for f in request.frame.focus if f.iri] if request.frame else []
    return runtime.with_releases("\n".join((request.question, *named)))


def _ground(part: Contribution, composed: ComposedAnswer) -> tuple[Recommendation, ...]:
    """Return the recommendations with those of their claims that are cited."""
    cited = {citation.claim for citation in composed.citations}
    return tuple(
        replace(recommendation, claims=tuple(c for c in recommendation.claims if c in cited))
        for recommendation in part.recommendations
    )


def _add_exchanges(answer: Answer, recorder: RecordingModel) -> Answer:
    """Add the exchanges with the model to the trace, and the first fault to the answer."""
    exchanges = tuple(each.to_json() for each in recorder.exchanges)
    fault = next((each.fault for each in recorder.exchanges if each.fault), answer.model_fault)
    return replace(answer, model_fault=fault, trace=replace(answer.trace, exchanges=exchanges))


def _replay_parameters(request: AskRequest, settings: Settings) -> dict[str, Any]:
    """Return what a replay needs to make the same answer."""
    return {
        "question": request.question,
        "language": request.language,
        "k": request.k,
        "profile": request.profile.to_json(),
        "evidence": request.evidence,
        "frame": request.frame.to_json() if request.frame else None,
        "brief": request.brief,
        "asked": list(request.asked),
        "earlier": list(request.earlier),
        "school": request.school,
        "overlay": request.overlay,
        "settings": settings_digest(settings),
    }


@lru_cache(maxsize=32)
def settings_digest(settings: Settings) -> str:
    """Return a digest of the settings that change an answer."""
    chosen = {name: asdict(getattr(settings, name)) for name in _SECTIONS}
    text = json.dumps(chosen, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _query(runtime: Runtime, parsed: Question, k: int) -> Query:
    """Return what is to be looked for: advice starts from the trouble, and from the person."""
    advice, seeds = parsed.wants_advice(), tuple[str, ...]()
    if advice:
        seeds = (
            *parsed.ailments,
            *parsed.constitutions,
            *parsed.aims,
            *_profile_seeds(runtime, parsed),
        )
    wanted = SUPPLEMENT if parsed.wants_supplement else EDIBLE
    return Query(parsed, seeds, wanted, advice, k, runtime.settings.answer.recommend_from)


def check_request(request: AskRequest, runtime: Runtime) -> None:
    question, k = request.question, request.k
    if request.method not in METHODS:
        raise FormatError("method", request.method, METHODS)
    if k is not None and not 1 <= k <= _MOST_PATHS:
        raise UsageError(f"k is a number of paths from 1 to {_MOST_PATHS}")
    limit = runtime.settings.answer.max_question_chars
    if len(question) > limit:
        raise TooLargeError("the question", len(question), limit)
    if any(unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\r\t" for c in question):
        raise UsageError("the question holds control characters; send plain text")
    if not any(c.isalnum() for c in question):
        raise UsageError("the question is empty; ask something")


_MOST_PATHS: Final = 200


def _profile_seeds(runtime: Runtime, parsed: Question) -> list[str]:
    """Return seeds from the profile, where the question names no complaint and no effect.

    A complaint or aim excludes populations: to stop nursing needs no food for nursing.
    """
    mine = [s for s in parsed.person.states if runtime.facts.is_a(s, SHIYI.Constitution)]
    if parsed.ailments or parsed.aims:
        return mine
    return [*mine, *parsed.populations]


def _paths(part: Contribution, k: int) -> tuple[Path, ...]:
    """Keep ``k`` paths, those the text rests on first; the best stand first."""
    distinct = list({tuple(h.claim for h in path.hops): path for path in part.paths}.values())[:k]
    return tuple(sorted(distinct, key=lambda path: -path.score))


_COMPARED: Final = (
    "method", "language", "model", "answer", "sentences", "citations", "paths", "linked",
    "recommendations", "warnings", "follow_up", "abstained", "missing",
)  # fmt: skip
_OVERLAYS: Final = ("general", "school", "both")
_TRACED: Final = ("queries", "relation_paths", "rounds", "notes", "steps", "claims", "texts")


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer as it is made now, and the names of what is no longer the same."""

    answer: Answer
    differences: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the answer's object with what differs."""
        payload = {"same": not self.differences, "differences": list(self.differences)}
        return self.answer.to_json() | {"replayed": payload}


def replay(runtime: Runtime, earlier: Mapping[str, Any]) -> Replay:
    """Repeat the question of an answer's JSON; a model's replies are read from its trace.

    No model is asked. Another release or other settings are named among the differences. Raises
    ``UsageError`` for what is no answer with a trace.
    """
    trace = _mapping(earlier.get("trace"), "trace")
    asked = _mapping(trace.get("asked"), "trace.asked")
    question, k = asked.get("question"), asked.get("k")
    method, language = earlier.get("method"), earlier.get("language")
    if not (isinstance(question, str) and isinstance(method, str) and isinstance(language, str)):
        raise UsageError("an answer to replay has a question, a method and a language")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int)):
        raise UsageError("trace.asked.k is a whole number or null")
    exchanges = trace.get("exchanges") or []
    model = ReplayModel.from_json(str(earlier.get("model") or "recorded"), exchanges)
    request = AskRequest(
        question,
        method,
        language,
        k,
        Profile.from_json(asked.get("profile") or {}),
        "opened" if asked.get("evidence") == "opened" else None,
        Frame.from_json(asked["frame"]) if asked.get("frame") else None,
        link_question(QuestionText.of(question), runtime.linker, runtime.facts),
        brief=asked.get("brief") is True,
        asked=tuple(map(str, asked.get("asked") or ())),
        earlier=tuple(map(str, asked.get("earlier") or ())),
        school=str(asked.get("school") or ""),
        overlay=chosen if (chosen := asked.get("overlay")) in _OVERLAYS else None,
    )
    answer = ask(runtime, request, model if exchanges else None)
    return Replay(answer, tuple(_differences(runtime, answer.to_json(), earlier, trace, asked)))


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is missing: replay the JSON that `shiyi ask --json` printed")
    return value


def _differences(
    runtime: Runtime,
    now: Mapping[str, Any],
    earlier: Mapping[str, Any],
    trace: Mapping[str, Any],
    request: Mapping[str, Any],
) -> list[str]:
    results = []
    if earlier.get("release") != runtime.release:
        results.append(f"release: {earlier.get('release')} then, {runtime.release} now")
    if request.get("settings") != settings_digest(runtime.settings):
        results.append("settings: others than then")
    results += [name for name in _COMPARED if now.get(name) != earlier.get(name)]
    results += [f"trace.{name}" for name in _TRACED if now["trace"].get(name) != trace.get(name)]
    return results
