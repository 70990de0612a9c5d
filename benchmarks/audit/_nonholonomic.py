"""Rolling, skating and steering: nonholonomic constraints, alone and with holonomic ones."""

import jax.numpy as jnp

import jaxspark

from .. import problems
from ._mechanism import diagonal, from_problem, Mechanism


ROLLS = ("nonholonomic",)


def turntable_system(rate) -> jaxspark.ConstrainedSystem:
    """A ball that rolls on a turntable; no force but the reactions acts on it.

    `y = (x, y)` of its centre, `z = (x', y', wx, wy)` with its spin; mass and radius 1, moment of
    inertia 2/5; `k = (x' - wy + W y, y' + wx - W x)` with `W = rate(t, args)` (rad/s).

    Source: A. M. Bloch, *Nonholonomic Mechanics and Control*, on the ball on a rotating table: it
    runs on a circle at 2/7 of the rate.
    """

    def momentum(t, y, z, args):
        return z * jnp.array([1.0, 1.0, 0.4, 0.4], z.dtype)

    def rolling(t, y, z, args):
        turn = rate(t, args)
        return jnp.stack([z[0] - z[3] + turn * y[1], z[1] + z[2] - turn * y[0]])

    return jaxspark.ConstrainedSystem(
        lambda t, y, z, args: jnp.zeros_like(z), v=lambda t, y, z, args: z[:2], p=momentum,
        k=rolling,
    )  # fmt: skip


def turntable() -> Mechanism:
    """At a constant rate."""

    def guess(rng):
        return rng.standard_normal(2), rng.standard_normal(4), {"W": rng.uniform(2, 4)}

    kinds = (*ROLLS, "motion by reactions alone")
    return Mechanism("turntable", kinds, turntable_system(lambda t, args: args["W"]), guess, 5.0)


def snakeboard() -> Mechanism:
    """A board with two steered wheel sets and a rotor, moved by torques.

    `y = (x, y, th, ps, fb, ff)`: the board, the rotor on it, the back and front steering.

    Source: J. Ostrowski, A. Lewis, R. Murray & J. Burdick, *Nonholonomic mechanics and
    locomotion: the snakeboard example*, IEEE Robotics and Automation (1994).
    """
    m, board, rotor, wheels, half = 1.0, 0.05, 0.03, 0.01, 0.25

    def mass(t, q, args):
        turning = jnp.array(
            [
                [board + rotor + 2 * wheels, rotor, wheels, wheels],
                [rotor, rotor, 0, 0], [wheels, 0, wheels, 0], [wheels, 0, 0, wheels],
            ],
            q.dtype,
        )  # fmt: skip
        return jnp.zeros((6, 6), q.dtype).at[:2, :2].set(m * jnp.eye(2)).at[2:, 2:].set(turning)

    def force(t, q, v, args):
        wave = args["steer"] * jnp.sin(args["w"] * t)
        steering = -0.5 * (q[4:] - jnp.stack([wave, -wave])) - 0.05 * v[4:]
        rotor_torque = args["turn"] * jnp.cos(args["w"] * t)
        return jnp.concatenate([jnp.zeros(3, q.dtype), rotor_torque[None], steering])

    def rolling(t, q, v, args):
        def across(angle, arm):
            c, s = jnp.cos(q[2] + angle), jnp.sin(q[2] + angle)
            return -s * v[0] + c * v[1] + arm * jnp.cos(angle) * v[2]

        return jnp.stack([across(q[4], -half), across(q[5], half)])

    def guess(rng):
        y = [0, 0, rng.uniform(-3, 3), 0, *rng.uniform(-0.3, 0.3, 2)]
        args = {"steer": rng.uniform(0.3, 0.6), "turn": rng.uniform(0.1, 0.3), "w": 4.0}
        return y, 0.5 * rng.standard_normal(6), args

    system = jaxspark.MechanicalSystem(mass, force, nonholonomic=rolling)
    return Mechanism("snakeboard", ROLLS, system, guess, 3.0)


def appell_hamel() -> Mechanism:
    """Hamel's quadratic constraint `z'^2 = a^2 (x'^2 + y'^2)` on a point in a potential.

    Source: G. Hamel, *Theoretische Mechanik*, on P. Appell's example; springs are added.
    """

    def quadratic(t, q, v, args):
        return 0.5 * (v[2:] ** 2 - args["a"] ** 2 * jnp.sum(v[:2] ** 2, keepdims=True))

    def force(t, q, v, args):
        return -args["stiffness"] * q - jnp.array([0, 0, 1.0], q.dtype)

    def guess(rng):
        velocity = rng.uniform(1.5, 2.5, 2) * rng.choice([-1, 1], 2)
        args = {"a": rng.uniform(0.8, 1.2), "stiffness": rng.uniform([1, 1, 0.1], [2, 2, 0.3])}
        return 0.3 * rng.standard_normal(3), [*velocity, 3.0], args

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 1), force, nonholonomic=quadratic)
    return Mechanism("appell_hamel", (*ROLLS, "nonlinear in velocities"), system, guess, 3.0)


def coin() -> Mechanism:
    """A thin disk that rolls and leans; `y = (x, y, heading, lean, roll)`, unit mass and radius.

    The angular velocity is `lean' e + heading' up + roll' a` with `e` the heading and `a` the axis
    of the disk; the point of contact is at `-d`, `d = e x a`, from the centre.
    """

    def frame(q):
        c, s, lean_c, lean_s = jnp.cos(q[2]), jnp.sin(q[2]), jnp.cos(q[3]), jnp.sin(q[3])
        return jnp.stack([c, s, 0 * c]), jnp.stack([-s * lean_c, c * lean_c, lean_s])

    def rate(q, v):
        along, axis = frame(q)
        return v[3] * along + v[2] * jnp.array([0, 0, 1.0], q.dtype) + v[4] * axis

    def lagrangian(t, q, v, args):
        axial = jnp.sum(rate(q, v) * frame(q)[1])
        across = jnp.sum(rate(q, v) ** 2) - axial**2
        height, rise = jnp.cos(q[3]), -jnp.sin(q[3]) * v[3]
        return (
            0.5 * (jnp.sum(v[:2] ** 2) + rise**2 + 0.25 * across + 0.5 * axial**2) - 9.81 * height
        )

    def rolling(t, q, v, args):
        contact = -jnp.cross(*frame(q))
        return v[:2] + jnp.cross(rate(q, v), contact)[:2]

    def guess(rng):
        y = [0, 0, rng.uniform(-3, 3), rng.uniform(-0.3, 0.3), 0]
        return y, [0, 0, rng.uniform(-1, 1), 0, rng.uniform(6, 9)], {}

    system = jaxspark.LagrangianSystem(lagrangian, nonholonomic=rolling)
    return Mechanism("coin", ROLLS, system, guess, 2.0)


def skate_with_friction() -> Mechanism:
    """A sleigh on an incline; Coulomb's friction along its blade, by the force across it."""
    problem = problems.chaplygin_sleigh()

    def force(t, q, v, args):
        slope = jnp.array([2.0, 0, 0], q.dtype)
        turn = -0.2 * 2.0 * jnp.sin(q[2]) * jnp.array([0, 0, 1.0], q.dtype)
        return problem.system.force(t, q, v, args) + slope + turn

    def friction(t, q, v, psi, args):
        along = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
        slip = jnp.sum(along * v[:2])
        drag = jaxspark.dry_friction(slip, psi, args["mu"], slip_width=0.1, load_floor=0.1)
        return jnp.concatenate([drag * along, jnp.zeros(1, q.dtype)])

    def guess(rng):
        y, z = [0, 0, rng.uniform(-1, 1)], [*rng.standard_normal(2), rng.uniform(1, 3)]
        return y, z, {**problem.args, "mu": rng.uniform(0.1, 0.4)}

    system = jaxspark.MechanicalSystem(
        problem.system.mass, force, nonholonomic=problem.system.nonholonomic, nonideal=friction
    )
    return Mechanism("skate_with_friction", (*ROLLS, "friction"), system, guess, 2.0)


MECHANISMS = (
    turntable(), snakeboard(), appell_hamel(), coin(), skate_with_friction(),
    from_problem(problems.rolling_disk(), ROLLS, 6.0, velocities=0.5),
    from_problem(problems.chaplygin_sleigh(), ROLLS, 8.0),
    from_problem(problems.nonholonomic_particle(), ROLLS, 10.0),
    from_problem(problems.isokinetic(), (*ROLLS, "nonlinear in velocities"), 1.0),
    from_problem(problems.magnetic_particle(), ROLLS, 10.0),
    from_problem(problems.sleigh_tow(), ("mixed",), 3.0),
)  # fmt: skip
