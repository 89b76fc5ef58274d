"""One cell: the search, foreign results made uniform, metrics, and the row."""
