"""Parameters as the vector that an optimiser sees, and as the functions of a system see them."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._custom_types import Args, FloatScalar
from ._forms import limits
from ._parameter import Parameter


Trial: TypeAlias = int | Int[np.ndarray, ""] | Int[Array, ""]


class Parametrisation(eqx.Module):
    """Everything to be estimated as one vector without bounds.

    It is made by [`jaxspark.fit.parametrise`][].

    - `leaves`: those of the tree of parameters: specifications and constants.
    - `structure`: the structure of that tree.
    - `roots`: the names of the leaves.
    - `start`: the vector where the search starts, shape `(p,)`; dimensionless.
    - `names`, `units`: those of the physical value that belongs to each entry. Entries of one trial
        are called `"offset (trial 2)"`, counted from 0.
    - `fixed`: name, unit and value of what is held by [`jaxspark.fit.fixed`][].
    - `num_trials`: number of trials.

    Functions of the vector work under all transformations of JAX; their results have its dtype.
    (To compile a method itself, use `equinox.filter_jit`: `jax.jit` cannot hash its arrays.)
    """

    leaves: tuple[Any, ...]
    start: Float[Array, " p"]
    structure: Any = eqx.field(static=True)
    roots: tuple[str, ...] = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    units: tuple[str, ...] = eqx.field(static=True)
    fixed: tuple[tuple[str, str, float], ...] = eqx.field(static=True)
    num_trials: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        """Number of entries of the vector."""
        return len(self.names)

    @property
    def num_own(self) -> int:
        """Number of entries that belong to each single trial."""
        return sum(p.size for p in self._free(True))

    @property
    def num_shared(self) -> int:
        """Number of entries that all trials share."""
        return sum(p.size for p in self._free(False))

    def args(self, u: Float[Array, " p"], trial: Trial = 0) -> Args:
        """The tree of parameters with physical values in place of specifications.

        **Arguments:**

        - `u`: the vector, shape `(p,)`.
        - `trial`: the number of the trial, from 0; it may be traced.

        **Returns:** the tree. Floating-point numbers, constant ones too, are arrays in the dtype
        of `u`; integers and all else stay as they are.
        """
        own = jax.lax.dynamic_slice_in_dim(u, self._first_own(trial), self.num_own)
        at = {False: 0, True: 0}
        tree = []
        for leaf in self.leaves:
            if not isinstance(leaf, Parameter):
                tree.append(_constant(leaf, u.dtype))
                continue
            if leaf.held:
                values = jnp.asarray(leaf.start, u.dtype)
            else:
                first = at[leaf.per_trial]
                at[leaf.per_trial] += leaf.size
                part = (own if leaf.per_trial else u)[first : first + leaf.size]
                values = leaf.transform.forward(part)
            tree.append(leaf.form.pack(values))
        return jax.tree.unflatten(self.structure, tree)

    def physical(self, u: Float[Array, " p"]) -> Float[Array, " p"]:
        """Physical values, in the order of `names`; of bodies mass, centre, inertia.

        **Arguments:**

        - `u`: the vector, shape `(p,)`.
        """
        return self._each(lambda p, part: p.transform.forward(part), u)

    def unconstrained(self, values: Any) -> Float[Array, " p"]:
        """The vector that belongs to physical values: the inverse of `physical`.

        **Arguments:**

        - `values`: physical values in the order of `names`, shape `(p,)`; or a tree as `args`
            gives it. In a tree, what each trial has of its own may have the trials as first axis;
            otherwise all trials get the same.

        **Returns:** the vector, in the dtype of the (first) JAX array given, otherwise that of
        `start`.

        **Raises:** `ValueError` for another structure or shape, or for values that are not
        possible. Traced values are not checked: what is not possible becomes NaN or infinite.
        """
        is_vector = isinstance(values, jax.Array | np.ndarray) and values.shape == (self.size,)
        vector = jnp.asarray(values) if is_vector else self._vector(values)
        if not (isinstance(values, jax.Array) and jnp.issubdtype(vector.dtype, jnp.floating)):
            vector = vector.astype(_dtype(values, self.start.dtype))
        u = self._each(lambda p, part: p.transform.inverse(part), vector)
        if not isinstance(u, jax.core.Tracer):
            self._check_possible(np.asarray(vector), np.asarray(u))
        return u

    def prior_residuals(self, u: Float[Array, " p"]) -> Float[Array, " m"]:
        """Residuals of all priors: half the sum of squares is `-log p` up to a constant.

        Parameters of each trial have their prior once for each trial. Without priors the shape is
        `(0,)`.
        """
        return self._each(lambda p, part: p.prior_residuals(part), u)

    def log_prior(self, u: Float[Array, " p"]) -> FloatScalar:
        """Logarithm of the joint density of all priors, which are about physical values."""
        return jnp.sum(self._each(lambda p, part: p.log_densities(part), u))

    def bounds(self) -> tuple[Float[Array, " p"], Float[Array, " p"]]:
        """Lower and upper bounds of physical values, infinite where there are none."""
        lower = self._each(lambda p, part: p.transform.bounds(part)[0], self.start)
        return lower, self._each(lambda p, part: p.transform.bounds(part)[1], self.start)

    def of_trial(self, trial: Trial) -> Int[Array, " q"]:
        """Which entries of the vector act on a trial: the shared ones and its own."""
        shared, own = jnp.arange(self.num_shared), jnp.arange(self.num_own)
        return jnp.concatenate([shared, jnp.full_like(own, self._first_own(trial)) + own])

    def _free(self, per_trial: bool) -> Iterator[Parameter]:
        """Parameters that are estimated, of all trials or of each trial."""
        for leaf in self.leaves:
            if isinstance(leaf, Parameter) and not leaf.held and leaf.per_trial == per_trial:
                yield leaf

    def _first_own(self, trial: Trial) -> Int[Array, ""]:
        """Where the entries of a trial start."""
        if not isinstance(trial, jax.core.Tracer) and not 0 <= int(trial) < self.num_trials:
            raise ValueError(f"there is no trial {trial}: there are {self.num_trials}, from 0 on.")
        return jnp.asarray(trial, int) * self.num_own + self.num_shared

    def _each(
        self, function: Callable[[Parameter, Array], Array], vector: Float[Array, " p"]
    ) -> Float[Array, " n"]:
        """What a function makes of each parameter, in the order of `names`."""
        if vector.shape != (self.size,):
            raise ValueError(
                f"a vector of shape {vector.shape} is given; there are {self.size} parameters."
            )

        def block(parameters: Iterator[Parameter], entries: Array) -> Array:
            parts, first = [jnp.zeros(0, entries.dtype)], 0
            for parameter in parameters:
                parts.append(function(parameter, entries[first : first + parameter.size]))
                first += parameter.size
            return jnp.concatenate(parts)

        shared = block(self._free(False), vector[: self.num_shared])
        trials = vector[self.num_shared :].reshape(self.num_trials, self.num_own)
        own = jax.vmap(lambda entries: block(self._free(True), entries))(trials)
        return jnp.concatenate([shared, own.ravel()])

    def _vector(self, values: Any) -> Float[Array, " p"]:
        """Physical values of a tree, in the order of `names`."""
        try:
            given = self.structure.flatten_up_to(values)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"the values must be a vector of {self.size} numbers, or a tree as `args` gives "
                f"it: {error}"
            ) from None
        shared, own = [jnp.zeros(0, self.start.dtype)], []
        for name, leaf, value in zip(self.roots, self.leaves, given):
            if not isinstance(leaf, Parameter) or leaf.held:
                continue
            try:
                part = leaf.form.unpack(value).astype(self.start.dtype)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{name}: {error}") from None
            shapes = [(leaf.size,)]
            if leaf.per_trial:
                shapes += [(self.num_trials, leaf.size)]
            if part.shape not in shapes:
                raise ValueError(
                    f"{name}: values of shape {part.shape} are given; possible are {shapes}."
                )
            if leaf.per_trial:
                own.append(jnp.broadcast_to(part, shapes[1]))
            else:
                shared.append(part)
        trials = [jnp.concatenate(own, 1).ravel()] if own else []
        return jnp.concatenate(shared + trials)

    def _check_possible(self, values: np.ndarray, u: np.ndarray) -> None:
        bad = np.flatnonzero(~np.isfinite(u))
        if bad.size:
            at = int(bad[0])
            lower, upper = self.bounds()
            raise ValueError(
                f"{self.names[at]} = {values[at]:g} {self.units[at]} is not possible: "
                f"{self._possible(at, float(lower[at]), float(upper[at]))}."
            )

    def _possible(self, at: int, lower: float, upper: float) -> str:
        """What the entry of this number can be."""
        name = self.names[at].split(" (trial ")[0]
        root = next(r for r in sorted(self.roots, key=len, reverse=True) if name.startswith(r))
        leaf = self.leaves[self.roots.index(root)]
        return limits(leaf.form if isinstance(leaf, Parameter) else None, lower, upper)


def _constant(leaf: Any, dtype: Any) -> Any:
    """A constant in the precision of the vector, if it is made of floating-point numbers."""
    if isinstance(leaf, float):
        return jnp.asarray(leaf, dtype)
    if eqx.is_inexact_array(leaf) and not jnp.issubdtype(leaf.dtype, jnp.complexfloating):
        return jnp.asarray(leaf, dtype)
    return leaf


def _dtype(values: Any, default: Any) -> Any:
    """Of the first JAX array of floating-point numbers, if there is one."""
    for leaf in jax.tree.leaves(values):
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf.dtype
    return default
