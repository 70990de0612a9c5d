"""What physical values look like to the user, and as a vector."""

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._inertia import PlanarBody, RigidBody, UPPER


class AbstractForm(eqx.Module):
    """How a vector of physical values is arranged for the user."""

    @abc.abstractmethod
    def labels(self) -> tuple[str, ...]:
        """What to put behind the name of the parameter, for each entry of the vector."""

    @abc.abstractmethod
    def units(self) -> tuple[str, ...]:
        """The unit of each entry of the vector."""

    @abc.abstractmethod
    def pack(self, values: Float[Array, " n"]) -> Any:
        """The vector as the user sees it."""

    @abc.abstractmethod
    def unpack(self, value: Any) -> Float[Array, "*lead n"]:
        """The vector, or vectors if the arrays have further axes in front."""


def indices(shape: tuple[int, ...]) -> tuple[str, ...]:
    """`""` for a number, `"[0]"`, `"[1]"`, ... or `"[0,0]"`, ... for the entries of an array."""
    if not shape:
        return ("",)
    return tuple(f"[{','.join(map(str, index))}]" for index in np.ndindex(*shape))


def path_name(path: tuple[Any, ...]) -> str:
    """`"arm.length"` or `"layers[0].weight"` for a path of `jax.tree_util`."""
    name = ""
    for key in path:
        match key:
            case jax.tree_util.SequenceKey(idx=index):
                name += f"[{index}]"
            case jax.tree_util.DictKey(key=word):
                name = joined(name, str(word))
            case jax.tree_util.GetAttrKey(name=word):
                name = joined(name, word)
            case _:
                name += f"[{getattr(key, 'key', key)}]"
    return name


def joined(name: str, suffix: str) -> str:
    """`"k[0]"` of `"k"` and `"[0]"`, `"link.mass"` of `"link"` and `"mass"`."""
    return f"{name}.{suffix}" if name and suffix and not suffix.startswith("[") else name + suffix


def limits(form: AbstractForm | None, lower: float, upper: float) -> str:
    """What a number of a parameter of this form can be, between bounds or infinity."""
    words = f"it must be between {lower:g} and {upper:g}"
    if math.isinf(upper):
        words = f"it must be above {lower:g}"
    if math.isinf(lower):
        words = f"it must be below {upper:g}" if math.isfinite(upper) else "it must be finite"
    if isinstance(form, RigidForm):
        words += ", and the moments of inertia must satisfy the triangle inequality"
    return words


def _flat(array: Any, shape: tuple[int, ...]) -> Float[Array, "*lead n"]:
    """An array with its last axes made one."""
    # Numbers and NumPy arrays are made arrays of JAX's default precision.
    array = jnp.asarray(array)
    array = array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
    lead = array.ndim - len(shape)
    if lead < 0 or array.shape[lead:] != shape:
        raise ValueError(f"an array of shape {array.shape} is given where {shape} is needed.")
    return array.reshape(*array.shape[:lead], -1)


class ArrayForm(AbstractForm):
    """A number or an array.

    - `shape`, `unit`: of it.
    """

    shape: tuple[int, ...] = eqx.field(static=True)
    unit: str = eqx.field(static=True)

    def labels(self) -> tuple[str, ...]:
        return indices(self.shape)

    def units(self) -> tuple[str, ...]:
        return (self.unit,) * len(self.labels())

    def pack(self, values: Float[Array, " n"]) -> Any:
        return values.reshape(self.shape)

    def unpack(self, value: Any) -> Float[Array, "*lead n"]:
        return _flat(value, self.shape)


class RigidForm(AbstractForm):
    """A body in space: mass, centre, and six entries of the inertia, row by row."""

    def labels(self) -> tuple[str, ...]:
        entries = (f"inertia[{i},{j}]" for i, j in zip(*UPPER))
        return ("mass", *(f"centre[{i}]" for i in range(3)), *entries)

    def units(self) -> tuple[str, ...]:
        return ("kg",) + 3 * ("m",) + 6 * ("kg m^2",)

    def pack(self, values: Float[Array, " n"]) -> Any:
        upper = jnp.zeros((3, 3), values.dtype).at[UPPER].set(values[4:])
        return RigidBody(values[0], values[1:4], upper + jnp.triu(upper, 1).T)

    def unpack(self, value: Any) -> Float[Array, "*lead n"]:
        if not isinstance(value, RigidBody):
            raise TypeError(f"{value!r} is given where a RigidBody is needed.")
        inertia = _flat(value.inertia, (3, 3)).reshape(*jnp.shape(value.inertia))
        six = inertia[(..., *UPPER)]
        return jnp.concatenate([_flat(value.mass, ()), _flat(value.centre, (3,)), six], -1)


class PlanarForm(AbstractForm):
    """A body in a plane: mass, centre and inertia."""

    def labels(self) -> tuple[str, ...]:
        return ("mass", "centre[0]", "centre[1]", "inertia")

    def units(self) -> tuple[str, ...]:
        return ("kg", "m", "m", "kg m^2")

    def pack(self, values: Float[Array, " n"]) -> Any:
        return PlanarBody(values[0], values[1:3], values[3])

    def unpack(self, value: Any) -> Float[Array, "*lead n"]:
        if not isinstance(value, PlanarBody):
            raise TypeError(f"{value!r} is given where a PlanarBody is needed.")
        parts = [(value.mass, ()), (value.centre, (2,)), (value.inertia, ())]
        return jnp.concatenate([_flat(part, shape) for part, shape in parts], -1)


class TreeForm(AbstractForm):
    """The floating-point arrays of a PyTree; its other leaves are constants.

    - `rest`: the tree without these arrays.
    - `shapes`, `paths`: of the arrays.
    - `unit`: of all.
    """

    rest: Any
    structure: Any = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    paths: tuple[str, ...] = eqx.field(static=True)
    unit: str = eqx.field(static=True)

    def labels(self) -> tuple[str, ...]:
        pairs = zip(self.paths, self.shapes)
        return tuple(joined(path, index) for path, shape in pairs for index in indices(shape))

    def units(self) -> tuple[str, ...]:
        return (self.unit,) * len(self.labels())

    def pack(self, values: Float[Array, " n"]) -> Any:
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = zip(jnp.split(values, ends), self.shapes)
        arrays = [part.reshape(shape) for part, shape in parts]
        return eqx.combine(jax.tree.unflatten(self.structure, arrays), self.rest)

    def unpack(self, value: Any) -> Float[Array, "*lead n"]:
        arrays, structure = jax.tree.flatten(eqx.filter(value, eqx.is_inexact_array))
        if structure != self.structure:
            raise ValueError(
                "the tree given does not have the arrays of the tree that is estimated: "
                f"{structure} instead of {self.structure}."
            )
        return jnp.concatenate([_flat(a, shape) for a, shape in zip(arrays, self.shapes)], -1)


def tree_form(tree: Any, unit: str, what: str) -> TreeForm:
    """The form of a PyTree of which every floating-point array is estimated."""
    arrays, rest = eqx.partition(tree, eqx.is_inexact_array)
    found, structure = jax.tree_util.tree_flatten_with_path(arrays)
    if not found:
        raise ValueError(
            f"{what}: there is no array of floating-point numbers in {tree!r}. Python numbers in "
            "it are constants; make an array of what shall be estimated, with jnp.asarray."
        )
    names = tuple(path_name(path) for path, _ in found)
    for name, (_, array) in zip(names, found):
        if jnp.issubdtype(array.dtype, jnp.complexfloating):
            raise ValueError(f"{what}: the array {name} is complex; estimate its parts instead.")
    shapes = tuple(array.shape for _, array in found)
    return TreeForm(rest, structure, shapes, names, unit)
