"""The sealed test split: its rules and the append-only ledger of looks."""
