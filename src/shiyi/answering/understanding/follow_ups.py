"""A follow-up, completed from the frame of the turn before: its ask, its things, its person."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL, Facts
from shiyi.answering.understanding.conditions import BENEFIT, HARM
from shiyi.answering.understanding.frame import (
    REPEATED,
    SHORT,
    AskType,
    Condition,
    Focus,
    Frame,
    Intent,
    Patient,
    WantedKinds,
    Who,
)
from shiyi.answering.understanding.patient import STAGES
from shiyi.linking.normalization import fold
from shiyi.ontology.lexicon import cues
from shiyi.ontology.terms import SHIYI

_THINGS: Final = frozenset({"asked_about", "eaten", "supplement"})
_TROUBLES: Final = frozenset({"complaint", "condition"})
_OWN: Final = frozenset({"condition", "medicine", "allergy"})  # of one person alone
_STATED: Final = frozenset({*_TROUBLES, "medicine", "allergy", "aim"})
_GROUPS: Final = (_THINGS, _TROUBLES, frozenset({"medicine"}), frozenset({"aim"}))
_OF_STATES: Final = frozenset({"advice", "avoid", "may", "why", "evidence", "dose", "compare"})
_WITHOUT_THINGS: Final = frozenset({"advice", "avoid", "list", "constitution"})
_STANDING: Final = frozenset({"emergency", "self_harm", "stop_medicine", "out_of_scope"})
_OF_FACTS: Final = frozenset({"property", "meaning", "how", "regulation", "list", "clarification"})
_UNCERTAIN: Final = 0.9  # below this an ask is taken from before where a thing is exchanged
_MISREAD: Final = ("avoid", "stop_medicine", "constitution", "out_of_scope", "clarification")
_LIKELY: Final = 0.3  # from which a slot decides for an ask
_EXCHANGED: Final = ("what-about-zh", "what-about-en", "supposes")
_MOST: Final = 3
_GROWN: Final = 14  # years
_KIN: Final = cues("people")["kin"]
_ASKER: Final = frozenset({"self", "general"})
_REVERSED: Final[dict[AskType, AskType]] = {"advice": "avoid", "avoid": "advice"}
_HAPPENED: Final = frozenset({"double-dose", "packets", "portion"})  # slots that are told later
_POINT: Final = "unanswered"  # the cue of a follow-up that names nothing recorded
_OF_POINTS: Final = frozenset({"may", "how", "dose", "compare", "evidence", "property", "list"})
_OFFERING: Final = frozenset({"advice", "list"})
_OF_TURN: Final = ("as-food", "cleared", "eaten-before", "matters", "replaces", "same-time")
_CHANGING: Final = ("long-term", "more", "source", "proof", "who-may-not", "names", "same")


def is_statement(frame: Frame) -> bool:
    """Return whether words state something of a person, and ask nothing."""
    asks = frame.has_cue("asking", "supposes") or "advise" in frame.slots
    named = [f for f in frame.focus if f.assertion != "denied" and f.role in _THINGS]
    stated = not (asks or named or frame.has_cue("adds"))
    return stated or frame.has_cue("correction", "retracts")


def follow(frame: Frame, before: Frame, offers: Sequence[str], facts: Facts) -> Frame:
    """Return a frame with what it leaves out taken from the turn before.

    ``offers`` are the things that the answer before named, the first of them first. Whatever may
    be an emergency, and what is complete, stands as it is.
    """
    whole = _of_whole_turn(frame, before, offers, facts)
    if whole is not None:
        return whole
    ask = before.root or before.ask
    same = _is_same_person(frame, before)
    frame = _left_out(_without_noise(frame, before), before, facts)
    if frame.ask == "clarification" and {"avoid", "prohibit"} <= {*frame.slots}:
        frame = frame.with_ask("avoid") if frame.probability("avoid") >= _LIKELY else frame
    if (outcome := _after_taking(frame, before, same=same)) is not None:
        return outcome
    added = frame.has_cue("adds", "same-time") and any(f.role in _THINGS for f in frame.focus)
    refined = _refine(frame, before, facts)
    if refined is not None:
        whole = replace(_exchange(refined, before, ask, facts, same=same), root="")
    elif added or (frame.has_cue(*_EXCHANGED) and not _asks_otherwise(frame)):
        whole = replace(_exchange(frame, before, ask, facts, same=same), root="")
    elif is_statement(frame):
        body = replace(before, text=frame.text, language=frame.language, asks=(Intent(ask, 1.0),))
        whole = _with_statement(frame, body, same=same)
        if ask != "list":
            return whole
    else:
        whole = _carry_over(frame, before, ask, offers, facts, same=same)
    if not (same and _is_repetition(frame, whole, before)):
        return whole
    cues = (*(cue for cue in whole.wanted.cues if cue != "long-term"), _POINT)
    return replace(whole, wanted=replace(whole.wanted, cues=cues))


def _of_whole_turn(
    frame: Frame, before: Frame, offers: Sequence[str], facts: Facts
) -> Frame | None:
    """Return the frame of a turn that is about the turn before as a whole, or that stands alone."""
    ask, named = before.root or before.ask, any(f.iri for f in frame.focus)
    taken_back = frame.ask == "stop_medicine" and frame.has_cue("retracts")  # it was stopped
    stands = frame.ask in _STANDING and frame.confidence >= _UNCERTAIN and not taken_back
    if frame.has_cue("closes") and not named:
        return frame.with_ask("chitchat")
    if frame.alarm or frame.signs or stands or (frame.has_cue("complains") and not named):
        return frame
    if frame.is_repeated:
        return _repeat_frame(frame, before, offers, facts)
    if (narrowed := _narrowed_list(frame, before, ask)) is not None:
        return narrowed
    urgent = before.signs or "emergency" in (before.alarm, before.ask)
    if frame.has_cue("not-happened") and urgent and before.alarm != "self_harm":
        return _stood_down(frame, before, facts)
    if frame.has_cue("more") and not named:
        return replace(before, text=frame.text, language=frame.language)
    if frame.has_cue("reversed") and ask in _REVERSED:
        frame = replace(frame, focus=tuple(f for f in frame.focus if f.iri))
        return replace(_exchange(frame, before, _REVERSED[ask], facts, same=True), root="")
    return None


def _refine(frame: Frame, before: Frame, facts: Facts) -> Frame | None:
    """Return a frame that only says which kind of a thing of before is meant: a beer."""
    named = [f for f in frame.focus if f.role in (*_THINGS, "medicine") and f.iri]
    if frame.has_cue("asking", "adds") or len(frame.text) > SHORT or len(named) != 1:
        return None
    above = facts.above(named[0].iri)
    kin = next((f for f in before.focus if not {f.iri, *f.also}.isdisjoint(above)), None)
    if kin is None or kin.iri == named[0].iri or len(before.focus) < 2:
        return None
    kind = [replace(named[0], role=kin.role)] if kin.iri in above[1:] else []  # else too narrow
    return replace(frame, focus=(*(f for f in frame.focus if f not in named), *kind))


def _after_taking(frame: Frame, before: Frame, *, same: bool) -> Frame | None:
    """Return the question of before, where its thing was had, is stopped or a doctor allowed it."""
    taken = {f.iri for f in before.focus if f.role == "medicine"}
    medicine = frame.has_cue("medicine", "correction") or before.has_cue("being-taken")
    stopped = taken and not (medicine or any(f.iri in taken for f in frame.focus))
    markers = {
        "cleared-now": frame.has_cue("cleared"),
        "eaten-now": frame.has_cue("eaten-before") and frame.has_cue("matters"),
        "stopped-now": frame.has_cue("retracts") and stopped,
    }
    marker = next((each for each, holds in markers.items() if holds), "")
    known = {f.iri for f in before.focus}
    new = any(f.iri not in known for f in frame.focus if f.role in (*_THINGS, *_OWN))
    if new or not (marker and same and before.of_role(*_THINGS)):
        return None
    kinds = _merge_wanted(frame.wanted, before.wanted)
    body = replace(before, wanted=replace(kinds, cues=(*kinds.cues, marker)), second=(), root="")
    body = replace(body, text=frame.text, language=frame.language).with_ask("may")
    return replace(body, patient=_patient(frame, before, same=same))


def _stood_down(frame: Frame, before: Frame, facts: Facts) -> Frame:
    """Return what was taken for an emergency as a question about the thing: nobody had it."""
    body = replace(before, text=frame.text, language=frame.language, alarm="", signs=(), danger=0.0)
    focus = (f for f in before.focus if not facts.is_a(f.iri, SHIYI.EmergencySign))
    asked = tuple(replace(f, role="asked_about") if f.role in _THINGS else f for f in focus)
    return replace(body, focus=asked, slots=(), second=()).with_ask("property")


def _left_out(frame: Frame, before: Frame, facts: Facts) -> Frame:
    """Return a frame with what is not wanted as denied: "no fruit" after a wish or a list."""
    wished = before.ask in _OFFERING and frame.has_cue("unwanted") and not frame.has_cue("asking")
    if not wished:
        return frame
    focus = (
        replace(f, role="asked_about", assertion="denied")
        if f.iri and (f.role in _THINGS or facts.is_a(f.iri, SHIYI.FoodGroup))
        else f
        for f in frame.focus
    )
    return replace(frame, focus=tuple(focus))


def _without_noise(frame: Frame, before: Frame) -> Frame:
    """Leave out unknown words that only describe how or when: "for someone on a budget"."""
    if frame.has_cue("as-food"):  # in which it is eaten is no thing of its own
        frame = replace(frame, focus=tuple(f for f in frame.focus if f.role not in _THINGS))
    known = any(f.role in _THINGS for f in (*frame.focus, *before.focus) if f.iri)
    if not (known or before.conditions) or len(frame.text) > SHORT:
        return frame
    half = 0 if before.ask in ("how", "list") else len(frame.text.strip(" ?.!\uff1f\u3002")) / 2
    focus = (f for f in frame.focus if f.iri or (half and len(f.text) >= half))
    return replace(frame, focus=tuple(focus))


def _is_repetition(frame: Frame, whole: Frame, before: Frame) -> bool:
    """Return whether a follow-up asks the same of the same things, of the same person."""
    person = frame.patient.states or frame.patient.age is not None
    own = any(f in whole.focus for f in frame.focus) or frame.conditions or person
    if frame.has_cue("as-food"):
        return False
    other = frame.wanted.form or frame.wanted.season or frame.has_cue(*_CHANGING) or frame.leaning
    pointed = whole.ask in _OF_POINTS and whole.ask == (before.root or before.ask)
    return (
        pointed
        and not (own or other)
        and {f.iri for f in whole.focus} <= {f.iri for f in before.focus}
    )


def _narrowed_list(frame: Frame, before: Frame, ask: AskType) -> Frame | None:
    """Return the list of before with further conditions: 其中归肾经的, "only those for kids"."""
    named = any(f.role in _THINGS and f.iri for f in frame.focus)
    if ask in _OFFERING and before.conditions and frame.ask == "avoid" and not named:
        harms = [c for c in frame.conditions if c.property == HARM and c.operator == "is"]
        if harms and frame.has_cue("narrows"):
            body = replace(frame, asks=(Intent("list", 1.0),), wanted=before.wanted, second=())
            return replace(body, conditions=(*before.conditions, *harms), root="")
    if ask != "list" or not frame.has_cue("narrows") or named or not before.conditions:
        return None
    states = [s.iri for s in frame.patient.states if s.iri]
    suits = (Condition(HARM, "is_not", iri) for iri in states)
    found_conditions = [c for c in frame.conditions if c.property not in (BENEFIT, HARM)]
    if not (found_conditions or states):
        return None
    conditions = tuple(dict.fromkeys((*before.conditions, *found_conditions, *suits)))
    unread = tuple(f for f in frame.focus if not f.iri)
    body = replace(before, text=frame.text, language=frame.language, asks=(Intent("list", 1.0),))
    return replace(body, conditions=conditions, focus=(*before.focus, *unread), second=())


def _repeat_frame(frame: Frame, before: Frame, offers: Sequence[str], facts: Facts) -> Frame:
    again = replace(before, text=frame.text, language=frame.language)
    if frame.has_cue("source") and not frame.has_cue("shorter", "in-english", "in-chinese"):
        things = before.of_role(*_THINGS) or _find_offered(frame, offers[:_MOST], facts)
        return replace(again, focus=_merge_focuses(again.focus, things)).with_ask("evidence")
    return again


def _asks_otherwise(frame: Frame) -> bool:
    """Return whether a fragment asks something of its own: "and how much", 那为什么呢."""
    named = any(f.role in _THINGS or not f.iri for f in frame.focus)
    own = frame.ask not in ("clarification", "chitchat", "may", "out_of_scope", "constitution")
    return own and (frame.confidence >= _UNCERTAIN or not (named or _names_person(frame)))


def _names_person(frame: Frame) -> bool:
    patient = frame.patient
    of_person = patient.age is not None or patient.states or patient.who not in _ASKER
    wanted = frame.wanted.season or frame.wanted.form or frame.has_cue("myself", "adult")
    return bool(of_person or wanted or any(f.role in _STATED for f in frame.focus))


def _is_same_person(frame: Frame, before: Frame) -> bool:
    """Return whether two turns are about one person; a pronoun takes whom the first named."""
    old, new = before.patient.who, _pronoun_person(frame)
    if old in _ASKER and before.patient.age is not None and before.patient.age < _GROWN:
        old = "child"
    kin, named = (set(_KIN.findall(fold(text))) for text in (before.text, frame.text))
    if kin and named and kin.isdisjoint(named):
        return False
    if old == "child" and frame.patient.age is not None and frame.patient.age < _GROWN:
        return True
    of_own = frame.has_cue("myself") or (frame.has_cue("own") and new in _ASKER)
    if of_own and not frame.has_cue("others"):
        return old in _ASKER and not before.has_cue("others")
    if new in _ASKER and not frame.has_cue("others"):
        return True
    if old in _ASKER and new == "other" and not before.has_cue("own"):
        return True  # "foods for anaemia", "she is allergic to fish"
    others = any(f.role == "other_person" for f in before.focus)
    named_before = old not in _ASKER or others
    return new == old or (
        named_before and (new == "other" or (old == "other" and frame.has_cue("them")))
    )


def _pronoun_person(frame: Frame) -> Who:
    """Return whom a turn is about, where a pronoun may say so alone: 她能吃山药吗."""
    pronoun = frame.has_cue("them") and not _KIN.search(fold(frame.text))
    return "other" if pronoun else frame.patient.who


def _is_again_another(frame: Frame, before: Frame) -> bool:
    """Return whether a turn goes back to somebody else than the asker, of whom before was."""
    return before.patient.who in _ASKER and _pronoun_person(frame) not in _ASKER


def _patient(frame: Frame, before: Frame, *, same: bool) -> Patient:
    """Return the person of a turn, with what was stated before where it is the same one."""
    new, old = frame.patient, before.patient
    if not same or frame.has_cue("adult") or _is_again_another(frame, before):
        return new
    earlier = [s for s in old.states if new.age is None or s.iri not in STAGES]
    states = {state.label: state for state in (*earlier, *new.states)}
    known = new.who in _ASKER or (new.who == "other" and old.who not in _ASKER)
    age = old.age if new.age is None else new.age
    return Patient(old.who if known else new.who, age, new.sex or old.sex, tuple(states.values()))


def _exchange(frame: Frame, before: Frame, ask: AskType, facts: Facts, *, same: bool) -> Frame:
    """Place what is named where something of its kind stood, else beside what was stated."""
    new = [_take_role(f, before, facts) for f in frame.focus]
    focus = list(before.focus) if same else _impersonal(before, ask)
    if same and _is_again_another(frame, before):
        focus = [replace(f, role="condition") if f.role == "other_person" else f for f in focus]
    adds = frame.has_cue("beside", "adds", "same-time")
    for group in _GROUPS:
        given = [f for f in new if f.role in group or (group is _THINGS and not f.iri)]
        old = [f for f in focus if f.role in group and f.assertion != "denied"]
        if given and not (adds and group is _THINGS):
            several = group is _THINGS and ask == "may" and len(old) > 1
            kinds = {facts.classes.get(f.iri) for f in given}
            like = [f for f in old if facts.classes.get(f.iri) in kinds] or old
            like = [f for f in old if any(fold(f.text) in fold(g.text) for g in given)] or like
            focus = [f for f in focus if f not in (like[:1] if several else old)]
    patient = _patient(frame, before, same=same)
    if frame.patient.states and same:
        fields = {s.label for s in frame.patient.states}
        gone = {s.label for s in before.patient.states} - fields
        patient = replace(patient, states=tuple(s for s in patient.states if s.label not in gone))
    ask = _choose_ask(frame, before, ask, new)
    given_up = {f.iri for f in before.focus} - {f.iri for f in focus}
    old_conditions = [c for c in before.conditions if given_up.isdisjoint(c.value.split("|"))]
    return replace(
        frame,
        asks=(Intent(ask, 1.0),),
        polarity=before.polarity if ask == before.ask else frame.polarity,
        focus=_merge_focuses(focus, new),
        patient=patient,
        wanted=_merge_wanted(frame.wanted, before.wanted),
        conditions=_narrow_conditions(old_conditions, frame),
        leaning=frame.leaning or (before.leaning if same else ()),
        slots=(*before.slots, *_HAPPENED.intersection(frame.slots).difference(before.slots)),
        second=(),
    )


def _narrow_conditions(old: Iterable[Condition], frame: Frame) -> tuple[Condition, ...]:
    """Return the conditions of a list with those of a follow-up; one that excludes is added."""
    allergies = {f.iri for f in frame.of_role("allergy")}
    new = [c for c in frame.conditions if allergies.isdisjoint(c.value.split("|"))]
    return tuple({_key(c): c for c in (*old, *new)}.values())


def _key(condition: Condition) -> tuple[str, ...]:
    fields = (condition.property, condition.operator, condition.value)
    return fields if condition.operator == "is_not" else fields[:1]


def _choose_ask(frame: Frame, before: Frame, ask: AskType, new: Sequence[Focus]) -> AskType:
    """Return what an exchange asks: what was asked, or whether a thing suits somebody."""
    things = any(f.role in _THINGS or not f.iri for f in new)
    had_things = any(f.role in _THINGS for f in before.focus)
    may = (
        frame.ask == "may" and "may" in frame.slots and frame.confidence >= _UNCERTAIN,
        things and not had_things and ask in _WITHOUT_THINGS and not before.conditions,
        things and had_things and frame.has_cue("same-time"),
        not things and ask in _OF_FACTS and bool(frame.patient.states),
        not things and ask in _OF_FACTS and any(f.role in _OWN for f in frame.focus),
    )
    return "may" if any(may) else ask


def _take_role(focus: Focus, before: Frame, facts: Facts) -> Focus:
    """Return a thing in the role that things of its kind played before."""
    old = [f for f in before.focus if f.role in _THINGS and f.iri]
    medicines = (SHIYI.Drug, SHIYI.DrugClass)
    if not old or not facts.is_a(focus.iri, *medicines):
        return focus
    if facts.is_a(old[0].iri, *medicines):
        return replace(focus, role="asked_about")
    return replace(focus, role="medicine") if before.of_role("medicine") else focus


def _impersonal(before: Frame, ask: AskType) -> list[Focus]:
    """Return what was spoken of, without what is true of the person alone."""
    keeps = ask == "advice"
    return [
        f
        if f.role not in _OWN or (keeps and f.role == "condition")
        else replace(f, role="other_person")
        for f in before.focus
    ]


def _with_statement(frame: Frame, before: Frame, *, same: bool) -> Frame:
    """Return the question before with what is now stated, denied or corrected."""
    denied = {f.iri for f in frame.focus if f.assertion == "denied"}
    new = [f for f in frame.focus if f.iri]
    focus = [f for f in before.focus if f.iri not in denied]
    if frame.has_cue("retracts") and not any(f.role in _OWN for f in new):
        gone = [f for f in before.focus if f.role == "medicine"]
        gone = gone or [f for f in before.focus if f.role in _TROUBLES]
        new += [replace(f, assertion="denied") for f in gone]
    things = [f for f in new if f.role in _THINGS and f.assertion != "denied"]
    if frame.has_cue("correction") and things:
        focus = [f for f in focus if f.role not in _THINGS]
    meant = before.ask in _OFFERING and (frame.patient.age is not None or frame.patient.states)
    given = bool(meant) or frame.has_cue("infant", "correction")  # whom the suggestions are for
    own = same or given
    patient = _patient(frame, before, same=True) if own else before.patient
    if given and frame.patient.who != "general":
        patient = replace(patient, who=frame.patient.who)
    if not own:
        new = [replace(f, role="other_person") if f.role in _OWN else f for f in new]
    return replace(
        before,
        focus=_merge_focuses(focus, new),
        patient=patient,
        wanted=_merge_wanted(frame.wanted, before.wanted),
        conditions=_of_statement(frame, before),
        leaning=frame.leaning or before.leaning,
        second=(),
    )


def _of_statement(frame: Frame, before: Frame) -> tuple[Condition, ...]:
    """Return the conditions of a list after a statement; it leaves out what harms the person."""
    if before.ask != "list":
        return before.conditions
    states = [s.iri for s in frame.patient.states if s.iri and s.assertion == "affirmed"]
    out = tuple(Condition(HARM, "is_not", iri) for iri in states)
    return _narrow_conditions((*before.conditions, *out), frame)


def _carry_over(
    frame: Frame, before: Frame, asked: AskType, offers: Sequence[str], facts: Facts, *, same: bool
) -> Frame:
    """Return a question with the things and states of the one before, where it names none."""
    if frame.has_cue("bare-why") and len(frame.text) <= SHORT and before.of_role(*_THINGS):
        # what is named objects to the answer: "why though, it is natural iron"
        frame = replace(frame, focus=tuple(f for f in frame.focus if f.role not in _THINGS))
    named = [f for f in frame.focus if f.role in _THINGS]
    follows = frame.has_cue("follows", "pronoun", "them") or "previous" in frame.slots
    short = len(frame.text) <= SHORT
    focus: list[Focus] = []
    ask: AskType = "may" if short and _asks_in_state(frame, before) else frame.ask
    lacks = not named and (frame.has_cue("pronoun") or not _has_subject(frame, facts))
    if ask == "list" and lacks and frame.has_cue("of-regulation", "yes-no"):
        ask = "regulation"  # "is it on the list"
    if short and lacks and (ask not in _WITHOUT_THINGS or frame.has_cue("who-may-not")):
        focus += _things(frame, before, offers, facts)
    pair = [f for f in before.focus if f.role in _THINGS or not f.iri]
    if ask == "compare" and short and before.ask == "compare" and not frame.has_cue("beside"):
        frame = replace(frame, focus=tuple(f for f in frame.focus if f not in named))
        focus, named = pair, []  # what is named is by what they differ: "which has less sugar"
    elif ask == "compare" and short:
        focus += _find_compared(frame, [*named, *focus], before, offers, facts)
    if ask == "clarification" and short:
        ask = "dose" if frame.has_cue("of-amount") else asked
    concerned = any(f.role in _STATED for f in frame.focus) or bool(frame.patient.states)
    of_anybody = frame.has_cue("who-may-not")
    of_states = (
        ask in _OF_STATES and short and not of_anybody and (not concerned or bool(focus) or follows)
    )
    again = {f.iri for f in named} <= {f.iri for f in before.focus}  # "why, it is so sweet"
    if of_states and (follows or again or ask in ("may", "avoid")):
        focus += _states(frame, before, ask, same=same)
    took = bool(focus) or ask != frame.ask
    carried = replace(
        frame,
        asks=frame.asks if ask == frame.ask else (Intent(ask, 1.0),),
        focus=_merge_focuses(focus, frame.focus),
        patient=_patient(frame, before, same=same) if took or follows else frame.patient,
        leaning=frame.leaning or (before.leaning if took and same else ()),
    )
    return replace(carried, root=asked if took and again else "")


def _asks_in_state(frame: Frame, before: Frame) -> bool:
    """Return whether it is asked if the thing of before may be had in a state that is named."""
    named = [f for f in (*frame.focus, *before.focus) if f.role == "medicine"]
    named += [f for f in frame.focus if f.role in _THINGS]
    state = frame.patient.states or any(f.role in _TROUBLES for f in frame.focus)
    if named or not (state and before.of_role(*_THINGS)) or frame.has_cue("foods-asked"):
        return False
    goes_on = frame.has_cue("pronoun", "being-taken", "follows") or "stop" in frame.slots
    goes_on |= not frame.has_cue("open-question", "of-avoid") or frame.confidence < _UNCERTAIN
    open_ = frame.has_cue("who-may-not", "medicine") or {"advise", "constitution"} & {*frame.slots}
    return goes_on and not open_ and frame.has_cue("yes-no") and frame.ask in _MISREAD


def _has_subject(frame: Frame, facts: Facts) -> bool:
    """Return whether a question names what it is about, other than the person."""
    about = [f for f in frame.focus if f.role in ("topic", "aim") and f.iri]
    about = [f for f in about if not facts.is_a(f.iri, SHIYI.Method)]
    if frame.ask in ("why", "evidence", "property", "meaning", "regulation"):
        about += [f for f in frame.focus if f.role in _TROUBLES]
    return bool(about) or any(not f.iri for f in frame.focus)


def _things(frame: Frame, before: Frame, offers: Sequence[str], facts: Facts) -> list[Focus]:
    """Return the things that a question speaks of: those of before, or those offered."""
    place = frame.wanted.ordinal
    if place and offers:
        chosen = offers[-1:] if place < 0 else offers[place - 1 : place]
        return _find_offered(frame, chosen, facts)
    things = [f for f in before.focus if f.role in _THINGS and f.assertion != "denied"]
    unknown = [f for f in before.focus if not f.iri]
    if things or not offers or before.ask == "why":
        return things or unknown
    most = 1 if frame.ask in ("how", "dose", "may") else _MOST
    return _find_offered(frame, offers[:most], facts)


def _find_compared(
    frame: Frame, foci: Sequence[Focus], before: Frame, offers: Sequence[str], facts: Facts
) -> list[Focus]:
    """Return what makes up the two sides of a comparison, where fewer than two are named."""
    known = {f.iri for f in foci}
    rest = [f for f in before.focus if f.role in _THINGS and f.iri not in known]
    rest += [f for f in _find_offered(frame, reversed(offers), facts) if f.iri not in known]
    return list({f.iri: f for f in rest}.values())[: max(0, 2 - len(foci))]


def _find_offered(frame: Frame, offers: Iterable[str], facts: Facts) -> list[Focus]:
    """Return things that an answer named, as if the question did."""
    return [
        Focus(label, 0, 0, iri, label, "asked_about")
        for iri in offers
        if facts.is_a(iri, *MATERIAL) and (label := facts.label(iri, frame.language))
    ]


def _states(frame: Frame, before: Frame, ask: AskType, *, same: bool) -> list[Focus]:
    """Return what is so of the person, and the trouble that something was sought for."""
    if not same:
        return [f for f in before.focus if f.role == "complaint" and ask == "advice"]
    if _is_again_another(frame, before):
        theirs = [f for f in before.focus if f.role == "other_person"]
        return [replace(f, role="condition") for f in theirs]
    return [f for f in before.focus if f.role in _STATED]


def _merge_focuses(old: Iterable[Focus], new: Iterable[Focus]) -> tuple[Focus, ...]:
    """Join two lists of things; a repeated thing is as it was named last."""
    results = {f.iri or f.text: f for f in old}
    results |= {f.iri or f.text: f for f in new}
    return tuple(results.values())


def _merge_wanted(new: WantedKinds, old: WantedKinds) -> WantedKinds:
    """Return what is wanted: each part is the new one where it was named."""
    fresh = replace(
        old,
        classes=new.classes or old.classes,
        form=new.form or old.form,
        season=new.season or old.season,
        diet=new.diet or old.diet,
    )
    passing = (*_EXCHANGED, *REPEATED, *_OF_TURN)
    results = [cue for cue in old.cues if not (cue in passing or cue.endswith("-now"))]
    return replace(fresh, cues=tuple(dict.fromkeys((*results, *new.cues))))
