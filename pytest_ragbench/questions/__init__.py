"""Golden questions: their schema, the strict loader of `*.yaml` and `*.jsonl`, and writing them back."""
