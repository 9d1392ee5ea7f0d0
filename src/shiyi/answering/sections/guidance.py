"""Everyday statements that answer a question, chosen by what it names, its topic and its words."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shiyi.answering.knowledge.facts import AILMENT, Fact, Facts
from shiyi.answering.safety import Finding
from shiyi.answering.sections.verdicts import conclude
from shiyi.answering.understanding.question import CHILDREN, Question
from shiyi.answering.wording.draft import AnswerContext, ComposedAnswer, Contribution, Piece
from shiyi.answering.wording.verbalization import capital, finish
from shiyi.linking.dictionary import content_words
from shiyi.linking.normalization import fold, has_cjk, space_words
from shiyi.model.answer import SafetyWarning, Verdict
from shiyi.model.iris import resource
from shiyi.ontology.lexicon import cues
from shiyi.ontology.serialization import JUDGED, VERDICTS
from shiyi.ontology.terms import SHIYI

# topics of a kind of question, the first ones best; a topic that the words name comes before them
_BY_ASK: Final[Mapping[str, tuple[str, ...]]] = {
    "may": ("suitability", "combination"), "why": ("reason", "toxicity"),
    "dose": ("amount", "timing"), "how": ("use", "preparation", "timing", "amount"),
    "compare": ("difference", "identity"), "evidence": ("effect",), "meaning": ("meaning",),
    "avoid": ("avoid", *JUDGED[:1], "combination"), "advice": ("eat", "effect"),
    "regulation": ("regulation",), "clarification": (*JUDGED, "identity", "difference"),
    "stop_medicine": ("combination", "suitability"), "constitution": ("meaning",),
    "list": ("eat", "meaning", "use"), "property": ("meaning",),
}  # fmt: skip
_LOOSE: Final = frozenset({*JUDGED, "avoid"})  # topics of which the words alone are no clear sign
_OF_ONE: Final = frozenset({"effect", "meaning", "regulation", "nature"})  # topics, of no pair
_BESIDE: Final = frozenset({"eat", "avoid", "doctor"})  # topics that open a list, and replace none
_PAIRED: Final = frozenset({"timing", "amount", "use", "reason"})  # a judgement of a pair tells too
_ALLOWING: Final = frozenset({"yes", "limited"})
_GRAVE: Final = frozenset({"no", "ask"})
_OF_THINGS: Final = ("property", "meaning", "regulation")  # asks for which nobody matters
_NUTRIENTS: Final = (SHIYI.ChemicalEntity, SHIYI.DSIngredient)
_INFANT: Final = resource("population-infant").value
_EXPLAINS: Final = cues("wanted")["explains"]  # a judgement that gives its reason
_OPENS: Final = cues("wanted")["opens-with-verdict"]
_LEADS: Final = {"yes": "lead_yes", "no": "lead_no", "limited": "lead_limited"}
_TO_CLINIC: Final = "end-pregnancy"  # a slot
_ASKED, _BY_KIND, _JUDGED, _OTHER = range(4)  # how a statement meets what is asked, the best first
# distances of what is near to a thing that is named; those of broader concepts go on from theirs
_JUDGED_AS, _BROADER, _SOURCE, _KIN, _NARROWER = 2, 3, 15, 20, 40
_MOST, _MOST_THINGS = 2, 3
# of a statement; of 84 questions that one answers, topics alone find it in 51, with words in 61
_POINTS: Final = (0.9, 0.5, 0.3, 0.0)  # by rank
_OF_PAIR, _OF_KIN, _WORD, _SHARE = 0.5, -0.8, 0.25, 1.0
_FURTHER: Final = 0.5  # of the points of a pair, for each further thing that is named
_MOST_WORDS, _FEWEST_WORDS = 4, 2  # shared words that count; words that a share is of
_LEAST: Final = (0.35, 1.2)  # points by words alone that answer; where a topic is asked for
_CONCLUDED: Final = {
    "no": "do_not_combine", "ask": "ask_first", "limited": "may_be_considered",
    "unknown": "ask_first", "yes": "may_be_considered",
}  # fmt: skip
_KINDS: Final = (  # of verdicts of an answer, the gravest first
    "emergency", "do_not_combine", "ask_first", "may_be_considered", "record", "not_on_record",
)  # fmt: skip
_SEVERITY: Final = {
    "no": "contraindicated", "ask": "caution", "do_not_combine": "contraindicated",
    "ask_first": "caution",
}  # fmt: skip
Senses = Sequence[tuple[str, ...]]  # of each thing that is named
Reach = dict[str, dict[int, int]]  # concept -> number of the thing that leads to it -> distance


@dataclass(frozen=True, slots=True)
class Guide:
    """A statement with its qualifiers, and how well it meets the question.

    Things of the question are numbered: of its subject, beside it, and all that it ``covers``.
    """

    fact: Fact
    topic: str
    about: tuple[str, ...]
    verdict: str
    origin: int
    beside: tuple[int, ...]
    distance: int
    covers: frozenset[int]
    rank: int = _OTHER
    points: float = 0.0
    ends: frozenset[str] = frozenset()

    def settles(self, finding: Finding) -> bool:
        """Return whether it speaks of what a finding joins, and judges it."""
        both = {finding.material, finding.against}
        return self.topic not in _OF_ONE and self.ends.issuperset(both)

    @property
    def allows(self) -> bool:
        """Return whether it lets something be had, perhaps within limits."""
        return self.verdict in _ALLOWING and self.topic != "effect"

    @property
    def is_of_pair(self) -> bool:
        """Return whether it judges its subject beside something else that is asked about."""
        return bool(self.about) and self.topic in JUDGED


def choose_guidance(context: AnswerContext, *, opened: bool = False) -> tuple[Guide, ...]:
    """Return the statements that answer, at most two, or three where several things are named.

    All that a statement is about has to be named or be so of the person. With ``opened`` what
    rests on no opened work is left out.
    """
    parsed = context.parsed
    conditions = parsed.frame.conditions
    contents = any(c.property == "hasNutrient" for c in conditions)
    ordered = parsed.frame.has_cue("most") or any(c.operator == "less" for c in conditions)
    ranked = contents and ordered and not parsed.frame.has_cue("of-products")
    listed = parsed.wants("list") or (contents and parsed.frame.has_cue("foods-asked"))
    terms = parsed.of_kind(context.facts, SHIYI.Rule)
    listed = listed and bool(parsed.groups or not terms)
    referred = parsed.is_of_child(under_one=True) and parsed.wants("advice") and parsed.ailments
    if parsed.is_feverish_child() or referred or _TO_CLINIC in parsed.slots:
        return ()
    if parsed.urgent or parsed.asks_of_unknown() or (listed and not ranked):
        return ()
    named = _list_things(parsed, context.facts)
    reach = _reach(context, named)
    topics, opposed = _topics(parsed), _find_opposed(context)
    guides = [
        _weigh(guide, _rank(guide, topics, parsed), context, named)
        for guide in _candidates(context, reach, len(named))
        if not _is_apart(guide, parsed)
        and not (opened and not context.evidences.is_opened(guide.fact.claim))
        and guide.fact.subject not in opposed
    ]
    if parsed.frame.wanted.form or (parsed.wants("list", "may") and not terms):
        # what a word means names nothing that serves it
        guides = [guide for guide in guides if guide.topic != "meaning"]
    if parsed.is_only_beyond_food():  # as when to see a doctor; not what it costs
        guides = [g for g in guides if g.rank == _ASKED and not parsed.frame.topics]
    if parsed.wants("why") and parsed.frame.root:  # the judgement was given before, not its reason
        words = context.verbalizer.words
        guides = [
            g
            for g in guides
            if g.topic in _BY_ASK["why"] or (g.is_of_pair and _EXPLAINS.search(words(g.fact)))
        ]
    effect = parsed.frame.has_cue("of-effect") or parsed.wants("evidence")
    asked = effect or any(guide.rank == _ASKED for guide in guides)
    least = _LEAST[bool(topics[0]) or parsed.wants("avoid", "advice")]
    near = [
        g
        for g in guides
        if g.rank != _OTHER or g.fact.subject in terms or (g.points >= least and not asked)
    ]
    guides = [g for g in near if not _is_overruled(context, g)]
    if listed:  # what has most of a nutrient: all that is set beside it has to be in a statement
        others = (c for c in conditions if c.property != "hasNutrient")
        beside = {value for c in others for value in c.value.split("|")[:1]}
        guides = [g for g in guides if g.topic == "content" and beside <= {*g.about}]
        guides = [g for g in guides if context.facts.is_a(g.fact.subject, *_NUTRIENTS)]
    order = {topic: place for place, topic in enumerate((*topics[0], *topics[1]))}
    guides.sort(key=lambda each: _order(each, order))
    chosen = _choose(guides, named, len(parsed.groups), topics[0])
    ends = {g: (i for i, near in reach.items() if not g.covers.isdisjoint(near)) for g in chosen}
    return tuple(replace(guide, ends=frozenset(found)) for guide, found in ends.items())


def _find_opposed(context: AnswerContext) -> frozenset[str]:
    """Return the states that nothing suits which has an effect that is wished for."""
    found = (context.facts.inverse(aim, SHIYI.hasEfficacy) for aim in context.parsed.aims)
    against = [{f.against for f in context.safety.conditional(e.subject)} for x in found for e in x]
    return frozenset(set.intersection(*against)) if against else frozenset()


def _is_overruled(context: AnswerContext, guide: Guide) -> bool:
    """Return whether a thing is allowed by a statement and contraindicated by something else."""
    if not guide.allows:
        return False
    question, near = context.parsed, context.facts.above
    group = question.groups[guide.origin] if guide.origin < len(question.groups) else ()
    against = (
        finding.against
        for sense in group
        for finding in context.safety.check(sense, question.person)
        if finding.severity == "contraindicated"
    )
    return any(guide.about and not {*near(iri)}.intersection(guide.about) for iri in against)


def _list_things(parsed: Question, facts: Facts) -> list[tuple[str, ...]]:
    """List the things of a question that guidance may be of, each with the senses of its name."""
    single = (
        *parsed.drugs, *parsed.ailments, *parsed.constitutions, *parsed.populations, *parsed.aims,
        *parsed.others, *(parsed.person.left_out if parsed.frame.has_cue("of-substitute") else ()),
    )  # fmt: skip
    stages = tuple(s for s in (*parsed.populations, *parsed.person.states) if s in CHILDREN)
    named = [*parsed.groups, *((iri,) for iri in dict.fromkeys(single) if iri not in stages)]
    named += [stages] if stages else []
    if parsed.wants("avoid"):  # what is taken counts whatever else is named
        named += [(drug,) for drug in parsed.person.drugs if (drug,) not in named]
    if not named and parsed.wants("avoid", "advice"):
        implied = {f.object for h in parsed.hazards for f in facts.of(h, SHIYI.judgedAs)}
        named = [(hazard,) for hazard in parsed.hazards if hazard not in implied]
    return named


def _reach(context: AnswerContext, named: Senses) -> Reach:
    """Return the concepts that are named or near, and those that are so of the person."""
    question, reach = context.parsed, defaultdict[str, dict[int, int]](dict)
    every = {each for senses in named for each in senses}
    states = (*question.person.states, *question.person.drugs, *question.person.allergies)
    own = [(state,) for state in states if state not in every]
    for origin, senses in enumerate((*named, *own)):
        for place, sense in enumerate(senses):
            for iri, distance in _neighbours(context, sense):
                known = reach[iri].get(origin)
                far = distance + bool(place)
                if senses[0] == _INFANT != iri:
                    far = _NARROWER  # what older children may have says nothing of an infant
                reach[iri][origin] = far if known is None else min(known, far)
    return reach


def _neighbours(context: AnswerContext, iri: str) -> Iterator[tuple[str, int]]:
    """Yield a concept and what is near to it, each with its distance."""
    facts = context.facts
    above = facts.above(iri)
    yield from zip(above, (0, *range(_BROADER, _BROADER + len(above))), strict=False)
    for near in above:
        for fact in facts.of(near, SHIYI.judgedAs):  # what an illness may have is not of its drug
            ill = facts.is_a(fact.object, *AILMENT)
            yield fact.object, _JUDGED_AS if ill else _BROADER
    if facts.is_a(iri, *AILMENT, SHIYI.Population, SHIYI.Drug):
        yield from ((narrower, _NARROWER) for narrower in facts.below(iri)[1:])
    else:
        far = _SOURCE if facts.is_a(iri, SHIYI.DSIngredient) else _KIN
        yield from ((sibling, far) for sibling in facts.siblings(iri))


def _candidates(context: AnswerContext, reach: Reach, named: int) -> Iterator[Guide]:
    """Yield each statement on what is named that is about nothing else than the question is."""
    reached = [iri for iri, origins in reach.items() if min(origins, default=named) < named]
    stated = {iri: context.facts.of(iri, SHIYI.guidance) for iri in reached}
    context.evidences.load(fact.claim for facts in stated.values() for fact in facts)
    for iri, facts in stated.items():
        mine = {origin: far for origin, far in reach[iri].items() if origin < named}
        for fact in facts:
            topic, verdict, about = context.evidences.guide(fact.claim)
            for origin, far in mine.items():
                beside = [
                    min((d, o) for o, d in near.items() if o != origin)
                    for each in about
                    if (near := reach.get(each, {})).keys() - {origin}
                ]
                if len(beside) == len(about):
                    distance = far + sum(d for d, _ in beside)
                    others = tuple(o for _, o in beside)
                    covers = _find_covered(reach, (iri, *about))
                    yield Guide(fact, topic, about, verdict, origin, others, distance, covers)


def _find_covered(reach: Reach, ends: Iterable[str]) -> frozenset[int]:
    """Return which things are near to some concepts, those that only imply one if none is."""
    near = [(o, d) for end in ends for o, d in reach[end].items()]
    return frozenset(o for o, d in near if d != _JUDGED_AS) or frozenset(o for o, _ in near)


def _topics(parsed: Question) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the topics that the words name, and those of the kind of question."""
    cues = [c.removeprefix("of-") for c in parsed.frame.wanted.cues if c.startswith("of-")]
    asks = dict.fromkeys((*parsed.asks, *(a.type for a in parsed.frame.asks if a.p >= _LIKELY)))
    kinds = [topic for ask in asks for topic in _BY_ASK.get(ask, ())]
    loose = [topic for topic in cues if topic in _LOOSE]
    # "how much sugar" asks for no amount to be taken, "how much sugar a day" does
    contents = "content" in cues and not parsed.frame.has_cue("per-day")
    other = "amount" if contents else "content" if "amount" in cues else ""
    clear = tuple(t for t in cues if t not in _LOOSE and t != other)
    if {"storage", "preparation"}.intersection(clear) and parsed.wants("may"):
        clear = tuple(dict.fromkeys((*clear, "toxicity")))  # whether it can be eaten so
    return clear, tuple(dict.fromkeys((*kinds, *loose)))


_LIKELY, _SURE = 0.3, 0.6  # probabilities of a kind of question from which its topics count


def _is_apart(guide: Guide, parsed: Question) -> bool:
    """Return whether a statement is of something else than what is asked about."""
    if guide.distance >= _NARROWER and guide.verdict not in _GRAVE:
        return True  # of a kind of what is asked about: that one may be had says too little
    kin = guide.topic in {"suitability", "meaning"} and _SOURCE <= guide.distance < _NARROWER
    if kin and (guide.distance >= _KIN or guide.verdict not in _GRAVE):
        return True  # what an extract may not be had with does not hold of the food
    if guide.topic == "toxicity" and len(parsed.groups) > 1 and not guide.about:
        return True  # it is asked what they do together
    of_record = guide.topic == "nature" or (guide.topic == "meaning" and parsed.wants("property"))
    return of_record and bool(parsed.frame.wanted.relations)


def _rank(guide: Guide, topics: tuple[tuple[str, ...], tuple[str, ...]], parsed: Question) -> int:
    """Return how the topic of a statement meets what is asked."""
    clear, kinds = topics
    judges = guide.is_of_pair and guide.topic != "effect"
    if guide.topic in clear or (judges and not _PAIRED.isdisjoint(clear)):
        return _ASKED
    if guide.about:
        judges = judges and not parsed.wants(*_OF_THINGS)
        return _BY_KIND if guide.topic in kinds else _JUDGED if judges else _OTHER
    bare = guide.topic == "meaning" and parsed.wants("property")  # as in "what is it"
    sure = (bare or parsed.frame.confidence >= _SURE) and not clear
    by_kind = sure and guide.topic in kinds and guide.topic not in _OF_PAIRS
    return _BY_KIND if by_kind else _OTHER


def _weigh(guide: Guide, rank: int, context: AnswerContext, named: Senses) -> Guide:
    """Return a statement with the points for its topic, what it is about, and its words."""
    question, verbalizer = context.parsed, context.verbalizer
    words = [[f.text for f in question.frame.focus if f.iri in senses] for senses in named]
    text, left = verbalizer.words(guide.fact), question.question
    for each in (word for o in guide.covers if o < len(named) for word in words[o]):
        left = left.replace(each, " ")
    asked = content_words(left) - content_words(verbalizer.name(guide.fact.subject))
    asked = frozenset(w for w in asked if not w.isdecimal() and not question.frame.is_repeated)
    things = len(named) if question.wants(*_OF_BOTH) else len(question.groups)
    spaced = fold(text) if has_cjk(text) else space_words(fold(text))
    spoken = {o for o, ws in enumerate(words[:things]) if any(_has_word(spaced, w) for w in ws)}
    missed = {*range(things)}.difference(guide.covers, spoken)
    own = (*question.person.states, *question.person.drugs, *question.person.allergies)
    unmet = question.wants("may") and {*own}.difference(*named) and max(guide.covers) < len(named)
    if (rank == _OTHER or guide.topic == "substitute") and (unmet or missed):
        return guide  # of one of the things alone
    shared = asked & content_words(text)
    together = len(guide.covers.intersection(range(len(named))) | spoken)
    joins = bool(guide.about) + _FURTHER * max(together - 2, 0)
    points = _POINTS[rank] + _OF_PAIR * joins * (rank <= _BY_KIND)
    points += _OF_KIN * (guide.distance >= _SOURCE and not guide.about) + _WORD * min(
        len(shared), _MOST_WORDS
    )
    points += _SHARE * len(shared) / max(_FEWEST_WORDS, len(asked))
    return replace(guide, rank=rank, points=points, covers=guide.covers | spoken)


def _has_word(text: str, word: str) -> bool:
    """Return whether a text has a word, of two characters or more."""
    whole = fold(word) if has_cjk(text) else space_words(fold(word))
    return len(whole.strip()) > 1 and whole in text


_OF_BOTH: Final = ("may", "avoid", "evidence")  # asks for which a state that is named matters
_OF_PAIRS: Final = ("difference", "identity", "combination")  # which say nothing of one thing alone


def _order(guide: Guide, topics: Mapping[str, int]) -> tuple[float, int, int, int, int, str]:
    place = topics.get(guide.topic, len(topics))
    gravity = VERDICTS.index(guide.verdict) if guide.verdict else len(VERDICTS)
    return -guide.points, guide.rank, guide.distance, place, gravity, guide.fact.claim


def _choose(
    found: Sequence[Guide], named: Senses, things: int, clear: tuple[str, ...]
) -> tuple[Guide, ...]:
    """Return the best statement with those that are as good, what is barred first."""
    if not found:
        return ()
    best = found[0]
    guides = (g for g in found if g.is_of_pair and g.topic != "effect")
    barred = next((g for g in guides if g.verdict in _GRAVE), best)
    first = barred.verdict == "no" or (best.topic != "effect" and barred.covers - best.covers)
    chosen_guides = [barred, best] if first and barred != best else [best]
    every = frozenset(range(len(named)))
    for guide in found:  # each tells of things together or of a topic that others leave open
        topics = {g.topic for g in chosen_guides}
        topics |= _PAIRED if any(len(g.covers) > 1 for g in chosen_guides) else set()
        asked = guide.topic in clear and guide.topic not in topics
        new = not any(guide.covers & every <= g.covers for g in chosen_guides)
        near = guide.about or guide.origin < things or best.origin >= things
        if guide.rank == best.rank and near and (asked or new):
            chosen_guides.append(guide)
    return tuple(chosen_guides[: _MOST_THINGS if things > 1 else _MOST])


def replaces(context: AnswerContext, chosen: Sequence[Guide]) -> bool:
    """Return whether statements are the whole answer: of all things asked about, none to list."""
    parsed = context.parsed
    open_ = parsed.wants_advice() or parsed.frame.leaning or parsed.asked_groups(context.facts)
    answered = any(g.topic not in _BESIDE or g.rank == _ASKED for g in chosen)
    covered = covers_things(context, chosen, drugs=parsed.wants("may"))
    ranked = parsed.wants("list", "advice") and {g.topic for g in chosen} == {"content"}
    return covered and answered and (parsed.is_only_beyond_food() or ranked or not open_)


def is_mild(context: AnswerContext, chosen: Sequence[Guide]) -> bool:
    """Return whether statements speak against nothing, so that what does comes before them."""
    judged = {g.verdict for g in chosen if g.topic != "effect"} - {""}
    if not judged and context.parsed.wants("may"):
        return True
    return any(g.verdict for g in chosen) and {g.verdict for g in chosen} <= {"", "yes", "unknown"}


def covers_things(context: AnswerContext, chosen: Sequence[Guide], *, drugs: bool = False) -> bool:
    """Return whether statements are of every food and the like, or medicine, that is named."""
    covered = frozenset[int]().union(*(guide.covers for guide in chosen))
    named = len(context.parsed.groups) + (len(context.parsed.drugs) if drugs else 0)
    return bool(chosen) and covered.issuperset(range(named))


def write_guidance(
    context: AnswerContext, chosen: Sequence[Guide], *, first: bool = False
) -> Contribution:
    """Write statements in one line, ``first`` with a verdict, and the warnings that follow."""
    part, verbalizer = Contribution(), context.verbalizer
    pieces: list[Piece] = []
    for guide in chosen:
        text = capital(finish(verbalizer.words(guide.fact), verbalizer.stop), verbalizer.language)
        text = _lead(context, guide, text) + text if first and not pieces else text
        pieces.append((verbalizer.space * bool(pieces) + text, (guide.fact,)))
        if guide.is_of_pair and guide.topic != "effect" and guide.verdict in _SEVERITY:
            alone = guide.topic == "suitability"
            severity = _SEVERITY[guide.verdict] if alone else "interaction"
            part.warnings.append(SafetyWarning(severity, text, (guide.fact.claim,)))
            part.note(guide.fact)
            part.shown.add(text)
    part.opening.item(*pieces)
    allergens = context.parsed.person.allergies
    if allergens and any(guide.topic in {"eat", "content"} for guide in chosen):
        part.opening.add(verbalizer.verbalize("g_allergy", y=verbalizer.names(allergens)))
    part.concluded = min(map(_conclusion, chosen), key=_KINDS.index, default="")
    return part


def _lead(context: AnswerContext, guide: Guide, text: str) -> str:
    """Return the verdict of a statement of what is asked, where leave is asked for."""
    frame = context.parsed.frame
    leave = context.parsed.wants("may") and frame.has_cue("permission") and guide.is_of_pair
    exact = not guide.distance and guide.rank != _ASKED and frame.polarity == "positive"
    other = guide.topic == "effect" or frame.has_cue("harm-asked") or _OPENS.search(text.lower())
    if other or not (leave and exact):
        return ""
    key = _LEADS.get(guide.verdict, "")
    return context.verbalizer.verbalize(key) if key else ""


def _conclusion(guide: Guide) -> str:
    """Return what a statement comes down to, as a verdict of an answer."""
    if guide.topic not in JUDGED:
        return "record"
    kind = _CONCLUDED[guide.verdict]
    return kind if guide.topic != "effect" or kind == "may_be_considered" else "record"


def judge(context: AnswerContext, part: Contribution, composed: ComposedAnswer) -> Verdict:
    """Return the graver one of the verdict of the safety check and that of the guidance."""
    guided = {c for c, fact in part.facts.items() if fact.predicate == SHIYI.guidance}
    warnings = [w for w in part.warnings if not guided.intersection(w.claims)]
    alone = replace(part, warnings=warnings)
    verdict = conclude(context.parsed, alone, composed, context.evidences)
    if not part.concluded:
        return verdict
    beside = warnings or verdict.kind == "emergency" or part.recommendations
    if beside and _KINDS.index(verdict.kind) <= _KINDS.index(part.concluded):
        return verdict
    facts = (f for line in part.opening.lines for f in line.facts)
    guiding = {f.claim for f in facts if f.predicate == SHIYI.guidance}
    stating = (s.text for s in composed.sentences if guiding.intersection(s.claims))
    severity = _SEVERITY.get(part.concluded, "")
    return Verdict(part.concluded, next(stating, verdict.text), severity)
