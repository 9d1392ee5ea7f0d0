"""Foods that may be suggested, fitted to season and pattern."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.answering.recommendation.additive_effects import find_shared
from shiyi.answering.retrieval.paths import Retrieval
from shiyi.answering.safety import Finding, Safety
from shiyi.answering.understanding.differentiation import Differential, effect_of
from shiyi.answering.understanding.question import Question
from shiyi.model.iris import resource
from shiyi.model.path import Path, diverse
from shiyi.ontology.terms import SHIYI

DRINKS: Final = tuple(
    resource(f"method-{name}").value for name in ("infusion", "decoction-tea", "juice")
)
_BESIDE: Final = 0.5  # Shiyi's: what a way from a broader symptom, or by an effect's aim, weighs
_MOST_NEAR, _MOST_JUDGED, _ENOUGH = 400, 150, 12  # Shiyi's: more are never shown
_OPPOSITE: Final = {"cold": "cooling", "hot": "warming"}
_MENDS: Final = {"cold": "warming", "hot": "cooling"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A food or dish, why it was found, and what speaks against it.

    ``branch`` is empty where it may be suggested as things stand, ``cold`` or ``hot`` where only
    if the trouble proves to be of cold or heat.
    """

    iri: str
    paths: tuple[Path, ...]
    fits: tuple[Fact, ...] = ()  # season and form asked for
    effect: str = ""
    effect_facts: tuple[Fact, ...] = ()
    vetoes: tuple[Finding, ...] = ()
    reservations: tuple[Finding, ...] = ()
    branch: str = ""
    beside: frozenset[str] = frozenset()  # broader symptoms, not named in the question

    @property
    def support(self) -> float:
        """Add up the scores of the best paths, one from each concept through each middle."""
        best: dict[tuple[str, str], float] = {}
        for path in self.paths:
            key = (path.hops[0].start, path.hops[-1].start)
            best[key] = max(best.get(key, 0.0), self._worth(path))
        return round(sum(best.values()), 9)

    def is_for(self, ailments: Collection[str]) -> bool:
        """Return whether it is recorded for one of some complaints itself, without a pattern."""
        return any(len(p.hops) == 1 and p.hops[0].start in ailments for p in self.paths)

    def best_path(self) -> Path:
        """Return the path that counts most here."""
        worths = list(map(self._worth, self.paths))
        most = max(worths)
        best = [path for path, worth in zip(self.paths, worths, strict=True) if worth == most]
        return min(best, key=_plainest) if len(best) > 1 else best[0]

    def along(self, path: Path) -> "Candidate":
        """Return the candidate with the paths alone that go on as ``path`` from any concept."""
        same = (each for each in self.paths if each.entities[1:] == path.entities[1:])
        return replace(self, paths=tuple(same))

    def _worth(self, path: Path) -> float:
        half = path.hops[0].start in self.beside or _by_effect(path)
        return path.score * (_BESIDE if half else 1.0)

    def reason(self) -> tuple[Path, ...]:
        """Return the ways that explain it best, one from each concept of the question."""
        ways: dict[tuple[str, ...], dict[str, Path]] = {}
        for path in sorted(self.paths, key=_plainest):
            ways.setdefault(path.entities[1:-1], {}).setdefault(path.entities[0], path)
        if not ways:
            return ()
        best = min(ways.items(), key=lambda way: (self._rank(way[1]), way[0]))[1]
        paths = {start: path for start, path in best.items() if start not in self.beside}
        return tuple((paths or best).values())

    def _rank(self, way: Mapping[str, Path]) -> tuple[bool, int, int, bool, float]:
        asked = sum(start not in self.beside for start in way)
        hops = min(len(path.hops) for path in way.values())
        related = any(p.hops[0].predicate == SHIYI.relatedConstitution.value for p in way.values())
        surest = max(path.product for path in way.values())
        return all(map(_by_effect, way.values())), -asked, hops, not related, -surest


def _by_effect(path: Path) -> bool:
    """Return whether a way rests on an effect named for its aim: one against cough is for cough."""
    return path.hops[0].predicate == SHIYI.directedAt.value


def _plainest(path: Path) -> tuple[object, ...]:
    """Order ways of one kind: a relation to a constitution first, then the surest."""
    return path.hops[0].predicate != SHIYI.relatedConstitution.value, -path.product, path.entities


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates, sorted: open ones, ones that wait for cold or heat, and vetoed ones."""

    open: tuple[Candidate, ...] = ()
    waiting: tuple[Candidate, ...] = ()
    vetoed: tuple[Candidate, ...] = ()
    paths: tuple[Path, ...] = ()  # of the open ones: ranked, no more than k of them
    group_missed: bool = False  # nothing is of the group of foods that was asked for
    loosened: bool = False  # nothing fits the condition and the season: only the season was used
    form_missed: tuple[str, ...] = ()  # the form asked for, where nothing of it may be suggested


def choose(
    parsed: Question,
    retrieved: Retrieval,
    differential: Differential,
    facts: Facts,
    safety: Safety,
    k: int,
) -> Candidates:
    """Sort what the paths reached by what speaks against it; the best ``k`` paths stay open."""
    reached: dict[str, list[Path]] = {}
    for path in _drop_unsupported(parsed, retrieved.paths, safety):
        reached.setdefault(path.hops[-1].end, []).append(path)
    of_group = _of_asked_group(reached, parsed, facts, safety)
    ends = of_group or reached
    if parsed.needs_plain_food():  # and no herbs
        vetoed = () if parsed.is_of_child() else [i for i in ends if safety.check(i, parsed.person)]
        plain = {iri for iri in ends if iri in vetoed or _is_plain_food(iri, facts)}
        ends = {iri: paths for iri, paths in ends.items() if iri in plain}
    pool, extra = _pool(ends, parsed, facts)
    fitting = [*(c for c in pool if c.fits), *extra]
    wanted = _MENDS.get(differential.leaning, "") if differential.words else ""
    place = {c.iri: _place(wanted, c) for c in (*pool, *extra)}

    def judged_of(those: list[Candidate]) -> list[Candidate]:
        ordered = sorted(those, key=lambda each: place[each.iri])
        return _check_candidates(ordered, parsed, differential, facts, safety)

    judged = judged_of(fitting or pool)
    if parsed.ailments:  # what only fits the season is no answer to a complaint
        judged = [c for c in judged if c.paths or not _is_open(c)]
    if not any(_is_open(c) for c in judged):  # fall back to dishes out of season
        further = (filter(_is_open, judged_of(c)) for c in _relax_wants(pool, parsed, facts))
        judged += next((some for each in further if (some := list(each))), [])
    ranked = sorted(judged, key=lambda each: place[each.iri])
    opened, paths = _best_paths([c for c in ranked if _is_open(c)], k)
    return Candidates(
        tuple(opened),
        tuple(c for c in ranked if not c.vetoes and (c.branch or c.reservations)),
        tuple(c for c in ranked if c.vetoes),
        tuple(paths),
        bool(parsed.asked_groups(facts)) and not of_group,
        loosened=bool(parsed.seasons) and not any(c.fits for c in pool),
        form_missed=() if parsed.seasons or any(c.fits for c in opened) else _methods(parsed),
    )


def _is_plain_food(iri: str, facts: Facts) -> bool:
    """Return whether a thing is a food or a dish of foods alone, no herb that is eaten too."""
    parts = [f.object for f in facts.of(iri, SHIYI.hasIngredient)] or [iri]
    return all(
        facts.classes.get(part) == "Food" or bool(facts.of(part, SHIYI.hasFoodGroup))
        for part in parts
    )


def _best_paths(opened: Iterable[Candidate], k: int) -> tuple[list[Candidate], list[Path]]:
    """Keep the best path to each candidate, ``k`` diverse ones in all, and what they lead to."""
    listed = list(opened)
    first = {c.iri: c.best_path() for c in listed if c.paths}
    paths = diverse(first.values(), k, per_end=1)
    reached = {path.hops[-1].end: path for path in paths}
    found = [
        c.along(reached[c.iri]) if c.paths else c for c in listed if c.iri in reached or not c.paths
    ]
    return found, paths


def _of_asked_group(
    ends: Mapping[str, list[Path]], parsed: Question, facts: Facts, safety: Safety
) -> dict[str, list[Path]]:
    """Keep what is of the group of foods asked for; nothing where none of that may be suggested."""
    kin = {low for group in parsed.asked_groups(facts) for low in facts.below(group)}
    members = {iri: paths for iri, paths in ends.items() if kin and _is_of(iri, kin, facts)}
    return members if any(not safety.check(iri, parsed.person) for iri in members) else {}


def _pool(
    ends: Mapping[str, list[Path]], parsed: Question, facts: Facts
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the likeliest candidates on the paths, and those that only fit season and form."""
    if not (parsed.seasons or _methods(parsed)):
        return [_candidate(iri, ends[iri], parsed, facts) for iri in _likeliest(ends)], []
    others = (iri for iri in _fitting_only(parsed, facts) if iri not in ends)
    return (
        [_candidate(iri, ends[iri], parsed, facts) for iri in _select(ends, parsed, facts)],
        [_candidate(iri, [], parsed, facts) for iri in others],
    )


def _place(name: str, candidate: Candidate) -> tuple[object, ...]:
    """Order candidates: what fits, what has the effect wanted, what is worth most."""
    return not candidate.fits, bool(name) and candidate.effect != name, *_worth(candidate)


def _relax_wants(
    pool: Iterable[Candidate], parsed: Question, facts: Facts
) -> Iterator[list[Candidate]]:
    """Yield what may stand in where nothing fits: of the form first, then of another."""
    methods, rest = set(_methods(parsed)), [c for c in pool if not c.fits]
    yield [c for c in rest if not methods or _ingredients_of(c.iri, facts) & methods]
    if not parsed.seasons:
        yield rest


def _is_of(iri: str, groups: Collection[str], facts: Facts) -> bool:
    return any(
        f.object in groups
        for broader in facts.above(iri)
        for f in facts.of(broader, SHIYI.hasFoodGroup)
    )


def _select(ends: Mapping[str, list[Path]], parsed: Question, facts: Facts) -> list[str]:
    """Select the likeliest of those that fit season and form, and of the others."""
    fitting = {iri for iri in ends if _fits(iri, parsed, facts)}
    parts = ({i: ends[i] for i in ends if (i in fitting) == fits} for fits in (True, False))
    return [iri for part in parts for iri in _likeliest(part)]


def _fits(iri: str, parsed: Question, facts: Facts) -> tuple[Fact, ...]:
    """List the claims that fit a thing to season and form; none where one of them is missing."""
    seasons, methods = set(parsed.seasons), set(_methods(parsed))
    if not (seasons or methods):
        return ()
    in_season = [f for f in facts.of(iri, SHIYI.suitableSeason) if f.object in seasons]
    made_so = [f for f in facts.of(iri, SHIYI.preparedBy) if f.object in methods]
    whole = (bool(in_season) or not seasons) and (bool(made_so) or not methods)
    return (*in_season, *made_so) if whole else ()


def _likeliest(ends: Mapping[str, list[Path]]) -> list[str]:
    """Return the ends of the best-scored paths, since a hub has thousands."""
    if len(ends) <= _MOST_NEAR:
        return list(ends)
    surest = {iri: max(path.score for path in paths) for iri, paths in ends.items()}
    return sorted(ends, key=lambda iri: (-surest[iri], iri))[:_MOST_NEAR]


def _check_candidates(
    ordered: list[Candidate],
    parsed: Question,
    differential: Differential,
    facts: Facts,
    safety: Safety,
) -> list[Candidate]:
    """Check the likeliest; further ones only while too few of them may be suggested."""
    candidates: list[Candidate] = []
    free, beside = 0, parsed.intake
    for candidate in ordered:
        if len(candidates) >= _MOST_JUDGED and free >= _ENOUGH:
            break
        if beside and _adds_up(candidate.iri, beside, safety):
            continue
        candidates.append(_judge(candidate, parsed, differential, facts, safety))
        free += _is_open(candidates[-1])
    return candidates


def _adds_up(iri: str, beside: Iterable[tuple[str, ...]], safety: Safety) -> bool:
    """Return whether a thing adds to an effect of what is taken beside it."""
    adding = find_shared(safety, [(iri,), *beside])
    return any(iri in record.end for effects in adding for record in effects.records)


def _drop_unsupported(parsed: Question, paths: Iterable[Path], safety: Safety) -> list[Path]:
    """Drop effects rated insufficient or absent; supplements need a rated effect if any has."""
    effect = SHIYI.isEffectiveFor.value  # the only property with evidence rated so
    supported_paths = [
        p
        for p in paths
        if p.hops[-1].predicate != effect or safety.evidences.supports(p.hops[-1].claim)
    ]
    if not parsed.wants_supplement:
        return supported_paths
    rated_paths = [p for p in supported_paths if p.hops[-1].predicate == effect]
    return rated_paths or supported_paths


def _ingredients_of(iri: str, facts: Facts) -> set[str]:
    return {f.object for f in facts.of(iri, SHIYI.preparedBy)}


def _is_open(candidate: Candidate) -> bool:
    return not (candidate.vetoes or candidate.branch or candidate.reservations)


def _worth(candidate: Candidate) -> tuple[object, ...]:
    best = max([path.score for path in candidate.paths], default=0.0)
    return -candidate.support, -best, candidate.iri


def _methods(parsed: Question) -> tuple[str, ...]:
    return parsed.methods or (DRINKS if parsed.frame.has_cue("drink") else ())


def _candidate(iri: str, paths: list[Path], parsed: Question, facts: Facts) -> Candidate:
    fits = _fits(iri, parsed, facts)
    effect, because = effect_of(facts, iri)
    named = {*parsed.ailments, *parsed.person.states, *parsed.populations}
    beside = frozenset([path.hops[0].start for path in paths]) - named
    return Candidate(iri, tuple(paths), fits, effect, because, beside=beside)


def seasonal(parsed: Question, facts: Facts) -> frozenset[str]:
    """List the things that fit the season and the form asked for; none where neither was."""
    seasons, methods = parsed.seasons, _methods(parsed)
    fitting = {f.subject for s in seasons for f in facts.inverse(s, SHIYI.suitableSeason)}
    made = {f.subject for m in methods for f in facts.inverse(m, SHIYI.preparedBy)}
    return frozenset(fitting & made if seasons and methods else fitting | made)


def _fitting_only(parsed: Question, facts: Facts) -> Iterable[str]:
    """List dishes of the season (and form) asked for, with any benefit."""
    methods = set(_methods(parsed))
    for season in parsed.seasons:
        for fact in facts.inverse(season, SHIYI.suitableSeason):
            made = not methods or _ingredients_of(fact.subject, facts) & methods
            if facts.is_a(fact.subject, SHIYI.Dish) and made:
                yield fact.subject


def _judge(
    candidate: Candidate, parsed: Question, differential: Differential, facts: Facts, safety: Safety
) -> Candidate:
    vetoes = (*safety.check(candidate.iri, parsed.person), *safety.poisons(candidate.iri))
    waiting, branch = _find_objections(candidate, differential, safety)
    if branch and not candidate.effect and candidate.is_for(parsed.ailments):
        branch = ""  # what is mild itself: a possible pattern never outweighs a record for it
        waiting = tuple(f for f in waiting if f.severity == "contraindicated")
    return replace(candidate, vetoes=vetoes, reservations=waiting, branch=branch)


def _find_objections(
    candidate: Candidate, differential: Differential, safety: Safety
) -> tuple[tuple[Finding, ...], str]:
    """Find what speaks against a candidate in a pattern that is only possible so far."""
    if differential.leaning:
        wrong = _OPPOSITE[differential.leaning]
        same = [p.iri for p in differential.of_nature(differential.leaning)]
        findings = safety.against_states(candidate.iri, same)
        return (
            (findings, "")
            if findings or candidate.effect != wrong
            else ((), "hot" if differential.leaning == "cold" else "cold")
        )
    findings = safety.against_states(candidate.iri, [p.iri for p in differential.patterns])
    if not differential.is_undecided:
        return findings, ""
    if candidate.effect == "cooling":
        return findings, "hot"
    if candidate.effect == "warming":
        return findings, "cold"
    natures = {p.nature for p in differential.patterns for f in findings if f.against == p.iri}
    return findings, "hot" if natures == {"cold"} else "cold" if natures == {"hot"} else ""
