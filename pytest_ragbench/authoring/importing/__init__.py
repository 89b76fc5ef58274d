"""Collections of other tools as question sets: BEIR folders, TREC judgments, queries and runs."""
