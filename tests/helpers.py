"""Problems and measures that several tests share."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import problems


PENDULUM_ARGS = {"m": 1.3, "l": 0.8, "g": 9.81}
KNIFE_EDGE_ARGS = {"m": 1.2, "J": 0.7, "slope": 3.0}


def thorough(*case, **options):
    """A case that runs only when asked for: others test nearly the same, and compiling is slow."""
    return pytest.param(*case, marks=pytest.mark.thorough, **options)


def pendulum_lagrangian(t, q, v, args):
    del t
    return args["m"] * (0.5 * jnp.sum(v**2) - args["g"] * q[1])


def rod(t, q, args):
    del t
    return 0.5 * (jnp.sum(q**2, keepdims=True) - args["l"] ** 2)


def unit_mass(t, q, args):
    del t, q, args
    return jnp.eye(2)


def pendulum(force=None):
    """A mathematical pendulum in Cartesian coordinates."""
    return jaxspark.LagrangianSystem(pendulum_lagrangian, holonomic=rod, force=force)


def pendulum_start(angle=0.5, rate=1.0, length=PENDULUM_ARGS["l"]):
    """Position and velocity at an angle (rad) from the vertical; traceable."""
    direction = jnp.stack([jnp.sin(angle), -jnp.cos(angle)])
    tangent = jnp.stack([jnp.cos(angle), jnp.sin(angle)])
    return length * direction, length * rate * tangent


def pendulum_tension(y, z, args=PENDULUM_ARGS):
    """`m q'' = -m g e_y - q lam` and `|q|^2 = l^2` give `lam`."""
    return args["m"] * (np.sum(z**2, -1) - args["g"] * y[..., 1]) / args["l"] ** 2


@functools.cache
def mixed():
    """Everything at once: see `benchmarks.problems.mixed`."""
    return problems.mixed()


def knife_edge_lagrangian(t, q, v, args):
    del t
    kinetic = 0.5 * args["m"] * (v[0] ** 2 + v[1] ** 2) + 0.5 * args["J"] * v[2] ** 2
    return kinetic + args["m"] * args["slope"] * q[0]


def edge(t, q, v, args):
    del t, args
    return (jnp.sin(q[2]) * v[0] - jnp.cos(q[2]) * v[1])[None]


def knife_edge():
    """A skate on an inclined plane, `q = (x, y, angle)`."""
    return jaxspark.LagrangianSystem(knife_edge_lagrangian, nonholonomic=edge)


def knife_edge_start(angle=0.4, speed=0.9, rate=1.7):
    q = np.array([0.1, -0.2, angle])
    return q, np.array([speed * np.cos(angle), speed * np.sin(angle), rate])


def knife_edge_reaction(y, z, args=KNIFE_EDGE_ARGS):
    """From `d/dt k = 0` by hand."""
    angle, rate = y[..., 2], z[..., 2]
    speed = np.cos(angle) * z[..., 0] + np.sin(angle) * z[..., 1]
    return args["m"] * (rate * speed + args["slope"] * np.sin(angle))


def oscillator():
    """Without any constraint: two coupled, driven, damped oscillators."""

    def f(t, y, z, args):
        return -args["k"] * y - 0.3 * y[::-1] ** 3 - 0.1 * z + jnp.cos(t)

    return jaxspark.ConstrainedSystem(f)


def order(hs, errors):
    """The slope of `log(error)` over `log(h)`."""
    return np.polyfit(np.log(hs), np.log(errors), 1)[0]


def largest_difference(a, b):
    """The largest difference of two PyTrees, relative to the largest entry of `b`."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    differences, sizes = [0.0], [0.0]
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape and x.dtype == y.dtype
        if x.size:
            differences.append(np.max(np.abs(x.astype(float) - y.astype(float))))
            sizes.append(np.max(np.abs(y.astype(float))))
    # np.max, unlike max, keeps NaN.
    return np.max(differences) / (np.max(sizes) or 1.0)


def result_is(result, *members):
    """Which entries of a (possibly batched) result are one of these members."""
    return np.any([np.asarray(result == member) for member in members], 0)


def arrays(*values):
    return tuple(jnp.asarray(value, float) for value in values)


def counted(function):
    """`function` under `eqx.filter_jit`, and a list that grows by one at every trace."""
    traces = []

    def wrapped(*args, **kwargs):
        traces.append(None)
        return function(*args, **kwargs)

    return eqx.filter_jit(wrapped), traces
