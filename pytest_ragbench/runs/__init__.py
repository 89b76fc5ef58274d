"""Work on the records of finished runs: compare, judge by them, join their shards, hand rows to other tools."""
