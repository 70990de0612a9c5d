"""What is many of a kind in a fit, trials or starts, split over devices."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._devices import as_mesh, split


T = TypeVar("T")
# Lanes times columns of Jacobians that a CPU does at a time.
TOGETHER = 4


def mesh_of(devices: Any) -> Mesh | None:
    """The mesh of the devices given to a fit; `None` for one that stays where it is."""
    return None if devices is None else as_mesh(devices)


def each(
    function: Callable[..., T],
    mesh: Mesh | None,
    shared: Any,
    *operands: Any,
    columns: int | None = None,
) -> T:
    """`function(shared, *lane)` of the lanes of a batch, on a mesh if there is one.

    Results are on all of the mesh. The function closes over no arrays.

    **Arguments:**

    - `columns`: of a Jacobian that the function finds forward. A CPU then does few lanes at a time:
        arrays of all lanes cost more than loops, and compile for longer.
    """
    arrays, static = eqx.partition(shared, eqx.is_array)

    def one(arrays, *lane):
        return function(eqx.combine(arrays, static), *lane)

    axes = (None, *(0 for _ in operands))
    if mesh is None:
        if columns is None or jax.default_backend() != "cpu":
            return jax.vmap(one, axes)(arrays, *operands)
        together = max(1, TOGETHER // max(columns, 1))
        along = lambda lane: one(arrays, *lane)
        return jax.lax.map(along, operands, batch_size=together if together > 1 else None)
    results = split(one, axes, mesh, (arrays, *operands))
    return jax.lax.with_sharding_constraint(results, NamedSharding(mesh, PartitionSpec()))


def at_home(tree: T, mesh: Mesh | None) -> T:
    """Arrays that are the same on all of a mesh, as arrays of this process alone."""
    if mesh is None:
        return tree
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), tree)


def own_part(mesh: Mesh | None) -> Mesh | None:
    """The devices of a mesh that belong to this process.

    What comes after a fit, errors or a report, one process may ask for alone.
    """
    if mesh is None or not mesh.is_multi_process:
        return mesh
    return as_mesh(mesh.local_devices)


def writes(mesh: Mesh | None) -> bool:
    """Whether this process is the one that writes what all processes of a mesh have found."""
    return mesh is None or mesh.devices.flat[0].process_index == jax.process_index()
