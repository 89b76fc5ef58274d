"""Routing: which course, area or kind a question names, where extra lanes search for it, and which chunks it raises."""

from rag.routing.router import Route, Router

__all__ = ["Route", "Router"]
