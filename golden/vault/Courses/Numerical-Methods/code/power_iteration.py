"""Power iteration and shifted inverse iteration for one eigenpair.

Both stop when the residual norm of A v - mu v, with mu the Rayleigh quotient
and v of unit length, falls below a tolerance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EigenPair:
    """An approximate eigenvalue, its unit eigenvector and the iterations used."""

    value: float
    vector: Array
    iterations: int


class PowerIterationStalled(RuntimeError):
    """The residual did not fall below the tolerance in time."""


def rayleigh_quotient(matrix: Array, vector: Array) -> float:
    """Best eigenvalue estimate, in the least-squares sense, for a given vector."""
    return float(vector @ matrix @ vector / (vector @ vector))


def start_vector(n: int, seed: int = 7) -> Array:
    """A reproducible random unit vector."""
    vector = np.random.default_rng(seed).standard_normal(n)
    return vector / np.linalg.norm(vector)


def dominant_eigenpair(matrix: Array, tol: float = 1e-10, max_iterations: int = 1000) -> EigenPair:
    """Eigenpair of largest modulus by repeated multiplication.

    The error shrinks by about |lambda_2 / lambda_1| per iteration, so equal
    moduli (such as +3 and -3) never converge and raise PowerIterationStalled.
    """
    vector = start_vector(matrix.shape[0])
    for iteration in range(1, max_iterations + 1):
        image = matrix @ vector
        value = float(vector @ image)
        if np.linalg.norm(image - value * vector) < tol:
            return EigenPair(value, vector, iteration)
        vector = image / np.linalg.norm(image)
    raise PowerIterationStalled(f"no eigenpair to {tol:g} after {max_iterations} iterations")


def nearest_eigenpair(
    matrix: Array, shift: float, tol: float = 1e-10, max_iterations: int = 100
) -> EigenPair:
    """Eigenpair closest to the shift by inverse iteration.

    numpy raises LinAlgError("Singular matrix") when the shift is exactly an
    eigenvalue; move it by a small amount, say 1e-8, and call again.
    """
    shifted = matrix - shift * np.eye(matrix.shape[0])
    vector = start_vector(matrix.shape[0])
    for iteration in range(1, max_iterations + 1):
        solution = np.linalg.solve(shifted, vector)
        vector = solution / np.linalg.norm(solution)
        value = rayleigh_quotient(matrix, vector)
        if np.linalg.norm(matrix @ vector - value * vector) < tol:
            return EigenPair(value, vector, iteration)
    raise PowerIterationStalled(f"shift {shift:g} did not converge in {max_iterations} iterations")


if __name__ == "__main__":
    example = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    print(dominant_eigenpair(example).value, nearest_eigenpair(example, 1.0).value)
