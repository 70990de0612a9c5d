"""Kinks and jumps of forces and of constraints, weak ones among them; bumps, late forces, stops."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import problems
from ._mechanism import diagonal, half_square, Mechanism, plane_weight


def _rod(t, q, args):
    return (half_square(q) - 0.5)[None]


def _swing(rng) -> tuple[Any, Any]:
    angle = rng.uniform(0.5, 1.5) * rng.choice([-1, 1])
    return [np.sin(angle), -np.cos(angle)], rng.standard_normal(2)


def _hanging(rng) -> tuple[Any, Any]:
    return [0.0, -1.0], np.zeros(2)


def _pushed(
    name: str,
    kinds: tuple[str, ...],
    push: Callable[..., Any],
    draw: Callable[[np.random.Generator], dict[str, Any]],
    kinks: Callable[[Any], Any],
    *,
    state: Callable[..., Any] = _swing,
    t1: float = 3.0,
) -> Mechanism:
    """A pendulum with a horizontal force `push(t, args)` (N)."""
    weight = plane_weight(1)

    def force(t, q, v, args):
        return weight(t, q, v, args) + jnp.stack([push(t, args), jnp.zeros_like(t)])

    def guess(rng):
        return *state(rng), draw(rng)

    system = jaxspark.MechanicalSystem(diagonal(1, 1), force, _rod)
    kinds = ("holonomic", *kinds)
    return Mechanism(name, kinds, system, guess, t1, kinks=kinks, smooth=False)


def _since(t, args):
    """The time since `args["at"]`; 0 before."""
    return jnp.where(t < args["at"], 0.0, t - args["at"])


def _at(rng) -> dict[str, Any]:
    return {"at": rng.uniform(0.8, 2.2)}


def _once(args) -> list[Any]:
    return [args["at"]]


def _jump(size: float) -> Callable[..., Any]:
    return lambda t, args: jnp.where(t < args["at"], 0.0, size)


def _bump(height: float, width: float) -> Callable[..., Any]:
    """`height exp(1 - 1 / (1 - x^2))` for `|x| < 1`, `x = (t - at) / width`; 0 elsewhere."""

    def push(t, args):
        room = 1 - ((t - args["at"]) / width) ** 2
        return jnp.where(room > 0, height * jnp.exp(1 - 1 / jnp.where(room > 0, room, 1.0)), 0.0)

    return push


def _around(width: float) -> Callable[[Any], list[Any]]:
    return lambda args: [args["at"] - width, args["at"], args["at"] + width]


def square_wave() -> Mechanism:
    """A force of 3 N whose sign changes twelve times."""

    def draw(rng):
        return {"times": np.linspace(0.2, 2.9, 12) + rng.uniform(-0.1, 0.1, 12)}

    def push(t, args):
        return 3.0 * jnp.prod(jnp.where(t < args["times"], 1.0, -1.0))

    return _pushed("square_wave", ("jump",), push, draw, lambda args: args["times"])


def hat() -> Mechanism:
    """A triangular pulse of force: three strong kinks."""

    def push(t, args):
        return 10 * jnp.maximum(0.0, 1 - jnp.abs(t - args["at"]) / 0.3)

    return _pushed("hat", ("kink",), push, _at, _around(0.3))


def end_stop() -> Mechanism:
    """A pendulum that swings into a spring: a kink on every contact."""
    weight = plane_weight(1)

    def force(t, q, v, args):
        pushed = -args["stiffness"] * jnp.maximum(q[0] - args["stop"], 0.0)
        return weight(t, q, v, args) + jnp.stack([pushed, jnp.zeros_like(pushed)])

    def guess(rng):
        args = {"stiffness": rng.uniform(500, 1500), "stop": rng.uniform(0.1, 0.4)}
        angle = rng.uniform(-1.2, -0.6)
        return [np.sin(angle), -np.cos(angle)], rng.standard_normal(2), args

    return Mechanism(
        "end_stop", ("holonomic", "kink"), jaxspark.MechanicalSystem(diagonal(1, 1), force, _rod),
        guess, 3.0, switch=lambda t, y, z, args: y[0] - args["stop"], smooth=False,
    )  # fmt: skip


def backlash() -> Mechanism:
    """A double pendulum with a spring between the rods' ends and a wall that has play."""
    weight = plane_weight(1, 0.5)

    def rods(t, q, args):
        return jnp.stack([half_square(q[:2]) - 0.5, half_square(q[2:] - q[:2]) - 0.5])

    def force(t, q, v, args):
        beyond = jnp.maximum(jnp.abs(q[2]) - args["play"], 0.0) * jnp.sign(q[2])
        return weight(t, q, v, args).at[2].add(-50 * beyond)

    def guess(rng):
        angles = rng.uniform(0.3, 0.8, 2)
        points = np.cumsum(np.stack([np.sin(angles), -np.cos(angles)], 1), 0).ravel()
        return points, 0.5 * rng.standard_normal(4), {"play": rng.uniform(0.1, 0.3)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 0.5, 0.5), force, rods)
    return Mechanism(
        "backlash", ("holonomic", "kink"), system, guess, 2.0,
        switch=lambda t, y, z, args: y[2] ** 2 - args["play"] ** 2, smooth=False,
    )  # fmt: skip


def wind() -> Mechanism:
    """A pendulum with wind on one side of the vertical: a jump where it passes."""
    weight = plane_weight(1)

    def force(t, q, v, args):
        blown = jnp.where(q[0] < 0, 0.0, -args["wind"])
        return weight(t, q, v, args) + jnp.stack([blown, jnp.zeros_like(blown)])

    def guess(rng):
        return *_swing(rng), {"wind": rng.uniform(1, 3)}

    return Mechanism(
        "wind", ("holonomic", "jump"), jaxspark.MechanicalSystem(diagonal(1, 1), force, _rod),
        guess, 3.0, switch=lambda t, y, z, args: y[0], smooth=False,
    )  # fmt: skip


def jolted_pivot() -> Mechanism:
    """A pendulum whose pivot begins to be accelerated: the constraint's second derivative jumps."""

    def rod(t, q, args):
        pivot = jnp.stack([0.5 * args["a"] * _since(t, args) ** 2, jnp.zeros_like(t)])
        return (half_square(q - pivot) - 0.5)[None]

    def guess(rng):
        return *_swing(rng), {**_at(rng), "a": rng.uniform(1, 4)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1), plane_weight(1), rod)
    kinds = ("holonomic", "rheonomic", "jump")
    return Mechanism("jolted_pivot", kinds, system, guess, 3.0, kinks=_once, smooth=False)


def sleigh_jump() -> Mechanism:
    """A sleigh on which a torque begins to act."""
    problem = problems.chaplygin_sleigh()

    def force(t, q, v, args):
        torque = jnp.where(t < args["at"], 0.0, args["torque"])
        return problem.system.force(t, q, v, args).at[2].add(torque)

    def guess(rng):
        args = {**problem.args, **_at(rng), "torque": rng.uniform(0.3, 1)}
        return problem.y0, problem.z0 + 0.3 * rng.standard_normal(3), args

    system = jaxspark.MechanicalSystem(
        problem.system.mass, force, nonholonomic=problem.system.nonholonomic
    )
    kinds = ("nonholonomic", "jump")
    return Mechanism("sleigh_jump", kinds, system, guess, 4.0, kinks=_once, smooth=False)


def steered_edge() -> Mechanism:
    """A skate whose heading is prescribed and begins to turn: the reaction alone jumps."""

    def edge(t, q, v, args):
        heading = args["heading"] + args["turn"] * _since(t, args)
        return (v[1] * jnp.cos(heading) - v[0] * jnp.sin(heading))[None]

    def guess(rng):
        heading = rng.uniform(-3, 3)
        args = {**_at(rng), "heading": heading, "turn": rng.uniform(1, 3)}
        return np.zeros(2), 2 * np.array([np.cos(heading), np.sin(heading)]), args

    system = jaxspark.MechanicalSystem(diagonal(1, 1), lambda t, q, v, args: -q, nonholonomic=edge)
    kinds = ("nonholonomic", "rheonomic", "jump")
    return Mechanism("steered_edge", kinds, system, guess, 3.0, kinks=_once, smooth=False)


def sharp_friction() -> Mechanism:
    """A pendulum with friction `-mu tanh(slip / 0.02)`: smooth, but sharp where it turns."""
    weight = plane_weight(1)

    def force(t, q, v, args):
        tangent = jnp.stack([-q[1], q[0]])
        slip = jnp.sum(tangent * v)
        return weight(t, q, v, args) - args["mu"] * jnp.tanh(slip / 0.02) * tangent

    def guess(rng):
        return *_swing(rng), {"mu": rng.uniform(0.3, 1)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1), force, _rod)
    kinds = ("holonomic", "friction")
    return Mechanism("sharp_friction", kinds, system, guess, 3.0, smooth=False)


def late_force() -> Mechanism:
    """A pendulum at rest until a force begins, slowly."""

    def push(t, args):
        return 4 * (1 - jnp.cos(3 * _since(t, args)))

    kinds = ("late force", "equilibrium", "kink")
    return _pushed("late_force", kinds, push, _at, _once, state=_hanging, t1=4.0)


MECHANISMS = (
    square_wave(), hat(), end_stop(), backlash(), wind(), jolted_pivot(), sleigh_jump(),
    steered_edge(), sharp_friction(), late_force(),
    _pushed("one_jump", ("jump",), _jump(3.0), _at, _once),
    _pushed("jump_from_rest", ("jump", "late force"), _jump(3.0), _at, _once, state=_hanging),
    _pushed("small_jump", ("jump", "weak"), _jump(2e-3), _at, _once),
    _pushed("weak_kink", ("kink", "weak"), _since, _at, _once),
    _pushed("bump_swing", ("bump",), _bump(10.0, 0.15), _at, _around(0.15)),
    _pushed(
        "wide_bump_from_rest", ("bump", "late force"), _bump(3.0, 0.5),
        lambda rng: {"at": rng.uniform(1.5, 3)}, _around(0.5), state=_hanging, t1=5.0,
    ),
)  # fmt: skip
