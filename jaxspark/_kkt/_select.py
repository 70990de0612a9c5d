"""Which linear solver, by the size of K2."""

from typing import Any, Literal, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._blocks import AbstractBlockSolver, AcyclicNullSpace, automatic, Structure
from .._system import FlatSystem
from ._base import AbstractLinearSolver, singular_threshold
from ._block_solver import BlockLinearSolver
from ._dense import DenseLU
from ._elementwise import ElementwiseInverse
from ._inverse import AbstractInverse, DenseInverse


# Measured by `python -m benchmarks figures core`.
ELEMENTWISE_LIMIT = 16
INVERSE_LIMIT = 32
# Measured by `python -m benchmarks figures large`.
DENSE_LIMIT = 20

# All constraints of a system without blocks of its own are one cluster.
REDUNDANT = AcyclicNullSpace(redundant=True)

LinearSolver: TypeAlias = AbstractLinearSolver | AbstractBlockSolver | Literal["auto"]


def select_linear_solver(
    system: FlatSystem, choice: LinearSolver | None = None
) -> AbstractLinearSolver:
    """The solver that was chosen, made fit for the system, or one that suits its structure.

    - Those of redundant constraints: the solver that has singular value decompositions.
    - Systems that declare no structure, or whose structure could not be read, and those with
        `nz + nlam + npsi <= 20`: the elementwise inverse up to 16, LAPACK's up to 32, then LU.
    - Others: see [`jaxspark.linear.explain`][].

    **Raises:** `ValueError` if a solver for blocks is chosen and the system has none.
    """
    if system.redundant and not getattr(choice, "redundant", False):
        check_linear_solver(choice)
        if choice not in (None, "auto"):
            raise ValueError(
                f"{choice!r} is for independent constraints; leave linear_solver out, or give "
                "jaxspark.linear.AcyclicNullSpace(redundant=True)."
            )
        return BlockLinearSolver(REDUNDANT, structure_of(system))
    if isinstance(choice, AbstractLinearSolver):
        return choice
    if isinstance(choice, AbstractBlockSolver) and not system.unread:
        return BlockLinearSolver(choice, structure_of(system))
    check_linear_solver(choice)
    size = system.nz + system.nlam + system.npsi
    if system.structure is not None and size > DENSE_LIMIT:
        solver = automatic(system.structure.pattern)[0]
        if solver is not None:
            return BlockLinearSolver(solver, system.structure)
    return DenseLU() if size > INVERSE_LIMIT else _select_inverse(size)


def check_linear_solver(choice: Any) -> None:
    """Raise unless it is one.

    **Raises:** `TypeError`.
    """
    by_name = choice is None or (isinstance(choice, str) and choice == "auto")
    if not (by_name or isinstance(choice, AbstractLinearSolver | AbstractBlockSolver)):
        raise TypeError(
            'linear_solver must be "auto" or a solver such as jaxspark.linear.DenseLU() or '
            f"jaxspark.linear.AcyclicNullSpace(); got {choice!r}."
        )


def structure_of(system: FlatSystem) -> Structure:
    """The block structure that a system declares.

    **Raises:** `ValueError` if it declares none.
    """
    if system.structure is None:
        raise ValueError(
            "This system declares no blocks: use jaxspark.MultibodySystem, or find them in its "
            "functions with jaxspark.linear.with_blocks(system, ...)."
        )
    return system.structure


def _select_inverse(size: int) -> AbstractInverse:
    return ElementwiseInverse() if size <= ELEMENTWISE_LIMIT else DenseInverse()


def inverse(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of a matrix, elementwise if it is small; NaN if it is singular."""
    size, dtype = matrix.shape[0], matrix.dtype
    value, smallest = _select_inverse(size).invert(matrix)
    return jnp.where(smallest > singular_threshold(size, dtype), value, jnp.nan)
