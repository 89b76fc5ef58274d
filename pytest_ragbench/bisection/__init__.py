"""Which commit made a metric worse: a search over commits, each measured in a worktree of its own."""
