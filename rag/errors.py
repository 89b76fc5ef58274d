"""What this package raises on purpose; each message says what was found and what to do."""

from __future__ import annotations


class RagError(Exception):
    """Base of every error that this package raises on purpose."""


class NothingToIndexError(RagError):
    """The corpus holds no text at all."""


class StaleIndexError(RagError):
    """The stored index does not fit the corpus or the settings, and rebuilding is switched off."""


class IndexNotWrittenError(RagError):
    """The index could not be written: a folder that is read-only, a full disk."""


class ReaderMissingError(RagError):
    """A file's format needs a package that is not installed."""


class SettingsError(RagError):
    """`config.yaml` cannot be read, or one of its values is out of range."""


class OptionError(RagError, ValueError):
    """An override of `search` is unknown, out of range, or contradicts another."""


class ModelMissingError(OptionError):
    """A model or a library that an option asks for is not installed; nothing else takes its place."""


class EmptyCompletionError(RagError):
    """A language model answered with nothing; what needed the answer fails, and nothing takes its place."""


class QuestionsMissingError(RagError):
    """Chunks have no hypothetical questions, since a language model gave none."""
