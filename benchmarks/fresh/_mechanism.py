"""What a fresh mechanism is: ten parameters, a start, an end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark

from ..audit._equations import consistent
from ..audit._mechanism import Mechanism, Start


PARAMETERS = 10


@dataclass(frozen=True)
class Fresh:
    """An initial value problem, in SI units, whose `args` are a vector of ten parameters.

    - `name`: one word.
    - `system`: of flat arrays `y` and `z`; the mass matrix is constant in these coordinates.
    - `mass`: the mass matrix, of `args`; `None` if it depends on the coordinates after all.
    - `y`, `z`: a start, made consistent by `start`.
    - `args`: the parameters, shape `(10,)`.
    - `t1`: the end (s); time starts at 0.
    """

    name: str
    system: jaxspark.AbstractConstrainedSystem
    mass: Callable[[Any], Any] | None
    y: np.ndarray
    z: np.ndarray
    args: np.ndarray
    t1: float

    def start(self) -> tuple[Any, Any, Any]:
        """`y`, `z` and `args` as arrays, on the constraints to rounding error."""
        args = jnp.asarray(self.args, float)
        y, z = consistent(self.system, np.asarray(self.y, float), np.asarray(self.z, float), args)
        return jnp.asarray(y), jnp.asarray(z), args

    def of_audit(self) -> tuple[Mechanism, Start]:
        """As a member of the audit, whose code computes references."""
        y, z, args = self.start()
        guess = lambda rng: (self.y, self.z, self.args)
        member = Mechanism(self.name, (), self.system, guess, self.t1)
        return member, Start(np.asarray(y), np.asarray(z), args)
