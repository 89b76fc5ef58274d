"""The comment on a pull request, read back by GitHub's own Markdown parser."""

from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from pytest_ragbench.gates.model import Flip, GateLine, Refusal, Verdict
from pytest_ragbench.reports.comment import LIMIT, marker, render_comment

RUN = {"run": "20260901T120000Z-aaaaaaa", "commit": "a" * 12}
HOSTILE = (
    "a | b || c",
    r"a \| b",
    "line1\nline2\r\nline3",
    "`code | x",
    "</code></details><script>alert(1)</script>",
    "@octocat see #12, GH-12 and https://example.org/x or www.example.org",
    "*bold* _em_ ~~gone~~ ![x](y) [z](javascript:alert) <!-- hidden",
    "evil \u202e gnp.exe",
    "naïve 🙂 北京",
    "&lt;b&gt; &#64;x",
)


class Page(HTMLParser):
    """The tables of a rendered comment as rows of cell texts, and every tag that it has."""

    def __init__(self, markdown):
        super().__init__()
        self.tags, self.rows, self.text, self.comments = [], [], "", []
        self._in_cell = False
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))

    def handle_starttag(self, tag, _):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self._in_cell = False

    def handle_data(self, data):
        self.text += data
        if self._in_cell:
            self.rows[-1][-1] += data

    def handle_comment(self, data):
        self.comments.append(data)


def line(metric="ndcg@10", *, scope="overall", current=0.7, baseline=0.7, outcome="ok", gated=True, note=""):
    delta = None if current is None or baseline is None else current - baseline
    return GateLine("default", scope, metric, current, baseline, delta, 0.6, 0.02, 40, gated, outcome, note)


def verdict(*lines, status="failed", baseline="baselines/main.json", refusals=(), flips=(), notes=()):
    return Verdict(status, "full", baseline, lines, refusals, flips, notes)


def page_of(found, texts=()):
    return Page(render_comment(found, texts=dict(texts), run=RUN))


def test_the_first_line_is_the_sticky_marker_of_its_check():
    text = render_comment(verdict(line(), status="passed"), texts={}, run=RUN, key="v0 offline -->")
    assert text.startswith(f"{marker('v0 offline -->')}\n")
    assert marker("v0 offline -->") == "<!-- pytest-ragbench: v0-offline -->"
    assert Page(text).comments[0] == " pytest-ragbench: v0-offline "


def test_the_table_tells_baseline_current_delta_floor_and_verdict_of_each_metric():
    page = page_of(verdict(line("mrr@10", current=0.65, baseline=0.7, outcome="regressed"), line("recall@10")))
    head, *rows = page.rows
    cells = [dict(zip(head, row, strict=True)) for row in rows]
    names = ("metric", "baseline", "current", "delta", "floor", "may fall", "verdict")
    assert [cells[0][name] for name in names] == [
        "mrr@10", "0.700", "0.650", "-0.050", "0.600", "0.020", "regressed",
    ]  # fmt: skip
    assert "1 of 2 gated numbers fail: mrr@10 of default fell by 0.050, more than 0.020." in page.text


def test_what_fails_comes_first_and_then_the_worst_fall():
    lines = [
        line("a", current=0.69),
        line("b", current=0.9),
        line("c", current=0.66, gated=False, outcome="shown"),
        line("d", current=0.68, outcome="below floor"),
        line("e", current=0.60, outcome="regressed"),
        line("f", current=None, outcome="no value"),
    ]
    order = [row[2] for row in page_of(verdict(*lines)).rows[1:]]
    # failing by delta (-.10, -.02, none), then the gated by delta (-.01, +.20), then what is only shown
    assert order == ["e", "d", "f", "a", "b", "c"]


def test_domains_are_folded_and_a_failing_one_stands_in_the_first_table_too():
    lines = [line(), line(scope="domain:networking", current=0.5, outcome="regressed")]
    page = page_of(verdict(*lines, line("p@5", scope="domain:networking", gated=False, outcome="shown")))
    assert page.tags.count("details") == page.tags.count("summary") == 1
    assert "By domain: 2 numbers, 1 fail" in page.text
    assert [row[1] for row in page.rows] == [
        "where", "domain networking", "overall", "where", "domain networking", "domain networking",
    ]  # fmt: skip


def test_a_refusal_says_what_differs_and_the_command_that_mends_it():
    refusal = Refusal("question set", "d1", "d2", "pytest --rag-configs=default --rag-update-baseline")
    page = page_of(verdict(status="refused", refusals=(refusal,)))
    assert "Retrieval gate: refused to judge" in page.text
    assert "question set: found d1, expected d2; pytest --rag-configs=default --rag-update-baseline" in page.text


@pytest.mark.parametrize("text", HOSTILE)
def test_rpt_02_a_hostile_question_stays_in_its_cell_and_can_be_read_there(text):
    flip = Flip("lex-0001", "default", "ndcg@10", 1.0, 0.0)
    page = page_of(verdict(line(), flips=(flip,), notes=(f"Of {text}.",)), {"lex-0001": text})
    head, row = page.rows[-2:]
    assert len(row) == len(head) == 6
    shown = text.replace("\n", "␊").replace("\r", "␍").replace("\u202e", "⟨U+202E⟩")
    assert row[-1] == shown
    assert f"Of {shown}." in page.text
    allowed = {"h2", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary", "sub"}
    assert set(page.tags) <= allowed


def test_nobody_is_notified_since_no_name_follows_its_at_sign_in_one_text():
    flip = Flip("lex-0001", "default", "ndcg@10", 1.0, 0.0)
    texts = {"lex-0001": "ask @octocat or me@example.org; recall@10"}
    text = render_comment(verdict(line(), flips=(flip,)), texts=texts, run=RUN)
    page = cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE)
    assert "@octocat" not in page
    assert "mailto:" not in page
    assert "recall@10" in page


@pytest.mark.parametrize("changed", [600, 3000])
def test_gat_08_a_comment_that_is_too_long_is_cut_at_whole_rows_and_says_how_many_are_left(changed):
    texts = {f"lex-{number:04d}": f"{number} " + "🙂|`x" * 75 for number in range(changed)}
    flips = tuple(Flip(name, "default", "ndcg@10", 1.0, number / changed) for number, name in enumerate(texts))
    text = render_comment(verdict(line(), line("mrr@10", outcome="regressed"), flips=flips), texts=texts, run=RUN)
    assert len(text.encode()) <= LIMIT
    page = Page(text)
    assert text.startswith(marker("gate"))
    assert "Retrieval gate: failed" in page.text
    assert {len(row) for row in page.rows} == {10, 6}
    kept = [row[0] for row in page.rows if row[0].startswith("lex-")]
    assert kept == list(texts)[: len(kept)]  # the worst first
    assert f"{changed - len(kept):,} more rows, see report.md" in page.text
    assert f"Questions that changed: {changed:,} worse, 0 better" in page.text
    assert page.tags.count("details") == text.count("</details>") == 1


def test_a_short_part_is_whole_beside_one_that_is_cut():
    flips = tuple(Flip(f"lex-{number:04d}", "default", "ndcg@10", 1.0, 0.0) for number in range(3000))
    lines = [line(scope=f"domain:d{number}") for number in range(5)]
    page = Page(render_comment(verdict(line(), *lines, flips=flips), texts={}, run=RUN))
    assert sum(row[1].startswith("domain") for row in page.rows) == 10  # gated: in both tables


def test_the_same_verdict_gives_the_same_text():
    found = verdict(line("a"), line("b", outcome="regressed", current=0.6))
    turned = verdict(*reversed(found.lines))
    assert render_comment(found, texts={}, run=RUN) == render_comment(turned, texts={}, run=RUN)
