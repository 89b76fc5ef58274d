"""The scheduler's decisions, over workers that only note what they are sent."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_ragbench.harness import scheduler as module
from pytest_ragbench.harness.scheduler import QuestionScheduling


class Worker:
    def __init__(self, name):
        self.gateway = SimpleNamespace(id=name)
        self.sent = []
        self.shutting_down = False

    def send_runtest_some(self, indices):
        self.sent.extend(indices)

    def shutdown(self):
        self.shutting_down = True


class Config:
    def __init__(self):
        self.complaints = []
        self.hook = SimpleNamespace(pytest_collectreport=lambda report: self.complaints.append(str(report.longrepr)))


COLLECTION = [f"test[{name}-q{number}]" for number in range(6) for name in "AB"] + ["test_alone"]
"""Six questions under two configurations, and a test that is no cell: units (0, 1), (2, 3), ... (10, 11), (12,)."""


def unit_of(node_id):
    return node_id.partition("-")[2] or None


@pytest.fixture
def begun(monkeypatch):
    monkeypatch.setattr(module, "parse_tx_spec_config", lambda _: ["popen", "popen"])
    return []


def scheduling(begun, *collections):
    workers = [Worker(f"gw{number}") for number in range(2)]
    made = QuestionScheduling(Config(), unit_of, begun.append)
    for worker, collection in zip(workers, collections or (COLLECTION, COLLECTION), strict=False):
        made.add_node(worker)
        made.add_node_collection(worker, collection)
    return made, workers


def finish(made, worker, count):
    """Let a worker run so many of the items that it holds."""
    for index in [i for i in worker.sent if i in made._pending[worker]][:count]:
        made.mark_test_started(made.collection[index])
        made.mark_test_complete(worker, index)


def run_to_the_end(made, workers):
    for _ in range(200):
        for worker in workers:
            if worker in made.nodes:
                finish(made, worker, 1)
    assert not made.has_pending


def test_nothing_is_sent_before_every_worker_has_collected(begun):
    made, _ = scheduling(begun, COLLECTION)
    assert not made.collection_is_completed
    assert not begun


def test_the_record_begins_once_before_the_first_item_is_sent(begun):
    made, workers = scheduling(begun)
    made._before_first = lambda ids: begun.append((list(ids), [list(worker.sent) for worker in workers]))
    made.schedule()
    made.schedule()
    assert begun == [(COLLECTION, [[], []])]


def test_units_are_handed_out_whole_and_every_item_once(begun):
    made, workers = scheduling(begun)
    made.schedule()
    assert all(len(worker.sent) >= 2 for worker in workers)
    run_to_the_end(made, workers)
    assert sorted(workers[0].sent + workers[1].sent) == list(range(13))
    for first in range(0, 12, 2):
        assert sum(first in worker.sent and first + 1 in worker.sent for worker in workers) == 1
    assert made.tests_finished
    assert all(worker.shutting_down for worker in workers)


def test_a_worker_always_knows_its_next_item_until_none_is_left(begun):
    made, workers = scheduling(begun)
    made.schedule()
    while made._units:
        finish(made, workers[0], 1)
        assert len(made._pending[workers[0]]) >= 2 or not made._units


def test_a_crash_costs_the_item_that_ran_and_the_rest_runs_again(begun):
    made, (one, two) = scheduling(begun)
    made.schedule()
    held = list(made._pending[one])
    made.mark_test_started(COLLECTION[held[0]])
    assert made.remove_node(one) == COLLECTION[held[0]]
    run_to_the_end(made, [two])
    assert set(two.sent) == set(range(13)) - {held[0]}
    assert len(two.sent) == len(set(two.sent))


def test_a_worker_that_dies_between_items_costs_none(begun):
    made, (one, two) = scheduling(begun)
    made.schedule()
    assert made.remove_node(one) is None
    run_to_the_end(made, [two])
    assert set(two.sent) == set(range(13))


def test_a_worker_that_was_interrupted_is_charged_with_nothing_and_not_replaced(begun):
    made, (one, _) = scheduling(begun)
    made.schedule()
    made.mark_test_started(COLLECTION[made._pending[one][0]])
    made.excuse(one)
    assert made.remove_node(one) is None


def test_a_replacement_takes_what_is_left(begun):
    made, (one, two) = scheduling(begun)
    made.schedule()
    made.mark_test_started(COLLECTION[made._pending[one][0]])
    crashed = COLLECTION.index(made.remove_node(one))
    fresh = Worker("gw2")
    made.add_node(fresh)
    made.add_node_collection(fresh, COLLECTION)
    made.schedule()
    run_to_the_end(made, [two, fresh])
    assert set(two.sent) | set(fresh.sent) == set(range(13)) - ({crashed} - set(two.sent))


def test_a_replacement_that_collected_something_else_is_sent_home(begun):
    made, (one, _) = scheduling(begun)
    made.schedule()
    made.remove_node(one)
    fresh = Worker("gw2")
    made.add_node(fresh)
    made.add_node_collection(fresh, COLLECTION[1:])
    assert fresh.shutting_down
    assert "gw2" in made.config.complaints[0]


def test_workers_that_collected_differently_run_nothing(begun):
    made, workers = scheduling(begun, COLLECTION, COLLECTION[::-1])
    made.schedule()
    assert made.collection is None
    assert not begun
    assert not any(worker.sent for worker in workers)
    assert "Different tests were collected" in made.config.complaints[0]


def test_an_empty_collection_lets_every_worker_go(begun):
    made, workers = scheduling(begun, [], [])
    made.schedule()
    assert made.tests_finished
    assert all(worker.shutting_down for worker in workers)


def test_a_rerun_goes_ahead_of_everything(begun):
    made, (one, two) = scheduling(begun)
    made.schedule()
    crashed = made._pending[one][0]
    made.mark_test_started(COLLECTION[crashed])
    made.remove_node(one)
    made.mark_test_pending(COLLECTION[crashed])
    run_to_the_end(made, [two])
    assert set(two.sent) == set(range(13))
