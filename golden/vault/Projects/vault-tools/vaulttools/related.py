"""Which notes belong together?  Co-citation over wikilinks and canvases.

Two notes score when a third one mentions both.  A source with many links says
little about each pair, so every source shares ONE vote among its pairs.
"""

from collections import defaultdict
from itertools import combinations

CANVAS_WEIGHT = 2.0
MAX_FAN_OUT = 25


def pair_votes(sources):
    """Score pairs; `sources` maps a source name to (targets, weight).

    A source with more than MAX_FAN_OUT targets (an index page) is ignored.
    """
    votes = defaultdict(float)
    for targets, weight in sources.values():
        unique = sorted(set(targets))
        if not 2 <= len(unique) <= MAX_FAN_OUT:
            continue
        pairs = list(combinations(unique, 2))
        for pair in pairs:
            votes[pair] += weight / len(pairs)
    return votes


def collect_sources(checker, canvases):
    """Notes vote with weight 1, canvases with CANVAS_WEIGHT.

    A canvas was laid out by hand, so that two files on it are together on
    purpose, whereas a link in a text may be a mere aside.
    """
    sources = {}
    for file, note in checker.notes.items():
        resolved = [checker.resolve(target) for target, _ in note.links if target]
        sources[file] = ([place for place in resolved if place], 1.0)
    for name, files in canvases.items():
        sources[name] = (files, CANVAS_WEIGHT)
    return sources


def top_related(file, votes, count=5):
    """Best partners of one note as (score, partner), highest first."""
    scored = []
    for (one, two), score in votes.items():
        if file in (one, two):
            scored.append((round(score, 4), two if one == file else one))
    return sorted(scored, key=lambda item: (-item[0], item[1]))[:count]


def course_bridges(votes, course_of):
    """Pairs from two different courses, strongest first."""
    found = []
    for (one, two), score in votes.items():
        left, right = course_of(one), course_of(two)
        if left and right and left != right:
            found.append((round(score, 4), one, two))
    return sorted(found, key=lambda item: (-item[0], item[1], item[2]))


def course_of(file):
    """Folder below `Courses`, or None for everything else."""
    parts = file.split("/")
    return parts[1] if parts[0] == "Courses" and len(parts) > 2 else None


if __name__ == "__main__":
    demo = {"a.md": (["x", "y", "z"], 1.0), "board": (["x", "y"], CANVAS_WEIGHT)}
    print(dict(pair_votes(demo)))
    print(top_related("x", pair_votes(demo)))
