"""The highly oscillatory problems of Yen & Petzold.

Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
highly oscillatory constrained multibody dynamic systems*, TR 96-028 (1996), section 5.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._pendulum import holonomic as circle
from ._problem import brief, Problem, reference_if_any
from ._springs import elongated, spring_force, undamped


def unit_mass(t, q, args):
    """Masses and moments of inertia of one, shape `(n, n)`."""
    del t, args
    return jnp.eye(q.size, dtype=q.dtype)


def _inverse_square(args):
    return 1 / args["eps"] ** 2


# --- A point mass on a circle, linear forces --------------------------------------------------


def force_a(t, q, v, args):
    """As printed, from a stable equilibrium that is none: the motion runs away."""
    del t, v
    x, y = q
    return jnp.stack([x / args["eps"], (y + 1) / args["eps"] ** 2 - args["g"]])


def force_b(t, q, v, args):
    """A stiff anchor at `(0, -1)`, the same in all directions; the stated frequency."""
    del t, v
    x, y = q
    return jnp.stack([-x / args["eps"] ** 2, -(y + 1) / args["eps"] ** 2 - args["g"]])


def force_c(t, q, v, args):
    """The printed force with the signs that restore."""
    del t, v
    x, y = q
    return jnp.stack([-x / args["eps"], -(y + 1) / args["eps"] ** 2 - args["g"]])


FORCES = {"A": force_a, "B": force_b, "C": force_c}


def yen_petzold_linear(variant: Literal["A", "B", "C"] = "C", eps: float = 1e-2) -> Problem:
    """`y = (x, y)` on the unit circle, from its lowest point with unit velocity; 0.25 s.

    The printed force, variant A, contradicts the text. B and C are two readings that do not;
    the report does not decide between them.

    Source: Yen & Petzold, section 5.1.
    """
    name = f"yen_petzold_linear_{variant}_eps{brief(eps)}"
    return Problem(
        name=name,
        system=jaxspark.MechanicalSystem(unit_mass, FORCES[variant], circle),
        t0=0.0,
        t_end=0.25,
        y0=np.array([0.0, -1.0]),
        z0=np.array([1.0, 0.0]),
        args={"l": 1.0, "g": 1.0, "eps": eps},
        reference=reference_if_any(name),
    )


# --- A point mass on a circle, a stiff spring -------------------------------------------------


def stretch(t, q, args):
    """The elongation of the spring between the mass and its anchor (m), shape `(1,)`."""
    del t
    x, y = q
    return jnp.sqrt(x**2 + (y - args["anchor"]) ** 2)[None] - args["l0"]


def weight(t, q, v, args):
    """The weight of a unit mass (N)."""
    del t, v
    return jnp.zeros_like(q).at[1].set(-args["g"])


def pulled(t, q, v, args):
    """The weight, and the spring's force."""
    return weight(t, q, v, args) + _pull(t, q, v, args)


_pull = spring_force(stretch, _inverse_square, undamped)


def yen_petzold_spring(eps: float = 1e-3) -> Problem:
    """`y = (x, y)` on the unit circle, held by a spring of stiffness `eps^-2`; at rest; 0.05 s.

    The spring is a quarter longer than relaxed, wherever the mass is: the mass oscillates fast.

    Source: Yen & Petzold, section 5.1, with the second coordinate made consistent.
    """
    name = f"yen_petzold_spring_eps{brief(eps)}"
    x = 0.04471
    return Problem(
        name=name,
        system=jaxspark.MechanicalSystem(unit_mass, pulled, circle),
        t0=0.0,
        t_end=0.05,
        y0=np.array([x, -np.sqrt(1 - x**2)]),
        z0=np.zeros(2),
        args={"l": 1.0, "g": 1.0, "l0": 0.4, "anchor": -0.5, "eps": eps},
        reference=reference_if_any(name),
    )


def yen_petzold_spring_elongated(eps: float = 1e-3) -> Problem:
    """The same with the elongation of the spring as a coordinate: `y = ((x, y), e)`."""
    plain = yen_petzold_spring(eps)
    free = jaxspark.MechanicalSystem(unit_mass, weight, circle)
    system = jaxspark.stiff.Elongated(free, stretch, _inverse_square)
    return elongated(plain, system)


# --- Two bodies and a bushing -----------------------------------------------------------------


def masses(t, q, args):
    """Masses (kg) and moments of inertia (kg m^2) of both bodies, shape `(6, 6)`."""
    del t
    entries = [args[key] for key in ("m1", "m1", "J1", "m2", "m2", "J2")]
    return jnp.diag(jnp.array(entries, q.dtype))


def weights(t, q, v, args):
    """The weights of both bodies (N)."""
    del t, v
    return -args["g"] * jnp.zeros_like(q).at[1].set(args["m1"]).at[4].set(args["m2"])


def displacement(t, q, args):
    """That of the bushing: from `(1/2, 0)` on body 1 to `(-1/2, 0)` on body 2 (m), and rad."""
    del t, args
    first, second = (jnp.stack([jnp.cos(a), jnp.sin(a)]) / 2 for a in (q[2], q[5]))
    return jnp.append(q[3:5] - second - q[:2] - first, q[5] - q[2])


def held(t, q, args):
    """Body 1 stands still; body 2 is at unit distance and does not turn; shape `(5,)`."""
    del t, args
    distance = (jnp.sum((q[3:5] - q[:2]) ** 2, keepdims=True) - 1) / 2
    return jnp.concatenate([q[:3], distance, q[5:]])


def bushing_stiffness(args):
    """`1 / eps` in every direction (N/m, N m/rad)."""
    return 1 / args["eps"]


def bushing_damping(args):
    """`c` in every direction (N s/m, N m s/rad)."""
    return args["c"]


def bushed(t, q, v, args):
    """The weights, and the bushing's forces and torques."""
    return weights(t, q, v, args) + _bushing(t, q, v, args)


_bushing = spring_force(displacement, bushing_stiffness, bushing_damping)


def yen_petzold_bushing(
    eps: float = 1e-3, start: Literal["printed", "equilibrium"] = "printed"
) -> Problem:
    """`y = (x1, y1, a1, x2, y2, a2)`: a body on a bushing of stiffness `1 / eps`; one second.

    From `start="equilibrium"`, where the bushing carries the weight, with the printed
    velocity, the oscillation is as small as the printed one is meant to be; the printed place
    is that of one `eps` only.

    The report states neither masses nor gravity: all masses and moments of inertia are one.
    The printed stiffness matrix is not symmetric; that of a bushing equally stiff in all
    directions is.

    Source: Yen & Petzold, section 5.2, with initial values made consistent.
    """
    name = f"yen_petzold_bushing_eps{brief(eps)}"
    args = {"m1": 1.0, "J1": 1.0, "m2": 1.0, "J2": 1.0, "g": 9.81, "c": 10.0, "eps": eps}
    if start == "printed":
        y, rate = -0.014852, -0.0045444
        x = np.sqrt(1 - y**2)
    else:
        angle = -np.arctan(args["m2"] * args["g"] * eps)
        x, y, rate = np.cos(angle), np.sin(angle), -0.0045444 * np.cos(angle)
    return Problem(
        name=name,
        system=jaxspark.MechanicalSystem(masses, bushed, held),
        t0=0.0,
        t_end=1.0,
        y0=np.array([0.0, 0.0, 0.0, x, y, 0.0]),
        z0=np.array([0.0, 0.0, 0.0, -rate * y / x, rate, 0.0]),
        args=args,
        reference=reference_if_any(name) if start == "printed" else None,
    )


def yen_petzold_bushing_elongated(
    eps: float = 1e-3, start: Literal["printed", "equilibrium"] = "printed"
) -> Problem:
    """The same with the bushing's displacements as coordinates."""
    plain = yen_petzold_bushing(eps, start)
    free = jaxspark.MechanicalSystem(masses, weights, held)
    system = jaxspark.stiff.Elongated(free, displacement, bushing_stiffness, bushing_damping)
    return elongated(plain, system)
