"""Derivatives of a motion that failed are NaN; those of rows before, and of what is unused, not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark import DOP853, EqualSteps, Gauss, GGL, MechanicalSystem, RadauIIA, solve
from jaxspark.stiff import bdf


def force(t, q, v, args):
    """It ends where `q[1] < -.5`: no solve gets past."""
    return jnp.stack([jnp.zeros_like(t), -args["g"] * jnp.sqrt(q[1] + args["floor"])])


SYSTEM = MechanicalSystem(
    lambda t, q, args: args["m"] * jnp.eye(2),
    force,
    lambda t, q, args: (jnp.sum(q**2, keepdims=True) - 1) / 2,
)
START = jnp.array([1.0, 0.0]), jnp.zeros(2)
TIMES = np.array([0.2, 0.5, 2.5])
DOORS = {
    "DOP853": lambda args: solve(
        SYSTEM, *START, args, t1=3.0, ts=TIMES, method=DOP853(), max_steps=300, throw=False
    ),
    "Gauss": lambda args: solve(
        SYSTEM, *START, args, t1=3.0, ts=TIMES, method=Gauss(2), max_steps=300, throw=False
    ),
    "GGL": lambda args: solve(
        SYSTEM, *START, args, t1=3.0, ts=TIMES, method=GGL(RadauIIA(2)), max_steps=300, throw=False
    ),
    "equal steps": lambda args: solve(
        SYSTEM, *START, args, t1=3.0, steps=EqualSteps(number=60), save_every=5, throw=False
    ),
    "bdf": lambda args: bdf(SYSTEM, *START, args, t1=3.0, rtol=1e-3, max_steps=120, throw=False),
}


@pytest.mark.parametrize("door", DOORS)
def test_derivatives_of_failures(door):
    def parts(m, floor, weights):
        found = DOORS[door]({"m": m, "g": 1.5, "floor": floor})
        own = [found.ys[1, 1], found.ys[-1, 1], found.y1[1], found.z1[1]]
        return jnp.sum(jnp.where(weights != 0, jnp.stack(own), 0)), found.successful

    reverse = jax.jit(jax.grad(parts, has_aux=True))
    forward = jax.jit(jax.jacfwd(parts, has_aux=True))
    for derivative in (reverse, forward):
        for which in range(4):
            weights = jnp.zeros(4).at[which].set(1.0)
            # A deep floor is never reached.
            whole, successful = derivative(1.3, 2.0, weights)
            assert bool(successful) and bool(jnp.isfinite(whole)) and abs(float(whole)) > 0
            failed, successful = derivative(1.3, 0.5, weights)
            assert not bool(successful)
            # The row before the failure is a state of the motion.
            assert bool(jnp.isfinite(failed)) == (which == 0)
        unused, _ = derivative(1.3, 0.5, jnp.zeros(4))
        assert float(unused) == 0


def test_lanes():
    """A lane that failed makes the gradient of a sum NaN, unless it is left out."""

    def end(m, floor):
        args = {"m": m, "g": 1.5, "floor": floor}
        found = solve(SYSTEM, *START, args, t1=3.0, max_steps=200, throw=False)
        return found.y1[1], found.successful

    floors = jnp.array([2.0, 0.5, 1.5])

    def total(m, keep):
        ends, good = jax.vmap(lambda floor: end(m, floor))(floors)
        return jnp.sum(jnp.where(good | ~keep, ends, 0)), good

    left_out, good = jax.jit(jax.grad(total, has_aux=True))(1.3, jnp.asarray(True))
    assert good.tolist() == [True, False, True]
    own = sum(jax.grad(lambda m, floor=floor: end(m, floor)[0])(1.3) for floor in (2.0, 1.5))
    assert abs(left_out - own) <= 1e-12 * abs(own)
    counted, _ = jax.jit(jax.grad(total, has_aux=True))(1.3, jnp.asarray(False))
    assert bool(jnp.isnan(counted))
    each = jax.vmap(lambda floor: jax.grad(lambda m: end(m, floor)[0])(1.3))(floors)
    assert jnp.isnan(each).tolist() == [False, True, False]
