"""The chaotic contact oscillator."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem


def lagrangian(t, q, v, args):
    """Unit mass in a harmonic potential with quartic coupling (J); `q = (x, y, z)`."""
    del t
    n = (q.shape[0] - 1) // 2
    z = q[1 + n :]
    coupling = jnp.sum(z**2 * jnp.roll(z, 1) ** 2) + z[0] ** 2 * z[1] ** 2
    return 0.5 * (jnp.sum(v**2) - jnp.sum(q**2) - args["coupling"] * coupling)


def nonholonomic(t, q, v, args):
    """`x' + y . z'`, the contact form, shape `(1,)`."""
    del t, args
    n = (q.shape[0] - 1) // 2
    return v[:1] + jnp.sum(q[1 : 1 + n] * v[1 + n :], keepdims=True)


def contact_oscillator() -> Problem:
    """Seven coordinates `(x, y, z)` with `y` and `z` in three dimensions, 100 s.

    Energy is conserved and the flow is reversible, but chaotic: no theory bounds the energy
    error of a numerical method, which walks at random.

    Source: R. McLachlan & M. Perlmutter, *Integrators for nonholonomic mechanical systems*,
    J. Nonlinear Sci. 16 (2006), section 6, with three pairs; the start is of our choosing.
    """
    y0 = np.array([0.1, 0.4, -0.3, 0.5, 0.45, -0.4, 0.35])
    z0 = np.array([0.0, 0.6, -0.5, 0.7, -0.4, 0.6, 0.5])
    z0[0] = -np.sum(y0[1:4] * z0[4:])
    return Problem(
        name="contact_oscillator",
        system=jaxspark.LagrangianSystem(lagrangian, nonholonomic=nonholonomic),
        t0=0.0,
        t_end=100.0,
        y0=y0,
        z0=z0,
        args={"coupling": 1.0},
        reference=None,
    )
