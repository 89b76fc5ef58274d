"""From rows to the summary of a run; a pure function of the rows."""
