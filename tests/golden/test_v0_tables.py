"""The concept tables of golden/v0: how sentences become passages and answers, and mistakes refused by file and concept."""

from __future__ import annotations

import json

import pytest
import yaml

from golden.v0.compose import compose, sentences
from golden.v0.generate import main
from golden.v0.tables import TableError, read_tables

CONCEPT = {
    "name": "a token bucket",
    "works": ["$It fills at a fixed rate.", "Its capacity bounds the burst.", "$It is emptied by requests."],
    "limits": ["$It is kept for each server.", "A window lets twice as much pass.", "An office shares one address."],
    "practice": ["Answer with status 429 then.", "Keep the state in one place.", "Let requests pass without a store."],
    "ask": [
        {"easy works.2": "What bounds the burst?"},
        {"hard works.3 limits.1": "Where is it kept, and who empties it?"},
    ],
}


def table(**changes):
    return {"domain": "networks", "prefix": "net", "concepts": [CONCEPT | changes]}


@pytest.fixture
def home(tmp_path):
    """Write tables below a folder of their own: `home(networks={...})`."""

    def put(**tables):
        (tmp_path / "concepts").mkdir(exist_ok=True)
        for name, content in tables.items():
            text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
            (tmp_path / "concepts" / f"{name}.yaml").write_text(text, encoding="utf-8")
        return tmp_path

    return put


def composed(folder):
    return compose(read_tables(folder / "concepts"))


def test_the_concept_has_its_name_first_and_a_pronoun_after(home):
    (domain,) = read_tables(home(networks=table()) / "concepts")
    (concept,) = domain.concepts
    assert sentences(concept, concept.sentences["works"]) == [
        "A token bucket fills at a fixed rate.",
        "Its capacity bounds the burst.",
        "It is emptied by requests.",
    ]


def test_a_plural_is_called_they(home):
    works = ["$It fill at a fixed rate.", "$It are emptied by requests.", "Nothing else happens."]
    (domain,) = read_tables(home(networks=table(name="token buckets", plural=True, works=works)) / "concepts")
    (concept,) = domain.concepts
    assert sentences(concept, works)[:2] == ["Token buckets fill at a fixed rate.", "They are emptied by requests."]


def test_a_question_has_the_passages_of_its_sentences_as_gold_and_these_as_its_answer(home):
    files = composed(home(networks=table()))
    one, two = map(json.loads, files["sets/networks.jsonl"].splitlines())
    assert (one["id"], one["suite"], one["tier"], one["split"]) == ("net-0001", "lexical", "T1", "dev")
    assert one["gold"] == [{"file": "networks/token-bucket-works.md"}]
    assert one["answer"] == "Its capacity bounds the burst."
    assert (two["id"], two["suite"], two["tier"], two["difficulty"]) == ("net-0002", "multihop", "T3", "hard")
    assert [source["file"] for source in two["gold"]] == [
        "networks/token-bucket-works.md",
        "networks/token-bucket-limits.md",
    ]
    assert two["answer"] == "A token bucket is emptied by requests. It is kept for each server."
    for source in (*one["gold"], *two["gold"]):
        assert f"corpus/{source['file']}" in files


def test_an_answer_may_stand_in_another_domain(home):
    other = table(
        name="a lease", ask=[{"hard works.1 token-bucket/limits.2": "What passes, and how fast does it fill?"}]
    )
    files = composed(home(networks=table(), leases=other | {"domain": "leases", "prefix": "lea"}))
    (record,) = map(json.loads, files["sets/leases.jsonl"].splitlines())
    assert [source["file"] for source in record["gold"]] == [
        "leases/lease-works.md",
        "networks/token-bucket-limits.md",
    ]
    assert record["answer"] == "A lease fills at a fixed rate. A window lets twice as much pass."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- a list", r"networks\.yaml: : Input should be"),
        ("domain: [", r"networks\.yaml: cannot be read as YAML"),
        (table(limit=["x"]), r"networks\.yaml: concepts\.0\.limit: Extra inputs"),
        (table(works=["$It fills at a fixed rate."]), r"concepts\.0\.works: List should have at least 3"),
        (table(ask=[{"easy works.2": "No question mark"}]), r"concepts\.0\.ask\.0\.easy works\.2: String should match"),
        (table(ask=[{"simple works.2": "What?"}]), "a token bucket: 'simple works.2' is not `difficulty source ...`"),
        (table(ask=[{"easy": "What?"}]), "a token bucket: 'easy' is not `difficulty source ...`"),
        (table(ask=[{"easy works.2": "What?", "hard limits.1": "Why?"}]), "a question is one entry"),
        (table(ask=[{"easy works.4": "What?"}]), "answered by token-bucket/works.4, and there is no such sentence"),
        (table(ask=[{"easy bucket/works.1": "What?"}]), "answered by bucket/works.1, and there is no such sentence"),
        (table(works=[*CONCEPT["works"], "The price is $IT for each."]), r"works\.4 holds a \$ that is not \$It"),
        (table() | {"concepts": [CONCEPT, CONCEPT]}, "another concept has the file name token-bucket"),
    ],
)
def test_a_mistake_in_a_table_names_its_place_and_writes_nothing(content, message, home, capsys):
    folder = home(networks=content)
    with pytest.raises(TableError, match=message):
        read_tables(folder / "concepts")
    assert main([], folder) == 1
    assert capsys.readouterr().err.startswith("golden/v0/concepts/networks")
    assert not (folder / "corpus").exists()


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(TableError, match="there is no table"):
        read_tables(tmp_path)
