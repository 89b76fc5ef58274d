"""What a run is held against: the compact projection of an earlier one, and its rows, in two files."""

MAIN = "main.json"
ROWS = "main.rows.jsonl"
