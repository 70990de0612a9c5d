"""A batch of trajectories, split over devices."""

import contextvars
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    use_abstract_mesh,
)

from ._jax_internals import opened


AXIS = "lanes"
# Whether the function of one device is being traced.
_SPLITTING = contextvars.ContextVar("splitting", default=False)


def over_devices(
    function: Callable[..., Any], *, in_axes: Any = 0, devices: Any = None
) -> Callable[..., Any]:
    """Map a function over a batch as `jax.vmap` does, with its lanes split over devices.

    Each device runs its own lanes: the loops of adaptive solves on one do not wait for those on
    another, and nothing is sent between devices but what is shared, and the sums of its
    derivatives. Results are those of one device to rounding error. They can be differentiated,
    forward and reverse, compiled and vmapped; what is returned is compiled already.

    **Arguments:**

    - `function`: the function of one lane; its arguments and results are PyTrees of arrays. What is
        static, a method or a number of steps, it closes over.
    - `in_axes`: as for `jax.vmap`: where the arguments have their batch; `None` for what all lanes
        share. An integer, `None`, or a tuple with one for each argument, or for parts of it.
    - `devices`: a sequence of devices, or a `jax.sharding.Mesh`, along all axes of which the batch
        is split. By default all there are, those of other processes included.

    **Returns:** a function of batches. Results have their lanes along the first axis, and stay on
    the devices that made them. A batch whose size is not a multiple of the number of devices is
    filled up with copies of its last lane; when these are cut off, results are copied to all
    devices.

    **Raises:** `ValueError` for no devices or the same one twice, a mesh with axes not of type
    `Auto`, arguments without a batch or of different sizes, a function that closes over an array
    on a mesh (make it an argument) or calls another of these functions; `TypeError` for what are
    no devices.
    """
    mesh = as_mesh(devices)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return split(function, in_axes, mesh, args)

    return jax.jit(call)


def as_mesh(devices: Any = None) -> Mesh:
    """The mesh of some devices, by default of all."""
    if isinstance(devices, Mesh):
        if any(kind != AxisType.Auto for kind in devices.axis_types):
            raise ValueError(
                "The axes of the mesh must be of the type Auto: make it by "
                f"jax.sharding.Mesh(devices, {devices.axis_names}), or by jax.make_mesh with "
                "axis_types=(jax.sharding.AxisType.Auto,) * number_of_axes."
            )
        return devices
    given = jax.devices() if devices is None else devices
    if not isinstance(given, Sequence | np.ndarray):
        raise TypeError(f"devices must be a sequence of devices, or a mesh; got {devices!r}.")
    given = list(np.ravel(np.asarray(given, dtype=object)))
    for device in given:
        if not isinstance(device, jax.Device):
            raise TypeError(f"devices must be of jax.devices(); one is {device!r}.")
    if not given:
        raise ValueError("There must be at least one device: give jax.devices(), or nothing.")
    if len(set(given)) < len(given):
        raise ValueError("The same device is given twice.")
    return Mesh(np.array(given, dtype=object), (AXIS,))


def split(function: Callable[..., Any], in_axes: Any, mesh: Mesh, args: tuple[Any, ...]) -> Any:
    """`jax.vmap(function, in_axes)(*args)` on a mesh, for use inside `jax.jit`."""
    axes = _for_each(in_axes, args)
    count = _lanes(axes, args)
    missing = -count % mesh.size
    args = _map(lambda axis, x: _filled(x, axis, missing), axes, args)
    first = _map_axes(lambda axis: 0, axes)
    specs = _map_axes(lambda axis: PartitionSpec(mesh.axis_names), axes, PartitionSpec())
    batched = jax.vmap(function, first)
    if count == 0:
        return batched(*args)
    each = (count + missing) // mesh.size
    examples = _map(lambda axis, x: _example(x, axis, each), axes, args)
    traced = _traced(batched, examples)
    if traced is None:
        return _by_compiler(batched, args, specs, mesh, count if missing else None)
    local, held = traced
    # All results are split: there is nothing that `check_vma` could find, and primitives of our
    # own have no rules for it.
    spread = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(PartitionSpec(), specs),
        out_specs=PartitionSpec(mesh.axis_names),
        check_vma=False,
    )
    results = spread(held, args)
    return jax.tree.map(lambda x: x[:count], results) if missing else results


def _by_compiler(
    batched: Callable[..., Any], args: Any, specs: Any, mesh: Mesh, count: int | None
) -> Any:
    """The same, split by the compiler: lanes on all devices are in one loop.

    - `count`: of lanes, if others were filled in.
    """

    def placed(spec: PartitionSpec, part: Any) -> Any:
        sharding = NamedSharding(mesh, spec)
        return jax.tree.map(lambda x: jax.lax.with_sharding_constraint(x, sharding), part)

    is_spec = lambda x: isinstance(x, PartitionSpec)
    results = batched(*jax.tree.map(placed, specs, args, is_leaf=is_spec))
    results = placed(PartitionSpec(mesh.axis_names), results)
    return results if count is None else jax.tree.map(lambda x: x[:count], results)


def _traced(
    function: Callable[..., Any], examples: tuple[Any, ...]
) -> tuple[Callable, list] | None:
    """A function of what `function` closes over and of its arguments, and what that is.

    Traced here because in a `jax.shard_map` arrays made from numbers are of another type than
    operands, which `equinox.filter_closure_convert` and others take for an error.
    """
    if _SPLITTING.get():
        raise ValueError(
            "A function that is split over devices cannot split its work once more: use jax.vmap "
            "inside of it."
        )
    token = _SPLITTING.set(True)
    try:
        # A mesh that is set for the whole program is not that of one device.
        with use_abstract_mesh(AbstractMesh((), ())):
            traced = opened(function, examples)
    finally:
        _SPLITTING.reset(token)
    if traced is not None and any(not jax.typeof(x).sharding.mesh.empty for x in traced[1]):
        raise ValueError(
            "The function closes over an array that lies on a mesh: make it an argument, with None "
            "in in_axes."
        )
    return traced


def _example(x: Any, axis: int | None, lanes: int) -> jax.ShapeDtypeStruct:
    """Of what one device gets of an argument."""
    shape = jnp.shape(x) if axis is None else (lanes, *jnp.shape(x)[1:])
    return jax.ShapeDtypeStruct(shape, x.dtype, weak_type=jax.typeof(x).weak_type)


def _is_none(x: Any) -> bool:
    return x is None


def _map_axes(function: Callable[[int], Any], axes: Any, shared: Any = None) -> Any:
    each = lambda axis: shared if axis is None else function(axis)
    return jax.tree.map(each, axes, is_leaf=_is_none)


def _map(function: Callable[[int | None, Any], Any], axes: Any, args: Any) -> Any:
    """Of every leaf of the arguments, and the axis that is given for the part that has it."""
    each = lambda axis, part: jax.tree.map(lambda x: function(axis, x), part)
    return jax.tree.map(each, axes, args, is_leaf=_is_none)


def _for_each(in_axes: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    if in_axes is None or isinstance(in_axes, int):
        return (in_axes,) * len(args)
    if not isinstance(in_axes, tuple | list):
        raise TypeError(f"in_axes must be an integer, None or a tuple; got {in_axes!r}.")
    if len(in_axes) != len(args):
        raise ValueError(
            f"in_axes has {len(in_axes)} entries for {len(args)} arguments: give one for each."
        )
    return tuple(in_axes)


def _lanes(axes: Any, args: Any) -> int:
    """The size of the batch."""
    sizes: list[int] = []

    def note(axis, x):
        if axis is not None:
            if not -jnp.ndim(x) <= axis < jnp.ndim(x):
                raise ValueError(
                    f"An argument of shape {jnp.shape(x)} has no axis {axis} with a batch: put "
                    "None into in_axes for what all lanes share."
                )
            sizes.append(jnp.shape(x)[axis])

    _map(note, axes, args)
    if len(set(sizes)) != 1:
        found = f"batches of {', '.join(map(str, sorted(set(sizes))))}" if sizes else "none"
        raise ValueError(f"Arguments must have one batch size; got {found}.")
    return sizes[0]


def _filled(x: Any, axis: int | None, missing: int) -> Any:
    """The lanes along the first axis, and copies of the last behind them."""
    if axis is None:
        return x
    x = jnp.moveaxis(x, axis, 0)
    if missing == 0 or x.shape[0] == 0:
        return x
    return jnp.concatenate([x, jnp.broadcast_to(x[-1:], (missing, *x.shape[1:]))])
