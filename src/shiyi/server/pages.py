"""Pages for people who ask and people who browse; each works without JavaScript."""

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from flask import Blueprint, render_template, request, url_for
from werkzeug.datastructures import MultiDict

from shiyi.answering.conversation import Context, Turn
from shiyi.answering.telling import Listener
from shiyi.errors import FormatError
from shiyi.model.names import VOCAB
from shiyi.model.profile import Profile
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import RDF, SKOS
from shiyi.server.answer_view import answer_view
from shiyi.server.counting import CLASSES
from shiyi.server.facets import FACETED, facets, narrowed
from shiyi.server.inputs import (
    context_field,
    count_field,
    language_field,
    method_field,
    profile_of_form,
    text_field,
)  # fmt: skip
from shiyi.server.kept import Kept
from shiyi.server.reading import Reader, Thing
from shiyi.server.site import Site
from shiyi.server.wording import Catalogue, catalogue, chosen_language

_FORM: Final = (
    "age", "sex", "pregnant", "lactating", "medicines", "allergies", "conditions", "constitution",
    "method", "k", "lang",
)  # fmt: skip
_EXAMPLES: Final = (1, 2, 3, 4, 5)


def pages(site: Site, kept: Kept) -> Blueprint:
    """Serve ``/``, ``/ask``, ``/browse`` and ``/concept-search``."""
    routes = Blueprint("pages", __name__)

    @routes.get("/")
    def home() -> str:
        return render_template("home.html", examples=examples())

    @routes.get("/ask")
    def ask() -> str:
        if "q" not in request.args:
            return render_template("home.html", examples=examples(), asking=True)
        return answer_page(asked(site), kept, request.args)

    @routes.get("/browse")
    def browse() -> str:
        name, counts = request.args.get("class", ""), class_counts(site)
        if name and name not in counts:
            raise FormatError("class", name, list(counts))

        def made() -> str:
            reader = kept.reader(chosen_language())
            chosen = facets(reader, request.args) if name in FACETED else ()
            left = narrowed(reader, name, chosen)
            tree, total = class_tree(reader, name) if name else ([], 0)
            return render_template(
                "browse.html", counts=counts, chosen=name, tree=tree, total=total, facets=chosen,
                narrowed=left,
            )  # fmt: skip

        return kept.page(made)

    @routes.get("/concept-search")
    def search() -> str:
        words = request.args.get("q", "")
        found = (
            site.complete(text_field("q", words, 200), chosen_language(), 40)
            if words.strip() else ()
        )  # fmt: skip
        return render_template("search.html", words=words, found=found)

    return routes


def answer_page(turn: Turn, kept: Kept, form: Mapping[str, str], template: str = "ask.html") -> str:
    """Show an answer as a page, or its main part alone; what came before travels in the page."""
    answer = turn.answer
    reader = kept.reader(answer.language)
    paths = Catalogue.load(answer.language)("ask.paths")
    view = answer_view(answer, reader, catalogue()("ask.citation"), paths)
    said = {key: form[key] for key in _FORM if form.get(key)} | {"q": answer.question}
    before = form.get("context", "")
    said |= {"context": before} if before else {}
    context = json.dumps(turn.context.to_json(), ensure_ascii=False, separators=(",", ":"))
    address = url_for("api.answer_json") + "?" + urlencode(said)
    return render_template(
        template, view=view, answer=answer, form=form, json_address=address, context=context,
        earlier=turn.context.questions[:-1],
    )  # fmt: skip


def asked(site: Site) -> Turn:
    """Answer the question of the query string, or the replies to what was asked back."""
    args = request.args
    limit = site.settings.answer.max_question_chars
    return turn_of(
        site,
        text_field("q", question_and_replies(site, args), limit),
        context_field(args.get("context")),
        method=method_field(args.get("method"), site.methods),
        language=language_field(args.get("lang")),
        k=count_field("k", args.get("k"), 1, 100),
        profile=profile_of_form(args),
    )


def question_and_replies(site: Site, args: MultiDict[str, str]) -> str | None:
    """Give the replies alone where the context holds the question, else both, else the question."""
    said = args.get("q")
    replies = [each for each in args.getlist("reply") if each.strip()]
    if not replies:
        return said
    continues = args.get("context") and site.converse is not None
    return "\n".join(replies if continues else [str(said), *replies])


def turn_of(
    site: Site, question: str, context: Context | None, *, method: str, language: str | None,
    k: int | None, profile: Profile, listener: Listener | None = None,
) -> Turn:  # fmt: skip
    """Answer a question, in the light of what came before where a conversation is offered."""
    if site.converse is not None:
        return site.converse(
            question, context or Context(), method=method, language=language, k=k, profile=profile,
            listener=listener,
        )  # fmt: skip
    answer = site.ask(question, method=method, language=language, k=k, profile=profile)
    return Turn(answer, Context((question,), answer.follow_up, profile))


def examples() -> list[str]:
    """List the example questions in the reader's language."""
    words = catalogue()
    return [words(f"example.{n}") for n in _EXAMPLES]


def class_counts(site: Site) -> dict[str, int]:
    """Count the concepts of each class that has any."""
    return {name: site.counts[name] for name in CLASSES if name in site.counts}


Tree = list[tuple[Thing, "Tree"]]


def class_tree(reader: Reader, name: str) -> tuple[Tree, int]:
    """Give the concepts of a class as a forest along ``skos:broader``, and how many there are."""
    kind = NamedNode(VOCAB + name)
    members = {
        quad.subject
        for quad in reader.store.match(None, RDF.type, kind, DefaultGraph())
        if isinstance(quad.subject, NamedNode)
    }
    children: dict[NamedNode, list[NamedNode]] = {}
    roots: list[NamedNode] = []
    for node in members:
        above = [p for p in reader.values(node, SKOS.broader) if p in members and p != node]
        parents = [parent for parent in above if isinstance(parent, NamedNode)]
        for parent in parents:
            children.setdefault(parent, []).append(node)
        if not parents:
            roots.append(node)

    def grown(node: NamedNode, above: frozenset[NamedNode]) -> tuple[Thing, Tree]:
        below = [n for n in children.get(node, ()) if n not in above]
        return reader.thing(node), planted(below, above | {node})

    def planted(nodes: list[NamedNode], above: frozenset[NamedNode]) -> Tree:
        return [grown(node, above) for node in sorted(nodes, key=sort_key)]

    def sort_key(node: NamedNode) -> tuple[str, str]:
        return text(next(reader.values(node, SKOS.notation), None)), reader.thing(node).label

    return planted(roots, frozenset()), len(members)
