"""Work on question sets and corpora that is no test run: validate, split, import."""
