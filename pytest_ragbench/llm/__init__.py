"""The one seam to language models: replayed from a store, recorded for later, or answered by a live endpoint."""
