"""Made-up concepts, claims, evidence and passages in the form of real ones, as N-Quads, by a seed.

Nothing is stored but what tells a claim from those before it, so millions are written as a stream. A claim
has what a real one has: its triple, its reifier, one to three pieces of evidence of several sources, each
with its tier, its strength, its place in the source; some with a note, a rating, a severity or a passage
and the quote from it. Concepts and passages are in Chinese and English.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from shiyi.model.iris import GRAPH, ID, VOCAB, content_hash
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS

# what the made-up claims say, and how often out of 30
STATEMENTS: Final = (
    ("DSIngredient", "interactsWith", "Drug", 6), ("DSIngredient", "isEffectiveFor", "Disease", 5),
    ("DSIngredient", "isEffectiveFor", "Symptom", 3), ("Food", "relieves", "Symptom", 3),
    ("Syndrome", "hasManifestation", "Symptom", 3), ("Syndrome", "suitableFood", "Food", 3),
    ("Constitution", "suitableFood", "Food", 1), ("Food", "contraindicatedIn", "Syndrome", 1),
    ("Symptom", "relatedConstitution", "Constitution", 1), ("MFHSubstance", "relieves", "Symptom",
     2),
    ("DSIngredient", "contraindicatedIn", "Disease", 2),
)  # fmt: skip
SKEW: Final = 3.0  # a concept at rank share r is drawn with density r**(1/SKEW - 1)
_CHUNK: Final = 100_000  # claims written at once
_SOURCES: Final = 300
_BORNE: Final = 8  # claims that rest on a passage, for one passage
_SECTION: Final = 20  # passages of one section
_EVIDENCE: Final = (0.8, 0.15, 0.05)  # shares of claims with one, two and three
_READ, _NOTED, _GRADED = 0.3, 0.4, 0.1  # shares of evidence with a passage, a note, a grade
_TIERS: Final = (
    ("textbook", 0.6), ("monograph", 0.75), ("classic", 0.6), ("pharmacopoeia", 0.9), ("review",
     0.7),
    ("paper", 0.5), ("trial", 0.65), ("standard", 0.8), ("webpage", 0.3), ("case-report", 0.35),
)  # fmt: skip
_RATINGS: Final = ("effective", "likely", "possible", "insufficient", "ineffective")
_SEVERITIES: Final = ("contraindicated", "caution", "monitor")
_KINDS: Final = ("Read", "Row")
_DECIMAL: Final = "http://www.w3.org/2001/XMLSchema#decimal"
_PLACE: Final = f"{GRAPH}source/made@1"  # the graph of passages, as of a read data set
_SYLLABLES: Final = [a + b for a in "bcdfglmnprst" for b in "aeiou"]
_SIGNS: Final = "青白赤黄紫乌金银铁石山水木草花叶根皮子果仁藤枝芽心耳角骨云雨风雪霜露星月日春夏秋冬东南西北上下大小长圆龙虎牛马羊鹿鹤雀蝉"
_WAYS: Final = {
    "interactsWith": ("与{b}同用可能相互影响", "{a} may act together with {b}"),
    "isEffectiveFor": ("{a}用于{b}有一定记载", "{a} has been studied in people with {b}"),
    "relieves": ("{a}可缓{b}", "{a} is said to ease {b}"),
    "hasManifestation": ("{a}多见{b}", "{a} often shows as {b}"),
    "suitableFood": ("{a}宜食{b}", "people with {a} may eat {b}"),
    "contraindicatedIn": ("{b}者忌{a}", "{a} is not for those with {b}"),
    "relatedConstitution": ("{a}多与{b}相关", "{a} goes with {b}"),
}  # fmt: skip
_FILLING: Final = (
    ("古人所述与今人所见略有出入，宜合参。",
     "Old and new records differ in some points and are read together."),
    ("用时当辨其寒热虚实，不可一概而论。",
     "Cold and heat, want and excess are distinguished before it is used."),
    ("煎煮之法，先浸后煎，去滓温服。", "It is soaked, then simmered, strained, and taken warm."),
    ("此说见于多家笔记，未见对照之研究。",
     "Several notebooks report this, without a controlled study."),
    ("产地与采收时令不同，其性味亦有差别。",
     "Place and season of harvest change its nature and flavour."),
)  # fmt: skip


@dataclass(slots=True)
class Pools:
    """The concepts that claims may join, by class; ``names`` are those of concepts of the base."""

    iris: dict[str, list[str]] = field(
        default_factory=lambda: {
            kind: [] for statement in STATEMENTS for kind in (statement[0], statement[2])
        }
    )
    names: dict[str, tuple[str, str]] = field(default_factory=dict)

    def named(self, iri: str) -> tuple[str, str]:
        """Return the Chinese and the English name."""
        return self.names.get(iri) or made_names(int(iri.rpartition("-")[2]))


def made_names(number: int) -> tuple[str, str]:
    """Return the Chinese and the English name of a made-up concept, of a sound few others share.

    >>> made_names(7) == made_names(7)
    True
    """
    mixed = (number * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % (1 << 64)
    mixed ^= mixed >> 29
    signs, sounds = "", ""
    for _ in range(5):
        mixed, at = divmod(mixed, len(_SIGNS))
        signs += _SIGNS[at]
    for _ in range(4):
        mixed, at = divmod(mixed, len(_SYLLABLES))
        sounds += _SYLLABLES[at]
    return signs, f"{sounds} {number}"


def concepts(pools: Pools, count: int) -> Iterator[bytes]:
    """Write concepts and add them to the pools, but of classes that a law or a standard lists."""
    kinds = [kind for kind in pools.iris if kind not in {"Constitution", "MFHSubstance"}]
    lines: list[str] = []
    for number in range(count):
        kind, iri = kinds[number % len(kinds)], f"{ID}made-{number}"
        pools.iris[kind].append(iri)
        signs, sounds = made_names(number)
        lines.append(
            f"<{iri}> <{RDF.type.value}> <{VOCAB}{kind}> .\n"
            f"<{iri}> <{RDF.type.value}> <{SKOS.Concept.value}> .\n"
            f'<{iri}> <{SKOS.prefLabel.value}> "{sounds}"@en .\n'
            f'<{iri}> <{SKOS.prefLabel.value}> "{signs}"@zh .\n'
            f"<{iri}> <{SKOS.inScheme.value}> <{ID}scheme-made> .\n"
        )
        if number % 2:
            lines.append(
                f'<{iri}> <{SKOS.altLabel.value}> "{_SIGNS[number % len(_SIGNS)]}{signs[:3]}"@zh .\n'
            )
        if len(lines) >= _CHUNK:
            yield "".join(lines).encode()
            lines.clear()
    yield "".join(lines).encode()


def claims(pools: Pools, known: set[tuple[str, str, str]], count: int) -> Iterator[bytes]:
    """Write claims between skewed ends with their evidence, none twice and none of ``known``."""
    yield "".join(_source(n) for n in range(_SOURCES)).encode()
    draw, writer = np.random.default_rng(0), Claims(pools)
    share = np.array([statement[3] for statement in STATEMENTS])
    kinds = [(pools.iris[a], name, pools.iris[b]) for a, name, b, _ in STATEMENTS]
    sizes = np.array([[len(a), len(b)] for a, _, b in kinds])
    seen, made = set[int](), 0
    while made < count:
        way = draw.choice(len(STATEMENTS), _CHUNK, p=share / share.sum())
        ends = (sizes[way] * draw.random((_CHUNK, 2)) ** SKEW).astype(np.int64)
        chance = draw.random((_CHUNK, 4))
        lines: list[str] = []
        for which, (i, j), luck in zip(way.tolist(), ends.tolist(), chance.tolist(), strict=True):
            first, name, last = kinds[which]
            results, key = (first[i], name, last[j]), which << 56 | i << 28 | j
            if key in seen or results in known or results[0] == results[2] or made == count:
                continue
            seen.add(key)
            lines += writer.written(made, *results, luck)
            made += 1
        yield "".join(lines).encode()


@dataclass(slots=True)
class Claims:
    """Writes one claim after another; passages are filled with what some of them say."""

    pools: Pools
    read: int = 0  # evidence that rests on a passage, so far
    passage: str = ""
    sentences: list[tuple[str, str]] = field(default_factory=list)

    def written(
        self, number: int, one: str, name: str, other: str, luck: Sequence[float]
    ) -> Iterator[str]:
        """Yield the quads of one claim and of what it rests on."""
        claim = f"{ID}claim/{content_hash(one, VOCAB + name, other)}"
        stored = round(0.35 + 0.6 * luck[0], 3)
        yield (
            f"<{one}> <{VOCAB}{name}> <{other}> .\n"
            f"<{claim}> <{RDF.type.value}> <{SHIYI.Claim.value}> .\n"
            f"<{claim}> <{RDF.reifies.value}> <<( <{one}> <{VOCAB}{name}> <{other}> )>> .\n"
            f"<{claim}> <{SHIYI.status.value}> <{SHIYI.accepted.value}> .\n"
            f"<{claim}> <{SHIYI.polarity.value}> <{SHIYI.positive.value}> .\n"
            f'<{claim}> <{SHIYI.confidence.value}> "{stored}"^^<{_DECIMAL}> .\n'
        )
        many = 1 + (luck[1] > _EVIDENCE[0]) + (luck[1] > _EVIDENCE[0] + _EVIDENCE[1])
        for turn in range(many):
            source = int(_SOURCES * ((luck[2] + turn * 0.37) % 1) ** SKEW)
            yield from self._evidence(
                claim, f"{number}-{turn}", source, (one, name, other), luck[3]
            )

    def _evidence(
        self, claim: str, number: str, source: int, found: tuple[str, str, str], luck: float
    ) -> Iterator[str]:
        node, (tier, weight) = f"{ID}evidence/made-{number}", _TIERS[source % len(_TIERS)]
        kind = _KINDS[int(luck * 997) % 2]
        yield (
            f"<{claim}> <{SHIYI.evidence.value}> <{node}> .\n"
            f"<{node}> <{RDF.type.value}> <{SHIYI.Evidence.value}> .\n"
            f"<{node}> <{DCTERMS.source.value}> <{ID}source-made-{source}> .\n"
            f"<{node}> <{PROV.wasDerivedFrom.value}> <{ID}source-made-{source}> .\n"
            f"<{node}> <{PROV.wasGeneratedBy.value}> <{ID}activity-curation> .\n"
            f"<{node}> <{SHIYI.sourceTier.value}> <{ID}tier-{tier}> .\n"
            f'<{node}> <{SHIYI.extractionConfidence.value}> "{round(weight * (0.6 + 0.4 * luck), 3)}"^^<{_DECIMAL}> .\n'
            f"<{node}> <{SHIYI.evidenceKind.value}> <{VOCAB}{kind}> .\n"
            f'<{node}> <{SHIYI.sourceLocator.value}> "{int(luck * 613)}页" .\n'
        )
        zh, en = _sentences(self.pools, found)
        if luck < _NOTED:
            yield (
                f'<{node}> <{SHIYI.noteText.value}> "{zh}"@zh .\n'
                f'<{node}> <{SHIYI.noteText.value}> "{en}"@en .\n'
            )
        if found[1] == "isEffectiveFor":
            yield f'<{node}> <{SHIYI.rating.value}> "{_RATINGS[int(luck * 991) % 5]}" .\n'
        elif found[1] == "contraindicatedIn":
            yield f'<{node}> <{SHIYI.severity.value}> "{_SEVERITIES[int(luck * 991) % 3]}" .\n'
        if luck > 1 - _GRADED:
            yield f'<{node}> <{SHIYI.grade.value}> "{"ABCD"[int(luck * 991) % 4]}" .\n'
        if 0.5 < luck < 0.5 + _READ:
            yield from self._read(node, source, (zh, en))

    def _read(self, node: str, source: int, found: tuple[str, str]) -> Iterator[str]:
        """Rest evidence on a passage, which is written once it has all its sentences."""
        read = self.read // _BORNE % 2  # every other passage is in English
        passage = f"{ID}passage/made-{self.read // _BORNE}"
        self.read += 1
        self.sentences.append(found)
        yield (
            f"<{node}> <{PROV.wasDerivedFrom.value}> <{passage}> .\n"
            f'<{node}> <{SHIYI.quote.value}> "{found[read]}"@{("zh", "en")[read]} .\n'
        )
        if self.read % _BORNE in (0, 1):
            yield from self._passage(passage, source, read)

    def _passage(self, passage: str, source: int, spoken: int) -> Iterator[str]:
        number = int(passage.rpartition("-")[2])
        if self.read % _BORNE == 1:  # who comes first says where the passage stands
            section = f"{ID}section/made-{number // _SECTION}"
            yield (
                f"<{passage}> <{RDF.type.value}> <{SHIYI.Passage.value}> <{_PLACE}> .\n"
                f"<{passage}> <{SHIYI.partOfSection.value}> <{section}> <{_PLACE}> .\n"
                f"<{passage}> <{PROV.wasDerivedFrom.value}> <{ID}source-made-{source}> <{_PLACE}> .\n"
                f'<{passage}> <{SHIYI.sourceLocator.value}> "made#char={number * 400},{number * 400 + 400}" <{_PLACE}> .\n'
            )
            if number % _SECTION == 0:
                yield (
                    f"<{section}> <{RDF.type.value}> <{SHIYI.Section.value}> <{_PLACE}> .\n"
                    f'<{section}> <{RDFS.label.value}> "卷{number // _SECTION + 1}"@zh <{_PLACE}> .\n'
                    f"<{section}> <{PROV.wasDerivedFrom.value}> <{ID}source-made-{source}> <{_PLACE}> .\n"
                )
            return
        parts = [
            f"{row[spoken]}{'。' if spoken == 0 else '. '}{_FILLING[(number + at) % len(_FILLING)][spoken]}"
            for at, row in enumerate(self.sentences)
        ]
        self.sentences.clear()
        yield f'<{passage}> <{RDF.value.value}> "{" ".join(parts) if spoken else "".join(parts)}"@{("zh", "en")[spoken]} <{_PLACE}> .\n'


def _sentences(pools: Pools, found: tuple[str, str, str]) -> tuple[str, str]:
    one, name, other = found
    first, last = pools.named(one), pools.named(other)
    ways = _WAYS[name]
    return ways[0].format(a=first[0], b=last[0]), ways[1].format(a=first[1], b=last[1])


def _source(number: int) -> str:
    tier, node = _TIERS[number % len(_TIERS)][0], f"{ID}source-made-{number}"
    return (
        f"<{node}> <{RDF.type.value}> <{SHIYI.Source.value}> .\n"
        f'<{node}> <{RDFS.label.value}> "made-up source {number}"@en .\n'
        f'<{node}> <{RDFS.label.value}> "拟造之书{number}"@zh .\n'
        f"<{node}> <{SHIYI.sourceTier.value}> <{ID}tier-{tier}> .\n"
        f'<{node}> <{SHIYI.lineage.value}> "made-{number}" .\n'
        f'<{node}> <{DCTERMS.date.value}> "{1900 + number % 120}" .\n'
        f'<{node}> <{DCTERMS.license.value}> "facts only" .\n'
    )
