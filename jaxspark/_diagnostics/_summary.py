"""What a system is at a state, in words."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._consistent import (
    constraint_rank,
    constraint_residuals,
    describe_mass,
    describe_rank,
    faults,
    sound_mass,
)
from .._custom_types import Args, State
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten, innermost


def summary(
    system: AbstractConstrainedSystem, y: State, z: State, args: Args = None, *, t: Any = 0.0
) -> str:
    """Describe a system at a state, and say what is wrong with it.

    The text has its sizes, constraints, degrees of freedom, the rank and the residuals of the
    constraints, and the mass matrix, if that is not sound.

    **Arguments:**

    - `system`: the constrained system.
    - `y`, `z`, `args`, `t`: a state, parameters and a time; for instance the start of a motion.

    **Returns:** a text, to print.

    **Raises:** `ValueError` or `TypeError`, naming the function, for results of a wrong shape or
    dtype.
    """
    y, z = as_state("y", y), as_state("z", z)
    dtype = jnp.result_type(*jax.tree.leaves(y))
    args, t = as_args(args, dtype), jnp.asarray(t, dtype)
    flat, flat_y, flat_z = flatten(system, t, y, z, args)
    rank = constraint_rank(system, t, y, z, args)
    freedom = flat.nz - int(rank.rank)
    lines = [
        f"{type(innermost(system)).__name__}, {dtype}: {_count(flat.ny, 'coordinate')}, "
        f"{flat.nz} velocities, {_count(freedom, 'degree')} of freedom.",
        f"Constraints: {flat.nlam} holonomic, {flat.npsi} nonholonomic. {describe_rank(rank)}",
    ]
    if rank.size:
        names = {"g": "g", "gdot": "g_t + g_y v", "k": "k"}
        residuals = constraint_residuals(system, t, y, z, args)
        worst = {name: _largest(getattr(residuals, field)) for field, name in names.items()}
        told = ", ".join(f"{value:.1e} of {name}" for name, value in worst.items() if value >= 0)
        lines.append(f"Largest residuals at t = {float(t):g}: {told}.")
    if flat.structure is not None:
        lines.append(f"Solved in {flat.structure.pattern.num_blocks} blocks where it is large.")
    if not bool(sound_mass(flat, t, flat_y, flat_z)):
        lines.append(
            "The mass matrix is not symmetric, or not positive definite where velocities are free. "
            + describe_mass(system, t, y, z, args)
        )
    values, derivatives = faults(system, t, y, z, args, t)
    return "\n".join([*lines, *values, *derivatives])


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _largest(tree: Any) -> float:
    """The largest absolute value; -1 if there is none."""
    leaves = [np.ravel(leaf) for leaf in jax.tree.leaves(tree)]
    return float(np.max(np.abs(np.concatenate(leaves)), initial=-1)) if leaves else -1.0
