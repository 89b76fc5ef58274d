"""What a document is about and of which sort it is: its own word first, field by field, then what its path says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rag.records import NO_LABELS, Labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag.options import LabelRule
    from rag.records import Document

_NO = ("", "false", "no", "off", "0", "none", "null")


def label(document: Document, rules: Sequence[LabelRule]) -> Labels:
    """The labels of a document.

    A field of its metadata counts before the path; of the rules, the first whose expression matches the path counts,
    and of its course and area a named group counts before the fixed value. `generated` is said by metadata alone, and
    whatever is not a no is a yes: a date or a model's name marks a machine's text as well as `true` does.
    """
    own, by_path = document.metadata, _by_path(document.file, rules)
    labels = Labels(
        **{field: own.get(field, "").strip() or by_path[field] for field in ("course", "area", "kind")},
        generated=own.get("generated", "").strip().casefold() not in _NO,
    )
    return NO_LABELS if labels == NO_LABELS else labels


def _by_path(file: str, rules: Sequence[LabelRule]) -> Mapping[str, str]:
    for rule in rules:
        found = re.match(rule.path, file)
        if found is not None:
            groups = found.groupdict()
            return {
                "course": groups.get("course") or rule.course,
                "area": groups.get("area") or rule.area,
                "kind": rule.kind,
            }
    return {"course": "", "area": "", "kind": ""}
