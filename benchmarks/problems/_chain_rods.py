"""A planar chain of rigid rods in maximal coordinates, of any length."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


REFERENCES = (4, 10, 20, 40)


def mass(t, q, args):
    """`diag(m_1, m_1, J_1, ...)`, shape `(3 n, 3 n)`."""
    del t
    m, inertia = (jnp.asarray(args[key], q.dtype) for key in ("masses", "inertias"))
    return jnp.diag(jnp.stack([m, m, inertia], axis=1).reshape(-1))


def force(t, q, v, args):
    """Gravity along `-y`, `(0, -m_1 g, 0, ...)`, shape `(3 n,)`."""
    del t, v
    weight = jnp.asarray(args["masses"], q.dtype) * args["gravity"]
    zero = jnp.zeros_like(weight)
    return jnp.stack([zero, -weight, zero], axis=1).reshape(-1)


def holonomic(t, q, args):
    """Each rod starts where the one before ends, the first at the origin; `(2 n,)`."""
    del t
    rods = q.reshape(-1, 3)
    direction = jnp.stack([jnp.cos(rods[:, 2]), jnp.sin(rods[:, 2])], axis=1)
    half = 0.5 * jnp.asarray(args["lengths"], q.dtype)[:, None] * direction
    start, end = rods[:, :2] - half, rods[:, :2] + half
    before = jnp.concatenate([jnp.zeros((1, 2), q.dtype), end[:-1]])
    return (start - before).reshape(-1)


def chain_rods(n: int = 4) -> Problem:
    """`n` rods, `y = (x_1, y_1, th_1, ...)`, released at rest from the horizontal.

    All together the rods have length 1 and mass 1; `(x_i, y_i)` is the centre of a rod,
    `th_i` its angle.

    **Arguments:**

    - `n`: the number of rods. There are reference values for 4, 10, 20 and 40.

    Source: the usual scaling benchmark of multibody codes; reference values by minimal
    angles with a closed-form mass matrix.
    """
    y0 = np.zeros((n, 3))
    y0[:, 0] = (np.arange(n) + 0.5) / n
    name = f"chain_rods_N{n}"
    return Problem(
        name=name,
        system=jaxspark.MechanicalSystem(mass, force, holonomic),
        t0=0.0,
        t_end=2.0 if n == 4 else 1.0,
        y0=y0.reshape(-1),
        z0=np.zeros(3 * n),
        args={
            "masses": np.full(n, 1.0 / n),
            "lengths": np.full(n, 1.0 / n),
            "inertias": np.full(n, 1.0 / (12.0 * n**3)),
            "gravity": 9.81,
        },
        reference=reference_loader(name) if n in REFERENCES else None,
    )
