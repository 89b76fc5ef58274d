"""Which xdist worker runs what: all cells of one question go to one worker, and a crash costs one item.

Implements xdist's `Scheduling` protocol for `--dist load`. A unit is the items of one question, or one item that is no
cell. Units are handed out whole, in collection order, to whichever worker runs low.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import pytest
from xdist.report import report_collection_diff
from xdist.workermanage import parse_tx_spec_config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xdist.workermanage import WorkerController

LEAST_PENDING = 2
"""A worker starts an item only once it knows the next, so it must always hold two."""

MOST_PENDING = 64
"""Enough to hide the latency of a message; more would leave one worker with the tail."""


class QuestionScheduling:
    """Hands out units of items.

    Args:
        config: The session's configuration.
        unit_of: The unit that a node id belongs to, or None when it stands alone.
        before_first: Called with the collection, once, before the first item is sent.
    """

    def __init__(
        self,
        config: pytest.Config,
        unit_of: Callable[[str], str | None],
        before_first: Callable[[Sequence[str]], None],
    ) -> None:
        self.config = config
        self.numnodes = len(parse_tx_spec_config(config))
        self.collection: list[str] | None = None
        self._unit_of = unit_of
        self._before_first = before_first
        self._units: deque[list[int]] = deque()
        self._pending: dict[WorkerController, list[int]] = {}
        self._collections: dict[WorkerController, list[str]] = {}
        self._started: dict[WorkerController, int | None] = {}
        self._blameless: set[WorkerController] = set()

    @property
    def nodes(self) -> list[WorkerController]:
        """The workers that are up."""
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        """Whether every worker that the session began with has reported its collection."""
        return self.collection is not None or len(self._collections) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        """Whether every item is done, or is the last that its worker holds."""
        if not self.collection_is_completed or self._units:
            return False
        return all(len(pending) < LEAST_PENDING for pending in self._pending.values())

    @property
    def has_pending(self) -> bool:
        """Whether anything is left to run."""
        return bool(self._units) or any(self._pending.values())

    def add_node(self, node: WorkerController) -> None:
        """Take in a worker that has come up; it gets nothing before its collection is known."""
        self._pending[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Learn what a worker collected. A replacement that collected something else is sent home."""
        if self.collection is not None and list(collection) != self.collection:
            self._complain(node, self.collection, collection)
            node.shutdown()
            return
        self._collections[node] = list(collection)

    def schedule(self) -> None:
        """Hand out the first units, or, once running, fill up the workers that have come since."""
        if self.collection is None and not self._adopt_collection():
            return
        for node in self.nodes:
            self._fill(node)

    def _adopt_collection(self) -> bool:
        (first, collection), *others = self._collections.items()
        differing = [node for node, other in others if other != collection]
        for node in differing:
            self._complain(node, collection, self._collections[node], first)
        if differing:
            return False
        self._before_first(collection)
        self.collection = collection
        units: OrderedDict[str, list[int]] = OrderedDict()
        for index, node_id in enumerate(collection):
            units.setdefault(self._unit_of(node_id) or node_id, []).append(index)
        self._units.extend(units.values())
        return True

    def _complain(
        self,
        node: WorkerController,
        expected: Sequence[str],
        found: Sequence[str],
        first: WorkerController | None = None,
    ) -> None:
        name = first.gateway.id if first else "the first worker"
        text = report_collection_diff(expected, found, name, node.gateway.id)
        report = pytest.CollectReport(nodeid=node.gateway.id, outcome="failed", longrepr=text, result=[])
        self.config.hook.pytest_collectreport(report=report)

    def _fill(self, node: WorkerController) -> None:
        """Send units until the worker holds its share; with none left, let it finish."""
        if node.shutting_down or node not in self._collections:
            return
        pending = self._pending[node]
        share = sum(map(len, self._units)) // (4 * len(self._pending)) if len(pending) < LEAST_PENDING else 0
        wanted = min(max(LEAST_PENDING, share), MOST_PENDING)
        batch: list[int] = []
        while self._units and len(pending) + len(batch) < wanted:
            batch.extend(self._units.popleft())
        if batch:
            pending.extend(batch)
            node.send_runtest_some(batch)
        if not self._units:
            node.shutdown()

    def mark_test_started(self, node_id: str) -> None:
        """Note that a worker has begun an item, so that a crash is charged to an item that ran."""
        for node, pending in self._pending.items():
            if pending and self.collection is not None and self.collection[pending[0]] == node_id:
                self._started[node] = pending[0]

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:  # noqa: ARG002
        """Note that a worker is done with an item, and send it more when it runs low."""
        self._pending[node].remove(item_index)
        self._fill(node)

    def mark_test_pending(self, item: str) -> None:
        """Queue an item again, ahead of everything, as plugins that rerun crashed items ask."""
        if self.collection is not None:
            self._units.appendleft([self.collection.index(item)])
            for node in self.nodes:
                self._fill(node)

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        """Never asked for: nothing here steals from a worker."""
        raise RuntimeError(f"{node.gateway.id} gave back items {list(indices)} that nobody asked for")

    def is_inside_item(self, node: WorkerController) -> bool:
        """Whether a worker has begun an item and not finished it."""
        pending = self._pending.get(node, [])
        return bool(pending) and pending[0] == self._started.get(node)

    def excuse(self, node: WorkerController) -> None:
        """A worker that was interrupted is going down; no item is to blame."""
        self._blameless.add(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget a worker. What it still held is queued again, but for the item that it died in.

        Returns:
            Node id of the item that was running when the worker crashed, or None.
        """
        inside = self.is_inside_item(node)
        pending = self._pending.pop(node)
        self._started.pop(node, None)
        self._collections.pop(node, None)
        if not pending or self.collection is None or node in self._blameless:
            return None
        crashed = pending.pop(0) if inside else None
        self._requeue(pending)
        for other in self.nodes:
            self._fill(other)
        return None if crashed is None else self.collection[crashed]

    def _requeue(self, indices: list[int]) -> None:
        """Put items back as units, first, in their old order."""
        units: OrderedDict[str, list[int]] = OrderedDict()
        collection = self.collection or []
        for index in indices:
            units.setdefault(self._unit_of(collection[index]) or collection[index], []).append(index)
        self._units.extendleft(reversed(units.values()))
