"""How often intervals and verdicts are right; `python -m benchmarks.validity` prints docs/validity.md."""
