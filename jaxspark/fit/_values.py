"""Specifications with other values, given by name."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._check import unknown
from ._forms import joined, limits, path_name
from ._parameter import Parameter


def with_values(parameters: Any, values: Mapping[str, Any], trial: int = 0) -> Any:
    """The same specifications with other start values.

    **Arguments:**

    - `parameters`: of a [`jaxspark.fit.Model`][].
    - `values`: physical values by the names in reports, those of what is held included; and
        scalar constants, by their names. `"offset (trial 2)"` is for the trial of that number.
    - `trial`: which trial's own values are meant. Those of others are ignored.

    **Returns:** the tree.

    **Raises:** `ValueError` for an unknown name, or a value that is not possible.
    """
    found, structure = jax.tree_util.tree_flatten_with_path(
        parameters, is_leaf=lambda leaf: isinstance(leaf, Parameter)
    )
    given = _of_trial(values, trial)
    leaves, known = [], []
    for path, leaf in found:
        root = path_name(path) or "value"
        if isinstance(leaf, Parameter):
            names = [joined(root, label) for label in leaf.form.labels()]
            leaf = _changed(leaf, names, given)
        elif _is_number(leaf):
            names = [root]
            leaf = given.get(root, leaf)
        else:
            names = []
        known += names
        leaves.append(leaf)
    for name in given:
        if name not in known:
            raise unknown("the model", "parameter", name, known)
    return jax.tree.unflatten(structure, leaves)


def _of_trial(values: Mapping[str, Any], trial: int) -> dict[str, float]:
    """By the names of one trial, which has no number."""
    given, suffix = {}, f" (trial {trial})"
    for name, value in values.items():
        if name.endswith(suffix):
            given[name.removesuffix(suffix)] = float(value)
        elif not (name.endswith(")") and " (trial " in name):
            given[name] = float(value)
    return given


def _is_number(leaf: Any) -> bool:
    if isinstance(leaf, bool):
        return False
    return isinstance(leaf, int | float) or (eqx.is_inexact_array_like(leaf) and np.ndim(leaf) == 0)


def _changed(parameter: Parameter, names: list[str], given: Mapping[str, float]) -> Parameter:
    start = np.array([given.get(name, x) for name, x in zip(names, parameter.start, strict=True)])
    if np.array_equal(start, parameter.start):
        return parameter
    values = jnp.asarray(start)
    u = np.asarray(parameter.transform.inverse(values))
    wrong = [i for i, name in enumerate(names) if name in given and not np.isfinite(u[i])]
    if wrong or not np.isfinite(u).all():
        at = wrong[0] if wrong else int(np.flatnonzero(~np.isfinite(u))[0])
        lower, upper = (np.asarray(x) for x in parameter.transform.bounds(values))
        raise ValueError(
            f"{names[at]} = {start[at]:g} is not possible: "
            f"{limits(parameter.form, float(lower[at]), float(upper[at]))}."
        )
    return eqx.tree_at(lambda p: p.start, parameter, start)
