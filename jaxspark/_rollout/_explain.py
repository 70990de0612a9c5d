"""How steps of a system are solved, and why, in words."""

from typing import Any

import jax
import jax.numpy as jnp

from .._blocks import AbstractBlockSolver, automatic
from .._custom_types import Args, State
from .._kkt import BlockLinearSolver, LinearSolver, select_linear_solver
from .._step import solves_for_multipliers
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten
from .._tableau import Lobatto


def explain(
    system: AbstractConstrainedSystem,
    y: State,
    z: State,
    args: Args = None,
    *,
    t: Any = 0.0,
    linear_solver: LinearSolver | None = None,
) -> str:
    """Say how linear systems are solved: blocks, levels, loops, which solver was chosen and why.

    `"auto"` chooses, before anything is traced:

    1. LAPACK or elementwise elimination for up to 20 unknowns and multipliers, and for systems
        that declare no blocks;
    2. [`jaxspark.linear.AcyclicNullSpace`][] for trees; with a border for up to 8 rows that close
        loops; with clusters of up to 16 unknowns; with a border for up to 32 rows;
    3. else [`jaxspark.linear.KLU`][] where it is installed (on a CPU, in double precision),
        [`jaxspark.linear.RangeSpace`][] if no body has more than 8 joints, and a dense matrix, with
        a warning, up to 2000 unknowns and multipliers; else it refuses.

    That is for SPARK methods. Explicit ones eliminate dense matrices up to 36 unknowns and
    multipliers, and beyond that do the same, or what is given as `linear_solver`.

    The text also tells whether the structure of the system allows RATTLE, `Lobatto(2)`, to solve
    for multipliers alone.

    **Arguments:**

    - `system`: the constrained system.
    - `y`, `z`, `args`, `t`: a state, parameters and a time; only shapes and dtypes matter.
    - `linear_solver`: as for [`jaxspark.solve`][].

    **Returns:** a text.

    **Raises:** `ValueError` for structures that the solver cannot treat.
    """
    y, z = as_state("y", y), as_state("z", z)
    dtype = jnp.result_type(*jax.tree.leaves(y))
    t = jnp.asarray(t, dtype)
    flat, flat_y, flat_z = flatten(system, t, y, z, as_args(args, dtype))
    solver = select_linear_solver(flat, linear_solver)
    size = flat.nz + flat.nlam + flat.npsi
    if not isinstance(solver, BlockLinearSolver):
        reason = f"{size} unknowns and multipliers"
        if flat.structure is None:
            reason += ", and the system declares no blocks (see jaxspark.MultibodySystem)"
        words = f"{type(solver).__name__}: {reason}."
        rattle = Lobatto(2).tableau
        if linear_solver is None and solves_for_multipliers(flat, rattle, t, flat_y, flat_z):
            words += (
                " Steps of Lobatto(2), RATTLE, and its compositions solve for multipliers alone: "
                "the mass matrix is constant, and forces do not depend on velocities."
            )
        return words
    words = solver.explain()
    if isinstance(linear_solver, AbstractBlockSolver):
        return f"{words} Chosen by you."
    if flat.redundant:
        return f"{words} Chosen because constraints may be redundant."
    return f"{words} Chosen because {automatic(solver.structure.pattern)[1]}."
