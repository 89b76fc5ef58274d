"""`report.html` in Chromium: nothing keeps people out, nothing is fetched, and its script sorts, searches and chooses."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.designs import factorial_arms, ladder_arms, leave_one_out_arms
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.chunks import chunk_line
from pytest_ragbench.records.writer import RunWriter
from pytest_ragbench.reports.commands import render_record
from pytest_ragbench.reports.saving import render_html

pytestmark = pytest.mark.browser

FACTORS = ("lane", "rerank", "noise")
SIZES = {"wide": (1280, 900), "phone": (390, 844)}
HOSTILE = "</script><img src=x onerror=\"document.title='run'\"> \u202eevil"


PLACES = (HOSTILE, '"><svg onload="document.title=\'run\'">.md', "\u2067\u200f שלום العربية", "x" * 20_000)


def spiteful(query, lane=False, **_):
    """Files, headings, texts and errors that try to be more than text."""
    if lane and query == PLACES[1]:
        raise ValueError(query)
    chunks = [{"file": place, "heading": [place], "text": place, "score": 1.0} for place in PLACES]
    return {"chunks": chunks, "timings": {"search": 1.0, PLACES[1]: 1.0}}


def search(query, lane=False, rerank=False, noise=False):
    """The lane finds most files, deep; the rerank lifts most of them to the top; noise changes the filler alone."""
    luck = random.Random(query).random()
    number = query.split()[0][1:]
    found = [f"{number}.md"] if luck < 0.9 and lane else []
    filler = [f"n{rank}.md" if noise else f"x{rank}.md" for rank in range(20)]
    depth = 0 if rerank and luck < 0.8 else int(luck * 16)
    ranking = [*filler[:depth], *found, *filler[depth:]]
    return {
        "chunks": [{"file": file, "text": f"passage of {file}"} for file in ranking[:10]],
        "lanes_run": ["lane"],
        "stages": {"lane": ranking, "cut": ranking[:10]},
        "timings": {"search": 10.0 + 40.0 * rerank + 5.0 * noise},
    }


def arms_of(arms):
    return [
        Configuration(arm.name, arm.name, {f: f in arm.factors for f in FACTORS}, arm.factors, arm.pairs)
        for arm in arms
    ]


DESIGNS = {
    "ladder": {
        "ladder": arms_of(
            ladder_arms([("R0", ["noise"]), ("R1", ["noise", "lane"]), ("R2", ["noise", "lane", "rerank"])])
        ),
        "loo": arms_of(leave_one_out_arms(FACTORS)),
    },
    "factorial": {"factorial": arms_of(factorial_arms(FACTORS))},
}


SPITE = {
    HOSTILE: [
        Configuration(PLACES[1], PLACES[1], {}, (HOSTILE,)),
        Configuration(HOSTILE, HOSTILE, {"lane": True}, (HOSTILE, PLACES[1]), (PLACES[1],)),
        Configuration(PLACES[3], PLACES[3], {}, (PLACES[2],), (PLACES[1],)),
    ]
}


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Design to the address of its page, and `hostile` to that of one whose every text is."""
    written = {name: _written(tmp_path_factory.mktemp(name), design) for name, design in DESIGNS.items()}
    asked = [
        Question(f"h-{at:04d}", place, "s", "T1", "dev", domain=place[:40], gold=(GoldSource(Locator(place)),),
                 nuggets=(place,))
        for at, place in enumerate(PLACES)
    ]  # fmt: skip
    return {**written, "hostile": _written(tmp_path_factory.mktemp("hostile"), SPITE, asked, spiteful)}


def _written(folder, design, questions=None, pipeline=search):
    questions = questions or [
        Question(f"q-{at:04d}", f"q{at} {HOSTILE if at == 3 else 'asks'}", ("books", "code")[at % 2], "T1", "dev",
                 domain="d", gold=(GoldSource(Locator(f"{at}.md")),))
        for at in range(30)
    ]  # fmt: skip
    arms = [arm for found in design.values() for arm in found]
    experiments = [Experiment(name, tuple(arm.name for arm in found)) for name, found in design.items()]
    facts = {
        "configurations": [
            {"name": a.name, "marker": a.marker, "overrides": a.overrides, "pairs": a.pairs, "factors": a.factors}
            for a in arms
        ],
        "experiments": [{"name": one.name, "arms": list(one.arms)} for one in experiments],
        "split": "dev",
        "notes": ["A note."],
    }
    noon = datetime(2026, 9, 1, 12, tzinfo=UTC)
    writer = RunWriter.create(folder, started_at=noon, sha="a" * 40, run=facts, questions=questions)
    table = RowTable(metric_names(10))
    for question in questions:
        for arm in arms:
            measured = measure(pipeline, question, arm, k=10)
            table.add(measured.row)
            writer.add(canonical.dumps(measured.row), map(chunk_line, measured.chunks))
    plan = Plan(tuple(questions), tuple(arms), tuple(experiments), resamples=400)
    record = writer.finish(
        status="done", reason=None, finished_at=noon, summary=summarise(table, plan, complete=True),
        render=render_record, complete=True, partial=False,
    )  # fmt: skip
    path = folder / "report.html"
    path.write_text(render_html(record), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(chromium, pages):
    """`opened(design, ...)` is the page, and a list of what it asked for and complained of."""
    contexts = []

    def make(design, *, scheme="light", size="wide", script=True):
        width, height = SIZES[size]
        context = chromium.new_context(
            color_scheme=scheme, viewport={"width": width, "height": height}, java_script_enabled=script
        )
        contexts.append(context)
        page, heard = context.new_page(), []
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("console", lambda message: heard.append(message.text))
        page.on("request", lambda request: heard.append(request.url) if request.url != pages[design] else None)
        page.goto(pages[design])
        return page, heard

    yield make
    for context in contexts:
        context.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("design", DESIGNS)
def test_axe_finds_no_violation_and_nothing_is_wider_than_the_screen(opened, design, scheme, size):
    from axe_playwright_python.sync_playwright import Axe

    page, heard = opened(design, scheme=scheme, size=size)
    for part in page.locator("details").all()[:6]:
        part.evaluate("part => { part.open = true; }")
    assert heard == []
    found = [(v["id"], [node["html"] for node in v["nodes"]]) for v in Axe().run(page).response["violations"]]
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]


@pytest.mark.parametrize("design", DESIGNS)
def test_dark_and_light_paint_the_charts_in_other_colours(opened, design):
    inks = []
    for scheme in ("light", "dark"):
        page, _ = opened(design, scheme=scheme)
        inks.append(page.locator(".chart text").first.evaluate("text => getComputedStyle(text).fill"))
    assert inks == ["rgb(84, 93, 104)", "rgb(163, 173, 184)"]  # --muted, of a label on an axis


def test_rpt_01_in_a_browser_a_hostile_question_is_text_in_any_state_of_the_page(opened):
    page, heard = opened("ladder")
    page.fill("#search", "<img")
    assert page.inner_text("#count") == "1 of 30 questions."
    page.locator("#list summary:visible").click()
    for name in ("#first", "#second"):
        page.select_option(name, index=0)
    assert page.locator("img").count() == 0
    assert page.title().startswith("Retrieval bench")
    assert "</script><img src=x" in page.locator("#list summary:visible").inner_text()
    assert "⟨U+202E⟩evil" in page.locator("#list summary:visible").inner_text()
    assert heard == []


@pytest.mark.parametrize("size", SIZES)
def test_rpt_01_hostile_names_files_and_errors_stay_text_for_every_choice_of_configurations(opened, size):
    page, heard = opened("hostile", size=size)
    elements = page.evaluate("[...document.querySelectorAll('main *')].filter(e => e.matches('img, [onload]')).length")
    for part in page.locator("details").all():
        part.evaluate("part => { part.open = true; }")
    for first in range(3):
        page.select_option("#first", index=first)
        page.select_option("#second", index=2 - first)
        assert page.locator("#list .side").count() == 2 * len(PLACES)
        elements += page.locator("img, [onload], [onerror]").count()
    assert elements == 0
    assert page.locator("script").count() == 2
    assert page.title().startswith("Retrieval bench")
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    assert heard == []


def shown(page, cell):
    return page.locator(f"#list > tbody:visible > tr:first-child > {cell}").all_inner_texts()


def test_a_press_of_a_heading_sorts_and_says_so_and_a_second_turns_it(opened):
    page, _ = opened("ladder")
    heading = page.locator("#list > thead th").last
    for direction, order in (("ascending", sorted), ("descending", lambda found: sorted(found, reverse=True))):
        heading.locator("button").focus()
        page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == direction
        found = [float(text) for text in shown(page, ".difference")]
        assert found == order(found)
        assert len(set(found)) > 1
    page.locator("#list > thead th button").first.click()
    assert heading.get_attribute("aria-sort") is None
    assert shown(page, "th") == [f"q-{at:04d}" for at in range(30)]


def test_searching_and_filtering_leave_what_fits_and_say_how_many(opened):
    page, _ = opened("ladder")
    page.fill("#search", "BOOKS q-000")
    assert shown(page, "th") == ["q-0000", "q-0002", "q-0004", "q-0006", "q-0008"]
    assert page.inner_text("#count") == "5 of 30 questions."
    page.fill("#search", "")
    page.select_option("#filter", "better")
    better = [float(text) for text in shown(page, ".difference")]
    assert better
    assert min(better) > 0
    assert page.inner_text("#count") == f"{len(better)} of 30 questions."


def test_other_configurations_stand_side_by_side_as_the_first_pair_did(opened):
    page, _ = opened("ladder")
    page.locator("#list summary").first.click()
    sides = page.locator("#list details").first.locator(".side")
    written = [sides.nth(at).inner_html() for at in (0, 1)]
    names = page.locator("#first option").all_inner_texts()
    pair = [page.locator(f"{name} option:checked").inner_text() for name in ("#first", "#second")]
    assert sides.locator("h3").all_inner_texts() == pair
    other = "-noise" if "-noise" not in pair else "R2"  # both find the file of the first question
    assert other in names
    page.select_option("#second", label=other)
    assert sides.locator("h3").all_inner_texts() == [pair[0], other]
    assert page.locator("#list > thead .which").all_inner_texts() == [pair[0], other]
    for side in (sides.nth(0), sides.nth(1)):
        assert side.locator("th").all_inner_texts() == ["rank", "source", "gold"]
        assert side.locator("table").get_attribute("class") == "small n1"
        assert side.locator("tr.hit td").all_inner_texts()[1:] == ["0.md\npassage of 0.md", "satisfies 0"]
    page.select_option("#second", label=pair[1])
    assert [sides.nth(at).inner_html() for at in (0, 1)] == written


def test_the_scores_of_other_configurations_are_those_of_their_own_page_state(opened):
    page, _ = opened("factorial")
    before = shown(page, ".score")
    page.select_option("#first", index=0)
    page.select_option("#second", index=0)
    same = shown(page, ".score")
    assert same[::2] == same[1::2]
    assert set(shown(page, ".difference")) == {"0.000"}
    assert before != same


def test_without_script_the_page_is_whole(opened):
    page, _ = opened("ladder", script=False)
    assert not page.locator(".controls").is_visible()
    assert page.locator("noscript p").is_visible()
    page.locator("#list summary").nth(4).click()
    assert page.locator("#list details").nth(4).locator(".side table").count() == 2
    assert page.locator("table button").count() == 0


def test_a_link_to_a_folded_part_opens_it(opened):
    page, _ = opened("ladder")
    page.locator("nav .folded a").first.click()
    assert page.locator("details.folded").first.evaluate("part => part.open")


@pytest.mark.parametrize(("size", "shown"), [("wide", "wide"), ("phone", "narrow")])
def test_a_chart_alone_takes_the_width_of_a_screen_and_two_side_by_side_are_the_narrow_ones(opened, size, shown):
    page, _ = opened("factorial", size=size)
    figures = page.locator("figure").all()
    pair = [at for at, figure in enumerate(figures) if "factor" in figure.locator(".title").inner_text()]
    assert len(pair) == 2
    for at, figure in enumerate(figures):
        seen = [name for name in ("narrow", "wide") if figure.locator(f".chart.{name}").is_visible()]
        assert seen == ["narrow" if at in pair else shown]


def test_in_print_all_parts_are_open_in_dark_ink_on_white_without_controls(opened):
    page, _ = opened("ladder", scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator(".controls").is_visible()
    assert not page.locator("nav").is_visible()
    assert page.locator("body").evaluate("body => getComputedStyle(body).color") == "rgb(26, 31, 37)"
    assert page.locator("details.folded table").first.is_visible()
    assert page.locator("details.glossary dl").is_visible()
    assert page.locator(".scroll").first.evaluate("part => getComputedStyle(part).overflowX") == "visible"


def test_the_keyboard_reaches_the_report_and_shows_where_it_is(opened):
    page, _ = opened("ladder")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('nav') !== null")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
