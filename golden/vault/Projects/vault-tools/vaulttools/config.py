"""Settings of vault-tools: defaults, one JSON file, and dotted keys.

The file is called `vaulttools.json` and lies in the root of the vault.  Only
what differs from DEFAULTS has to stand in it.  Keys are camelCase, because the
same file is read by the small JavaScript plugin that draws the status bar.
"""

import json
from pathlib import Path

CONFIG_NAME = "vaulttools.json"

DEFAULTS = {
    "links": {"ignoreFolders": ["Books"], "maxOrphans": 7, "checkHeadings": True},
    "frontMatter": {"maxTags": 6, "kinds": ["note", "lecture", "lab", "tutorial", "daily",
                                            "strategy", "project", "generated"]},
    "flashcards": {"deckFile": "cards.json", "newPerDay": 5, "easeFloor": 1.3,
                   "startEase": 2.5, "maxInterval": 120, "examDate": "2027-02-09"},
    "duplicates": {"shingleWords": 5, "sketchSize": 64, "threshold": 0.35},
    "rollup": {"headings": ["Decision", "Failed", "Todo"]},
}


class ConfigError(Exception):
    """A setting that is unknown, or of the wrong type."""


class VaultConfig:
    """Nested settings with access by dotted key, e.g. `flashcards.easeFloor`."""

    def __init__(self, values):
        self._values = values

    @classmethod
    def load(cls, vault):
        """Defaults, overlaid with the file of the vault if there is one."""
        path = Path(vault) / CONFIG_NAME
        values = json.loads(json.dumps(DEFAULTS))
        if path.exists():
            try:
                own = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ConfigError(f"{CONFIG_NAME} is not valid JSON: {error}") from None
            cls._overlay(values, own, prefix="")
        return cls(values)

    @classmethod
    def _overlay(cls, base, own, prefix):
        for key, value in own.items():
            dotted = f"{prefix}{key}"
            if key not in base:
                raise ConfigError(f"unknown setting '{dotted}'{cls._hint(key, base)}")
            if isinstance(base[key], dict):
                if not isinstance(value, dict):
                    raise ConfigError(f"'{dotted}' must be an object")
                cls._overlay(base[key], value, dotted + ".")
            elif type(base[key]) is float and type(value) is int:
                base[key] = float(value)
            elif type(value) is not type(base[key]):
                raise ConfigError(f"'{dotted}' must be {type(base[key]).__name__}, "
                                  f"found {type(value).__name__}")
            else:
                base[key] = value

    @staticmethod
    def _hint(key, base):
        """Point at a key that differs only in case or underscores."""
        def plain(text):
            return text.replace("_", "").lower()
        for known in base:
            if plain(known) == plain(key):
                return f" (did you mean '{known}'?)"
        return ""

    def get(self, dotted):
        """Value of a dotted key; a missing one is a bug of ours, so it raises."""
        value = self._values
        for part in dotted.split("."):
            try:
                value = value[part]
            except (KeyError, TypeError):
                raise ConfigError(f"no setting '{dotted}'") from None
        return value


if __name__ == "__main__":
    config = VaultConfig({"flashcards": dict(DEFAULTS["flashcards"])})
    print(config.get("flashcards.easeFloor"))
    try:
        VaultConfig._overlay(dict(DEFAULTS), {"front_matter": {}}, "")
    except ConfigError as error:
        print(error)
