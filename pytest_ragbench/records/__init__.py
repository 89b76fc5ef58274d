"""Rows, run records and summaries as files: written by one process, atomically, in strict JSON."""
