"""A verdict as JSON values (`gate.json`), and back; it trusts what this package has written."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from pytest_ragbench.gates.model import OUTCOMES, Flip, GateLine, Refusal, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1


def to_values(verdict: Verdict) -> dict[str, Any]:
    """The whole of `gate.json`."""
    return {"schema_version": SCHEMA_VERSION, **asdict(verdict)}


def from_values(values: Mapping[str, Any]) -> Verdict:
    """The verdict that `to_values` wrote.

    Raises:
        KeyError: A key is missing.
        TypeError: A key is unknown, or a part is of another kind.
        ValueError: An outcome or a status is unknown.
    """
    for what, found, known in (
        ("status", values["status"], ("passed", "failed", "refused")),
        ("mode", values["mode"], ("full", "floors")),
        *(("outcome", line["outcome"], OUTCOMES) for line in values["lines"]),
    ):
        if found not in known:
            raise ValueError(f"{found!r} is no {what} of a gate")
    parts: dict[str, Any] = {
        "lines": tuple(GateLine(**line) for line in values["lines"]),
        "refusals": tuple(Refusal(**refusal) for refusal in values["refusals"]),
        "flips": tuple(Flip(**flip) for flip in values["flips"]),
        "notes": tuple(values["notes"]),
    }
    return Verdict(**{field.name: parts.get(field.name, values[field.name]) for field in fields(Verdict)})
