import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from shiyi.errors import IndexMismatchError, UsageError
from shiyi.linking.umls.index import UmlsNames
from shiyi.linking.umls.linker import BROAD, CLOSE, UmlsLinker
from shiyi.linking.umls.sources import (
    SemanticTypes,
    UmlsName,
    load_retired_cuis,
    mrconso_names,
    open_names,
)
from tests.tables import cases, from_table

NAMES = [
    UmlsName(name, cui, preferred, frozenset(types))
    for name, cui, preferred, types in cases("linking", "umls_names")
]


def linker(folder: Path, names: Iterable[UmlsName] = NAMES) -> UmlsLinker:
    return UmlsLinker(UmlsNames.build(names, folder / "umls"))


@pytest.fixture(scope="module")
def umls(tmp_path_factory: pytest.TempPathFactory) -> UmlsLinker:
    return linker(tmp_path_factory.mktemp("names"))


def cui(linker: UmlsLinker, mention: str, kind: str = "") -> str:
    match = linker.link(mention, kind)
    return match.cui if match else ""


@from_table
def test_known_wrong_mapping_is_corrected_or_dropped(
    umls: UmlsLinker, mention: str, right: str
) -> None:
    assert cui(umls, mention) == right


def test_equal_name_beats_similar_preferred_name(tmp_path: Path) -> None:
    names = [UmlsName("ginger roots", "C0000001", True), UmlsName("ginger root", "C0000002")]
    assert cui(linker(tmp_path, names), "ginger root") == "C0000002"


def test_of_names_that_are_same_preferred_one_chosen(tmp_path: Path) -> None:
    names = [UmlsName("cold", "C0000001"), UmlsName("Cold", "C0000002", True)]
    assert cui(linker(tmp_path, names), "cold") == "C0000002"


def test_name_that_is_merely_alike_must_be_preferred(tmp_path: Path) -> None:
    names = [UmlsName("milk thistle seed", "C0000001", False)]
    assert cui(linker(tmp_path, names), "milk thistle seeds") == ""
    assert (
        cui(
            linker(tmp_path / "b", [UmlsName("milk thistle seed", "C0000001", True)]),
            "milk thistle seeds",
        )
        == "C0000001"
    )


def test_partial_name_is_broad_match_without_link(tmp_path: Path) -> None:
    umls = linker(tmp_path, [UmlsName("blood pressure lowering", "C0000001", True)])
    (part,) = umls.candidates("blood pressure lowering tea")
    assert (part.cui, part.predicate) == ("C0000001", BROAD)
    assert umls.link("blood pressure lowering tea") is None
    assert umls.candidates("Blood pressure lowerings")[0].predicate == CLOSE


def test_name_of_another_semantic_type_is_not_taken(umls: UmlsLinker) -> None:
    assert cui(umls, "Ginkgo biloba", "MFHSubstance") == "C0330206"
    assert cui(umls, "Ginkgo biloba", "Disease") == ""
    assert cui(umls, "hypertension", "Disease") == "C0020538"
    assert cui(umls, "hypertension", "NoSuchClass") == ""


def test_running_text_is_linked_by_windows_without_overlap(umls: UmlsLinker) -> None:
    text = "Metformin with Ginkgo biloba extract, or lowering drugs for hypertension"
    results = [(text[match.start : match.end], match.cui) for match in umls.find(text)]
    assert results == [
        ("Metformin", "C0025598"),
        ("Ginkgo biloba extract", "C0772125"),
        ("hypertension", "C0020538"),
    ]


def test_running_text_links_across_plurals_and_typos(umls: UmlsLinker) -> None:
    for text, cui in (
        ("she ate goji berries today", "C1088997"),
        ("leaves of ginkgo bilobaa daily", "C0330206"),
        ("quinquefolius panax", "C1011522"),
    ):
        assert [match.cui for match in umls.find(text)] == [cui], text


def test_words_that_no_name_has_are_never_compared(umls: UmlsLinker) -> None:
    assert umls.find("she walked along a river for seven hours and came home") == ()


def test_prefix_filtering_loses_no_name_above_the_threshold(umls: UmlsLinker) -> None:
    from shiyi.linking.normalization import fold
    from shiyi.linking.umls.index import THRESHOLD, grams, jaccard

    names = umls._names
    for term in ("hypertensions", "ginkgo bilobas", "digestive enzyme", "metformine"):
        wanted = {
            (fold(name.text), name.cui)
            for name in NAMES
            if jaccard(grams(term), grams(fold(name.text))) >= THRESHOLD
        }
        assert wanted
        assert {(match.text, match.cui) for match in names.similar(term)} == wanted


def rrf(path: Path, rows: Sequence[str]) -> Path:
    path.write_text("".join(row + "|\n" for row in rows), encoding="utf-8")
    return path


def atom(
    cui: str, text: str, lat: str = "ENG", main: bool = True, sab: str = "MSH", suppress: str = "N"
) -> str:
    ts, stt, ispref = ("P", "PF", "Y") if main else ("S", "VO", "N")
    return f"{cui}|{lat}|{ts}|L1|{stt}|S1|{ispref}|A1||||{sab}|MH|D1|{text}|0|{suppress}|"


def test_mrconso_is_filtered_by_language_suppression_and_source(tmp_path: Path) -> None:
    path = rrf(
        tmp_path / "MRCONSO.RRF",
        [
            atom("C0000001", "ginger", main=False),
            atom("C0000001", "ginger"),
            atom("C0000001", "Ingwer", lat="GER"),
            atom("C0000001", "old ginger", suppress="O"),
            atom("C0000002", "姜黄", lat="CHI"),
            atom("C0000003", "zedoary", sab="SNOMEDCT_US"),
        ],
    )
    assert [(name.text, name.cui, name.preferred) for name in mrconso_names(path)] == [
        ("ginger", "C0000001", True),
        ("姜黄", "C0000002", True),
        ("zedoary", "C0000003", True),
    ]
    names = list(mrconso_names(path, languages=["ENG"], sources=["MSH"]))
    assert [name.text for name in names] == ["ginger"]


def test_semantic_types_come_from_mrsty_in_any_order(tmp_path: Path) -> None:
    sty = rrf(
        tmp_path / "MRSTY.RRF",
        [
            "C0000002|T047|B2|Disease|AT1|",
            "C0000001|T002|A1|Plant|AT2|",
            "C0000001|T168|A1|Food|A|",
        ],
    )
    path = rrf(tmp_path / "MRCONSO.RRF", [atom("C0000001", "ginger"), atom("C0000009", "none")])
    types = SemanticTypes.read(sty)
    assert [name.types for name in mrconso_names(path, types)] == [{"T002", "T168"}, set()]
    assert types.of("C0000002") == {"T047"}


def test_retired_cui_is_followed_to_one_that_stands(tmp_path: Path) -> None:
    path = rrf(
        tmp_path / "MRCUI.RRF",
        [
            "C0000001|2020AA|SY|||C0000002|Y",
            "C0000002|2021AA|SY|||C0000003|Y",
            "C0000004|2020AA|DEL||||",
            "C0000005|2020AA|RB|||C0000003|Y",
            "C0000006|2020AA|SY|||C0000007|Y",
            "C0000006|2020AA|SY|||C0000008|Y",
            "C0000010|2020AA|SY|||C0000011|Y",
            "C0000011|2020AA|SY|||C0000010|Y",
        ],
    )
    retired = load_retired_cuis(path)
    assert retired["C0000001"] == retired["C0000002"] == "C0000003"
    assert {retired[f"C00000{n}"] for n in ("04", "05", "06", "10", "11")} == {""}
    names = UmlsNames.build(
        [UmlsName("old name", "C0000001", True), UmlsName("gone", "C0000004", True)],
        tmp_path / "umls",
    )
    umls = UmlsLinker(names, retired)
    assert (cui(umls, "old name"), cui(umls, "gone")) == ("C0000003", "")


def test_line_that_is_no_rrf_reported_with_place(tmp_path: Path) -> None:
    path = rrf(tmp_path / "MRCONSO.RRF", [atom("C0000001", "ginger"), "C0000002|ENG"])
    with pytest.raises(UsageError, match=r"MRCONSO.RRF:2 has 3 fields"):
        list(mrconso_names(path))


def test_open_crosswalks_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "DSI_public.csv").write_text(
        "iDISK_ID,Name,CUI,Source Material,NHP_Name,DSLD_Name,MSKCC_Name,in_NMCD\n"
        "D1,Zingiber officinale,C0162751,Root,Zingiber officinale,Ginger | Ginger root,,1\n"
        "D2,mg,,,,,,\n",
        encoding="utf-8",
    )
    with gzip.open(tmp_path / "allXREFinDO.tsv.gz", "wt", encoding="utf-8") as out:
        out.write(
            'id\tlabel\txref\n"DOID:1"\t"gout"\t"UMLS_CUI:C0018099"\n"DOID:1"\t"gout"\t"M:1"\n'
        )
    (tmp_path / "a_umls.sssom.tsv").write_text(
        "# x: y\nsubject_id\tsubject_label\tpredicate_id\tobject_id\tmapping_justification\n"
        "MONDO:1\tgouty arthritis\tskos:exactMatch\tUMLS:C0003868\tx\n"
        "MONDO:2\tnovel\tskos:exactMatch\tUMLS:CN123456\tx\n",
        encoding="utf-8",
    )
    umls = linker(tmp_path, open_names(tmp_path))
    assert cui(umls, "ginger root", "DSIngredient") == "C0162751"
    assert cui(umls, "ginger root", "Disease") == ""
    assert (cui(umls, "Gout"), cui(umls, "gouty arthritis")) == ("C0018099", "C0003868")
    assert (cui(umls, "mg"), cui(umls, "novel")) == ("", "")
    with pytest.raises(UsageError, match="holds no DSI_public"):
        list(open_names(tmp_path / "none"))


def test_a_damaged_index_of_names_is_refused(tmp_path: Path) -> None:
    linker(tmp_path)
    (tmp_path / "umls" / "umls.json").write_text("{}", encoding="utf-8")
    with pytest.raises(IndexMismatchError, match="holds no index of UMLS names"):
        UmlsNames(tmp_path / "umls")


def test_index_made_in_several_batches_as_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = linker(tmp_path / "whole")
    monkeypatch.setattr("shiyi.linking.umls.index._BATCH", 3)
    pieces = linker(tmp_path / "pieces")
    for name in NAMES:
        assert pieces.candidates(name.text) == whole.candidates(name.text)


def test_empty_source_gives_index_that_links_nothing(tmp_path: Path) -> None:
    assert linker(tmp_path, []).link("ginger") is None
