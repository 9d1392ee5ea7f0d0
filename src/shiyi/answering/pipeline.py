"""From a question to an answer: link, retrieve, check, compose."""

import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from shiyi.answering.advice import advise
from shiyi.answering.candidates import choose
from shiyi.answering.composer import compose, ranked
from shiyi.answering.consult import consult
from shiyi.answering.cues import Intent, is_cue
from shiyi.answering.leanings import leaning_of
from shiyi.answering.lookups import constitution, doctor, patterns, rules, sheet
from shiyi.answering.parts import Desk, Part
from shiyi.answering.paths import Retrieved
from shiyi.answering.phrases import capital, check_language, plain
from shiyi.answering.reading import Reading, read_question
from shiyi.answering.roles import EDIBLE, SUPPLEMENT
from shiyi.answering.runtime import Runtime
from shiyi.answering.thermal import differentiate
from shiyi.answering.voice import Voice
from shiyi.errors import FormatError, TooLargeError, UsageError
from shiyi.linking.normalise import language_of
from shiyi.model.answer import Answer, SafetyWarning, Trace
from shiyi.model.path import Path
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI

METHODS: Final = ("fused", "paths")


@dataclass(slots=True)
class Clock:
    """Milliseconds of each stage."""

    spent: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def lap(self, name: str) -> None:
        """Book the time since the last lap."""
        now = time.perf_counter()
        self.spent[name] = self.spent.get(name, 0.0) + (now - self._since) * 1000
        self._since = now


def ask(
    runtime: Runtime,
    question: str,
    *,
    method: str = "fused",
    language: str | None = None,
    k: int | None = None,
    profile: Profile = Profile(),  # noqa: B008 - frozen
) -> Answer:
    """Answer a question from the knowledge base, with citations, warnings and a trace.

    Raises ``FormatError`` for an unknown method or language, ``UsageError`` for an empty or
    unreadable question, ``TooLargeError`` for one that is too long.
    """
    _check(question, method, k, runtime)
    spoken = check_language(language) if language else language_of(question)
    most = k or runtime.settings.paths.top_k
    clock = Clock()
    reading = read_question(question, spoken, profile, runtime.linker, runtime.facts)
    known = (*reading.constitutions, *_syndromes(reading, runtime), *reading.person.states)
    differential = differentiate(runtime.facts, reading.ailments, known, leaning_of(question))
    voice = Voice(spoken, runtime.facts, runtime.evidences)
    desk = Desk(reading, runtime.facts, runtime.evidences, runtime.safety, voice, differential)
    clock.lap("link")
    retrieved = _retrieve(runtime, reading, most)
    clock.lap("retrieve")
    part = _write(desk, retrieved, runtime)
    clock.lap("rank")
    composed = compose(part, runtime.evidences, spoken)
    clock.lap("answer")
    abstained = not composed.citations and not part.warnings
    trace = Trace(
        queries=retrieved.queries,
        relation_paths=tuple(tuple(map(str, p)) for p in retrieved.relation_paths),
        milliseconds=tuple(clock.spent.items()),
        notes=(
            *sorted(str(i) for i in reading.intents),
            *((f"leaning {differential.leaning}",) if differential.leaning else ()),
            *retrieved.notes,
        ),
    )
    return Answer(
        question, spoken, method, runtime.release, composed.sentences, composed.text,
        composed.citations, _paths(part, most), reading.mentions,
        tuple(part.recommendations), ranked(part.warnings), tuple(part.follow_up[:3]), abstained,
        tuple(part.missing), None, trace,
    )  # fmt: skip


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


def _wants_advice(reading: Reading) -> bool:
    seeds = (*reading.ailments, *reading.constitutions, *reading.seasons, *reading.populations,
             *reading.aims)  # fmt: skip
    if reading.wants(Intent.ADVICE):
        return bool(seeds) or bool(reading.person.states)
    only = reading.wants(Intent.DRINK) or not reading.intents
    return only and bool(seeds) and not reading.materials


def _retrieve(runtime: Runtime, reading: Reading, k: int) -> Retrieved:
    if not _wants_advice(reading):
        return Retrieved()
    seeds = (
        *reading.ailments, *reading.constitutions, *reading.aims, *_profile_seeds(runtime, reading),
    )  # fmt: skip
    wanted = SUPPLEMENT if reading.wants(Intent.SUPPLEMENT) else EDIBLE
    least = runtime.settings.answer.recommend_from
    near = [each for seed in seeds for each in _nearby(runtime, seed)]
    found = runtime.retriever.retrieve((*seeds, *near), wanted, k, least)
    if found.paths or not seeds:
        return found
    below = [each for seed in seeds for each in runtime.facts.below(seed)[1:]]
    return runtime.retriever.retrieve(below, wanted, k, least)


def _nearby(runtime: Runtime, seed: str) -> tuple[str, ...]:
    """List the broader symptoms of a symptom; a path from one says so by its start."""
    if not runtime.facts.is_a(seed, SHIYI.Symptom):
        return ()
    return runtime.facts.above(seed)[1:]


def _profile_seeds(runtime: Runtime, reading: Reading) -> list[str]:
    """Take the constitution of the profile for a seed, where the question names no trouble."""
    mine = [s for s in reading.person.states if runtime.facts.is_a(s, SHIYI.Constitution)]
    if reading.ailments:
        return mine
    return [*mine, *reading.populations]


def _write(desk: Desk, retrieved: Retrieved, runtime: Runtime) -> Part:
    part = Part()
    _first(desk, part)
    for write in _writers(desk, retrieved, runtime):
        part.take(write())
    reading, voice = desk.reading, desk.voice
    part.missing += [voice.say("m_profile", word=plain(w)) for w in reading.person.unknown][:5]
    unlinked = [m.text for m in reading.mentions if not m.iri]
    unknown = [plain(w) for w in unlinked if not is_cue(w)]
    part.missing += [voice.say("m_unlinked", word=w) for w in unknown if w][:3]
    if reading.profile.pregnant and reading.profile.sex == "male":
        part.missing.append(voice.say("m_contradiction"))
    if not any(line.facts for s in (part.opening, *part.sections) for line in s.lines):
        if not part.opening.lines:
            part.opening.add(voice.say("o_not_known"))
        if not (part.warnings or part.told):
            part.missing.append(voice.say("m_any"))
    if retrieved.notes:
        part.missing.append(voice.say("m_limit"))
    return part


def _first(desk: Desk, part: Part) -> None:
    """Say what must come before everything: emergencies, medicines, cures."""
    reading, voice = desk.reading, desk.voice
    if reading.emergencies:
        text = voice.say("s_emergency", signs=voice.names(reading.emergencies))
        text = capital(text, voice.language)
        flags = [f for e in reading.emergencies for f in desk.facts.into(e, SHIYI.hasRedFlag)][:3]
        part.note(*flags)
        part.warnings.append(SafetyWarning("emergency", text, tuple(f.claim for f in flags)))
        if not reading.drugs:
            part.opening.add(voice.say("o_doctor_first"))
    if reading.wants(Intent.STOP):
        drugs = voice.names(reading.person.drugs) or voice.say("s_stop_any")
        text = voice.say("s_stop", drugs=drugs)
        part.warnings.append(SafetyWarning("caution", text))
        part.opening.add(text)
    if reading.wants(Intent.CURE):
        part.opening.add(voice.say("s_cure"))


def _writers(desk: Desk, retrieved: Retrieved, runtime: Runtime) -> list[Callable[[], Part]]:
    reading, chosen = desk.reading, list[Callable[[], Part]]()
    advice = _wants_advice(reading)
    meets = (
        reading.drugs or reading.ailments or reading.constitutions or reading.populations
        or reading.person.states or reading.person.drugs or reading.person.allergies
        or len(reading.materials) > 1
    )  # fmt: skip
    if reading.wants(Intent.CONSTITUTION) and not (advice and reading.constitutions):
        chosen.append(lambda: constitution(desk))
    if reading.rules or (reading.wants(Intent.MEANING) and not reading.materials):
        chosen.append(lambda: rules(desk))
    waits = reading.emergencies and not reading.drugs  # food can wait, medicines cannot
    if reading.materials and meets and not waits and not (advice and not reading.wants(Intent.MAY)):
        chosen.append(lambda: consult(desk))
    if reading.emergencies:
        pass  # no food before a doctor
    elif advice and (reading.constitutions or not reading.wants(Intent.CONSTITUTION)):
        answer = runtime.settings.answer
        choice = choose(reading, retrieved, desk.differential, desk.facts, desk.safety)
        chosen.append(lambda: advise(desk, retrieved, choice, answer.recommendations))
    elif reading.materials and not (meets and chosen):
        chosen.append(lambda: sheet(desk, reading.materials))
    if reading.wants(Intent.DIAGNOSIS) and not advice:
        chosen.append(lambda: patterns(desk))
    return chosen or _fallback(desk)


def _fallback(desk: Desk) -> list[Callable[[], Part]]:
    reading = desk.reading
    if reading.emergencies:
        return [lambda: doctor(desk)]
    if reading.ailments:
        return [lambda: patterns(desk)]
    if reading.wants(Intent.STOP):
        return []  # what had to be said was said first
    rest = (*reading.drugs, *reading.constitutions, *reading.others)
    if rest:
        return [lambda: sheet(desk, rest)]
    return [lambda: rules(desk)]


def _paths(part: Part, k: int) -> tuple[Path, ...]:
    """Keep ``k`` paths, those the text rests on first; the best stand first."""
    kept = list({tuple(h.claim for h in path.hops): path for path in part.paths}.values())[:k]
    return tuple(sorted(kept, key=lambda path: -path.score))
