"""Claims about the documentation: what it names exists, what exists it names, and its examples load."""

from __future__ import annotations

import argparse
import ast
import configparser
import dataclasses
import re
import shlex
from pathlib import Path

import pytest
import yaml

from pytest_ragbench import cli
from pytest_ragbench.analysis.between import Pairing, between
from pytest_ragbench.analysis.cells import Cells
from pytest_ragbench.analysis.graduation import Clause, Difference
from pytest_ragbench.analysis.layers import LAYERS, NO_LANE, STAGE_LAYERS
from pytest_ragbench.analysis.losses import DEPTHS
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.power import power
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.authoring import validation
from pytest_ragbench.baselines.schema import MainModel, RowModel
from pytest_ragbench.configurations.designs import factorial_arms, leave_one_out_arms
from pytest_ragbench.configurations.loading import load_catalogue, missing_off_values
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.configurations.schema import ArmRecord, CatalogueRecord
from pytest_ragbench.configurations.thresholds import Known, Rule, Thresholds, load_hard_gates
from pytest_ragbench.contract import (
    ROUTE_COUNTS,
    Addition,
    Chunk,
    DecomposedReport,
    Dropped,
    GateReport,
    RouteReport,
    SearchResult,
    WalkReport,
)
from pytest_ragbench.errors import InputError
from pytest_ragbench.execution import elements
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.gates.model import FAILING, OUTCOMES, Flip, GateLine, Refusal, Verdict
from pytest_ragbench.harness.options import OPTIONS, SWITCHES
from pytest_ragbench.metrics.faithfulness import faithfulness
from pytest_ragbench.metrics.measures import METRICS_VERSION, metric_names, score
from pytest_ragbench.metrics.relevance import compile_gold, match
from pytest_ragbench.questions.loading import read_set
from pytest_ragbench.questions.locators import split_heading
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.questions.schema import LocatorRecord, ProvenanceRecord, QuestionRecord, SourceRecord
from pytest_ragbench.questions.suites import BUILT_IN
from pytest_ragbench.records import schema as run_schema
from pytest_ragbench.records.chunks import chunk_mapping
from pytest_ragbench.reports.between import build_between
from pytest_ragbench.reports.build import build
from pytest_ragbench.reports.comparisons import _verb
from pytest_ragbench.runs import tabular
from pytest_ragbench.runs.differing import differences
from pytest_ragbench.seal.ledger import Entry
from pytest_ragbench.statistics.power import Needed
from pytest_ragbench.statistics.shapley import shapley
from pytest_ragbench.statistics.verdicts import WORDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCS}
METRICS, FILES, READING = (TEXTS[f"docs/{name}.md"] for name in ("metrics", "files", "reading-the-report"))
README = TEXTS["README.md"]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")


def fenced(*languages: str) -> list[tuple[str, str]]:
    """(file, text) of every fenced block in one of the languages."""
    return [(name, block) for name, text in TEXTS.items() for kind, block in FENCE.findall(text) if kind in languages]


def prose(text: str) -> str:
    return FENCE.sub("", text)


def spans(text: str) -> set[str]:
    """What stands in inline code."""
    return set(CODE.findall(prose(text)))


def section(text: str, title: str) -> str:
    """A section with everything below it."""
    level = re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)
    assert level, f"no section {title}"
    rest = text[level.end() :]
    end = re.search(rf"^#{{1,{len(level[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def tables(text: str) -> list[list[list[str]]]:
    """Every table as rows of cells, the rule left out; `\\|` is no border."""
    found: list[list[list[str]]] = []
    before = ""
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not before.startswith("|"):
                found.append([])
            if not all(set(cell) <= set("-: ") for cell in cells):
                found[-1].append(cells)
        before = line
    return found


def table(text: str, *head: str) -> list[list[str]]:
    """The rows of the table that begins with these column titles."""
    return next(rows[1:] for rows in tables(text) if tuple(rows[0][: len(head)]) == head)


def first_column(text: str, head: str) -> set[str]:
    """Names in the first column of a table; a cell may hold several."""
    return {name for row in table(text, head) for name in CODE.findall(row[0])}


# --- metrics and statistics ---------------------------------------------------------------------------------------------


def test_every_metric_is_named_with_its_formula():
    assert first_column(section(METRICS, "The metrics"), "name") == set(metric_names(10))
    assert f"describes version {METRICS_VERSION}" in " ".join(METRICS.split())


def test_a_shallow_run_has_the_metrics_that_the_page_names():
    assert {"hit@1", "hit@3", "recall@3", "p@3"} <= spans(METRICS) & set(metric_names(3))
    assert "hit@5" not in metric_names(3)


@pytest.mark.parametrize("row", table(section(METRICS, "When a chunk satisfies a gold source"), "gold", "chunk"))
def test_the_example_files_match_as_told(row):
    gold, chunk = (CODE.findall(cell)[0] for cell in row[:2])
    (found,), _ = match([Chunk(chunk)], compile_gold([GoldSource(Locator(gold))]))
    assert bool(found) is row[2].startswith("yes")


HEADINGS = [rows[1:] for rows in tables(section(METRICS, "When a chunk satisfies a gold source"))][1]


@pytest.mark.parametrize("row", HEADINGS)
def test_the_example_headings_match_as_told(row):
    gold, chunk = (split_heading(CODE.findall(cell)[0]) for cell in row[:2])
    (found,), _ = match([Chunk("a.md", heading=chunk)], compile_gold([GoldSource(Locator("a.md", heading=gold))]))
    assert bool(found) is row[2].startswith("yes")


@pytest.mark.parametrize("row", table(section(METRICS, "nDCG"), "ranking"))
def test_met_03_the_worked_example_is_what_the_product_computes(row):
    gold = compile_gold([GoldSource(Locator("b.pdf", (5, 6))), GoldSource(Locator("b.pdf", (6, 7)))])
    pages = [int(page) for page in re.findall(r"page (\d+)", row[0])]
    values = score(*match([Chunk("b.pdf", (page, page)) for page in pages], gold), gold)
    told = dict(zip(("ndcg@10", "recall@10", "complete@10", "mrr@10"), map(float, row[3:]), strict=True))
    assert {name: values[name] for name in told} == pytest.approx(told, abs=1e-6)
    assert values["doc_ndcg@10"] == 1.0


def test_the_examples_of_optional_gold_and_of_faithfulness_are_what_the_product_computes():
    gold = compile_gold([GoldSource(Locator("a.md")), GoldSource(Locator("ctx.md"), required=False)])
    values = score(*match([Chunk("ctx.md")], gold), gold)
    assert [values[name] for name in ("hit@1", "mrr@10", "ndcg@10", "p@5", "citation_precision@10")] == [
        0,
        0,
        0,
        0.2,
        1,
    ]
    claims = ("the tolerance is 1e-8", "a singular matrix raises LinAlgError")
    context = "numpy raises LinAlgError when the matrix is singular"
    assert all(text in METRICS for text in (*claims, context))
    assert faithfulness(claims, [context]) == 0.5


def test_the_example_without_the_bench_computes_what_its_comments_say():
    ((_, block),) = [found for found in fenced("python") if found[0] == "docs/metrics.md"]
    names: dict[str, object] = {}
    exec(compile(block, "metrics.md", "exec"), names)
    assert names["matches"] == names["doc_matches"] == [(), (0,)]
    assert names["values"]["mrr@10"] == 0.5


@pytest.mark.parametrize("suite", ["code", "canvas", "books"])
@pytest.mark.parametrize("file", ["a.md", "a.markdown", "a.py", "a.ipynb", "a.canvas", "a.pdf"])
def test_a_heading_stands_for_the_whole_file_where_the_page_says_so(suite, file):
    gold = compile_gold([GoldSource(Locator(file, heading=("Somewhere",)))], suite=suite)
    whole = suite in {"code", "canvas"} and not file.endswith((".md", ".markdown"))
    assert match([Chunk(file)], gold)[0] == [(0,) if whole else ()]


def test_every_verdict_is_explained_by_its_name_and_by_its_words():
    rows = {CODE.findall(row[0])[0]: row[1] for row in table(section(METRICS, "Verdicts"), "in `summary.json`")}
    assert rows == WORDS
    assert {row[0] for row in table(section(READING, "The verdicts"), "verdict")} == set(WORDS.values())


# --- files and keys -----------------------------------------------------------------------------------------------------


def keys(model: type) -> set[str]:
    return set(model.model_fields)


def test_every_key_of_a_question_is_in_its_table_and_marked_required_where_it_is():
    text = section(FILES, "Keys of a question")
    assert first_column(text, "key") == keys(QuestionRecord)
    assert first_column(text, "key of a source") == keys(SourceRecord)
    assert first_column(text, "key of `provenance`") == keys(ProvenanceRecord)
    for head, model in (("key", QuestionRecord), ("key of a source", SourceRecord)):
        told = {CODE.findall(row[0])[0] for row in table(text, head) if row[2] == "required"}
        assert told == {name for name, field in model.model_fields.items() if field.is_required()}
    assert keys(LocatorRecord) == {"file", "pages", "heading"}


def test_the_first_example_uses_every_key():
    question = next(q for q in read_set(example("- id: lex-0001"), "x.yaml") if q.id == "mul-0001")
    plain = Question("a-0001", "?", "s", "T1")
    unset = {f.name for f in dataclasses.fields(Question) if getattr(question, f.name) == getattr(plain, f.name)}
    assert unset == {"answerable"}


def example(beginning: str) -> str:
    return next(block for name, block in fenced("yaml") if name == "docs/files.md" and block.startswith(beginning))


@pytest.mark.parametrize(("file", "block"), fenced("yaml"))
def test_every_yaml_example_loads(file, block, tmp_path):
    text = "\n".join(line for line in block.splitlines() if not line.startswith("#")) + "\n"
    if text.startswith("- "):
        assert read_set(text, f"{file}.yaml")
        return
    path = tmp_path / "configs.yaml"
    path.write_text(text, encoding="utf-8")
    if text.lstrip().startswith("hard_gates:"):
        assert load_hard_gates(path, Known(10, metric_names(), ("R0-lexical",), {"books"}, ()))
        return
    if "\njobs:" in text:
        called = [job["uses"] for job in yaml.safe_load(text)["jobs"].values()]
        names = [re.search(r"\.github/workflows/[\w-]+\.yml", used)[0] for used in called]
        assert names
        assert all((ROOT / name).is_file() for name in names)
        return
    assert load_catalogue(path, reserved=BUILT_IN).experiments
    assert not missing_off_values(path)


@pytest.mark.parametrize(("file", "block"), fenced("jsonl"))
def test_every_jsonl_example_loads(file, block):
    assert len(read_set(block, f"{file}.jsonl")) == len(block.splitlines())


@pytest.mark.parametrize(("file", "block"), fenced("ini"))
def test_every_ini_example_has_known_keys(file, block):
    parser = configparser.ConfigParser()
    parser.read_string(block)
    assert set(parser["pytest"]) <= {option.dest for option in OPTIONS if option.ini}


@pytest.mark.parametrize("row", table(section(FILES, "Quoting"), "refused"))
def test_what_the_page_says_is_refused_is_refused_and_its_cure_loads(row):
    wrong, right = (CODE.findall(cell)[0] for cell in row)

    def record(line: str) -> str:
        inside = line.startswith("heading")
        gold = ["  gold:", "  - file: a.md", *([f"    {line}"] if inside else [])]
        own = [] if inside else [f"  {line}"]
        return "\n".join(["- id: a-0001", "  question: What?", "  suite: s", "  tier: T1", *gold, *own]) + "\n"

    with pytest.raises(InputError):
        read_set(record(wrong), "x.yaml")
    assert read_set(record(right), "x.yaml")


def test_every_suite_with_a_target_is_named_with_it():
    text = section(FILES, "Suites and tiers")
    assert dict(re.findall(r"`(\w+)` (\d+)", text)) == {suite.name: str(suite.target) for suite in BUILT_IN.values()}


def test_every_key_of_the_configurations_is_in_the_table_and_in_the_example():
    text = section(FILES, "Configurations")
    assert first_column(text, "key") == keys(CatalogueRecord)
    block = example("defaults:")
    assert all(re.search(rf"^{key}:", block, re.MULTILINE) for key in keys(CatalogueRecord))
    assert all(re.search(rf"\b{key}:", block) for key in keys(ArmRecord))


def test_what_is_generated_from_the_example_is_told(tmp_path):
    path = tmp_path / "configs.yaml"
    path.write_text(example("defaults:"), encoding="utf-8")
    catalogue = load_catalogue(path)
    rows = table(section(FILES, "Configurations"), "experiment", "configurations")
    told = {CODE.findall(row[0])[0]: (CODE.findall(row[1]), CODE.findall(row[2])) for row in rows}
    for name, arms in (("loo", leave_one_out_arms), ("factorial", factorial_arms)):
        names, pairs = told[name]
        assert names == list(catalogue.experiments[name].arms)
        assert {pair for arm in arms(catalogue.factors) for pair in arm.pairs} == set(pairs)
    silent = {name for name, configuration in catalogue.configurations.items() if not configuration.searches}
    assert silent == {"F:none", "F:rerank"}


LOADERS = ["questions/border", "questions/loading", "questions/schema", "questions/strict_yaml"]
LOADERS += ["configurations/loading", "configurations/schema"]
NO_CODES = {"utf-8-sig", "utf-8"}


def loader_codes() -> set[str]:
    """Whatever is spelled like a code in the modules that load files, and what their validators refuse with."""
    found = {"alias", "tag"}
    for module in LOADERS:
        tree = ast.parse((ROOT / "pytest_ragbench" / f"{module}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and re.fullmatch("[a-z]+(-[a-z0-9]+)+", str(node.value)):
                found.add(node.value)
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "refusal":
                found.add(node.args[0].value.replace("_", "-"))
    return found - NO_CODES


def test_every_code_is_told_and_no_other():
    told = first_column_of_all(section(FILES, "Codes"), "code")
    assert told == loader_codes() | {*validation.ERRORS, *validation.WARNINGS}


def first_column_of_all(text: str, head: str) -> set[str]:
    rows = [row for rows in tables(text) if rows[0][0] == head for row in rows[1:]]
    return {name for row in rows for name in CODE.findall(row[0])}


def test_every_finding_of_validate_is_named():
    assert {*validation.ERRORS, *validation.WARNINGS} <= spans(section(FILES, "Commands"))


# --- records ------------------------------------------------------------------------------------------------------------


def test_every_key_of_run_json_is_told():
    text = section(FILES, "`run.json`")
    assert first_column(text, "key") == keys(run_schema.RunModel)
    inner = (run_schema.GitModel, run_schema.ConfigurationModel, run_schema.ExperimentModel)
    for model in (*inner, run_schema.BootstrapModel, run_schema.LedgerModel, run_schema.ShardModel):
        assert keys(model) <= spans(text)


def everything(query: str, **overrides: object) -> SearchResult:
    chunk, tied = Chunk("a.md", id="1", score=1.0, text="x"), Chunk("b.md", id="2", score=1.0)
    threshold = overrides.get("threshold", 0.5)
    gate = GateReport(scorer="late", threshold=threshold, confidence=0.9, removed=[tied])
    walk = WalkReport(search=[tied], added=[{"chunk": chunk, "edge": "link"}], query_seeds=1)
    route = RouteReport(course="c", area=None, kind=None, scope="c", **dict.fromkeys(ROUTE_COUNTS, 1))
    split = DecomposedReport(parts=["x"], dropped=[{"text": "", "why": "blank"}])
    told = {"stages": {"rank": [chunk]}, "gate": gate, "walk": walk, "route": route, "decomposed": split, "answer": "a"}
    return SearchResult([chunk, tied], {"rank": 1.0}, ["sparse"], **told)


def test_every_key_of_a_row_and_of_a_chunk_is_told():
    question = Question("a-0001", "?", "s", "T1", gold=(GoldSource(Locator("a.md")),))
    row = measure(everything, question, Configuration("c", "c"), k=10).row
    text = section(FILES, "`per_query.jsonl`")
    assert first_column(text, "key") == set(row)
    reports = (row["gate"], row["gate"]["removed"][0], row["walk"], row["walk"]["added"][0], row["stages"]["rank"])
    for part in (row["ranking"][0], row["route"], row["decomposed"], row["decomposed"]["dropped"][0], *reports):
        assert set(part) <= spans(text)
    for report in (GateReport, WalkReport, Addition, RouteReport, DecomposedReport, Dropped):
        assert set(report.__annotations__) <= spans(text)
    assert set(chunk_mapping(Chunk("a.md"))) <= spans(section(FILES, "`chunks.jsonl`"))


def small_summary() -> dict:
    """Of two questions under two arms that have everything a row can have."""
    gold = (GoldSource(Locator("a.md"), hop=1), GoldSource(Locator("nowhere.md")))
    labels = [{"domain": name, "strategy": name, "difficulty": name} for name in ("fact", "explain")]
    questions = [
        Question(f"{prefix}-0001", "?", suite, "T1", gold=gold, expect_course="c", **own)
        for prefix, suite, own in zip(("rtc", "rtu"), "st", labels, strict=True)
    ]
    configurations = (
        Configuration("one", "one", {"threshold": 0.1}),
        Configuration("two", "two", {"threshold": 0.2}, pairs=("one",)),
        *(
            Configuration(arm.name, arm.name, {"a": "a" in arm.factors, "b": "b" in arm.factors}, arm.factors)
            for arm in factorial_arms(("a", "b"))
        ),
    )
    factorial = Experiment("factorial", tuple(arm.name for arm in configurations[2:]))
    rows = RowTable(metric_names())
    for question in questions:
        for configuration in configurations:
            rows.add(measure(everything, question, configuration, k=10).row)
    return summarise(rows, Plan(tuple(questions), configurations, (factorial,), resamples=50), complete=True)


def test_every_key_of_the_summary_is_told():
    summary = small_summary()
    text = section(FILES, "`summary.json`")
    results = summary["results"]["two"]
    assert first_column(text, "key of `results` → configuration") == set(results)
    assert first_column(text, "key of a comparison") == set(results["paired"]["one"]["hit@1"])
    assert set(results["paired_by_suite"]["one"]["s"]) == {*results["paired"]["one"]["hit@1"], "diag"}
    assert {"_set", *results["by_suite"]["s"]["_set"], *results["set"], *results["rows"]} <= spans(text)
    assert {*results["overall"]["hit@1"], *results["page_span"]} <= spans(text)
    gate, walk, route = results["gate"], results["walk"], results["route"]
    assert {*gate, *gate["risk_coverage"], *walk, *walk["generated"], *walk["controls"], *route} <= spans(text)
    assert {*results["by_prefix"]["rtc"], *route["scope"], *summary["attribution"]["sweeps"][0]} <= spans(text)
    losses, attribution = results["losses"], summary["attribution"]
    assert {*losses, *losses["by_suite"]["s"], *losses["questions"][NO_LANE]} <= spans(text)
    assert first_column(text, "key of `attribution`") == set(attribution) - {"families", "sweeps"}
    assert {*attribution["factorial"], *attribution["shapley"]["ndcg@10"]["a"]} <= spans(text)
    latency = summary["latency"]["two"]
    assert {*summary, *latency["search"], *latency["_rows"], "_rows", *summary["attribution"]} <= spans(text)


def test_every_section_of_a_report_has_its_place_on_the_page_and_is_marked_where_it_is_a_detail():
    run = {"run_id": "r", "status": "done", "started_at": "t", "k": 10, "complete": True}
    error = {"question": "a-0001", "configuration": "one", "error": "OSError: x"}
    report = build(run, small_summary(), errored=[error])
    heads = re.findall(r"^##+ (.+)$", READING, re.MULTILINE)
    for part in (*report.sections, *report.brief().sections):
        title = part.title.partition(":")[0]
        if title.startswith("By "):
            assert title.removeprefix("By ") in next(head for head in heads if head.startswith("By "))
        elif part.detail:
            assert f"{title} *(detail)*" in heads
        else:
            assert title in heads


def test_the_words_of_a_difference_that_does_not_survive_the_adjustment_are_told():
    seems = _verb({"p_holm": 0.2}, "helps", "help")
    assert seems.startswith("seems to")
    assert seems in READING
    assert _verb({"p_holm": 0.05}, "helps", "help") == _verb({"p_holm": None}, "helps", "help") == "helps"


def test_every_layer_is_told_on_both_pages_and_what_a_stage_may_be():
    assert {CODE.findall(row[0])[0] for row in table(section(METRICS, "Where sources are lost"), "layer")} == {*LAYERS}
    assert {row[0] for row in table(section(READING, "Where sources are lost"), "layer")} == {*LAYERS}
    assert {*STAGE_LAYERS} <= spans(section(FILES, "`per_query.jsonl`"))
    told = re.findall(r"pool, first (\d+)", section(READING, "Where sources are lost"))
    assert set(map(int, told)) <= {*DEPTHS}


def test_the_shares_of_the_example_are_what_the_product_computes():
    text = section(METRICS, "What factors carry")
    worth = dict(zip((frozenset(names) for names in ("", "r", "s", "d", "sd", "sr", "dr", "sdr")), WORTH, strict=True))
    shares = shapley(worth, "sdr")
    assert all(f"{value:g}" in text for value in (*WORTH, *(round(share, 3) for share in shares.values())))
    assert round(sum(shares.values()), 12) == 0.75


WORTH = (0, 0, 0.5, 0.4, 0.62, 0.6, 0.55, 0.75)


def test_every_key_of_the_thresholds_is_told_with_its_default():
    rows = table(section(FILES, "Thresholds"), "key", "default")
    told = {CODE.findall(row[0])[0]: float(row[1]) for row in rows if row[1] != "none"}
    assert told == {name: field.default for name, field in Thresholds.model_fields.items() if not field.default_factory}
    assert first_column(section(FILES, "Thresholds"), "key") == keys(Thresholds)
    assert first_column(section(FILES, "Thresholds"), "key of a rule") == keys(Rule)


def test_every_key_of_a_baseline_and_of_a_verdict_is_told():
    text = section(FILES, "The baseline")
    assert first_column(text, "key") == keys(MainModel)
    assert keys(RowModel) <= spans(text)
    text = section(FILES, "`gate.json`")
    assert first_column(text, "key") == {"schema_version", *(field.name for field in dataclasses.fields(Verdict))}
    assert {field.name for part in (GateLine, Refusal, Flip) for field in dataclasses.fields(part)} <= spans(text)


def test_every_outcome_of_a_gate_is_told_and_which_of_them_fail():
    rows = table(section(TEXTS["docs/gate.md"], "The verdict"), "verdict", "meaning")
    told = {CODE.findall(row[0])[0]: row[2] == "yes" for row in rows}
    assert told == {outcome: outcome in FAILING for outcome in OUTCOMES}


def everything_in_one(query: str) -> list[Chunk]:
    return [Chunk("1.md")]


def test_every_key_that_graduate_and_power_print_is_told():
    text = section(FILES, "What `graduate` and `power` print as JSON")
    rows = RowTable(metric_names())
    arms = (Configuration("old", "old"), Configuration("new", "new", pairs=("old",)))
    questions = [Question(f"a-000{n}", "?", "s", "T1", gold=(GoldSource(Locator(f"{n}.md")),)) for n in (1, 2)]
    for question in questions:
        for arm in arms:
            rows.add(measure(everything_in_one, question, arm, k=10).row)
    cells = Cells(rows, Plan(tuple(questions), arms, resamples=50))
    (entry, *_) = power(cells, [("new", "old")], ["hit@1"], 0.1)
    assert first_column(text, "key of an entry") == set(entry)
    assert {*entry["in_these_clusters"], *entry["mcnemar"], *Needed._fields} <= spans(text)
    assert {field.name for cls in (Clause, Difference) for field in dataclasses.fields(cls)} - {"key"} <= spans(text)


def small_comparison() -> dict:
    """Of the same question in two runs, as `ragbench compare --json` prints it."""
    question = Question("a-0001", "?", "s", "T1", gold=(GoldSource(Locator("a.md")),))
    rows = RowTable(metric_names())
    for side, file in ((0, "b.md"), (1, "a.md")):
        row = measure(lambda _, file=file: [file], question, Configuration("c", "c"), k=10).row
        rows.add({**row, "configuration": f"{side}:c"})
    (pair,) = between(rows, [question], [Pairing((0, "c"), (1, "c"))], Plan((), (), resamples=50))
    runs = [{"run_id": name, "started_at": "t", "git": {"sha": None, "dirty": None}, "ledger": None} for name in "ab"]
    named = {"run": "b", "against": "a", "configuration": "c", "other": "c", "overrides": {"pool": [1, 2]}}
    asked = {"split": "dev", "k": 10, "questions": 1, "sealed": 0, "metrics_version": 1, "schema_version": 1}
    bootstrap = {"seed": 1, "resamples": 50, "confidence": 0.95, "cluster": "file"}
    told = {"differences": [], "unknown": ["index"], "comparisons": [{**named, **pair}]}
    return {**asked, "bootstrap": bootstrap, "runs": runs, **told}


def test_every_key_and_section_of_a_comparison_of_runs_is_told():
    found = small_comparison()
    (pair,) = found["comparisons"]
    text = section(FILES, "What `compare` prints as JSON")
    assert first_column(text, "key of `ragbench compare --json`") == set(found)
    assert first_column(text, "key of a pair") == set(pair)
    told = spans(text) | first_column(section(FILES, "`summary.json`"), "key of a comparison")
    assert {*pair["metrics"]["ndcg@10"], *pair["by_suite"]["s"], *pair["changed"][0]} <= told
    run = {"git": {"sha": None, "dirty": None}, "questions_digest": None, "configurations": [], "config_digest": None}
    run |= {"pipeline": None, "llm": None, "bootstrap": None, "versions": {}, "left_out": {}}
    (difference,) = differences([{**run, "index": index} for index in "ab"])
    assert set(difference) <= told
    titles = {part.title.partition(":")[0] for part in build_between(found).sections}
    assert {row[0] for row in table(section(READING, "Run against run"), "section")} == titles


def test_every_column_of_an_exported_table_is_told():
    told = first_column(section(FILES, "Rows for other tools"), "column")
    assert told == {*tabular.TEXTS, *tabular.FLAGS, *tabular.COUNTS, f"{tabular.MILLISECONDS}search"}


def test_every_key_of_the_ledger_is_told():
    assert first_column(section(FILES, "The ledger"), "key") == keys(Entry)


# --- options and commands -----------------------------------------------------------------------------------------------


def told_options() -> set[tuple[str | None, str | None]]:
    rows = table(section(FILES, "Options and ini keys"), "option", "ini key")
    return {(next(iter(CODE.findall(row[0])), None), next(iter(CODE.findall(row[1])), None)) for row in rows}


def test_every_option_and_ini_key_is_in_the_table_and_no_other():
    twins = {option.dest for option in OPTIONS if option.ini}
    switches = {(switch.flag, switch.dest if switch.dest in twins else None) for switch in SWITCHES}
    known = {(f"--rag-{o.name}" if o.flag else None, o.dest if o.ini else None) for o in OPTIONS}
    known = {pair for pair in known if pair[0] or pair[1] not in {ini for _, ini in switches}}
    assert told_options() == {*known, *switches, ("--unseal-test", None)}


def test_the_changelog_lists_every_option_and_ini_key():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    wanted = {f"--rag-{option.name}" if option.flag else option.dest for option in OPTIONS} | {"--unseal-test"}
    wanted |= {switch.flag for switch in SWITCHES}
    missing = {name for name in wanted if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}
    assert not missing


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Every command of `ragbench`, `import beir` included, and its parser."""

    def below(name: str, parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
        found = {name: parser}
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for sub, inner in action.choices.items():
                    found |= below(f"{name} {sub}".strip(), inner)
        return found

    return below("", cli._parser())


PARSERS = parsers()
RAGBENCH_FLAGS = {flag for parser in PARSERS.values() for flag in parser._option_string_actions}
RAGBENCH_CALL = re.compile(r"(?<![\w/-])ragbench ((?:[a-z]+)(?: beir| trec)?)((?: [^`\n]*)?)")


@pytest.mark.parametrize("name", TEXTS)
def test_every_ragbench_command_and_flag_that_is_mentioned_exists(name):
    lines = [*spans(TEXTS[name]), *(line for _, block in FENCE.findall(TEXTS[name]) for line in block.splitlines())]
    for line in lines:
        if not line.lstrip("$ ").startswith("ragbench "):
            continue
        command, rest = RAGBENCH_CALL.search(line).groups()
        assert command in PARSERS, line
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= set(PARSERS[command]._option_string_actions), line


@pytest.mark.parametrize(
    "line",
    [
        line.removeprefix("$ ")
        for _, block in fenced("sh", "console")
        for line in block.replace("\\\n", " ").splitlines()
        if line.removeprefix("$ ").startswith("ragbench ")
    ],
)
def test_every_ragbench_line_of_an_example_parses(line):
    cli._parser().parse_args(shlex.split(line)[1:])


def test_every_command_is_in_the_table():
    told = {" ".join(call.split()[1:]) for call in spans(section(FILES, "Commands")) if call.startswith("ragbench ")}
    told = {re.sub(r" (\[SETS\]|RUN)$", "", call) for call in told}
    assert told == set(PARSERS) - {"", "import"}
    flags = set(re.findall(r"--[a-z][a-z-]*", section(FILES, "Commands")))
    own = {
        name: set(parser._option_string_actions) for name, parser in PARSERS.items() if name and "import" not in name
    }
    assert flags == set().union(*own.values()) - {"-h", "--help"}


@pytest.fixture(scope="module")
def pytest_flags(request):
    return set(request.config._parser.optparser._option_string_actions)


FOREIGN = {"--check", "--unshallow", "--porcelain", "--local-dir", "--write"}
"""Flags of ruff, git, hf and the benchmarks."""
LAYA = {"--data", "--eval", "--base", "--out", "--loss", "--epochs", "--micro-batch", "--grad-accum", "--seed"}
LAYA |= {"--dry-run", "--freeze-encoder"}
"""Flags of laya-train; tests/rag/test_rag_laya.py holds them against the package."""


@pytest.mark.parametrize("name", TEXTS)
def test_every_flag_that_is_mentioned_exists(name, pytest_flags):
    text = "\n".join([*spans(TEXTS[name]), *(block for _, block in FENCE.findall(TEXTS[name]))])
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z](?![\w*-])", text))
    assert not flags - pytest_flags - RAGBENCH_FLAGS - FOREIGN - LAYA
    assert {flag for flag in flags if flag.startswith("--rag-")} <= pytest_flags


@pytest.mark.parametrize("name", TEXTS)
def test_every_rag_ini_key_that_is_mentioned_exists(name):
    known = {option.dest for option in OPTIONS} | {
        "rag_pipeline",
        "rag_row",
        "rag_questions",
        "rag_bm25",
        "rag_unseal_test",
    }
    assert set(re.findall(r"(?<![\w.])rag_[a-z0-9_]+", TEXTS[name])) <= known


# --- the README and the checks ------------------------------------------------------------------------------------------


def readme_environments() -> list[str]:
    return re.findall(r"tox run -e ([\w,]+)", section(README, "Two commands"))


def test_the_two_commands_of_the_readme_name_environments_that_exist():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini", encoding="utf-8")
    assert readme_environments() == ["bench", "test"]
    assert all(parser.has_section(f"testenv:{name}") for name in readme_environments())
    assert "--rag-configs=ladder" in parser["testenv:bench"]["commands"]


def test_the_checks_run_the_environment_of_the_readmes_test_command():
    script = ROOT / ".ci" / "run"
    if not script.is_file():
        pytest.skip(".ci/run is not part of this distribution")
    run = re.findall(r"-e ([\w,]+)", script.read_text(encoding="utf-8"))
    assert readme_environments()[1] in {name for names in run for name in names.split(",")}


def test_the_readmes_project_of_your_own_retriever_runs_as_it_stands(pytester):
    blocks = [block for name, block in fenced("python", "yaml") if name == "README.md"]
    files = {match[1]: block for block in blocks if (match := re.match(r"# (\S+)\n", block))}
    files["golden/configs.yaml"] = next(block for block in blocks if block.startswith("defaults:"))
    files["conftest.py"] += '\n\ndef my_retriever(question, **overrides):\n    return ["notes/linear-systems.md"]\n'
    for name, text in files.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["What ran", "*1 question,*2 configurations*", "Results", "*R0-plain*1/1*"])


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_somewhere(name):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(TEXTS[name])):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        assert path.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.+)$", prose(path.read_text(encoding="utf-8")), re.MULTILINE)
            assert anchor in {slug(title) for title in titles}, target


def slug(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


MACHINE = re.compile(r"(?<![\w.~*\])}-])(?:/(?:root|home|Users|work|mnt|tmp|opt)/[\w.-]+|[A-Z]:\\\\?Users\\)")
PLACEHOLDER = re.compile(r"/home/(?:me|user|someone)\b")
PLACES = ("pytest_ragbench", "rag", "docs", "benchmarks", ".ci", ".github")
SUFFIXES = {".py", ".md", ".toml", ".ini", ".yaml", ".yml", ".txt", ""}


def sources() -> list[Path]:
    found = [path for path in ROOT.iterdir() if path.is_file() and path.suffix in SUFFIXES - {""}]
    for place in PLACES:
        found += [path for path in (ROOT / place).rglob("*") if path.is_file() and path.suffix in SUFFIXES]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def test_no_document_and_no_source_names_a_path_of_some_machine():
    named = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sources()
        for match in MACHINE.finditer(path.read_text(encoding="utf-8"))
        if not PLACEHOLDER.match(match[0])
    }
    assert not named


def test_what_is_read_of_foreign_documents_is_told():
    told = spans(section(FILES, "Chunks of other libraries"))
    keys = {*elements._FILE_KEYS, *elements._HEADING_KEYS, *elements._TEXT_KEYS, "Header 1", "Header 6"}
    assert {*keys, "header", "parent_headers", "header_path", "page", "page_number", "page_label"} <= told
