"""Which materials a question names: by a name that may mean several, as tea, wine or congee itself."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from shiyi.answering.clauses import blanked
from shiyi.answering.facts import Facts
from shiyi.answering.forms import WINE, is_wine
from shiyi.answering.heard import Heard, Linker
from shiyi.answering.roles import MATERIAL
from shiyi.linking.normalise import fold
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_TEA: Final = resource("substance-cha").value
_RICE: Final = resource("dish-plain-congee").value
_CONGEE: Final = re.compile(  # congee itself is of rice; 什么粥 asks for any
    r"[喝吃煮](?:点|些|碗)?(?:白|稀)?粥(?=[吗么呢行好可会能,，。？?]|$)|\b(?:have|eat|plain|rice|some) (?:congee|rice porridge)\b(?! with)"
)
_TEA_ITSELF: Final = re.compile(
    r"(?:^|[吃喝用饮和与跟同把加点说做买])茶(?=[和与跟同吗能可适不会的，,。？?]|一起|$)"
    r"|\btea (?:and|with|together|interact\w*|suitable)\b"
    r"|\b(?:and|with|mix|add|combine|have|drink|is|in|of|use|take|buying) tea\b"
)
_FORM: Final = re.compile(
    r"^(?:口服|补充?|oral )|(?:补充剂|制剂|剂|片|丸|胶囊|药|盐)$"
    r"| (?:preparations?|salts?|pills?|tablets?|capsules?|supplements?|medicines?)$"
)
_PAIR: Final = 2


def material_groups(
    question: str, heard: Heard, asked_about: Iterable[Mention],
    sold_as: Mapping[str, Sequence[str]], facts: Facts,
) -> tuple[tuple[str, ...], ...]:  # fmt: skip
    """List the materials named, those that one name may mean together, each once.

    ``sold_as`` says what preparations are made of (:func:`preparations`).
    """
    groups = [sold_as.get(m.iri) or _materials(m, facts) for m in asked_about]
    themselves = (
        (_TEA, _names_tea(_without_drinks(question, heard.linked, facts))),
        (WINE, any(is_wine(word) for word, _ in heard.made)),
        (_RICE, bool(_CONGEE.search(fold(without_names(question, heard.linked, facts))))),
    )
    groups += [[iri] for iri, is_named in themselves if is_named and iri in facts.labels]
    return _each_once(groups)


def preparations(drugs: Sequence[Mention], linker: Linker, facts: Facts) -> dict[str, list[str]]:
    """Tell what a preparation taken beside a medicine is made of: "iron pills" are iron."""
    found: dict[str, list[str]] = {}
    if len({m.iri for m in drugs}) < _PAIR:
        return found
    for mention in drugs:
        bare = _FORM.sub("", fold(mention.text)).strip()
        hits = linker.link(bare) if bare and bare != fold(mention.text) else ()
        whole = [m.iri for m in hits if len(m.text) == len(bare)]
        if len(whole) == 1 and facts.is_a(whole[0], *MATERIAL):
            found[mention.iri] = whole
    return found


def without_names(question: str, linked: Sequence[Mention], facts: Facts) -> str:
    """Blank out dishes and materials: a name such as 药膳 is no wish for one."""
    return blanked(question, ((m.start, m.end) for m in linked if facts.is_a(m.iri, *MATERIAL)))


def _without_drinks(question: str, linked: Sequence[Mention], facts: Facts) -> str:
    """Blank out drinks made of what is named before: "liquorice tea" is no tea."""
    materials = [m for m in linked if facts.is_a(m.iri, *MATERIAL)]
    drinks = [(m.start, m.end) for m in materials if m.iri != _TEA and " tea" in m.text.lower()]
    behind = [(m.end + 1, m.end + len(" tea")) for m in materials
              if question[m.end :].lower().startswith(" tea")]  # fmt: skip
    return blanked(question, (*drinks, *behind))


def _names_tea(question: str) -> bool:
    """Tell whether tea itself is asked about; the word alone is only the form of a drink.

    >>> _names_tea("人参和茶能一起吃吗"), _names_tea("失眠喝什么茶")
    (True, False)
    """
    return _TEA_ITSELF.search(fold(question)) is not None


def _materials(mention: Mention, facts: Facts) -> list[str]:
    """List the materials a mention may mean: several where it names a species or is ambiguous.

    "Ginkgo biloba" is the seed, the leaf and the extract; each is checked.
    """
    also = [iri for iri in mention.alternatives if facts.is_a(iri, *MATERIAL)]
    if facts.is_a(mention.iri, SHIYI.ChemicalEntity) and not facts.is_a(mention.iri, SHIYI.Drug):
        return also[:4]  # what is sold under the name of its constituent
    if not facts.is_a(mention.iri, *MATERIAL, SHIYI.Organism):
        return []
    species = [f.object for f in facts.of(mention.iri, SHIYI.derivedFromOrganism)]
    species += [mention.iri] if facts.is_a(mention.iri, SHIYI.Organism) else []
    called = fold(mention.text)
    named = [s for s in species if called in map(fold, facts.labels.get(s, {}).values())]
    parts = [f.subject for s in named for f in facts.into(s, SHIYI.derivedFromOrganism)]
    own = [mention.iri] if facts.is_a(mention.iri, *MATERIAL) else []
    return list(dict.fromkeys([*own, *also, *parts]))[:4]


def _each_once(found: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Keep each material once, with those that the same name may mean."""
    seen: set[str] = set()
    groups = []
    for meant in found:
        new = tuple(iri for iri in meant if iri not in seen)
        seen.update(new)
        if new:
            groups.append(new)
    return tuple(groups)
