"""Laya: the refusals by name, and the real package over a tiny checkpoint that its own training code made."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from rag import laya as module
from rag.cache import DiskCache, Memo, Meter, PairScores
from rag.errors import ModelMissingError
from rag.laya import Laya, LayaRerank, checkpoint, questions, state, training_row
from rag.options import Settings

WORDS = ["bracket", "mutex", "spinlock", "bisection", "entropy", "kernel", "matrix", "voltage"]
NOTES = {
    "a.md": "theorem of the bracket",
    "b.md": "gossip of the bracket",
    "c.md": "theorem of the mutex",
    "d.md": "gossip of the mutex",
}
GATED = {"gate": "laya", "gate_scorer": "laya", "gate_threshold": 0.5}


def meter():
    return Meter(Memo(100))


def test_without_the_package_the_refusal_says_what_to_install(write, pipeline, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "laya" else find(name, *rest))
    write(NOTES)
    for overrides in ({"rerank": "laya"}, GATED):
        with pytest.raises(ModelMissingError, match="pip install laya"):
            pipeline().check_overrides(**overrides)


def test_it_asks_for_no_package_of_other_rerankers(write, pipeline, monkeypatch):
    find, absent = importlib.util.find_spec, ("laya", "sentence_transformers")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in absent else find(name, *rest))
    write(NOTES)
    with pytest.raises(ModelMissingError, match="pip install laya"):
        pipeline().check_overrides(rerank="laya", dense=False)


@pytest.fixture(scope="session")
def package():
    pytest.importorskip("torch", reason="torch is not installed")
    return pytest.importorskip("laya", reason="the package laya is not installed: pip install laya")


def test_without_a_checkpoint_the_refusal_names_the_setting_and_the_manual(package, write, pipeline, tmp_path):
    write(NOTES)
    with pytest.raises(ModelMissingError, match=r"setting laya .*docs/laya\.md"):
        pipeline().check_overrides(rerank="laya")
    (tmp_path / "weights").mkdir()
    with pytest.raises(ModelMissingError, match=r"weights, which is no checkpoint .* no rl_agent_config\.json"):
        pipeline(laya="weights").check_overrides(**GATED)
    with pytest.raises(ModelMissingError, match="no checkpoint"):
        pipeline(laya="weights").search("bracket", rerank="laya")


@pytest.fixture(scope="session")
def trained(package, tmp_path_factory):
    """A checkpoint of one tiny layer that learnt, by `laya.train`, that a passage with a theorem is relevant."""
    import torch
    import transformers
    from laya.common import DecisionModel
    from laya.train import TrainConfig, finetune, save_checkpoint

    from rag.models import find, prepare_torch

    prepare_torch(1)
    folder = tmp_path_factory.mktemp("laya")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(find("all-MiniLM-L6-v2", "model").path))
    torch.manual_seed(0)
    shape = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    shape |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "max_position_embeddings": 128}
    encoder = transformers.BertModel(transformers.BertConfig(vocab_size=len(tokenizer), **shape))
    budget = {"max_len": 96, "head_max_len": 48, "temperature": [1.0, 1.0, 1.0]}
    config = {"encoder": "tiny", "head_layers": 0, "act_costs": {}, **budget}
    save_checkpoint(DecisionModel(encoder, head_layers=0, n_act=1), tokenizer, config, str(folder / "base"))
    rows = [
        training_row(f"what of the {word}", f"{sort} of the {other}", relevant=sort == "theorem")
        for word in WORDS
        for other in WORDS
        for sort in ("theorem", "gossip")
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    knobs = TrainConfig(epochs=3, micro_batch=8, grad_accum=1, encoder_lr=5e-3, head_lr=5e-3, loss="soft-ce")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a dozen pairs are too few to calibrate by
        finetune(str(folder / "pairs.jsonl"), str(folder / "base"), str(folder / "trained"), knobs, device="cpu")
    return folder / "trained"


@pytest.fixture
def model(trained):
    return Laya(checkpoint(str(trained)), threads=1)


def test_its_score_is_the_packages_own_probability_unrounded(model, package, trained):
    texts = [f"{sort} of the {word}" for word in WORDS for sort in ("theorem", "gossip")]
    scores = model.predict("what of the mutex", texts)
    agent = package.load(str(trained), device="cpu")
    answers = agent.predict_batch([state("what of the mutex", text) for text in texts], questions())
    rounded = [answer["answers"]["relevant"]["noul"] for answer in answers]
    assert scores == pytest.approx(rounded, abs=6e-5)
    assert len(set(rounded)) < len(set(scores))
    assert all(0.0 <= score <= 1.0 for score in scores)
    theorems, gossip = scores[::2], scores[1::2]
    assert min(theorems) > 0.5 > max(gossip)


@pytest.mark.parametrize(("logit", "probability"), [(0.0, 0.5), (800.0, 1.0), (-800.0, 0.0)])
def test_rnk_02_far_logits_neither_overflow_nor_leave_the_unit_interval(logit, probability):
    assert module._sigmoid(logit) == probability


def test_a_long_passage_is_cut_at_what_the_model_reads_and_a_mask_in_it_is_only_text(model):
    assert len(model.predict("q", ["theorem " * 500, "[MASK] of [SEP] the [CLS]", ""])) == 3


def test_it_reranks_and_its_pairs_outlive_the_process(trained, write, pipeline):
    write(NOTES)
    settings = {"laya": str(trained), "threads": 1}
    first = pipeline(**settings)
    first.check_overrides(rerank="laya")
    result = first.search("what of the bracket", dense=False, rerank="laya")
    assert [chunk.file for chunk in result.chunks[:2]] == ["a.md", "c.md"]
    assert [chunk.score for chunk in result.chunks] == sorted((c.score for c in result.chunks), reverse=True)
    assert first._stage("laya", meter()).model.loaded.counts == {"pairs": 4}
    again = pipeline(**settings)
    assert again.search("what of the bracket", dense=False, rerank="laya").chunks == result.chunks
    assert again._stage("laya", meter()).model.loaded is None


def test_a_checkpoint_is_found_below_the_projects_folder(trained, write, pipeline, tmp_path, monkeypatch):
    write(NOTES)
    shutil.copytree(trained, tmp_path / "models" / "ours")
    monkeypatch.chdir("/")
    pipeline(laya="models/ours").check_overrides(rerank="laya")


def test_its_gate_judges_by_its_probability_whatever_reranks_and_pays_for_it_itself(trained, write, pipeline):
    write(NOTES)
    search = pipeline(laya=str(trained), threads=1, search={"rerank": "late-interaction"})
    plain = search.search("what of the mutex")
    gated = search.search("what of the mutex", **GATED)
    assert [c.file for c in gated.chunks] == [c.file for c in plain.chunks if c.file in ("a.md", "c.md")]
    assert sorted(chunk.file for chunk in gated.gate["removed"]) == ["b.md", "d.md"]
    assert all(chunk.score < 0.5 for chunk in gated.gate["removed"])
    assert gated.gate["confidence"] > 0.5
    assert gated.cold
    warm = search.search("what of the mutex", **GATED)
    assert warm.timings["rerank"] == plain.timings["rerank"]
    assert warm.timings["gate"] > 0
    assert "gate" in warm.cached


def test_an_empty_pool_loads_nothing(trained):
    rerank = LayaRerank(checkpoint(str(trained)), Settings(), PairScores())
    assert rerank.scores("what", [], meter()) == []
    assert rerank.model.loaded is None
    assert not rerank.fuses


def test_a_pair_is_scored_once_and_another_checkpoints_scores_are_not_taken_for_ones_own(trained, tmp_path):
    pairs = PairScores(DiskCache(tmp_path / "pairs.sqlite"))
    texts = [f"theorem {number}" for number in range(20)]
    rerank = LayaRerank(checkpoint(str(trained)), Settings(threads=1), pairs)
    scores = rerank.scores("what", texts, meter())
    assert rerank.scores("what", [*texts[::-1], "another"], meter())[:20] == scores[::-1]
    assert rerank.model.loaded.counts == {"pairs": 21}
    other = tmp_path / "other"
    shutil.copytree(trained, other)
    config = json.loads((other / "rl_agent_config.json").read_text())
    (other / "rl_agent_config.json").write_text(json.dumps(config | {"temperature": [1.0, 1.0, 3.0]}))
    softer = LayaRerank(checkpoint(str(other)), Settings(threads=1), pairs)
    assert softer.scores("what", texts, meter()) != scores


def test_a_digest_is_of_what_decides_the_answers(trained, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(trained, copy)
    before = checkpoint(str(copy)).digest
    assert before == checkpoint(str(trained)).digest
    (copy / "train_report.json").write_text("{}")
    shutil.rmtree(copy / "checkpoint_latest")
    written = copy / "tokenizer" / "tokenizer_config.json"
    known = json.loads(written.read_text())
    written.write_text(json.dumps({"tokenizer_class": "TokenizersBackend", "backend": "tokenizers"} | known))
    Laya(checkpoint(str(copy)), threads=1)  # rewrites what it finds there
    assert checkpoint(str(copy)).digest == before
    written.write_text(json.dumps(known | {"do_lower_case": "no"}))
    assert checkpoint(str(copy)).digest != before


@pytest.mark.parametrize("file", ["model.safetensors", "rl_agent_config.json", "encoder/config.json"])
def test_a_damaged_checkpoint_is_refused_and_leaves_no_score(file, trained, tmp_path, write, pipeline):
    write(NOTES)
    shutil.copytree(trained, tmp_path / "weights")
    (tmp_path / "weights" / file).write_bytes(b"damaged")
    search = pipeline(laya="weights", threads=1)
    for _ in range(2):
        with pytest.raises(ModelMissingError, match="cannot be loaded, train or fetch it anew"):
            search.search("bracket", dense=False, rerank="laya")


# -- the manual --------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]
SET = """
- id: lex-{number}
  question: {text}
  suite: lexical
  tier: T1
  split: {split}
  answerable: true
  gold: [{{file: a.md}}]
"""


@pytest.fixture
def project(tmp_path, write):
    """A project with the manual's script, a golden question and one for training."""
    write(NOTES)
    (tmp_path / "rag").mkdir()
    (tmp_path / "rag" / "config.yaml").write_text("search: {dense: false, rerank: none, sparse_pool: 30}", "utf-8")
    for folder, number, text, split in (
        ("golden/sets", "0001", "which theorem of the mutex", "test"),
        ("training", "9001", "the theorem of the bracket", "dev"),
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "lexical.yaml").write_text(SET.format(number=number, text=text, split=split), "utf-8")
    manual = (ROOT / "docs" / "laya.md").read_text("utf-8")
    (tmp_path / "make_pairs.py").write_text(manual.split("```python\n")[1].split("```")[0], "utf-8")
    return tmp_path


def make_pairs(project, folder):
    command = [sys.executable, "make_pairs.py", folder, "pairs.jsonl"]
    return subprocess.run(
        command, cwd=project, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )


def test_the_manuals_script_writes_pairs_that_the_package_trains_on(trained, project):
    from laya.train import dry_run

    done = make_pairs(project, "training")
    assert done.returncode == 0, done.stderr
    assert "1 questions, 1 relevant pairs" in done.stdout
    rows = [json.loads(line) for line in (project / "pairs.jsonl").read_text("utf-8").splitlines()]
    assert {row["state"]["passage"]: row["expected"]["relevant"] for row in rows} == {
        f"{file[0]}\n{text}": file == "a.md"
        for file, text in NOTES.items()  # as the pipeline's rerankers read them
    }
    assert dry_run(str(project / "pairs.jsonl"), str(trained))["valid_items"] == len(rows)


def test_the_manuals_script_refuses_a_golden_question_of_either_split(project):
    copied = SET.format(number="9002", text="Which  theorem of the MUTEX", split="dev")
    (project / "training" / "more.yaml").write_text(copied, "utf-8")
    done = make_pairs(project, "training")
    assert done.returncode == 1
    assert "lex-9002 is lex-0001" in done.stderr
    assert not (project / "pairs.jsonl").exists()


def test_the_manuals_commands_are_the_packages_own(package):
    from laya.train_cli import build_parser

    manual = (ROOT / "docs" / "laya.md").read_text("utf-8").replace("\\\n", " ")
    (command,) = re.findall("^laya-train .*$", manual, re.MULTILINE)
    arguments = build_parser().parse_args(shlex.split(command)[1:])
    assert (arguments.data, arguments.eval_data, arguments.output_dir) == (
        "pairs.jsonl",
        "held-out.jsonl",
        "models/laya-notes",
    )
    for option in re.findall("`(--[a-z-]+)", manual):
        assert option in build_parser().format_help() + "--local-dir"
