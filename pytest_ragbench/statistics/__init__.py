"""Intervals, paired tests and verdicts: values to values, one seeded generator."""
