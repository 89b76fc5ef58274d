"""Work on the records of finished runs: compare them, join their shards, hand their rows to other tools."""
