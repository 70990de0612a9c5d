"""Gauss and Newton's iteration for base parameters, motions and noise together."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from .._driver import each_lane
from ..fit._covariance import Information, information
from ._base import BaseParameters
from ._mechanism import Mechanism
from ._motion import Motion
from ._regressor import regressor, TEN, UNITS
from ._rotations import products
from ._tables import Tables


# Iterations at most, and the change, in standard errors, of which the last is.
MOST, LAST = 60, 1e-3
# Samples of one call of the compiled program.
AT_ONCE = 256
# Least noise of a channel, relative to how far it varies: splines are no more exact.
FLOOR = 1e-5
# Of singular values: squares are summed.
RTOL = 1e-7


class Torques:
    """What motors must do for a motion, and derivatives, compiled.

    **Arguments:**

    - `mechanism`, `system`: the latter without motors whose torques are measured.
    - `args`: parameters; `base`: those that are identified, of `bodies` and `joints`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        system: Any,
        args: Any,
        base: BaseParameters,
        bodies: tuple[str, ...],
        joints: tuple[str, ...],
    ):
        self.base, self.args, self.static = base, args, (mechanism, system, bodies, joints)
        self.chosen = np.array([base.names.index(name) for name in base.chosen], int)

    def __call__(
        self, times: np.ndarray, states: np.ndarray, change: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Torques, derivatives by states, and by base parameters.

        **Arguments:**

        - `times`, `states`: shapes `(times,)` and `(3, times, n)`; `change`: of the base parameters
            from those of `args`.
        """
        x, parts = np.swapaxes(states, 0, 1), []
        full = np.zeros(len(self.base.names))
        full[self.chosen] = change
        for k in range(0, len(x), AT_ONCE):
            some = x[k : k + AT_ONCE]
            # One program for all.
            padded = [
                jnp.asarray(np.concatenate([of, np.repeat(of[-1:], AT_ONCE - len(of), 0)]))
                for of in (times[k : k + AT_ONCE], some)
            ]
            found = _evaluated(*self.static, *padded, jnp.asarray(full), self.args)
            parts.append([np.asarray(part)[: len(some)] for part in found])
        tau, J, Y = (np.concatenate(part) for part in zip(*parts, strict=True))
        return tau, J, Y[:, :, self.chosen]


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _evaluated(
    mechanism: Mechanism,
    system: Any,
    bodies: tuple[str, ...],
    joints: tuple[str, ...],
    times: Float[Array, " times"],
    x: Float[Array, "times 3 n"],
    change: Float[Array, " p"],
    args: Any,
) -> tuple[Array, Array, Array]:
    """Torques at states and accelerations, derivatives by these, and by all parameters.

    **Arguments:**

    - `change`: of the parameters from what `args` has; the torques are linear in these.
    """
    inertial = len(TEN) * len(bodies)
    own = change[inertial:].reshape(len(joints), x.shape[2])
    tables = _changed(mechanism, bodies, system.prepared(args), change[:inertial])
    one = jnp.ones((), x.dtype)

    def torque(t, q, v, a):
        of = system.accelerations(t, q, v, one, tables)
        extra = {"armature": a, "damping": v, "friction": jnp.sign(v)}
        more = [own[k] * extra[what] for k, what in enumerate(joints)]
        tau = jnp.sum(of.M * a[None, :], 1) - of.h + sum(more, jnp.zeros_like(a))
        return tau, (tau, of.M)

    def at(t, x):
        # In reverse, as there are twice as many coordinates and velocities as torques.
        try:
            (Jq, Jv), (tau, M) = jax.jacrev(torque, (1, 2), has_aux=True)(t, *x)
        except ValueError:
            # Through a force with a `while_loop` there is no reverse mode.
            (Jq, Jv), (tau, M) = jax.jacfwd(torque, (1, 2), has_aux=True)(t, *x)
        armatures = [own[k] for k, what in enumerate(joints) if what == "armature"]
        J = jnp.concatenate([Jq, Jv, M + sum(map(jnp.diag, armatures), jnp.zeros_like(M))], 1)
        return tau, J, regressor(mechanism, *x, args=args, bodies=bodies, joints=joints)

    return each_lane(at)(times, x)


def _changed(mechanism: Mechanism, bodies: tuple[str, ...], tables: Tables, ten: Array) -> Tables:
    """With other inertias of bodies."""
    tree = mechanism.tree
    numbers = {body.name: k for k, body in enumerate(tree.bodies)}
    which = np.array([numbers[name] for name in bodies], int)
    P = jnp.tensordot(ten.reshape(-1, len(TEN)), jnp.asarray(UNITS, ten.dtype), 1)
    F = take(tables.frames, which)
    in_link = products(products(F, P), jnp.swapaxes(F, 1, 2))
    holds = jnp.asarray(tree.holds[:, which], ten.dtype)
    return tables._replace(inertia=tables.inertia + jnp.tensordot(holds, in_link, 1))


class Search:
    """What is estimated, and the iteration.

    **Arguments:**

    - `torques`: of the mechanism; `motions`: of all records; `offsets`: whether sensors of torques
        have them.

    **Attributes:**

    - `change`: of the base parameters from their values in the mechanism, then the offsets.
    - `sigma`: standard deviations of the noise of `q`, `v` and torques, NaN where none was
        measured, shape `(3, n)`.
    - `told`: the information about what `change` has; `freedom`: samples less what was estimated.
    - `iterations`, `seconds`, `score`: how many, how long, and how well new samples are predicted:
        less is better.
    - `predicted`: of each record, what all channels would show without noise, `(times, 3, n)`.
    """

    def __init__(self, torques: Torques, motions: Sequence[Motion], offsets: bool):
        self.torques, self.motions = torques, list(motions)
        values = np.concatenate([motion.samples.values for motion in motions])
        there = np.any(np.isfinite(values), axis=0)
        self.offsets = np.flatnonzero(there[2]) if offsets else np.zeros(0, int)
        self.size = len(torques.chosen)
        self.change = np.zeros(self.size + len(self.offsets))
        self.sigma = np.where(there, np.nanstd(np.where(there, values, 0.0), axis=0), np.nan)
        self.floor = FLOOR * self.sigma
        self.sigma[:2] = np.maximum(self._of_splines(there), self.floor[:2])
        self.told: Information = information(np.zeros((0, len(self.change))))
        self.freedom, self.iterations, self.seconds, self.score = 0.0, 0, 0.0, 0.0
        self.predicted: list[np.ndarray] = []

    def _of_splines(self, there: np.ndarray) -> np.ndarray:
        squares, counts = np.zeros((2, there.shape[1])), np.zeros((2, there.shape[1]))
        for motion in self.motions:
            left = motion.samples.values[:, :2] - np.swapaxes(motion.states()[:2], 0, 1)
            squares += np.nansum(left**2, 0)
            counts += (
                np.sum(np.isfinite(left), 0) - motion.basis.count * (np.arange(2) == 0)[:, None]
            )
        return np.where(there[:2], np.sqrt(squares / np.maximum(counts, 1)), np.nan)

    def run(self) -> None:
        """Iterate until nothing changes that the samples tell.

        **Raises:** `RuntimeError` if that is not reached.
        """
        for self.iterations in range(1, MOST + 1):
            sigma = self.sigma.copy()
            moved = self._iterate()
            noise = np.nanmax(np.abs(np.log(self.sigma / sigma)))
            if moved < LAST and noise < LAST:
                return
        raise RuntimeError(
            f"The base parameters did not settle within {MOST} iterations: the last moved by "
            f"{moved:.2g} standard errors. Look for joints that hardly move, and for outliers; or "
            "give the number of intervals of the splines."
        )

    def _linearised(self, motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        states = motion.states()
        tau, J, Y = self.torques(motion.samples.times, states, self.change[: self.size])
        if len(self.offsets):
            extra = np.zeros((*Y.shape[:2], len(self.offsets)))
            extra[:, self.offsets, np.arange(len(self.offsets))] = 1.0
            Y = np.concatenate([Y, extra], 2)
            tau = tau + extra @ self.change[self.size :]
        return np.stack([*states[:2], tau], 1), J, Y

    def _iterate(self) -> float:
        count = len(self.change)
        S, b, whole, kept = np.zeros((count, count)), np.zeros(count), np.zeros(count), []
        squares, samples = np.zeros_like(self.sigma), np.zeros_like(self.sigma)
        self.predicted = []
        for motion in self.motions:
            shown, J, Y = self._linearised(motion)
            left = motion.samples.values - shown
            weights = np.where(np.isfinite(left), 1 / self.sigma, 0.0)
            squares += np.nansum(left**2, 0)
            samples += np.sum(np.isfinite(left), 0)
            left = np.nan_to_num(left)
            step = motion.step(J, Y, left, weights)
            S, b, whole = S + step.S, b + step.b, whole + step.squares
            kept.append((motion, J, Y, weights, step))
            self.predicted.append(shown)
        # Of what the motion takes for itself no more than rounding errors may be left.
        size = np.where(whole > 0, np.sqrt(whole), 1.0)
        values, vectors = np.linalg.eigh((S + S.T) / 2 / size / size[:, None])
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * size
        self.told = information(root, size, rtol=RTOL)
        covariance = self.told.covariance()
        change = covariance @ b
        used = np.zeros_like(self.sigma)
        for motion, J, Y, weights, step in kept:
            used += motion.leverages(J, Y, weights, step, covariance)
            motion.move(step, change)
        self.change = self.change + change
        freedom = samples - used
        self.freedom = float(np.sum(freedom))
        if np.any((samples > 0) & (freedom < 1)):
            raise ValueError(
                "There are fewer samples than the motion and the parameters need: give a longer "
                "record, or fewer intervals of the splines."
            )
        new = np.sqrt(squares / np.maximum(freedom, 1))
        # Generalised cross-validation, of all channels.
        used_up = np.log(np.maximum(freedom, 1) / np.maximum(samples, 1))
        logs = 2 * np.log(np.where(samples > 0, np.maximum(new, 1e-300), 1.0)) - used_up
        self.score = float(np.sum(samples * logs))
        self.sigma = np.where(samples > 0, np.maximum(new, self.floor), np.nan)
        errors = np.sqrt(np.maximum(np.diag(covariance), 0))
        # What nothing tells has errors and changes of rounding alone.
        errors = np.where(errors * size > RTOL, errors, np.inf)
        return float(np.max(np.abs(change) / errors, initial=0))
