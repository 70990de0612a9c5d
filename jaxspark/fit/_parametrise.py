"""From a tree of specifications to the vector that an optimiser sees."""

from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._forms import joined, path_name
from ._parameter import Parameter
from ._parametrisation import Parametrisation


def parametrise(parameters: Any, num_trials: int) -> Parametrisation:
    """Count what is to be estimated, and arrange it as one vector.

    **Arguments:**

    - `parameters`: what the functions of the system get as `args`: any PyTree, in which
        specifications ([`jaxspark.fit.real`][], [`jaxspark.fit.positive`][], ...) stand for what is
        estimated. All other leaves are constants.
    - `num_trials`: number of trials (records), at least 1.

    **Returns:** a [`jaxspark.fit.Parametrisation`][]. In its vector come first the entries that all
    trials share, in the order in which JAX lists the leaves of the tree (keys of dictionaries
    sorted), then those of the first trial, those of the second, and so on.

    **Raises:** `ValueError` if there is no trial, if two entries have the same name, or if a start
    value is at the limit of what the precision can represent.
    """
    if num_trials < 1:
        raise ValueError(f"the number of trials is {num_trials}; there must be at least one.")
    found, structure = jax.tree_util.tree_flatten_with_path(
        parameters, is_leaf=lambda leaf: isinstance(leaf, Parameter)
    )
    leaves = tuple(leaf for _, leaf in found)
    roots = tuple(path_name(path) or "value" for path, _ in found)
    pairs = [(name, p) for name, p in zip(roots, leaves) if isinstance(p, Parameter)]
    shared = [(name, p) for name, p in pairs if not p.held and not p.per_trial]
    own = [(name, p) for name, p in pairs if not p.held and p.per_trial]
    held = [(name, p) for name, p in pairs if p.held]

    names = _names(shared) + tuple(
        f"{name} (trial {trial})" for trial in range(num_trials) for name in _names(own)
    )
    _check_unique(names + _names(held))
    units = _units(shared) + num_trials * _units(own)
    values = np.concatenate([p.start for _, p in held]) if held else np.zeros(0)
    fixed = tuple(zip(_names(held), _units(held), map(float, values)))
    starts = [_start(name, p) for name, p in shared]
    starts += num_trials * [_start(name, p) for name, p in own]
    # There may be none: all can be held.
    start = jnp.concatenate([jnp.zeros(0), *starts])
    return Parametrisation(leaves, start, structure, roots, names, units, fixed, num_trials)


def _names(pairs: list[tuple[str, Parameter]]) -> tuple[str, ...]:
    return tuple(joined(name, label) for name, p in pairs for label in p.form.labels())


def _units(pairs: list[tuple[str, Parameter]]) -> tuple[str, ...]:
    return tuple(unit for _, p in pairs for unit in p.form.units())


def _check_unique(names: tuple[str, ...]) -> None:
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise ValueError(
            f"two parameters have the name {double[0]}. Rename one of the keys, so that reports "
            "can tell them apart."
        )


def _start(name: str, parameter: Parameter) -> jax.Array:
    """Unconstrained coordinates of the start value."""
    u = parameter.transform.inverse(jnp.asarray(parameter.start))
    if not np.isfinite(u).all():
        raise ValueError(
            f"{name}: the start value {parameter.start.tolist()} is too close to its limits for "
            f"{u.dtype} numbers. Move it inside, make a body thicker, or set jax_enable_x64."
        )
    return u
