"""Dishes on record that fit what is at hand, a constitution and a season, without what is refused."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shiyi.model.mention import Mention
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.reading import ACCEPTED, DERIVED, Reader, Thing

SHOWN: Final = 60
_WORDS: Final = re.compile(r"[,，、;；\s]+")
_AGAINST: Final = (SHIYI.contraindicatedIn, SHIYI.cautionIn)


@dataclass(frozen=True, slots=True)
class Wish:
    """What to use and what to leave out, as concepts; words that name none are kept to be told."""

    use: tuple[NamedNode, ...] = ()
    avoid: tuple[NamedNode, ...] = ()
    constitution: NamedNode | None = None
    season: NamedNode | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DishCard:
    """A dish that fits: what is in it, whom it is said to suit, what to mind."""

    dish: Thing
    ingredients: tuple[tuple[Thing, bool], ...]  # true where it was asked for
    suits: tuple[Thing, ...]
    mind: tuple[Thing, ...]
    matched: int
    recommended: bool


def linked(
    link: Callable[[str], Sequence[Mention]], words: str
) -> tuple[tuple[NamedNode, ...], tuple[str, ...]]:
    """Give the concepts that ``words``, separated by commas, name; and the words that name none."""
    nodes, unknown = [], []
    for word in (each for each in _WORDS.split(words) if each):
        found = [mention.iri for mention in link(word) if mention.iri]
        if found:
            nodes.append(NamedNode(found[0]))
        else:
            unknown.append(word)
    return tuple(dict.fromkeys(nodes)), tuple(unknown)


@dataclass(frozen=True, slots=True)
class Course:
    """A dish of the base with what is in it and when it is eaten."""

    dish: NamedNode
    parts: frozenset[NamedNode]
    seasons: frozenset[NamedNode]


def menu(reader: Reader) -> tuple[Course, ...]:
    """List every dish of the base."""
    found = reader.store.match(None, RDF.type, SHIYI.Dish, ACCEPTED)
    dishes = {quad.subject for quad in found if isinstance(quad.subject, NamedNode)}
    return tuple(
        Course(
            dish, _objects(reader, dish, SHIYI.hasIngredient),
            _objects(reader, dish, SHIYI.suitableSeason),
        )
        for dish in dishes
    )  # fmt: skip


def fitting(
    reader: Reader, wish: Wish, courses: Iterable[Course], most: int = SHOWN
) -> tuple[list[DishCard], int]:
    """Give the dishes that fit, those that use most of what is at hand first; and how many there are."""
    use, avoid = set(wish.use), set(wish.avoid)
    if wish.constitution:
        avoid |= _refused(reader, wish.constitution)
    suited = _objects(reader, wish.constitution, SHIYI.suitableFood)
    fit = [
        each for each in courses
        if not (
            (use and not each.parts & use) or each.parts & avoid or each.dish in avoid
            or (wish.season and wish.season not in each.seasons)
        )
    ]  # fmt: skip

    def rank(each: Course) -> tuple[int, bool, str]:
        return -len(each.parts & use), each.dish not in suited, reader.thing(each.dish).label

    cards = [
        _card(reader, each.dish, each.parts, wish, len(each.parts & use), each.dish in suited)
        for each in sorted(fit, key=rank)[:most]
    ]
    return cards, len(fit)


def _card(
    reader: Reader,
    dish: NamedNode,
    parts: frozenset[NamedNode],
    wish: Wish,
    matched: int,
    recommended: bool,
) -> DishCard:
    ingredients = [(reader.thing(part), part in wish.use) for part in parts]
    against = {node for relation in _AGAINST for node in _objects(reader, dish, relation)}
    against |= {
        quad.object for quad in reader.store.match(dish, SHIYI.derivedCaution, None, DERIVED)
        if isinstance(quad.object, NamedNode)
    }  # fmt: skip
    fits = _objects(reader, dish, SHIYI.indicatedFor) | _objects(reader, dish, SHIYI.relieves)
    return DishCard(
        reader.thing(dish),
        tuple(sorted(ingredients, key=lambda each: (not each[1], each[0].label))),
        _things(reader, fits), _things(reader, against), matched, recommended,
    )  # fmt: skip


def _refused(reader: Reader, constitution: NamedNode) -> frozenset[NamedNode]:
    """Collect what is recorded as not for this constitution, said or derived."""
    found = set(_objects(reader, constitution, SHIYI.unsuitableFood))
    quads = [
        *(q for each in _AGAINST for q in reader.store.match(None, each, constitution, ACCEPTED)),
        *reader.store.match(None, SHIYI.derivedCaution, constitution, DERIVED),
    ]
    found |= {quad.subject for quad in quads if isinstance(quad.subject, NamedNode)}
    return frozenset(found)


def _objects(
    reader: Reader, subject: NamedNode | None, relation: NamedNode
) -> frozenset[NamedNode]:
    if subject is None:
        return frozenset()
    return frozenset(n for n in reader.values(subject, relation) if isinstance(n, NamedNode))


def _things(reader: Reader, nodes: Iterable[NamedNode]) -> tuple[Thing, ...]:
    return tuple(sorted((reader.thing(node) for node in nodes), key=lambda each: each.label))
