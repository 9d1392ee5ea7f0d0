"""Comparison, dishes, constitutions and statistics."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from flask import Blueprint, Response, make_response, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from shiyi.answering.sections.cabinet import MOST as MOST_THINGS
from shiyi.answering.sections.cabinet import SEVERITIES, CombinationReport, check_things
from shiyi.errors import FormatError, UsageError
from shiyi.model.answer import Mention
from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import NamedNode, Term
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.api.requests import Profile, parse_request, profile_values, read_form
from shiyi.server.http.messages import text_field
from shiyi.server.http.page_cache import PageCache, has_bare_address
from shiyi.server.i18n import Catalogue, catalogue, choose_language
from shiyi.server.site.counts import CLASSES, ClaimDistribution, load_spread
from shiyi.server.site.site import Site
from shiyi.server.views.concept import THEMES, ConceptView, Group, concept_view, is_concept
from shiyi.server.views.reader import ACCEPTED, DERIVED, Reader, Thing

Bars = tuple[tuple[str, int], ...]
_RELATIONS = 15


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts as labelled bars."""

    confidence: Bars
    tiers: Bars
    kinds: Bars
    relations: Bars


def statistics(spread: ClaimDistribution, reader: Reader, words: Catalogue) -> Statistics:
    """Return counts with labels in the language of a reader."""
    first = next((n for n, count in enumerate(spread.confidence) if count), 0)
    most = Counter(spread.relations).most_common(_RELATIONS)
    return Statistics(
        tuple(
            (f"{n / 10:.1f}–{(n + 1) / 10:.1f}", spread.confidence[n])
            for n in range(first, len(spread.confidence))
        ),
        _sort((words.get(f"tier.{name}", name), count) for name, count in spread.tiers.items()),
        _sort((words.get(f"kind.{name}", name), count) for name, count in spread.kinds.items()),
        _sort((reader.thing(NamedNode(name)).label, count) for name, count in most),
    )


def classes(reader: Reader, counts: Mapping[str, int]) -> Bars:
    """Name the largest classes of concepts."""
    return _sort(
        (reader.thing(NamedNode(VOCAB + name)).label, counts[name])
        for name in CLASSES
        if name in counts
    )[:_RELATIONS]


def _sort(bars: Iterable[tuple[str, int]]) -> Bars:
    return tuple(sorted(bars, key=lambda row: -row[1]))


MOST: Final = 4
_ROWS: Final = {
    "safety": THEMES["safety"], "nature": THEMES["nature"],
    "benefit": (
        "hasEfficacy", "indicatedFor", "isEffectiveFor", "studiedFor", "relieves", "primaryEffect",
    ),
    "composition": ("hasActiveConstituent", "hasNutrient", "hasIngredient", "usesPart"),
    "standing": ("regulatoryStatus", "hasTherapeuticClass"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One relation; a cell for each thing compared, None where nothing is recorded."""

    heading: str
    cells: tuple[Group | None, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The things compared, and their rows by theme."""

    views: tuple[ConceptView, ...]
    bands: tuple[tuple[str, tuple[Row, ...]], ...]


def parse_names(reader: Reader, ids: str) -> list[NamedNode]:
    """Parse ``ids``, local names separated by commas; raise UsageError for an unknown or fifth."""
    names = list(dict.fromkeys(name.strip() for name in ids.split(",") if name.strip()))
    if len(names) > MOST:
        raise UsageError(f"ids names {len(names)} things; at most {MOST} can be compared")
    nodes = []
    for name in names:
        fits = all(c.isalnum() or c in "-_~." for c in name) and name.isascii()
        node = NamedNode(ID + name) if fits else None
        if node is None or not is_concept(reader, node):
            raise UsageError(f"ids names no concept with {name[:60]!r}")
        nodes.append(node)
    return nodes


def comparison(reader: Reader, nodes: list[NamedNode]) -> Comparison:
    """Return a table that compares ``nodes``."""
    views = tuple(concept_view(reader, node) for node in nodes)
    results = [
        {(group.predicate, group.forward): group for _, groups in view.themes for group in groups}
        for view in views
    ]
    bands = []
    for theme, names in _ROWS.items():
        rows = []
        for key in ((name, True) for name in names):
            cells = tuple(groups.get(key) for groups in results)
            if heads := [group.heading for group in cells if group is not None]:
                rows.append(Row(heads[0], cells))
        if rows:
            bands.append((theme, tuple(rows)))
    return Comparison(views, tuple(bands))


SHOWN: Final = 60
_WORDS: Final = re.compile(r"[,，、;；\s]+")
_AGAINST: Final = (SHIYI.contraindicatedIn, SHIYI.cautionIn)


@dataclass(frozen=True, slots=True)
class DishQuery:
    """Ingredients to use and to leave out, as concepts; unknown words are reported."""

    use: tuple[NamedNode, ...] = ()
    avoid: tuple[NamedNode, ...] = ()
    constitution: NamedNode | None = None
    season: NamedNode | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DishCard:
    """A matching dish: its ingredients, whom it suits, and its cautions."""

    dish: Thing
    ingredients: tuple[tuple[Thing, bool], ...]  # true where it was asked for
    suits: tuple[Thing, ...]
    mind: tuple[Thing, ...]
    matched: int
    recommended: bool


def link_words(
    link: Callable[[str], Sequence[Mention]], words: str
) -> tuple[tuple[NamedNode, ...], tuple[str, ...]]:
    """Return the concepts of ``words``, separated by commas, and the unknown words."""
    nodes, unknown = [], []
    for word in (part for part in _WORDS.split(words) if part):
        results = [mention.iri for mention in link(word) if mention.iri]
        if results:
            nodes.append(NamedNode(results[0]))
        else:
            unknown.append(word)
    return tuple(dict.fromkeys(nodes)), tuple(unknown)


@dataclass(frozen=True, slots=True)
class DishView:
    """A dish of the base with what is in it and when it is eaten."""

    dish: NamedNode
    parts: frozenset[NamedNode]
    seasons: frozenset[NamedNode]


def list_dishes(reader: Reader) -> tuple[DishView, ...]:
    """List every dish of the base."""
    quads = reader.store.match(None, RDF.type, SHIYI.Dish, ACCEPTED)
    dishes = {quad.subject for quad in quads if isinstance(quad.subject, NamedNode)}
    return tuple(
        DishView(
            dish,
            _objects(reader, dish, SHIYI.hasIngredient),
            _objects(reader, dish, SHIYI.suitableSeason),
        )
        for dish in dishes
    )


def match_dishes(
    reader: Reader, wish: DishQuery, courses: Iterable[DishView]
) -> tuple[list[DishCard], int]:
    """Return the matching dishes, those with most of the ingredients first, and their number."""
    use, avoid = set(wish.use), set(wish.avoid)
    if wish.constitution:
        avoid |= _unsuitable_things(reader, wish.constitution)
    suited = _objects(reader, wish.constitution, SHIYI.suitableFood)
    fit = [
        view
        for view in courses
        if not (
            (use and not view.parts & use)
            or view.parts & avoid
            or view.dish in avoid
            or (wish.season and wish.season not in view.seasons)
        )
    ]

    def rank(each: DishView) -> tuple[int, bool, str]:
        return -len(each.parts & use), each.dish not in suited, reader.thing(each.dish).label

    cards = [
        _card(reader, view.dish, view.parts, wish, len(view.parts & use), view.dish in suited)
        for view in sorted(fit, key=rank)[:SHOWN]
    ]
    return cards, len(fit)


def _card(
    reader: Reader,
    dish: NamedNode,
    parts: frozenset[NamedNode],
    wish: DishQuery,
    matched: int,
    recommended: bool,
) -> DishCard:
    ingredients = [(reader.thing(part), part in wish.use) for part in parts]
    against = {node for relation in _AGAINST for node in _objects(reader, dish, relation)}
    against |= {
        quad.object
        for quad in reader.store.match(dish, SHIYI.derivedCaution, None, DERIVED)
        if isinstance(quad.object, NamedNode)
    }
    fits = _objects(reader, dish, SHIYI.indicatedFor) | _objects(reader, dish, SHIYI.relieves)
    return DishCard(
        reader.thing(dish),
        tuple(sorted(ingredients, key=lambda row: (not row[1], row[0].label))),
        _things(reader, fits),
        _things(reader, against),
        matched,
        recommended,
    )


def _unsuitable_things(reader: Reader, constitution: NamedNode) -> frozenset[NamedNode]:
    """Return what is recorded as unsuitable for this constitution, asserted or derived."""
    nodes = set(_objects(reader, constitution, SHIYI.unsuitableFood))
    quads = [
        *(q for node in _AGAINST for q in reader.store.match(None, node, constitution, ACCEPTED)),
        *reader.store.match(None, SHIYI.derivedCaution, constitution, DERIVED),
    ]
    nodes |= {quad.subject for quad in quads if isinstance(quad.subject, NamedNode)}
    return frozenset(nodes)


def _objects(
    reader: Reader, subject: NamedNode | None, relation: NamedNode
) -> frozenset[NamedNode]:
    if subject is None:
        return frozenset()
    return frozenset(n for n in reader.values(subject, relation) if isinstance(n, NamedNode))


def _things(reader: Reader, nodes: Iterable[NamedNode]) -> tuple[Thing, ...]:
    return tuple(sorted((reader.thing(node) for node in nodes), key=lambda thing: thing.label))


ITEMS: Final = 5  # signs asked for each constitution; the standard's questionnaire has more
YES, TENDENCY = 40.0, 30.0  # of 100; ZYYXH/T 157-2009
_STEPS: Final = frozenset("12345")


@dataclass(frozen=True, slots=True)
class ConstitutionSigns:
    """The signs of one constitution, the most specific first."""

    constitution: Thing
    signs: tuple[Thing, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """A transformed score from 0 to 100, and what it may mean: candidate, tendency or none."""

    constitution: Thing
    value: float
    verdict: str


def transform_score(answers: list[int]) -> float:
    """Transform raw answers of 1 to 5: (sum - n) / (4 n) x 100.

    >>> transform_score([1, 1]), transform_score([5, 5]), transform_score([3, 3])
    (0.0, 100.0, 50.0)
    """
    return (sum(answers) - len(answers)) / (len(answers) * 4) * 100


def items(reader: Reader) -> tuple[ConstitutionSigns, ...]:
    """Choose the signs of each biased constitution, the rarest among constitutions first."""
    signs: dict[NamedNode, list[Term]] = {}
    for quad in reader.store.match(None, RDF.type, SHIYI.Constitution, ACCEPTED):
        if isinstance(quad.subject, NamedNode) and not quad.subject.value.endswith("-balanced"):
            terms = reader.values(quad.subject, SHIYI.hasManifestation)
            signs[quad.subject] = [term for term in terms if not _for_a_doctor(reader.thing(term))]
    shared = [term for sign in signs.values() for term in sign]
    made = []
    for node, found in sorted(signs.items(), key=lambda row: row[0].value):
        chosen = sorted(found, key=lambda term: (shared.count(term), reader.thing(term).iri))
        made.append(ConstitutionSigns(reader.thing(node), tuple(map(reader.thing, chosen[:ITEMS]))))
    return tuple(each for each in made if each.signs)


def scores(signs: tuple[ConstitutionSigns, ...], form: Mapping[str, str]) -> tuple[Score, ...]:
    """Score what was answered, highest first; a constitution with an unanswered sign has no score.

    Raises UsageError for an answer that is not 1 to 5.
    """
    made_scores = []
    for group in signs:
        given = [form.get(field(sign), "") for sign in group.signs]
        if wrong := [each for each in given if each and each not in _STEPS]:
            raise UsageError(f"an answer is 1 to 5, not {wrong[0][:20]!r}")
        if all(given):
            value = transform_score([int(each) for each in given])
            made_scores.append(Score(group.constitution, value, _verdict(value)))
    return tuple(sorted(made_scores, key=lambda score: -score.value))


def field(sign: Thing) -> str:
    """Name the form field of a sign."""
    return sign.iri.removeprefix(ID)


def _for_a_doctor(sign: Thing) -> bool:
    """Return whether a sign is of pulse or tongue, which laypeople cannot judge."""
    return bool(set("脉舌苔") & set(sign.label + sign.other))


def _verdict(value: float) -> str:
    return "candidate" if value >= YES else "tendency" if value >= TENDENCY else "unlikely"


_LIMIT = 400  # characters of a list of foods


def explore_pages(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/compare``, ``/dishes``, ``/constitution`` and ``/statistics``."""
    routes = Blueprint("exploring", __name__)

    @routes.get("/compare")
    def compare() -> str | BaseResponse:
        ids = request.args.get("ids", "")
        reader = cache.reader()
        nodes = parse_names(reader, ids)
        if added := request.args.get("add", "").strip():
            found = site.complete(text_field("add", added, 200), choose_language(), 1)
            names = [*ids.split(","), *(each.iri.removeprefix(ID) for each in found)]
            whole = ",".join(dict.fromkeys(name for name in names if name))
            return redirect("/compare?ids=" + quote(whole, safe=",-"), code=303)

        def render() -> str:
            return render_template(
                "compare.html",
                seen=comparison(reader, nodes),
                most=MOST,
                names=[node.value.removeprefix(ID) for node in nodes],
            )

        return cache.response(render)

    @routes.get("/dishes")
    def dishes() -> BaseResponse:
        reader = cache.reader()
        choices = {
            "constitution": _choices(reader, SHIYI.Constitution),
            "season": _choices(reader, SHIYI.Season),
        }
        wish = _dish_query(site, choices)
        asked = any(request.args.get(key, "").strip() for key in ("with", "constitution", "season"))

        def render() -> str:
            courses = cache.value("menu", lambda: list_dishes(reader)) if asked else ()
            cards, total = match_dishes(reader, wish, courses)
            return render_template(
                "dishes.html",
                found=cards,
                total=total,
                asked=asked,
                wish=wish,
                choices=choices,
                form=request.args,
            )

        return cache.response(render)

    @routes.route("/constitution", methods=["GET", "POST"])  # signs are posted, never addressed
    def constitution() -> str:
        asked = items(cache.reader())
        form = {key: value for key, value in read_form().items() if key != "lang"}
        return render_template(
            "constitution.html",
            asked=asked,
            found=scores(asked, form),
            form=form,
            field=field,
            rule=ID + "rule-constitution-scoring",
        )

    @routes.get("/statistics")
    def numbers() -> str | Response:
        spread_of_claims = cache.figures("spread", lambda: claim_distribution(site))

        def render() -> str:
            reader = cache.reader()
            seen = statistics(spread_of_claims, reader, catalogue())
            largest = classes(reader, site.counts)
            return render_template("statistics.html", seen=seen, classes=largest)

        # a page of earlier counts is not stored
        return cache.response(render) if cache.is_current("spread") else render()

    return routes


def claim_distribution(site: Site) -> ClaimDistribution:
    """Return the stored distribution, else compute it."""
    base = site.base
    distribution = load_spread(base) if base else None
    return distribution or ClaimDistribution.of(site.store)


def _choices(reader: Reader, kind: NamedNode) -> dict[str, Thing]:
    quads = reader.store.match(None, RDF.type, kind, ACCEPTED)
    things = sorted((reader.thing(quad.subject) for quad in quads), key=lambda each: each.iri)
    return {thing.iri.rpartition("/")[2]: thing for thing in things}


def _dish_query(site: Site, choices: dict[str, dict[str, Thing]]) -> DishQuery:
    nodes: dict[str, NamedNode | None] = {}
    for name, things in choices.items():
        value = request.args.get(name, "")
        if value and value not in things:
            raise FormatError(name, value, list(things))
        nodes[name] = NamedNode(things[value].iri) if value else None
    read = {}
    for name in ("with", "without"):
        words = request.args.get(name, "")
        read[name] = (
            link_words(site.link, text_field(name, words, _LIMIT)) if words.strip() else ((), ())
        )
    return DishQuery(
        read["with"][0],
        read["without"][0],
        nodes["constitution"],
        nodes["season"],
        (*read["with"][1], *read["without"][1]),
    )


_NAMES_END: Final = re.compile(r"[\n\r,，、;；]+")
_MOST_CHARS: Final = 2500  # of the list of things
_SIGNS: Final = dict(zip(SEVERITIES, ("✕", "!!", "!", "?", "·", "–"), strict=True))


def check_pages(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/check``: the things travel in the body of a form, never in an address."""
    routes = Blueprint("checking", __name__)

    @routes.route("/check", methods=["GET", "POST"])
    def check() -> Response:
        things = read_things() if request.method == "POST" else []
        fault = ""
        report = CombinationReport()
        if things:
            person = parse_request(Profile, profile_values(request.form), site, strict=False)
            try:
                report = check_things(site.runtime, things, person.to_value(), choose_language())
            except UsageError as wrong:  # too few or too many: shown beside the form
                fault = str(wrong)

        def render() -> str:
            return render_template(
                "check.html",
                found=report,
                things=things,
                form=request.form,
                fault=fault,
                severities=SEVERITIES,
                signs=_SIGNS,
                most=MOST_THINGS,
            )

        page = cache.page(render) if has_bare_address() else render()
        response = make_response(page, 400 if fault else 200)
        response.headers["Cache-Control"] = "no-store"
        return response

    return routes


def read_things() -> list[str]:
    """Return the names of the form, one a line; ``replace`` puts a name for a misspelt one."""
    text = request.form.get("things", "")
    lines = _NAMES_END.split(text_field("things", text, _MOST_CHARS)) if text.strip() else []
    names = [line.strip() for line in (*lines, *request.form.getlist("thing"))]
    wrong, _, right = request.form.get("replace", "").partition("\t")
    chosen = dict.fromkeys(right if right and name == wrong else name for name in names)
    return [name for name in chosen if name]
