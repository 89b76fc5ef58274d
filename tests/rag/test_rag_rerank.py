"""Rerankers: late interaction and cross-encoder score, remember pairs, and take an empty pool as it is."""

from __future__ import annotations

import numpy as np
import pytest

from rag.cache import DiskCache, Lazy, Memo, Meter, PairScores
from rag.cross_encoder import CrossEncoderRerank
from rag.embedding import QuestionVectors, TokenCache
from rag.errors import ModelMissingError, RagError
from rag.late_interaction import LateInteraction


def meter():
    return Meter(Memo(100))


@pytest.fixture
def late(tmp_path, encoder):
    passages = TokenCache(DiskCache(tmp_path / "tokens.sqlite"), "model")
    questions = QuestionVectors(Lazy(lambda: encoder), "model")
    return LateInteraction(Lazy(lambda: encoder), questions, Lazy(lambda: passages), "model", PairScores())


class LengthModel:
    """Scores a passage by its length; counts batches."""

    def __init__(self):
        self.batches = []

    def predict(self, _query, texts):
        self.batches.append(list(texts))
        return [float(len(text)) for text in texts]


NOTES = {
    "a.md": "alpha beta gamma",
    "b.md": "alpha beta",
    "c.md": "beta gamma delta epsilon",
    "d.md": "alpha zeta",
}


@pytest.mark.parametrize("mode", ["late-interaction", "cross-encoder"])
def test_rnk_01_an_empty_pool_gives_an_empty_list_and_loads_nothing(mode, write, pipeline, encoder, model_folder):
    write(NOTES)
    model = LengthModel()
    search = pipeline(cross_encoder=str(model_folder), pair_model=lambda _: model)
    result = search.search("unknownword", dense=False, rerank=mode)
    assert result.chunks == ()
    assert result.stages["rerank"] == ()
    assert not encoder.counts
    assert model.batches == []


def test_late_interaction_is_the_mean_of_each_question_words_best_cosine(late, encoder):
    # Both words stand in the first passage (cosine 1 each); of the second, one does.
    scores = late.scores("alpha beta", ["beta x alpha", "alpha y"], meter())
    other = max(float(encoder.word("beta") @ encoder.word(word)) for word in ("alpha", "y"))
    assert scores == pytest.approx([1.0, (1.0 + other) / 2], abs=2e-3)


def test_a_pair_is_scored_once_however_pools_differ(late, encoder):
    memo = Memo(10)
    first, second = Meter(memo), Meter(memo)
    late.scores("alpha", ["one", "two"], first)
    assert first.cached == []
    scores = late.scores("alpha", ["two", "one"], second)
    assert encoder.counts == {"question": 1, "tokens": 2}
    assert second.cached == ["embed", "rerank"]
    assert second.timings["rerank"] == pytest.approx(first.timings["rerank"])
    assert second.timings["embed"] == first.timings["embed"]
    assert late.scores("alpha", ["one"], meter()) == scores[1:]


def test_a_passage_is_encoded_once_for_all_questions_and_each_is_charged_for_it(late, encoder):
    late.scores("alpha", ["one two three"], meter())
    bill = meter()
    late.scores("beta", ["one two three"], bill)
    assert encoder.counts == {"question": 2, "tokens": 1}
    assert bill.timings["rerank"] > 0


def test_an_error_is_not_remembered(late, encoder, monkeypatch):
    def broken(texts):
        raise MemoryError

    late.scores("alpha", ["two"], meter())
    with monkeypatch.context() as patch:
        patch.setattr(encoder, "token_vectors", broken)
        with pytest.raises(MemoryError):
            late.scores("alpha", ["one"], meter())
    bill = meter()
    assert late.scores("alpha", ["one"], bill)
    assert bill.cached == []


def test_the_index_holds_the_token_vectors_of_a_small_corpus(write, pipeline, encoder):
    write(NOTES)
    search = pipeline(search={"rerank": "late-interaction"})
    search.search("alpha")
    encoder.counts.clear()
    result = search.search("gamma delta")
    assert encoder.counts == {"question": 1}
    assert not result.cold


def test_beyond_the_threshold_passages_are_encoded_when_they_are_reranked(write, pipeline, encoder):
    write(NOTES)
    search = pipeline(token_index_to=3)
    search.search("alpha", dense=False, rerank="late-interaction")
    assert encoder.counts == {"question": 1, "tokens": 3}  # the notes that hold the word


def test_late_interaction_is_fused_with_the_order_it_was_given_unless_told_otherwise(write, pipeline):
    write(NOTES)
    search = pipeline()
    alone = search.search("gamma delta", dense=False, rerank="late-interaction", fuse_rerank=False)
    assert [chunk.file for chunk in alone.chunks] == ["c.md", "a.md"]
    assert alone.chunks[0].score == pytest.approx(1.0, abs=2e-3)
    fused = search.search("gamma delta", dense=False, rerank="late-interaction")
    assert fused.chunks[0].score == pytest.approx(2 / 61)


def test_warming_up_loads_the_reranker_whatever_the_corpus_says(write, pipeline, model_folder):
    write(NOTES)
    search = pipeline(cross_encoder=str(model_folder), pair_model=lambda _: LengthModel())
    search.warm(dense=False, rerank="cross-encoder")
    assert not search.search("alpha", dense=False, rerank="cross-encoder").cold


def test_only_the_pool_is_reranked_and_the_rest_follows_in_its_order(write, pipeline, model_folder):
    write(NOTES)
    model = LengthModel()
    search = pipeline(cross_encoder=str(model_folder), pair_model=lambda _: model)
    before = [chunk.file for chunk in search.search("alpha beta", dense=False).chunks]
    after = search.search("alpha beta", dense=False, rerank="cross-encoder", rerank_pool=2)
    assert sorted(chunk.file for chunk in after.chunks[:2]) == sorted(before[:2])
    assert [chunk.file for chunk in after.chunks[2:]] == before[2:]
    assert sum(map(len, model.batches)) == 2


def test_cross_encoder_batches_hold_texts_of_like_length_and_each_text_once():
    model = LengthModel()
    rerank = CrossEncoderRerank(Lazy(lambda: model), "model", PairScores())
    texts = ["x" * (40 - number) for number in range(40)] + ["x" * 40]
    assert rerank.scores("q", texts, meter()) == [float(len(text)) for text in texts]
    assert [len(batch) for batch in model.batches] == [16, 16, 8]
    assert [len(text) for batch in model.batches for text in batch] == list(range(1, 41))


def test_cross_encoder_pairs_outlive_the_process_with_their_first_time(tmp_path):
    first, again, model = meter(), meter(), LengthModel()
    for bill in (first, again):
        pairs = PairScores(DiskCache(tmp_path / "pairs.sqlite"))
        assert CrossEncoderRerank(Lazy(lambda: model), "m", pairs).scores("q", ["ab", "abc"], bill) == [2.0, 3.0]
    assert len(model.batches) == 1
    assert again.cached == ["rerank"]
    assert again.timings["rerank"] == pytest.approx(first.timings["rerank"])
    other = CrossEncoderRerank(Lazy(lambda: model), "another model", PairScores(DiskCache(tmp_path / "pairs.sqlite")))
    other.scores("q", ["ab"], meter())
    assert len(model.batches) == 2


def test_a_reranker_that_gives_no_number_fails_the_search(write, pipeline, model_folder):
    write(NOTES)
    model = LengthModel()
    model.predict = lambda _, texts: [float("nan")] * len(texts)
    search = pipeline(cross_encoder=str(model_folder), pair_model=lambda _: model)
    for _ in range(2):
        with pytest.raises(RagError, match="no number"):
            search.search("alpha", dense=False, rerank="cross-encoder")
    del model.predict
    assert search.search("alpha", dense=False, rerank="cross-encoder").chunks


def test_absent_cross_encoder_weights_refuse_by_name(write, pipeline):
    write(NOTES)
    with pytest.raises(ModelMissingError, match="cross_encoder"):
        pipeline().check_overrides(rerank="cross-encoder")
    search = pipeline(cross_encoder="nobody/no-such-model")
    with pytest.raises(ValueError, match=r"nobody/no-such-model.*hf download nobody/no-such-model"):
        search.check_overrides(rerank="cross-encoder")
    with pytest.raises(ModelMissingError):
        search.search("alpha", rerank="cross-encoder")


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    """A cross-encoder of two tiny layers with random weights and the bundled tokenizer."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from rag.models import find

    folder = tmp_path_factory.mktemp("cross-encoder")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(find("all-MiniLM-L6-v2", "model").path))
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=1,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_a_real_cross_encoder_gives_raw_logits_that_do_not_depend_on_the_pool(write, pipeline, model_folder):
    write(NOTES)
    search = pipeline(cross_encoder=str(model_folder), threads=1)
    search.check_overrides(rerank="cross-encoder")
    result = search.search("alpha beta", dense=False, rerank="cross-encoder")
    scores = {chunk.file: chunk.score for chunk in result.chunks}
    assert sorted(scores.values(), reverse=True) == [chunk.score for chunk in result.chunks]
    model = search._parts.pair_model.loaded
    assert model.counts["pairs"] == 4
    text = {chunk.file: chunk.indexed_text for chunk in result.chunks}
    assert model.predict("alpha beta", [text["c.md"]]) == pytest.approx([scores["c.md"]], abs=1e-5)
    assert search.search("alpha beta", dense=False, rerank="cross-encoder", rerank_pool=2).cached == (
        "sparse",
        "rerank",
    )


def test_a_model_with_two_labels_is_no_reranker(model_folder, tmp_path):
    transformers = pytest.importorskip("transformers")
    from rag.cross_encoder import SentencePairs
    from rag.models import find

    config = transformers.BertConfig.from_pretrained(model_folder, num_labels=2)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(str(model_folder)).save_pretrained(tmp_path)
    with pytest.raises(ModelMissingError, match="2 numbers a pair"):
        SentencePairs(find(str(tmp_path), "cross_encoder"), threads=1)


def test_real_token_vectors_are_of_unit_length_without_the_models_marks(sentence_encoder):
    whole, (pieces, nothing) = sentence_encoder.embed_with_tokens(["regula falsi", "\U0001f642"])
    assert pieces.shape == (len(sentence_encoder._model.tokenizer.tokenize("regula falsi")), 384)
    assert nothing.shape[0] >= 1
    assert np.linalg.norm(pieces, axis=1) == pytest.approx(np.ones(len(pieces)), abs=1e-5)
    assert np.abs(whole - sentence_encoder.embed(["regula falsi", "\U0001f642"])).max() < 1e-5
    assert sentence_encoder.token_vectors(["regula falsi"])[0] == pytest.approx(pieces, abs=1e-5)
