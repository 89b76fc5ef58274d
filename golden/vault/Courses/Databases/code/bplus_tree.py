"""B+tree in memory: unique integer keys, linked leaves, splits but no merging on delete.

`order` is the largest number of children of an inner node, so a node holds at
most order - 1 keys. A leaf that overflows is cut in the middle and its right
half's first key is COPIED up; an inner node's middle key is MOVED up.

    >>> tree = BPlusTree(4)
    >>> for key in [10, 20, 30, 40]: tree.insert(key, str(key))
    >>> tree.root.keys, tree.height, tree.splits
    ([30], 2, 1)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class DuplicateKeyError(KeyError):
    """The index is unique and the key is already there."""


class Node:
    """A leaf holds `values` and `next`; an inner node holds `children`."""

    def __init__(self, leaf: bool) -> None:
        self.leaf = leaf
        self.keys: list[int] = []
        self.children: list[Node] = []
        self.values: list[object] = []
        self.next: Node | None = None


class BPlusTree:
    """Search costs `height` node visits; every leaf lies at the same depth."""

    def __init__(self, order: int = 4) -> None:
        if order < 3:
            raise ValueError("order must be at least 3")
        self.order, self.root, self.height, self.splits = order, Node(leaf=True), 1, 0

    def _descend(self, key: int) -> list[tuple[Node, int]]:
        """Path from the root to the leaf, with the child slot taken at each inner node."""
        path, node = [], self.root
        while not node.leaf:
            slot = bisect_right(node.keys, key)
            path.append((node, slot))
            node = node.children[slot]
        return [*path, (node, bisect_left(node.keys, key))]

    def get(self, key: int) -> object | None:
        """The value stored under `key`, or None."""
        leaf, slot = self._descend(key)[-1]
        return leaf.values[slot] if slot < len(leaf.keys) and leaf.keys[slot] == key else None

    def insert(self, key: int, value: object) -> None:
        """Add a key; split upwards along the path while a node is too full."""
        path = self._descend(key)
        leaf, slot = path.pop()
        if slot < len(leaf.keys) and leaf.keys[slot] == key:
            raise DuplicateKeyError(f"duplicate key value: {key}")
        leaf.keys.insert(slot, key)
        leaf.values.insert(slot, value)
        node = leaf
        while len(node.keys) >= self.order:
            separator, right = self._split(node)
            if not path:  # the root itself was split: the only way in which the tree grows
                root = Node(leaf=False)
                root.keys, root.children = [separator], [node, right]
                self.root, self.height = root, self.height + 1
                return
            node, slot = path.pop()
            node.keys.insert(slot, separator)
            node.children.insert(slot + 1, right)

    def _split(self, node: Node) -> tuple[int, Node]:
        """Cut a node in the middle; return the separator and the new right half."""
        self.splits += 1
        middle, right = len(node.keys) // 2, Node(node.leaf)
        separator = node.keys[middle]
        if node.leaf:
            right.keys, right.values = node.keys[middle:], node.values[middle:]
            right.next, node.next = node.next, right
            del node.keys[middle:], node.values[middle:]
        else:
            right.keys, right.children = node.keys[middle + 1 :], node.children[middle + 1 :]
            del node.keys[middle:], node.children[middle + 1 :]
        return separator, right

    def scan(self, low: int, high: int) -> Iterator[tuple[int, object]]:
        """All pairs with low <= key < high, by walking the leaf chain."""
        leaf: Node | None = self._descend(low)[-1][0]
        while leaf:
            for key, value in zip(leaf.keys, leaf.values):
                if key >= high:
                    return
                if key >= low:
                    yield key, value
            leaf = leaf.next

    def leaf_fill(self) -> float:
        """Mean share of the leaf slots in use (half after ascending inserts, about 0.69 after random)."""
        node, counts = self._descend(-(10**18))[-1][0], []
        while node:
            counts.append(len(node.keys))
            node = node.next
        return sum(counts) / (len(counts) * (self.order - 1))


if __name__ == "__main__":
    import random

    keys = list(range(20_000))
    for name in ("ascending", "random"):
        tree = BPlusTree(order=64)
        for key in keys:
            tree.insert(key, None)
        print(f"{name:9s} height {tree.height}, {tree.splits} splits, leaf fill {tree.leaf_fill():.3f}")
        random.Random(3).shuffle(keys)
