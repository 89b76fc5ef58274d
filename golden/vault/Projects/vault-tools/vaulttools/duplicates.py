"""Notes that say nearly the same thing: shingles and a bottom-k sketch.

The sketch of a note is the k smallest hashes of its word shingles.  For two
notes, take the k smallest hashes of the union and count how many of them are
in both sketches; the share estimates the Jaccard similarity.
"""

import re
from hashlib import blake2b
from itertools import combinations

WORD = re.compile(r"[a-z0-9]+")


def shingles(text, width):
    """Set of all runs of `width` words, lower case, punctuation ignored."""
    words = WORD.findall(text.lower())
    return {" ".join(words[i:i + width]) for i in range(len(words) - width + 1)}


def stable_hash(text):
    """64-bit hash that is equal in each run, unlike hash() of a str."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def sketch(text, width=5, size=64):
    """Sorted tuple of the `size` smallest hashes."""
    return tuple(sorted(map(stable_hash, shingles(text, width)))[:size])


def similarity(one, two, size=64):
    """Estimate of the Jaccard similarity from two sketches; 0.0 if one is empty.

    Standard error about sqrt(j (1 - j) / size): 0.06 at j = 0.35 with 64.
    """
    if not one or not two:
        return 0.0
    smallest = sorted(set(one) | set(two))[:size]
    common = set(one) & set(two)
    return sum(h in common for h in smallest) / len(smallest)


def exact_jaccard(one, two, width=5):
    """The true value, for pairs that the sketch found suspicious."""
    a, b = shingles(one, width), shingles(two, width)
    return len(a & b) / len(a | b) if a | b else 0.0


def find_duplicates(bodies, config):
    """Yield (file, file, similarity) for all pairs above the threshold.

    All pairs are compared: 200 notes are 19 900 pairs, which is nothing.
    Locality-sensitive hashing would pay from some ten thousand notes on.
    """
    width = config.get("duplicates.shingleWords")
    size = config.get("duplicates.sketchSize")
    threshold = config.get("duplicates.threshold")
    made = {file: sketch(body, width, size) for file, body in bodies.items()}
    for one, two in combinations(sorted(made), 2):
        estimate = similarity(made[one], made[two], size)
        if estimate >= threshold:
            yield one, two, exact_jaccard(bodies[one], bodies[two], width)


if __name__ == "__main__":
    a = "the hold delays the signal by half a period on average"
    b = "the hold delays the signal by half a sample on average"
    print(round(exact_jaccard(a, b), 3), round(similarity(sketch(a), sketch(b)), 3))
