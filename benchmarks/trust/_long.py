"""Ten million steps: the clock, the constraints and the energy."""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_most, Figure, note


STEPS, H, LENGTH, GRAVITY = 10_000_000, 0.01, 0.8, 9.81
METHODS = jaxspark.Lobatto(2), jaxspark.Gauss(2)


def long(tiny: bool) -> Iterator[Figure]:
    """A pendulum in Cartesian coordinates, with equal steps.

    Energies swing with the motion: the largest of a hundred at the end counts, over that at the
    beginning.
    """
    system = jaxspark.MechanicalSystem(
        lambda t, y, args: jnp.eye(2), lambda t, y, z, args: jnp.asarray([0.0, -GRAVITY]),
        holonomic=lambda t, y, args: y @ y - LENGTH**2,
    )  # fmt: skip
    angle = 0.5
    y0, z0 = LENGTH * jnp.asarray([np.sin(angle), -np.cos(angle)]), jnp.zeros(2)

    def energy(y, z):
        return 0.5 * np.sum(np.square(z), -1) + GRAVITY * np.asarray(y)[..., 1]

    def errors(method, y, z, t0):
        some = jaxspark.rollout(system, y, z, t0=t0, method=method, h=H, num_steps=100)
        return float(np.max(np.abs(energy(some.ys, some.zs) - energy(y0, z0))))

    number = 1000 if tiny else STEPS
    for method in METHODS[:1] if tiny else METHODS:
        end = jaxspark.rollout(
            system, y0, z0, method=method, h=H, num_steps=number, save_every=None
        )  # fmt: skip
        what = f"{number} steps by {method}"
        clock = abs(float(end.t1) - number * H) / (number * H)
        worst = float(np.max([end.stats.max_g, end.stats.max_gdot]))
        first = errors(method, y0, z0, 0.0)
        last = errors(method, end.y1, end.z1, end.t1)
        yield at_most(f"{what}: time, relative", clock, 1e-15)
        yield at_most(f"{what}: worst constraint residual", worst, 1e-13)
        yield at_most(f"{what}: energy error at the end over that at the start", last / first, 2.0)
        yield note(f"{what}: energy error at the start (J/kg)", f"{first:.1e}")
