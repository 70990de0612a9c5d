"""All features at once: rheonomic constraints of both kinds, a variable mass matrix."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem


def mass(t, q, args):
    """`m (1 + sin(t)/5) I + mu w w^T`, `w` a nonlinear function of `q`, shape `(4, 4)`."""
    w = jnp.stack([jnp.cos(q[1]), jnp.sin(q[2]), jnp.cos(q[3]), jnp.sin(q[0])])
    growing = args["m"] * (1 + 0.2 * jnp.sin(t))
    return growing * jnp.eye(4, dtype=q.dtype) + args["mu"] * w[:, None] * w[None, :]


def force(t, q, v, args):
    """Linear and cubic springs, damping and a drive (N), shape `(4,)`."""
    springs = -args["stiffness"] * (q + q**3)
    damping = -args["damping"] * (v + v * jnp.sum(v**2))
    drive = args["drive"] * jnp.cos(2 * t)
    return springs + damping + drive * jnp.cos(jnp.roll(q, 1))


def holonomic(t, q, args):
    """A moving, curved surface, shape `(1,)`."""
    bump = 0.3 * jnp.sin(q[1]) + 0.2 * q[2] ** 2 + 0.2 * q[0] * q[3]
    return (q[0] + bump - args["amplitude"] * jnp.cos(args["frequency"] * t))[None]


def nonholonomic(t, q, v, args):
    """A velocity constraint, quadratic in the velocity, driven in time; shape `(1,)`."""
    quadratic = args["curvature"] * (v[0] ** 2 + v[2] ** 2)
    steering = jnp.sin(q[0] + t) * v[1]
    drive = args["amplitude"] * jnp.sin(args["frequency"] * t)
    return (v[3] + quadratic - steering - drive)[None]


def mixed(holonomic_too: bool = True) -> Problem:
    """Four coordinates, one constraint of each kind, two seconds.

    With `holonomic_too=False` only the nonholonomic one.

    The start is a guess projected onto the constraints.

    Source: made up, after the general form (1)-(3) of L. O. Jay, *On modified Newton
    iterations for SPARK methods applied to constrained systems in mechanics*.
    """
    surface = holonomic if holonomic_too else None
    system = jaxspark.MechanicalSystem(mass, force, surface, nonholonomic)
    args = {
        "m": 1.0, "mu": 0.5, "stiffness": 2.0, "damping": 0.1, "drive": 1.0,
        "amplitude": 0.4, "frequency": 1.5, "curvature": 0.2,
    }  # fmt: skip
    guess_y, guess_z = np.array([0.3, -0.4, 0.5, 0.2]), np.array([0.1, 0.5, -0.3, 0.4])
    project = jax.jit(lambda y, z: jaxspark.project(system, 0.0, y, z, args))
    start = project(guess_y, guess_z)
    return Problem(
        name="mixed" if holonomic_too else "driven",
        system=system,
        t0=0.0,
        t_end=2.0,
        y0=np.asarray(start.y),
        z0=np.asarray(start.z),
        args=args,
        reference=None,
    )
