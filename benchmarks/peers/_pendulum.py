"""The pendulum in Cartesian coordinates."""

from typing import Any

import numpy as np

from ._mechanism import Mechanism, Scalars


GRAVITY = 9.81  # m/s^2


class Pendulum(Mechanism):
    """A point of 1 kg on a rod, released horizontally; 10 s.

    **Arguments:**

    - `length`: of the rod (m). It may be a tracer of JAX or a symbol of CasADi.
    - `t_end`: the final time (s).

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.48).
    """

    name = "pendulum"
    q0, v0 = np.array([1.0, 0.0]), np.array([0.0, 0.0])

    def __init__(self, length: Any = 1.0, t_end: float = 10.0):
        self.length, self.t_end = length, t_end

    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """The weight (N)."""
        del m, t, q, v
        return [0.0, -GRAVITY]

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """Half the squared length of the rod (m^2), less its value."""
        del m, t
        return [0.5 * (q[0] * q[0] + q[1] * q[1] - self.length * self.length)]
