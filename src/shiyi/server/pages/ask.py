"""The question page: an answer as safe Markdown with citations and paths."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache as once
from functools import partial
from html import escape, unescape
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from flask import Response, current_app, render_template, request, stream_with_context, url_for
from markupsafe import Markup
from werkzeug.datastructures import MultiDict

from shiyi.answering.conversation import Turn
from shiyi.answering.knowledge.severity import WARNINGS
from shiyi.answering.pipeline import AskRequest
from shiyi.answering.sections.pivots import Pivots
from shiyi.answering.wording.verbalization import rank_of_tier
from shiyi.errors import ShiyiError
from shiyi.model.answer import Answer, Citation, SafetyWarning
from shiyi.model.claim import EvidenceKind
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode
from shiyi.server.api.requests import (
    Profile,
    answer_turn,
    find_pivots,
    parse_request,
    parse_shared_question,
    profile_values,
    read_form,
    read_question,
)
from shiyi.server.http.page_cache import PageCache
from shiyi.server.http.problems import problem_of
from shiyi.server.i18n import Catalogue, catalogue, choose_language
from shiyi.server.site.site import Site
from shiyi.server.views.graph import Drawing, answer_graph
from shiyi.server.views.links import href
from shiyi.server.views.reader import Reader, Thing

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_PERSON: Final = (
    "age", "sex", "pregnant", "lactating", "medicines", "allergies", "conditions", "constitution",
    "avoids",
)  # fmt: skip
_MAX_DROPPED: Final = 50
_HERE: Final = "<!-- the answer -->"  # in the template


def answer_page(site: Site, cache: PageCache) -> Response:
    """Answer the question of a form: the head of the page at once, then the answer."""
    asked, form = read_question(site), read_form()
    dropped_fields = read_dropped_fields(form.getlist("drop"))
    shared = parse_shared_question(site, asked)

    def frame() -> str:
        return render_template("ask.html", question=asked.question, form=form)

    page = _cached_part(cache, (shared, "ask.html", request.full_path), form, frame)
    head, _, tail = page.partition(_HERE)

    def parts() -> Iterator[str]:
        yield head
        try:
            turn = answer_turn(site, asked, cache, shared, dropped=dropped_fields)
            pivots = partial(find_pivots, site, asked) if form.get("pivots") else None
            yield answer_part(turn, cache, form, "ask_answer.html", pivots, shared)
        except ShiyiError as fault:  # the status is sent; the page still says what went wrong
            current_app.logger.error("%s: %s", type(fault).__name__, fault)
            again = request.full_path if request.method == "GET" else request.path
            yield render_template("ask_fault.html", fault=problem_of(fault), again=again)
        yield tail

    response = Response(stream_with_context(parts()), content_type="text/html; charset=utf-8")
    response.headers["X-Accel-Buffering"] = "no"  # a proxy must not buffer the head
    if request.method == "POST" or is_personal(form):
        response.headers["Cache-Control"] = "no-store"
    return response


def is_personal(form: Mapping[str, str]) -> bool:
    """Return whether a form tells of a person: a profile, a reply, or what came before."""
    return any(form.get(key) for key in (*_PERSON, "context", "reply"))


def _as_json(form: MultiDict[str, str], answer: Answer) -> str:
    """Return the body of ``POST /api/ask`` that asks the same."""
    profile = parse_request(Profile, profile_values(form), strict=False).to_value().to_json()
    body: dict[str, object] = {"question": answer.question, "method": answer.method}
    body |= {key: form[key] for key in ("school", "overlay") if form.get(key)}
    body |= {"profile": profile} if profile else {}
    body |= {"context": json.loads(form["context"])} if form.get("context") else {}
    return json.dumps(body, ensure_ascii=False)


def answer_part(
    turn: Turn,
    cache: PageCache,
    form: MultiDict[str, str],
    template: str = "ask_main.html",
    pivots: Callable[[], Pivots] | None = None,
    shared: AskRequest | None = None,
) -> str:
    """Show an answer, as the main part of a page; what came before travels in it.

    ``pivots`` finds what would change it, where that was asked for. What is shown of a ``shared``
    question is made once for each day and version of the store.
    """
    today = datetime.now(UTC).date().isoformat()

    def render() -> str:
        answer = turn.answer
        reader = cache.reader(answer.language)
        paths = Catalogue.load(answer.language)("ask.paths")
        view = answer_view(answer, reader, catalogue()("ask.citation"), paths)
        context = json.dumps(turn.context.to_json(), ensure_ascii=False, separators=(",", ":"))
        chosen = {k: v for k, v in _fields(form).items() if k != "pivots"}
        asked = urlencode(chosen | {"q": answer.question})
        return render_template(
            template,
            view=view,
            answer=answer,
            question=answer.question,
            form=form,
            pivots=pivots() if pivots else None,
            json_address="" if is_personal(form) else f"{url_for('api.answer_json')}?{asked}",
            pivots_address="" if is_personal(form) else f"/ask?{asked}&pivots=1#pivots",
            json_body=_as_json(form, answer),
            context=context,
            earlier=turn.context.questions[:-1],
            entries=turn.context.profile.entries(),
            today=today,
        )

    return _cached_part(cache, (shared, template, today), form, render)


def _cached_part(
    cache: PageCache,
    name: tuple[AskRequest | None, *tuple[str, ...]],
    form: MultiDict[str, str],
    make: Callable[[], str],
) -> str:
    """Return a part of a page, from the cache where the question is shared and no person's."""
    if name[0] is None or is_personal(form):
        return make()
    return cache.text((*name, choose_language(), *_fields(form).items()), make)


def _fields(form: Mapping[str, str]) -> dict[str, str]:
    """Return what a form chooses beside the question and the person."""
    names = ("method", "k", "lang", "evidence", "school", "overlay", "pivots")
    return {key: form[key] for key in names if form.get(key)}


def read_dropped_fields(values: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Read what the person no longer wants remembered: fields of the profile and their values.

    >>> read_dropped_fields(["avoids:pork", "nonsense"])
    frozenset({('avoids', 'pork')})
    """
    pairs = (each.partition(":") for each in islice(values, _MAX_DROPPED))
    return frozenset((key, value) for key, result, value in pairs if result)


_TAGS = frozenset(
    {
        "p", "br", "strong", "em", "ul", "ol", "li", "a", "code", "blockquote", "hr", "h2", "h3",
        "h4", "table", "thead", "tbody", "tr", "th", "td", "pre",
    }
)  # fmt: skip
_HEADING = re.compile(r"(?=<h[234]>)")
_ITEM = re.compile(r"<li>(.*?)</li>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_CITE = re.compile(r'<a class="cite"[^>]*>\d+</a>')
_NUMBER = re.compile(r'<a class="cite"[^>]*>(\d+)</a>')
_PARAGRAPH = re.compile(r".+?(?:</p>|\Z)", re.DOTALL)
_PIECE = re.compile(r"(<[^>]*>)")
_MARK = re.compile(r"\[(\d{1,3})\]")


@once
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")


def render_html(markdown: str, citations: dict[int, str], label: str = "citation") -> Markup:
    """Return safe HTML in which ``[n]`` leads to citation ``n``, if there is one.

    >>> str(render_html("**Eat** <script>x</script> [1]", {})).strip()
    '<p><strong>Eat</strong> &lt;script&gt;x&lt;/script&gt; [1]</p>'
    >>> str(render_html("[1]", {1: "goji · is · warm"})).count('href="#citation-1"')
    1
    """
    import nh3

    html = nh3.clean(
        _parser().render(markdown),
        tags=set(_TAGS),
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener nofollow",
    )
    html = html.replace(f'href="{ID}', 'href="/page/')

    def chip(found: re.Match[str]) -> str:
        number = int(found[1])
        if number not in citations:
            return found[0]
        return (
            f'<a class="cite" href="#citation-{number}" title="{escape(citations[number])}" '
            f'aria-label="{escape(label)} {number}: {escape(citations[number])}">{number}</a>'
        )

    pieces = _PIECE.split(html)
    # every other piece is a tag; marks are looked for in the text alone
    return Markup("".join(p if i % 2 else _MARK.sub(chip, p) for i, p in enumerate(pieces)))  # noqa: S704 - cleaned by nh3 above


@dataclass(frozen=True, slots=True)
class Parts:
    """An answer in parts: opening, paths, and the other sections."""

    opening: Markup
    paths: Markup
    rest: Markup


def split_parts(html: Markup, shown: Sequence[str], paths: str = "") -> Parts:
    """Split an answer at its headings; drop sections that only repeat ``shown``.

    ``paths`` is the heading of the section that goes with the graph.

    >>> split_parts(Markup("<p>a</p><h3>b</h3><blockquote><p>⚠ c</p></blockquote>"), ["c"]).rest
    Markup('')
    >>> split_parts(Markup("<p>a</p><h3>P</h3><p>x</p><h3>b</h3>"), [], "P").paths
    Markup('<p>x</p>')
    """
    opening, *sections = _HEADING.split(str(html))
    texts = {_bare(text) for text in shown}
    others, along = [], []
    for section in (each for each in sections if not _repeats(each, texts)):
        heading, _, body = section.partition("</h3>")
        if paths and _bare(heading) == _bare(paths):
            along.append(body)
        else:
            others.append(section)
    # parts of what rendered() cleaned
    return Parts(Markup(opening), Markup("".join(along)), Markup("".join(others)))  # noqa: S704


def _repeats(section: str, texts: set[str]) -> bool:
    if (items := _ITEM.findall(_CITE.sub("", section))) and "<blockquote>" not in section:
        return {_bare(item) for item in items} <= texts
    heading, quote, body = section.partition("<blockquote>")
    if not quote or "<p>" in heading or body.rstrip().partition("</blockquote>")[2]:
        return False
    pieces = [_bare(piece) for piece in _CITE.sub("", body).split("⚠")]
    return {piece for piece in pieces if piece} <= texts


def _bare(text: str) -> str:
    return "".join(unescape(_TAG.sub("", text)).split()).casefold().rstrip(".。")


_NOTHING: Final = Markup()
_NEXT: Final = 3  # questions offered
_CITED: Final = """CONSTRUCT {{ ?thing ?property ?value }} WHERE {{
  VALUES ?claim {{ {claims} }}
  ?claim <https://w3id.org/shiyi/vocab#evidence>? ?thing . ?thing ?property ?value
}}"""
_SHORT: Final = {"zh": 40, "en": 90}  # characters of the sentence of a band


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text that rests on claims, with the numbers of its citations."""

    kind: str
    text: str
    href: str
    numbers: tuple[int, ...]


_KINDS: Final = tuple(each.value for each in EvidenceKind)  # the surest first


@dataclass(frozen=True, slots=True)
class Band:
    """The verdict as its band shows it, with three facts: severity, evidence, sources opened."""

    kind: str
    severity: str = ""
    known: str = ""  # the surest kind of evidence behind the gravest warning, else of all
    tier: str = ""  # the highest of what was opened for it
    opened: int = 0
    sources: int = 0
    sentence: Markup = _NOTHING  # the first of the answer, where it is short


def build_band(answer: Answer, sentence: Markup = _NOTHING) -> Band:
    """Return the verdict of an answer, and what it rests on."""
    gravest = min(answer.warnings, key=_gravity, default=None)
    telling = set(gravest.claims) if gravest else set[str]()
    cited = [each for each in answer.citations if each.claim in telling] or answer.citations
    evidence = [e for each in cited for e in each.evidence]
    sources: dict[str, bool] = {}
    for e in (e for each in answer.citations for e in each.evidence):
        sources[e.source] = sources.get(e.source, False) or e.is_opened
    return Band(
        answer.verdict.kind,
        answer.verdict.severity or (gravest.severity if gravest else ""),
        min((e.kind for e in evidence if e.kind), key=_KINDS.index, default=""),
        min((e.tier for e in evidence if e.is_opened), key=rank_of_tier, default=""),
        sum(sources.values()),
        len(sources),
        sentence,
    )


def cut_lead(opening: Markup, language: str) -> tuple[Markup, Markup]:
    """Split the first paragraph off where it is short enough for the band.

    >>> cut_lead(Markup("<p>Ask first.</p><p>Why</p>"), "en")
    (Markup('Ask first.'), Markup('<p>Why</p>'))
    """
    first, result, rest = str(opening).strip().removeprefix("<p>").partition("</p>")
    short = len(unescape(_TAG.sub("", _CITE.sub("", first)))) <= _SHORT.get(language, 90)
    if not result or not short or "<p>" in first:
        return Markup(), opening
    return Markup(first), Markup(rest.strip())  # noqa: S704 - parts of what rendered() cleaned


def split_repeated(
    opening: Markup, warned: frozenset[int], asked: Collection[str] = ()
) -> tuple[Markup, Markup]:
    """Part paragraphs that cite only what the warnings cite from the others; omit what is asked.

    >>> split_repeated(Markup('<p>a<a class="cite" href="#c">1</a></p><p>b</p>'), frozenset({1}))[0]
    Markup('<p>b</p>')
    """
    shown: list[str] = []
    again: list[str] = []
    for text in _PARAGRAPH.findall(str(opening)):
        if _bare(text) in asked:  # it has a field of its own
            continue
        numbers = {int(number) for number in _NUMBER.findall(text)}
        (again if numbers and numbers <= warned else shown).append(text)
    return Markup("".join(shown)), Markup("".join(again))  # noqa: S704 - parts of what rendered() cleaned


def _gravity(warning: SafetyWarning) -> int:
    known = warning.severity in WARNINGS
    return WARNINGS.index(warning.severity) if known else len(WARNINGS)


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer with everything its page shows."""

    answer: Answer
    verdict: Band
    parts: Parts
    warnings: tuple[CitedText, ...]
    recommendations: tuple[CitedText, ...]
    named: Callable[[str], Thing]
    drawing: Drawing
    milliseconds: int
    cited: str = ""  # a query for the claims cited and their evidence, as RDF
    next: tuple[str, ...] = ()  # what a reader may ask about next


def spo(citation: Citation) -> str:
    """Return a claim as one line of text."""
    no = " ✗" if citation.polarity == "negative" else ""
    parts = (citation.subject.label, citation.predicate.label + no, citation.object.label)
    return " · ".join(parts)


def answer_view(answer: Answer, reader: Reader, label: str, paths: str = "") -> AnswerView:
    """Prepare an answer for its page, labels in the answer's language."""
    numbers = {each.claim: each.number for each in answer.citations}

    def numbers_of(claims: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted({numbers[claim] for claim in claims if claim in numbers}))

    ranked = sorted(answer.warnings, key=_gravity)
    cited = {c.number: next((e.source for e in c.evidence), spo(c)) for c in answer.citations}
    html = render_html(answer.text, cited, label)
    listed = [*(each.text for each in ranked), *answer.follow_up, *answer.missing]
    parts = split_parts(html, listed, paths)
    sentence, opening = (
        (Markup(), parts.opening) if answer.abstained else cut_lead(parts.opening, answer.language)
    )
    warned = frozenset(number for each in ranked for number in numbers_of(each.claims))
    opening, again = split_repeated(opening, warned, {*map(_bare, answer.follow_up)})
    return AnswerView(
        answer,
        build_band(answer, sentence),
        replace(parts, opening=opening, rest=again + parts.rest),
        tuple(CitedText(each.severity, each.text, "", numbers_of(each.claims)) for each in ranked),
        tuple(
            CitedText(each.kind, each.label, href(each.iri), numbers_of(each.claims))
            for each in answer.recommendations
        ),
        lambda iri: reader.thing(NamedNode(iri)),
        answer_graph(answer, reader),
        round(sum(ms for _, ms in answer.trace.milliseconds)),
        _CITED.format(claims=" ".join(f"<{iri}>" for iri in numbers)) if numbers else "",
        _next(answer),
    )


def _next(answer: Answer) -> tuple[str, ...]:
    """Return a recommendation, else a warning, that the question does not name."""
    named = [recommendation.label for recommendation in answer.recommendations]
    named += [citation.subject.label for citation in answer.citations] if answer.warnings else []
    asked = answer.question.casefold()
    fresh = (each for each in dict.fromkeys(named) if each.casefold() not in asked)
    return tuple(fresh)[:_NEXT]
