"""A batch of trajectories, a window of lanes at a time."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def in_windows(
    function: Callable[..., Any], size: int, *, cost: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Map a function over a batch as `jax.vmap` does, one window of lanes at a time.

    On GPUs and TPUs a solve of a batch with tolerances goes on until its slowest lane is done. With
    windows each waits only for its own slowest lane. With `cost`, lanes that take about as long
    share a window. (On CPUs such lanes run one after another, and none waits.) A window also needs
    less memory, and fits into a cache, which is what counts with equal steps. Results are those of
    `jax.vmap`.

    **Arguments:**

    - `function`: the function of one lane; its arguments, by position, and results are PyTrees of
        arrays. What all lanes share, it closes over.
    - `size`: how many lanes a window has; on one core 64 to 128 are good for small systems.
    - `cost`: a function of the same arguments to a number that grows with the work, an energy for
        instance. Default: lanes stay in their order.

    **Returns:** a function of batches, along the first axes of all arguments and results.

    **Raises:** `ValueError` if a window has no lanes, arguments have no batch or different ones, or
    costs are not real numbers.
    """
    require_lanes("window", size)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        run = functools.partial(_by_windows, function, size, lanes_of(args))
        if cost is None:
            return run(args)
        costs = jax.lax.stop_gradient(jax.vmap(cost)(*args))
        shapes = [jnp.shape(leaf)[1:] for leaf in jax.tree.leaves(costs)]
        if shapes != [()] or not isinstance(costs, jax.Array):
            raise ValueError(f"The cost of a lane must be a number; got shapes {shapes}.")
        if not jnp.issubdtype(costs.dtype, jnp.number) or jnp.iscomplexobj(costs):
            raise ValueError(f"The cost of a lane must be a real number; got dtype {costs.dtype}.")
        order = jnp.argsort(costs)
        sorted_args = jax.tree.map(lambda x: jnp.asarray(x)[order], args)
        back = jnp.argsort(order)
        return jax.tree.map(lambda x: x[back], run(sorted_args))

    return call


def _by_windows(function: Callable[..., Any], size: int, count: int, args: tuple[Any, ...]) -> Any:
    """A loop over whole windows, and what is left; `jax.lax.map` cannot return empty arrays."""
    windows, together = count // size, jax.vmap(function)
    if not windows:
        return together(*args)
    whole = windows * size

    def split(x):
        return x[:whole].reshape(windows, size, *x.shape[1:])

    def join(x):
        return x.reshape(whole, *x.shape[2:])

    args = jax.tree.map(jnp.asarray, args)
    _, found = jax.lax.scan(
        lambda _, window: (None, together(*window)), None, jax.tree.map(split, args)
    )
    found = jax.tree.map(join, found)
    if whole == count:
        return found
    left = together(*jax.tree.map(lambda x: x[whole:], args))
    return jax.tree.map(lambda one, other: jnp.concatenate([one, other]), found, left)


def require_lanes(what: str, size: Any) -> None:
    """Raise `ValueError` unless a size is a positive whole number."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"A {what} must have at least one lane, a whole number; got {size!r}.")


def lanes_of(args: tuple[Any, ...]) -> int:
    """How many lanes arguments have.

    **Raises:** `ValueError` if they have none, or different ones.
    """
    sizes = {jnp.shape(leaf)[:1] for leaf in jax.tree.leaves(args)}
    if len(sizes) != 1 or () in sizes:
        raise ValueError(
            "All arguments must have the lanes of one batch along their first axes; these have "
            f"{sorted(sizes)}. What all lanes share, the function closes over."
        )
    return sizes.pop()[0]
