"""Entries of old books become claims whose quotes stand in their passages."""

from shiyi.artefacts import artefact
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.documents.document import Document, Heading, Repair, build_tree
from shiyi.ingest.extraction.books.extractor import EntryExtractor
from shiyi.ingest.gate import Gate, ProposedClaim, is_caution
from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Source, Status, Tier
from shiyi.model.rdf import NamedNode, local_name, text
from shiyi.ontology.terms import SHIYI, SKOS
from tests.tables import from_table

INDEX = LabelIndex.from_tables(artefact("ontology/concepts"))
NAMES = {concept.iri: concept.zh for concept in INDEX.concepts}
BOOK = Source("b", "样书", "Book", Tier.CLASSIC)
EXTRACTOR = EntryExtractor(Lexicon(INDEX))


def claims(body: str, title: str = "山楂") -> dict[tuple[str, str, str], str]:
    """Return subject, relation and object of each claim with its quote."""
    head = f"<篇名>{title}\r\n\r\n"
    headings = (Heading(0, len(head), ("样书", title)),)
    repairs = (Repair("脚气", "香港脚", "脚气"),)
    document = Document("b.txt", BOOK, "zh", head + body, headings, repairs, ("内容：",))
    tree = build_tree(document, 200, 300)
    results = {}
    for passage, result in zip(
        tree.passages, EXTRACTOR.read(tree.passages, document, NamedNode("urn:g")), strict=True
    ):
        for statement in result.found:
            names = NAMES | {
                text(quad.subject): text(quad.object)
                for quad in result.quads
                if quad.predicate == SKOS.prefLabel
            }
            key = names[statement.subject.value], local_name(statement.predicate.value)
            results[*key, names[text(statement.object)]] = passage.text[
                statement.start : statement.end
            ]
    return results


def test_claims_have_quotes_in_passage_with_faults_repaired() -> None:
    results = claims(
        "内容：味酸、甘，性微温，无毒。入脾、胃、肝三经。主治香港脚，头痛，消食， \r\n止渴。"
    )
    assert results["山楂", "hasFlavour", "酸"].startswith("味酸")
    assert ("山楂", "hasMeridianTropism", "胃") in results
    assert results["山楂", "indicatedFor", "头痛"] == "头痛"


def test_set_off_parts_are_subjects_of_their_own() -> None:
    results = claims("内容：\\x甘草\\x 味甘，平，无毒。\r\n\\x山楂\\x 味酸，温，无毒。", "果")
    assert ("甘草", "hasFlavour", "甘") in results
    assert ("山楂", "hasFlavour", "酸") in results
    assert ("甘草", "hasFlavour", "酸") not in results


def test_parts_are_named_by_plant_or_animal() -> None:
    assert ("兔肉", "hasNature", "寒") in claims("内容：味辛，平。肉∶味甘，寒。", "兔头骨")
    assert ("羊肉", "hasNature", "温") in claims("内容：\\x肉\\x\r\n【气味】苦、甘，温。", "羊")
    assert not claims("内容：藤∶甘，寒，无毒。", "白花蛇")
    assert ("芦根", "hasFlavour", "甘") in claims("内容：味甘，寒。", "芦根")  # not the fresh one


def test_recipe_with_another_drug_no_claim_of_one() -> None:
    assert ("山楂", "indicatedFor", "头痛") in claims("内容：味酸，温。主治头痛。")
    assert ("山楂", "indicatedFor", "头痛") not in claims("内容：味酸，温。配甘草，治头痛。")


def test_recipe_with_previous_title_has_lost_its_own() -> None:
    body, path = "治虚劳。\n人参（一两） 甘草（半两）\n上锉，水煎。\n", ("样书", "补肾汤")
    headings = (Heading(0, 0, path), Heading(len(body), len(body), path))
    document = Document("070-奇效良方.txt", BOOK, "zh", body + body, headings, (), ())
    extractions = EXTRACTOR.read(
        build_tree(document, 10, 300).passages, document, NamedNode("urn:g")
    )
    assert [bool(extraction.found) for extraction in extractions] == [True, False]


@from_table
def test_what_warns_supports_no_benefit(quote: str, after: str, expected: str) -> None:
    by_name = {name: NamedNode(iri) for iri, name in NAMES.items()}
    evidence = Evidence(BOOK, Confidence(0.5), "x", EvidenceKind.READ, quote)
    claim = Claim(by_name["山楂"], SHIYI.indicatedFor, by_name["头痛"], (evidence,))
    (result,) = Gate(INDEX).judge([ProposedClaim(claim, after=after)])
    assert result.status == expected
    assert after or is_caution(quote) is (expected == Status.QUARANTINED)
