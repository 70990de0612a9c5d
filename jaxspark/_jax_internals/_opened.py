"""A function's program with what the function closes over as arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ._understood import guarded


Opened = tuple[Callable[[Sequence[Any], Any], Any], list[Any]]


def opened(function: Callable[..., Any], examples: tuple[Any, ...]) -> Opened | None:
    """`local(held, args)`, which is `function(*args)`, and the arrays `held` that it closes over.

    **Arguments:**

    - `function`: of PyTrees of arrays.
    - `examples`: its arguments, of which shapes and dtypes matter.

    **Returns:** these; `None` where programs cannot be taken apart.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*examples)
    structure = jax.tree.structure(shapes)

    def taken_apart() -> Opened:
        from jax.extend import core

        def local(held: Sequence[Any], args: Any) -> Any:
            program = core.jaxpr_as_fun(core.ClosedJaxpr(closed.jaxpr, held))  # pyright: ignore[reportPrivateImportUsage]
            return jax.tree.unflatten(structure, program(*jax.tree.leaves(args)))

        jax.eval_shape(local, closed.consts, examples)
        return local, closed.consts

    cost = "Lanes of all devices wait for the slowest of them."
    return guarded("Taking a program apart for several devices", cost, taken_apart, lambda: None)
