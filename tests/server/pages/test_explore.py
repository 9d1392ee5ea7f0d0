"""Looking around: narrow a class, compare things, find a dish, see the numbers, fetch a script."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from shiyi.server.app import create_app
from shiyi.server.http.headers import address, names
from shiyi.settings import Settings


@pytest.fixture(scope="module")
def client(starter_kb: Path) -> Iterator[FlaskClient]:
    app = create_app(starter_kb, Settings())
    yield app.test_client()
    app.extensions["shiyi"].close()


def page(client: FlaskClient, path: str, status: int = 200) -> str:
    reply = client.get(path, headers={"Accept": "text/html", "Accept-Language": "en"})
    assert reply.status_code == status, path
    return reply.get_data(as_text=True)


def test_a_class_is_narrowed_by_nature_and_channel(client: FlaskClient) -> None:
    whole = page(client, "/browse?class=MFHSubstance&lang=en")
    path = (
        "/browse?class=MFHSubstance&lang=en&nature="
        + re.findall(r'value="(nature-[a-z-]*cold[a-z-]*|[a-z-]*cold[a-z-]*)"', whole)[0]
    )
    cold = page(client, path)
    match = re.search(r"(\d+) fit", cold)
    assert match
    assert 0 < int(match[1]) < 113
    assert "goji berry</a>" not in cold


def test_class_narrowed_by_kind_of_evidence_behind_it(client: FlaskClient) -> None:
    def left(tier: str) -> int:
        shown = page(client, f"/browse?class=MFHSubstance&lang=en&tier=tier-{tier}")
        match = re.search(r"(\d+) fit", shown)
        assert match
        return int(match[1])

    assert 0 < left("trial") < left("monograph") < 113


def test_each_facet_value_shows_remaining_count(client: FlaskClient) -> None:
    path = "/browse?class=MFHSubstance&lang=en&nature=nature-warm"
    shown = page(client, path)
    offered = re.findall(r'value="(flavour-[\w-]+)"( disabled)?>[^<]*\((\d+)\)', shown)
    assert len(offered) > 4
    for key, disabled, count in offered:
        assert bool(disabled) == (count == "0")
        match = re.search(r"(\d+) fits?", page(client, f"{path}&flavour={key}"))
        assert match
        assert match[1] == count


def test_a_value_no_facet_has_is_named(client: FlaskClient) -> None:
    assert "nature" in page(client, "/browse?class=MFHSubstance&nature=purple", 400)


def test_things_stand_side_by_side_with_safety_first(client: FlaskClient) -> None:
    shown = page(client, "/compare?ids=substance-gouqizi,substance-baihe&lang=en")
    assert shown.index("safety-row") < shown.index(">Nature")
    assert "warfarin" in shown
    assert "no record" in shown


@pytest.mark.parametrize("ids", ["a,b,c,d,e", "substance-nothing", "<script>", "claim/x"])
def test_what_cannot_be_compared_is_refused(client: FlaskClient, ids: str) -> None:
    shown = page(client, f"/compare?ids={ids}", 400)
    assert "ids" in shown
    assert "<script>" not in shown.partition('class="error-page"')[2]


def test_another_thing_is_added_by_its_name(client: FlaskClient) -> None:
    reply = client.get("/compare?ids=substance-gouqizi&add=juhua&lang=zh")
    assert reply.status_code == 303
    assert reply.headers["Location"].endswith("substance-gouqizi,substance-juhua")


def test_dish_uses_available_and_no_refused_materials(client: FlaskClient) -> None:
    shown = page(client, "/dishes?with=百合&without=莲子&lang=zh")
    cards = re.findall(r'<li class="dish">.*?</li>', shown, re.DOTALL)
    assert cards
    assert all("substance-baihe" in card for card in cards)
    assert not any("substance-lianzi" in card for card in cards)


def test_dish_with_food_unsuitable_for_constitution_left_out(client: FlaskClient) -> None:
    free = page(client, "/dishes?with=羊肉&lang=zh")
    stored = page(client, "/dishes?with=羊肉&constitution=constitution-yin-deficiency&lang=zh")
    assert '<li class="dish">' in free
    assert '<li class="dish">' not in stored


def test_words_that_name_no_food_are_reported(client: FlaskClient) -> None:
    assert "xyzzyplugh" in page(client, "/dishes?with=xyzzyplugh&lang=en")


def test_signs_make_a_candidate_and_never_a_verdict(client: FlaskClient) -> None:
    shown = page(client, "/constitution?lang=en")
    group = re.search(r"<legend>Part 1 of \d.*?</fieldset>", shown, re.DOTALL)  # no name primes
    assert group
    names = re.findall(r'name="([^"]+)"', group[0])
    assert len(names) >= 3
    answers = "&".join(f"{name}=5" for name in names)
    scored = page(client, f"/constitution?lang=en&{answers}")
    assert 'class="verdict">candidate' in scored
    assert "not a diagnosis" in scored
    some = page(client, f"/constitution?lang=en&{names[0]}=5")
    assert "No group is complete yet." in some
    assert "1 to 5" in page(client, f"/constitution?{names[0]}=9", 400)


def test_the_bars_add_up_to_the_claims(client: FlaskClient) -> None:
    shown = page(client, "/statistics?lang=en")
    first = re.search(r'<figure class="plot">.*?</figure>', shown, re.DOTALL)
    assert first
    counted = [int(n.replace(",", "")) for n in re.findall(r'class="num">([\d,]+)<', first[0])]
    health = json.loads(client.get("/healthz").data)
    assert sum(counted) == health["counts"]["claims"]


def test_concept_page_shows_conflicts_and_schema_org(client: FlaskClient) -> None:
    shown = page(client, "/page/substance-baihe?lang=en")
    assert "Sources differ" in shown
    data = re.search(r'<script type="application/ld\+json">(.*?)</script>', shown, re.DOTALL)
    assert data
    assert json.loads(data[1])["@type"] == "DefinedTerm"


def test_texts_of_the_other_language_are_left_out(client: FlaskClient) -> None:
    assert "count it in diabetes" in page(client, "/page/substance-gouqizi?lang=en")
    assert "count it in diabetes" not in page(client, "/page/substance-gouqizi?lang=zh")


def test_the_streamed_page_is_the_page(client: FlaskClient) -> None:
    data = client.get("/api/ask/stream?q=goji&page=1&lang=en").get_data(as_text=True)
    events = [part.split("\n", 1)[0] for part in data.strip().split("\n\n")]
    assert events[0] == "event: linked"
    assert events[-2:] == ["event: answer", "event: page"]
    html = json.loads(data.strip().rpartition("data: ")[2])["html"]
    assert 'class="answer"' in html
    assert "<html" not in html


def test_scripts_are_named_by_their_digest(client: FlaskClient) -> None:
    assert "vendor/yasqe.LICENSE" in names()
    reply = client.get(address("vendor/yasqe.min.js"))
    assert "immutable" in reply.headers["Cache-Control"]
    assert client.get("/static/../wsgi.py").status_code == 404
    assert client.get("/static/js/none.js").status_code == 404


def test_pages_styles_and_streams_are_compressed_on_wish(client: FlaskClient) -> None:
    wish = {"Accept-Encoding": "gzip, br", "Accept": "text/html"}
    for path in ("/ask?q=goji&lang=en", "/check?lang=en", address("css/shiyi.css")):
        plain, packed = (
            client.get(path, headers={"Accept": "text/html"}),
            client.get(path, headers=wish),
        )
        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in packed.headers["Vary"]
        assert "Content-Encoding" not in plain.headers
        assert len(packed.data) < len(plain.data) / 2
        text = gzip.decompress(packed.data).decode()
        assert text.partition("<title>")[2][:900] == plain.text.partition("<title>")[2][:900]
    for path in ("/curate/sign-in", address("favicon.svg")):  # a form with a secret; small
        assert "Content-Encoding" not in client.get(path, headers=wish).headers


HEAVIEST = (
    "/ask?q=失眠多梦、手脚心热，吃点什么好？", "/page/substance-gancao", "/page/drug-warfarin",
    "/page/population-pregnant", "/browse?class=Efficacy", "/timeline/substance-gancao", "/vocab",
    "/compare?ids=substance-gouqizi,substance-renshen,substance-gancao,substance-danggui",
    "/docs/how-to/curation.md", "/api", "/check", "/",
)  # fmt: skip


def test_pages_weigh_less_than_60_kilobytes(client: FlaskClient) -> None:
    """Compressed, with its styles and scripts; the heaviest pages of each kind."""
    for path in HEAVIEST:
        mark = "&" if "?" in path else "?"
        page = client.get(f"{path}{mark}lang=zh", headers={"Accept": "text/html"})
        assert page.status_code == 200, path
        assets = set(re.findall(r'"(/static/[^"]+)"', page.text))
        assert len(assets) >= 3, path
        # only other sites fetch the images
        bodies = [page.data, *(client.get(e).data for e in assets if "/images/" not in e)]
        assert sum(len(gzip.compress(body)) for body in bodies) < 60_000, path


def bottom_line(client: FlaskClient, path: str) -> str:
    match = re.search(r'<p class="bottom-line">(.*?)</p>', page(client, path), re.DOTALL)
    assert match
    return match[1]


def test_bottom_line_of_formula_names_what_is_inferred(client: FlaskClient) -> None:
    """Where cautions follow by rule alone, it never states that nothing is on record."""
    shown = page(client, "/page/formula-jingfangbaidusan?lang=en")
    assert 'class="rest inferred"' in shown
    line = bottom_line(client, "/page/formula-jingfangbaidusan?lang=en")
    assert "follow by rule" in line
    assert "no record of contraindications" not in line


def test_studied_topic_is_no_use_in_summary(client: FlaskClient) -> None:
    assert "tart cherry" in page(client, "/page/disease-gout?lang=en")  # studied for gout
    line = bottom_line(client, "/page/disease-gout?lang=en")
    assert "tart cherry" not in line
    assert "suitable" in line


def test_contents_of_a_page_stand_in_its_order(client: FlaskClient) -> None:
    shown = page(client, "/page/disease-gout?lang=en")
    listed = re.findall(r'<li><a href="#([\w-]+)">', shown.partition('class="on-page"')[2])
    places = [shown.index(f'id="{item}"') for item in listed]
    assert len(places) > 3
    assert places == sorted(places)
    assert "<h2>Identifiers" not in page(client, "/page/rule-mfh-2019-spice?lang=en")


def test_reference_of_vocabulary_stands_under_content_policy(client: FlaskClient) -> None:
    page = client.get("/vocab/reference", headers={"Accept-Language": "en"})
    assert page.status_code == 200
    assert "<style" not in page.text
    assert "<svg" in page.text
    [style] = re.findall(r'<link rel="stylesheet" href="([^"]+)">', page.text)
    assert "max-width" in client.get(style).text
