"""`report.html`: whatever a text holds, the page shows it and nothing more; it is whole without its script and loads nothing."""

import base64
import hashlib
import json
import re
import sys
from collections import Counter
from functools import cache

import html5lib
import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.cli import main
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.errors import UsageError
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.reports.commands import report_of
from pytest_ragbench.reports.html.canvas import NARROW, WIDE
from pytest_ragbench.reports.html.colours import Colour
from pytest_ragbench.reports.html.document import build_page
from pytest_ragbench.reports.html.drawing import draw
from pytest_ragbench.reports.html.pictures import picture
from pytest_ragbench.reports.html.points import LETTERED, lettered, unbeaten
from pytest_ragbench.reports.html.questions import DEPTH, OPENING, RANKS_KEPT, choose, list_questions
from pytest_ragbench.reports.html.rendering import CELL_CHARACTERS, render_page
from pytest_ragbench.reports.model import (
    Bullets,
    Column,
    Estimate,
    Intervals,
    Mark,
    Plot,
    Point,
    Report,
    Scatter,
    Section,
    Sentences,
    Stack,
    Stacks,
    Table,
)
from pytest_ragbench.reports.saving import render_html, report_text, save_report
from pytest_ragbench.reports.text import visible
from pytest_ragbench.reports.view import RunView

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    '"><svg onload=1>.md',
    "<b>x</b>",
    "\u202eevil\u2066\u200f",
    "<!-- <script> ]]> --!>",
    "&lt;script&gt; &amp; &#60;",
    "' onmouseover='alert(1)",
    "`code | x` {{ 7*7 }} {% raw %} {#",
    "a | b || c",
    r"a \| b",
    "line1\nline2\r\nline3",
    "\ud800 \x00 \x1b[31m red \u2028",
    "$x_1^2$ שלום العربية",
    "x" * 20_000,
)


def parsed(text):
    """The page as a tree, parsed as browsers do; tags without the namespace of SVG."""
    page = html5lib.HTMLParser(namespaceHTMLElements=False).parse(text)
    for element in page.iter():
        if isinstance(element.tag, str):
            element.tag = element.tag.removeprefix("{http://www.w3.org/2000/svg}")
    return page


def elements(page, name=None):
    return [e for e in page.iter() if isinstance(e.tag, str) and (name is None or e.tag == name)]


def text_of(element):
    return "".join(element.itertext())


def by_id(page, name):
    (found,) = [e for e in elements(page) if e.get("id") == name]
    return found


def rows_of(table):
    """Every row of a table as the texts of its cells."""
    return [[text_of(cell) for cell in row if cell.tag in {"td", "th"}] for row in elements(table, "tr")]


def data_of(page):
    return json.loads(text_of(by_id(page, "data")))


def page_of(*blocks, title="t"):
    return parsed(render_page(build_page(Report(title, (Section(title, blocks),)), None)))


# --- hostile texts ------------------------------------------------------------------------------------------------------


class Echo:
    """Ranks files whose names, headings and texts are what the question says; fails where it asks for it."""

    def search(self, query, share):
        if share == 2:
            raise ValueError(query[:200])
        chunks = [{"file": query[:300], "heading": [query[:100]], "text": query, "score": 1.0}]
        return {"chunks": chunks, "timings": {"search": 1.0, query[:50]: 2.0}}


def hostile_questions(texts):
    return [
        Question(
            f"hos-{number:04d}", text, text[:40], "T1", "dev", gold=(GoldSource(Locator(text[:300])),),
            nuggets=(text,), domain=text[:40], difficulty=text[:40],
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip


def hostile_arms(name):
    return (
        Configuration(name, name, {"share": 0}, (name,)),
        Configuration(f"{name}2", f"{name}2", {"share": 1}, (name, "two"), (name,)),
        Configuration(f"{name}3", f"{name}3", {"share": 2}, ("two",), (name,)),
    )


IMAGE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def echoed(recorded_in, tmp_path_factory):
    """The page of a run whose every text from outside is one of these, and whose configurations have this name."""

    @cache
    def make(texts, name):
        record = recorded_in(
            tmp_path_factory.mktemp("echo"), questions=hostile_questions(texts), arms=hostile_arms(name),
            pipeline=Echo(), notes=[texts[0]],
        )  # fmt: skip
        return render_html(record)

    return make


@pytest.fixture(scope="module")
def hostile_page(echoed):
    """The page of all hostile texts, as a tree."""
    return parsed(echoed(HOSTILE, IMAGE))


@pytest.fixture(scope="module")
def record(recorded_in, tmp_path_factory):
    """The scripted run as it is by default, which tests only read."""
    return recorded_in(tmp_path_factory.mktemp("default"))


@pytest.fixture(scope="module")
def text(record):
    """Its page."""
    return render_html(record)


@pytest.fixture(scope="module")
def page(text):
    """The same as a tree."""
    return parsed(text)


def shape(page):
    """Tags with the names of their attributes, as often as they stand there; styles and script are the page's own."""
    return Counter((e.tag, tuple(sorted(e.attrib))) for e in elements(page))


def test_rpt_01_hostile_texts_make_no_element_and_no_attribute(hostile_page):
    page = hostile_page
    tags = Counter(e.tag for e in elements(page))
    assert tags["script"] == 2
    assert {e.get("type") for e in elements(page, "script")} == {"application/json", None}
    assert not tags.keys() & {"img", "iframe", "object", "embed", "form", "link", "base"}
    attributes = {name for e in elements(page) for name in e.attrib if isinstance(name, str)}
    assert not [name for name in attributes if name.startswith("on")]
    assert {e.get("class") for e in elements(page, "svg")} == {"chart narrow", "chart wide"}
    body = text_of(page)
    for hostile in HOSTILE:
        assert visible(hostile)[:300] in body, hostile


def test_rpt_01_a_page_of_hostile_texts_has_the_shape_of_one_of_harmless_texts(echoed):
    texts = tuple(f"word{number} " * 3 for number in range(len(HOSTILE)))
    short = tuple(hostile[:20].ljust(21, "x") for hostile in HOSTILE)
    harmless, hostile = (shape(parsed(echoed(*given))) for given in ((texts, "harmless"), (short, "</script><b>")))
    own = {key for key in hostile if key[0] not in {"g", "path", "text", "use", "defs", "clipPath", "rect"}}
    assert {key for key in own if key not in harmless} == set()


def test_rpt_01_embedded_json_parses_and_holds_every_question(hostile_page):
    data = data_of(hostile_page)
    assert len(data["questions"]) == len(HOSTILE)
    assert data["names"] == [IMAGE, f"{IMAGE}2", f"{IMAGE}3"]
    assert any(text.startswith("The search failed: ValueError: </script><img") for text in data["texts"])


def test_marks_that_turn_the_writing_direction_are_shown_by_name_and_texts_are_set_apart(echoed, hostile_page):
    text = echoed(HOSTILE, IMAGE)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\x00\x1b]", text)
    summaries = [text_of(e) for e in elements(hostile_page, "bdi")]
    assert "⟨U+202E⟩evil⟨U+2066⟩⟨U+200F⟩" in summaries


@pytest.mark.parametrize("text", HOSTILE)
def test_rpt_02_a_hostile_cell_keeps_the_row_whole_and_its_text_recoverable(text):
    columns = (Column("n"), Column("one", numeric=False), Column("two", numeric=False))
    page = page_of(Table(columns, ((1, text, "next"),)))
    header, row = rows_of(next(e for e in elements(page) if e.tag == "table"))
    shown = visible(text)
    cut = visible(f"{text[:CELL_CHARACTERS]}… [cut: {len(text):,} characters]")
    assert header == ["n", "one", "two"]
    assert row == ["1", shown if len(text) <= CELL_CHARACTERS else cut, "next"]


@settings(max_examples=40)
@given(st.text(), st.text(alphabet="<>&\"'/!-[]{}%#\n\r a="))
def test_rpt_01_any_text_in_any_place_is_that_text(one, other):
    blocks = (Sentences(one), Bullets((other, one)), Table((Column(other, numeric=False),), ((one,),)))
    page = page_of(*blocks, title=other)
    assert text_of(next(iter(elements(page, "h1")))) == visible(other)
    assert [text_of(e) for e in elements(page, "li")][-2:] == [visible(other), visible(one)]
    assert text_of(elements(page, "td")[0] if elements(page, "td") else elements(page, "th")[-1]) == visible(one)


# --- a page that loads nothing and needs no script ----------------------------------------------------------------------


def test_the_page_loads_nothing_and_runs_only_its_own_script(text, page):
    links = [e.get(name) for e in elements(page) for name in ("href", "src", "action", "data") if e.get(name)]
    assert links
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    (script,) = [e for e in elements(page, "script") if e.get("type") is None]
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    (policy,) = [e.get("content") for e in elements(page, "meta") if e.get("http-equiv")]
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy


def test_the_page_is_well_formed(text):
    html5lib.HTMLParser(strict=True).parse(text)


def test_without_script_every_question_opens_to_its_gold_and_two_rankings(record, page):
    opened = elements(by_id(page, "list"), "details")
    assert len(opened) == len(record.questions()) == 40
    second = text_of(opened[2])
    assert "question 2?" in second
    assert "f2.pdf p. 1-3" in second
    assert [text_of(e) for e in elements(opened[2], "h3")] == ["R0-bm25", "R2-hybrid"]
    tables = elements(opened[2], "table")
    assert [len(rows_of(table)) - 1 for table in tables] == [2, *_ranked(record, "lex-0002", ("R0-bm25", "R2-hybrid"))]


def _ranked(record, question, names):
    rows = {row["configuration"]: len(row["ranking"]) for row in record.rows() if row["question"] == question}
    return [rows[name] for name in names]


def test_the_list_shows_the_best_configuration_beside_its_partner_with_their_scores(record, page):
    means = {name: result["overall"]["ndcg@10"]["mean"] for name, result in record.summary()["results"].items()}
    assert means["R2-hybrid"] == means["R5-rerank"] > means["R0-bm25"]  # of equals the first
    header, first, *_ = rows_of(by_id(page, "list"))
    assert header == ["id", "suite", "tier", "R0-bm25", "R2-hybrid", "second − first"]
    scores = {r["configuration"]: r["metrics"]["ndcg@10"] for r in record.rows() if r["question"] == "lex-0000"}
    shown = [f"{scores['R0-bm25']:.3f}", f"{scores['R2-hybrid']:.3f}"]
    assert [cell.strip() for cell in first[:5]] == ["lex-0000", "lexical", "T1", *shown]


def test_other_configurations_are_data_with_the_texts_that_the_pair_has_as_markup(page):
    data = data_of(page)
    assert [data["names"][at] for at in data["pair"]] == ["R0-bm25", "R2-hybrid"]
    scores, sides = data["questions"][2]
    assert len(scores) == 3
    assert sides[0] == sides[1] == []
    sentence, (head, ranking) = sides[2]
    assert data["texts"][sentence].startswith("hit@1 ")
    titles = [title for title, _ in data["heads"][head]]
    assert titles == ["rank", "source", "gold", "score", "text"]
    first = [data["texts"][text] for text in ranking[0]]
    assert first == ["1", "f2.pdf p. 2-4", "satisfies 0", "1.0000", "passage of f2.pdf"]


def test_every_section_of_the_report_is_there_and_the_details_are_folded(record, page):
    titles = [text_of(e) for e in elements(page, "h2")]
    assert set(titles) == {section.title for section in report_of(record).sections} | {"Questions"}
    folded = [text_of(e) for part in elements(page, "summary") for e in elements(part, "h2")]
    assert "Recall by hop" in folded
    assert not {"By suite: ndcg@10", "Comparisons: ladder", "Results", "In words"} & set(folded)
    anchors = [e.get("href") for e in elements(page, "a")]
    assert len(anchors) == len(set(anchors)) == len(titles) + 1


def test_tables_have_scopes_names_and_the_cells_of_their_header(page):
    assert all(e.get("scope") in {"col", "row"} for e in elements(page, "th"))
    named = {e: group.get("aria-label") for group in elements(page) for e in group if e.tag == "table"}
    for table in elements(page, "table"):
        assert named.get(table) or elements(table, "caption")
        if table.get("id") != "list":
            assert len({len(row) for row in rows_of(table)}) == 1
    assert {e.tag for e in elements(page)} >= {"header", "nav", "main", "footer"}


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = [e.get("id") for e in elements(page) if e.get("id")]
    assert len(ids) == len(set(ids))
    assert {e.get("href").removeprefix("#") for e in elements(page) if e.get("href")} <= set(ids)
    used = re.findall(r"url\(#([^)]+)\)", " ".join(v for e in elements(page) for v in e.attrib.values()))
    assert used
    assert set(used) <= set(ids)


# --- the same record, the same bytes; runs that ended otherwise -----------------------------------------------------------


def test_the_same_record_gives_the_same_bytes_whatever_the_user_s_plots_look_like(record, text):
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": True, "text.color": "red"}):
        assert render_html(record) == text
        assert mpl.rcParams["font.size"] == 30


def test_a_run_that_was_killed_lists_its_questions_without_numbers(recorded):
    from pytest_ragbench.records.record import RunRecord

    writer = recorded(finish=False)
    page = parsed(render_html(RunRecord.load(writer.folder)))
    assert len(elements(by_id(page, "list"), "details")) == 40
    assert not elements(page, "svg")


def test_a_run_of_one_configuration_has_one_side_and_no_difference(recorded):
    page = parsed(render_html(recorded(arms=(Configuration("only", "only", {"share": 0.5}, ("sparse",)),))))
    assert rows_of(by_id(page, "list"))[0] == ["id", "suite", "tier", "only"]
    assert not [e for e in elements(page) if e.get("id") in {"first", "second"}]


def test_an_error_and_a_question_without_gold_are_told_in_the_list(recorded):
    record = recorded(fails={("lex-0000", 0.95): "no index"})
    page = parsed(render_html(record))
    rows = rows_of(by_id(page, "list"))
    assert [cell.strip() for cell in next(row for row in rows if row[0] == "lex-0000")][4] == "error"
    assert [cell.strip() for cell in next(row for row in rows if row[0] == "lex-0003")][3:5] == ["–", "–"]
    assert "The search failed: ValueError: no index" in text_of(page)


def test_a_run_in_which_every_search_failed_has_a_page_without_charts(recorded):
    fails = {(f"lex-{number:04d}", share): "no index" for number in range(40) for share in (0.3, 0.95)}
    page = parsed(render_html(recorded(fails=fails)))
    assert not elements(page, "figure")
    assert [cell.strip() for cell in rows_of(by_id(page, "list"))[1]][3:5] == ["error", "error"]


def test_a_long_name_is_cut_alike_in_markup_and_in_the_data_of_the_script(recorded):
    arms = tuple(Configuration(name * 500, name * 500, {"share": 0.5}, (name,)) for name in "abc")
    page = parsed(render_html(recorded(arms=arms)))
    names = data_of(page)["names"]
    assert names == [f"{name * CELL_CHARACTERS}… [cut: 500 characters]" for name in "abc"]
    assert [text_of(e) for e in elements(by_id(page, "first"), "option")] == names
    assert {text_of(e) for e in elements(by_id(page, "list"), "h3")} <= set(names)


def test_what_the_words_mean_lists_what_each_configuration_has_switched_on(page):
    terms = dict(zip(map(text_of, elements(page, "dt")), map(text_of, elements(page, "dd")), strict=True))
    assert terms["R0-bm25"] == "Configuration with sparse."
    assert terms["R5-rerank"] == "Configuration with sparse, dense, rerank."


# --- charts -----------------------------------------------------------------------------------------------------------------

INTERVALS = Intervals(
    "Steps", "difference of ndcg@10", "", (
        Mark("with rerank: R5 against R4", Estimate(0.064, 0.036, 0.099, signed=True), "real"),
        Mark("with $x^2$ & <b>", Estimate(-0.01, -0.05, 0.03, signed=True), "not resolved", sure=False),
    ),
)  # fmt: skip
STACKS = Stacks("Lost", "share", "", ("fusion", "rerank"), (Stack("R0", (3, 1), 40), Stack("R1", (0, 0), 0)))
SCATTER = Scatter(
    "Cost", "ndcg@10", "", "ms", (
        Point("R0", 1.0, Estimate(0.5, 0.4, 0.6)),
        Point("R1", 40.0, Estimate(0.45, 0.4, 0.5)),
        Point("R2", 90.0, Estimate(0.8, 0.7, 0.9)),
        Point("R3", 90.0, Estimate(0.8, 0.7, 0.9)),
    ),
)  # fmt: skip


def _place(text):
    """Where a text stands, in pixels from the left and from the top."""
    x, y = re.search(r"(?:translate\(|rotate\(\S+ )(\S+) (\S+)\)", text.get("transform")).groups()
    return float(x), float(y)


def texts_of(chart, size=NARROW):
    return [text_of(e) for e in elements(parsed(str(picture(chart, "c", size))), "text")]


@pytest.mark.parametrize("chart", [INTERVALS, STACKS, SCATTER])
def test_a_chart_is_an_image_with_a_name_in_the_page_s_colours(chart):
    svg = next(iter(elements(parsed(str(picture(chart, "c"))), "svg")))
    assert (svg.get("role"), svg.get("aria-label")) == ("img", f"Chart: {chart.title}")
    styles = " ".join(e.get("style") or "" for e in elements(svg))
    assert not re.search("#[0-9a-f]{6}", styles)
    variables = set(re.findall(r"var\((--[\w-]+)\)", styles))
    assert variables
    assert variables <= {colour.variable for colour in Colour}
    assert not [e for e in elements(svg) if e.tag in {"metadata", "style", "image"}]


def test_the_page_s_style_gives_every_colour_of_a_chart_in_light_and_dark(page):
    style = text_of(elements(page, "style")[0])
    light, dark = style.split("@media screen and (prefers-color-scheme: dark)")[:2]
    inherited = {"--chart-ink", "--chart-muted", "--chart-paper", "--chart-better", "--chart-worse"}
    for colour in Colour:
        assert f"{colour.variable}:" in light
        assert f"{colour.variable}:" in dark.split("\n* {")[0] or colour.variable in inherited


def test_intervals_show_labels_verdicts_and_means_as_text():
    shown = texts_of(INTERVALS)
    assert {"with rerank: R5 against R4", "real", "+0.064", "with $x^2$ & <b>", "not resolved", "-0.010"} <= set(shown)


def test_a_longer_label_is_cut_before_the_verdict():
    chart = Intervals("t", "a", "", (Mark("x" * 80, Estimate(0.1, 0.0, 0.2, signed=True), "not resolved"),))
    (label,) = [text for text in texts_of(chart) if text.startswith("xx")]
    assert label.endswith("…")
    assert len(label) + len("not resolved") == 55


def test_a_wide_chart_has_label_mean_and_verdict_on_the_line_of_their_mark_and_the_same_words():
    svg = next(iter(elements(parsed(str(picture(INTERVALS, "c", WIDE))), "svg")))
    places = {text_of(e): _place(e) for e in elements(svg, "text")}
    across, down = zip(*(places[name] for name in ("with rerank: R5 against R4", "+0.064", "real")), strict=True)
    assert max(down) - min(down) < 1  # pixels
    assert sorted(across) == list(across)
    assert svg.get("class") == "chart wide"
    words = {text for text in texts_of(INTERVALS) if not re.match(r"[+-]?0\.?\d*$", text)}
    assert words == {text for text in places if not re.match(r"[+-]?0\.?\d*$", text)}


def test_a_page_has_every_chart_for_little_room_and_for_much(page):
    figures = elements(page, "figure")
    assert [text_of(e) for figure in figures for e in elements(figure, "span") if e.get("class") == "title"] == [
        "Mean ndcg@10 of each configuration, with its interval",
        "What each step of the ladder adds: ndcg@10",
        "ndcg@10 against the median search",
    ]
    for figure in figures:
        assert [e.get("class") for e in elements(figure, "svg")] == ["chart narrow", "chart wide"]


def test_stacks_tell_how_many_were_lost_and_a_configuration_without_sources_is_no_error():
    assert {"4 of 40 lost", "0 of 0 lost"} <= set(texts_of(STACKS))


def test_points_in_one_place_share_a_label_and_only_those_that_nothing_beats_are_filled():
    assert {"a", "b", "c d"} <= set(texts_of(SCATTER))
    assert unbeaten(SCATTER) == (True, False, True, True)


def test_of_many_points_only_those_that_nothing_beats_carry_letters_which_go_on_behind_z():
    rising = tuple(Point(f"P{at}", float(at + 1), Estimate(at / 100)) for at in range(28))
    assert lettered(Scatter("t", "y", points=rising))[24:] == ("y", "z", "a1", "b1")
    beaten = Point("slow", 50.0, Estimate(0.1))
    assert lettered(Scatter("t", "y", points=(beaten, *rising)))[:3] == ("", "a", "b")
    assert lettered(Scatter("t", "y", points=(beaten, *rising[: LETTERED - 1])))[:3] == ("a", "b", "c")


def test_a_drawing_has_no_date_and_no_random_names():
    assert draw(STACKS) == draw(STACKS)
    assert not re.search(r"\d{4}-\d\d-\d\d", draw(INTERVALS))


def test_a_drawing_in_characters_stays_one():
    page = page_of(Plot(("a <b>", "  .")))
    assert text_of(elements(page, "pre")[0]) == "a <b>\n  ."


# --- how much of a large run a page holds ---------------------------------------------------------------------------------


def large(arms, questions):
    """The view of a run whose n-th configuration has a mean of n thousandths, and its questions."""
    names = [f"F{number}" for number in range(arms)]
    results = {
        name: {"overall": {"ndcg@10": {"mean": number / 1000, "low": 0.0, "high": 1.0, "n": questions}}}
        for number, name in enumerate(names)
    }
    run = {"run_id": "r", "k": 10, "configurations": [{"name": name} for name in names]}
    asked = [Question(f"q-{number:04d}", f"text {number}", "s", "T1") for number in range(questions)]
    return RunView(run, {"results": results}), asked


@pytest.mark.parametrize(("arms", "questions", "kept"), [(7, 500, 7), (64, 500, 10), (64, 12, 64), (64, 5_000, 8)])
def test_so_many_configurations_are_kept_as_the_page_has_room_for(arms, questions, kept):
    view, _ = large(arms, questions)
    choice = choose(view, questions)
    assert len(choice.names) == min(arms, 2 + RANKS_KEPT // (min(questions, OPENING) * DEPTH)) == kept
    assert choice.pair == ("F0", f"F{arms - 1}")  # the best, and for want of a pair the first
    assert set(choice.names) == {"F0"} | {f"F{number}" for number in range(arms - kept + 1, arms)}


def test_of_a_large_run_every_question_is_listed_and_the_page_says_what_opens(monkeypatch):
    monkeypatch.setattr("pytest_ragbench.reports.html.questions.OPENING", 60)
    view, questions = large(800, 110)
    choice = choose(view, len(questions))
    scores = {"q-0007": 1.0, "q-0020": 0.5}
    rows = {
        (question.id, name): {"metrics": {"ndcg@10": scores.get(question.id, 0.0) if name == "F799" else 0.0}}
        for question in questions
        for name in choice.pair
    }
    listed = list_questions(view, choice, questions, rows, {})
    assert len(listed.entries) == 110
    opening = {entry.question.id for entry in listed.entries if entry.sides}
    assert len(opening) == 60
    assert set(scores) <= opening
    assert listed.notes[0].text.startswith(
        f"Rankings of {len(choice.names)} of the 800 configurations are in this page"
    )
    assert listed.notes[1].text == (
        "60 of the 110 questions open here: those on which the two configurations differ most, then those that score "
        "lowest."
    )
    page = parsed(render_page(build_page(Report("t", ()), listed)))
    assert len(elements(by_id(page, "list"), "details")) == 60
    assert "text 109" in text_of(by_id(page, "list"))


@pytest.fixture
def alone(monkeypatch):
    """The page of a run of one configuration and 1,100 questions, of which five open."""
    monkeypatch.setattr("pytest_ragbench.reports.html.questions.OPENING", 5)
    view, questions = large(1, 1_100)
    rows = {(question.id, "F0"): {"metrics": {"ndcg@10": 1.0}} for question in questions}
    rows["q-0900", "F0"] = {"metrics": {"ndcg@10": 0.5}}
    listed = list_questions(view, choose(view, len(questions)), questions, rows, {})
    return render_page(build_page(Report("t", ()), listed))


def test_of_one_configuration_the_lowest_scores_open_and_the_page_speaks_of_no_second_one(alone):
    (part,) = [e for e in elements(parsed(alone), "section") if "questions" in e.get("class")]
    said = [text_of(e) for e in elements(part, "p")]
    assert (
        "5 of the 1,100 questions open here: those that score lowest. ragbench show r --question ID prints any." in said
    )
    assert not any("two" in text or "`" in text for text in said)
    assert [text_of(e) for e in elements(part, "code")] == ["ragbench show r --question ID"]
    opened = [text_of(e) for e in elements(part, "summary")]
    assert (len(opened), "text 900" in opened) == (5, True)


def test_the_number_of_questions_is_written_alike_before_and_after_a_search(alone):
    """The script keeps the words that the template has written, and writes its own number in their way."""
    page = parsed(alone)
    assert text_of(by_id(page, "count")) == "1,100 questions."
    script = text_of(elements(page, "script")[-1])
    assert 'find("#count").textContent.replace(' in script
    assert 'count.toLocaleString("en")' in script
    assert not re.search(r"\$\{(count|entries\.length)\}", script)


def test_one_question_is_not_said_to_be_several():
    view, questions = large(1, 1)
    listed = list_questions(view, choose(view, 1), questions, {}, {})
    assert text_of(by_id(parsed(render_page(build_page(Report("t", ()), listed))), "count")) == "1 question."


def test_a_label_stands_apart_from_its_box(alone):
    (rule,) = re.findall(r"^\.controls label \{(.*)\}$", alone, re.MULTILINE)
    assert "inline-flex" in rule
    assert re.search(r"\bgap: \.[1-9]\d*rem;", rule)


# --- where it is written ----------------------------------------------------------------------------------------------------


def test_the_suffix_decides_what_is_written(record, text, tmp_path):
    assert report_text(record, tmp_path / "x.HTML") == text
    assert report_text(record, tmp_path / "x.md") == (record.folder / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_its_packages_html_is_refused_by_their_names(record, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"--to: out.html needs .*{package}.*install pytest-ragbench\[html\].*\.md"):
        save_report("last", record.folder.parent, tmp_path / "out.html")
    assert not (tmp_path / "out.html").exists()
    assert save_report("last", record.folder.parent, tmp_path / "out.md")


def test_the_command_line_writes_the_page(record, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runs = str(record.folder.parent)
    assert main(["report", "last", "--runs-dir", runs, "--to", "page.html"]) == 0
    assert capsys.readouterr().out == "report: page.html\n"
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    assert main(["report", "last", "--runs-dir", runs, "--to", "no/page.html"]) == 4
    assert "no/page.html" in capsys.readouterr().err
