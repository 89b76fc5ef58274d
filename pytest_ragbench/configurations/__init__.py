"""Configurations as data: factors, the ladder, experiments, and the names they go by as markers."""
