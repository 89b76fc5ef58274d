"""One report model of a run, and its renderers."""
