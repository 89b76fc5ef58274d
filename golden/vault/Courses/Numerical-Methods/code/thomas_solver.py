"""Thomas algorithm for tridiagonal systems.

A tridiagonal system with n unknowns is solved in about 8n floating-point
operations instead of the 2n**3/3 of dense Gaussian elimination. There is no
pivoting, so the matrix should be diagonally dominant or symmetric positive
definite. Otherwise a pivot may vanish and ZeroPivotError is raised.
"""

from collections.abc import Sequence


class ZeroPivotError(ArithmeticError):
    """Elimination met a pivot that is too small to divide by."""

    def __init__(self, row: int, pivot: float) -> None:
        super().__init__(f"zero pivot in row {row}: |{pivot:.3e}| below PIVOT_FLOOR")
        self.row = row


PIVOT_FLOOR = 1e-14  # absolute; scale the equations first if the entries are tiny


def solve_tridiagonal(
    lower: Sequence[float],
    diag: Sequence[float],
    upper: Sequence[float],
    rhs: Sequence[float],
) -> list[float]:
    """Solve the system with the three given diagonals.

    `lower[i]` multiplies x[i] in row i + 1 and `upper[i]` multiplies x[i + 1]
    in row i, so both have one entry fewer than `diag`.
    """
    n = len(diag)
    if n == 0 or len(rhs) != n or len(lower) != n - 1 or len(upper) != n - 1:
        raise ValueError("diagonals of length n-1, n, n-1 and a right side of length n needed")
    ratio = [0.0] * n  # upper diagonal after elimination
    value = [0.0] * n  # right side after elimination
    pivot = diag[0]
    for i in range(n):
        if i > 0:
            pivot = diag[i] - lower[i - 1] * ratio[i - 1]
        if abs(pivot) < PIVOT_FLOOR:
            raise ZeroPivotError(i, pivot)
        if i < n - 1:
            ratio[i] = upper[i] / pivot
        carried = lower[i - 1] * value[i - 1] if i > 0 else 0.0
        value[i] = (rhs[i] - carried) / pivot
    for i in range(n - 2, -1, -1):
        value[i] -= ratio[i] * value[i + 1]
    return value


def is_diagonally_dominant(
    lower: Sequence[float], diag: Sequence[float], upper: Sequence[float]
) -> bool:
    """Whether every row has |diagonal| >= sum of the other absolute entries."""
    n = len(diag)
    for i in range(n):
        left = abs(lower[i - 1]) if i > 0 else 0.0
        right = abs(upper[i]) if i < n - 1 else 0.0
        if abs(diag[i]) < left + right:
            return False
    return True


def rod_temperatures(nodes: int, left: float, right: float) -> list[float]:
    """Steady temperatures at the interior nodes of a rod with fixed end values."""
    rhs = [0.0] * nodes
    rhs[0] += left
    rhs[-1] += right
    return solve_tridiagonal([-1.0] * (nodes - 1), [2.0] * nodes, [-1.0] * (nodes - 1), rhs)


if __name__ == "__main__":
    print(rod_temperatures(4, 20.0, 70.0))  # close to [30, 40, 50, 60]
