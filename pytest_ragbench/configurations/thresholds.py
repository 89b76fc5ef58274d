"""`thresholds.yaml`: what a project tolerates. What is held against it is decided elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel

from pytest_ragbench.configurations.reading import read_mapping
from pytest_ragbench.errors import UsageError
from pytest_ragbench.questions.border import STRICT, refusal
from pytest_ragbench.questions.loading import shown_path

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "thresholds.yaml"
"""Its name in the folder of baselines."""


def _share(value: float) -> float:
    if not math.isfinite(value) or not 0.0 <= value <= 1.0:
        raise refusal("bad_value", f"must be a number from 0 to 1, found {value:g}")
    return value


class Thresholds(BaseModel):
    """A whole `thresholds.yaml`; every key may be left out.

    Attributes:
        max_suite_regression: How far the main metric (nDCG at the depth of the run) of a suite may fall.
    """

    model_config = STRICT

    max_suite_regression: Annotated[float, AfterValidator(_share)] = 0.02


def load_thresholds(path: Path | None, *, shown_as: str | None = None) -> Thresholds:
    """The thresholds of a project.

    Args:
        path: The file, or None for the defaults.
        shown_as: What messages write for `path`.

    Raises:
        InputError: With all problems of the file.
        UsageError: There is no such file, or it cannot be read.
    """
    if path is None:
        return Thresholds()
    shown = shown_as or shown_path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"no thresholds: {shown} cannot be read: {error.strerror or error}") from None
    return read_mapping(data, shown, Thresholds, "thresholds", ("max_suite_regression",))[1]
