"""Holding a run against floors and against a baseline: values to a verdict, and nothing printed."""
