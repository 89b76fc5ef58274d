"""What a `-m` or `-k` expression names and can ask for, by pytest's own grammar and evaluation."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from _pytest.mark.expression import Expression

from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

_TOKEN = re.compile(r"""(?P<quoted>'[^']*'|"[^"]*")|(?P<ident>[\w:+\-.\[\]\\/]+)(?P<call>\s*=(?!=))?""")
_WORDS = frozenset({"and", "or", "not"})
_MOST_NAMES = 14
"""Beyond so many names no table of truth is made; the answer is then the careful one."""


def names(expression: str) -> tuple[str, ...]:
    """The identifiers of an expression, in order, each once; keyword arguments are no identifiers."""
    found = (match for match in _TOKEN.finditer(expression) if match["ident"] and not match["call"])
    return tuple(dict.fromkeys(match["ident"] for match in found if match["ident"] not in _WORDS))


def rewrite(expression: str, spelling: Mapping[str, str]) -> str:
    """Replace identifiers by another spelling (`F:none` by `F.none`); everything else stays to the letter."""

    def replace(match: re.Match[str]) -> str:
        ident = match["ident"]
        return match[0] if ident is None or match["call"] else spelling.get(ident, ident)

    return _TOKEN.sub(replace, expression)


def compile_expression(expression: str) -> Callable[[Collection[str]], bool]:
    """A function from the names that are true to the value of the expression.

    Raises:
        UsageError: pytest's grammar does not accept it.
    """
    try:
        compiled = Expression.compile(expression)
    except SyntaxError as error:
        raise UsageError(f"-m {expression!r}: {error.msg}") from error

    def evaluate(true: Collection[str]) -> bool:
        def matcher(name: str, /, **_: Any) -> bool:
            return name in true

        return bool(compiled.evaluate(matcher))

    return evaluate


def turns_true(expression: str, name: str, *, false: Collection[str] = ()) -> bool:
    """Whether making `name` true can make the expression true where it was false.

    `sealed or R2-hybrid` asks for `sealed`; `not sealed` and `R2-hybrid` do not.

    Args:
        expression: The expression.
        name: The identifier in question.
        false: Identifiers that are held false meanwhile.
    """
    idents = names(expression)
    if name not in idents:
        return False
    others = [ident for ident in idents if ident != name and ident not in false]
    if len(others) > _MOST_NAMES:
        return True
    evaluate = compile_expression(expression)
    for pattern in itertools.product((False, True), repeat=len(others)):
        true = {ident for ident, on in zip(others, pattern, strict=True) if on}
        if not evaluate(true) and evaluate(true | {name}):
            return True
    return False


def can_be_true(expression: str, *, false: Collection[str]) -> bool:
    """Whether the expression can be true while all of `false` are false."""
    others = [ident for ident in names(expression) if ident not in false]
    if len(others) > _MOST_NAMES:
        return True
    evaluate = compile_expression(expression)
    patterns = itertools.product((False, True), repeat=len(others))
    return any(evaluate({ident for ident, on in zip(others, row, strict=True) if on}) for row in patterns)
