"""Steps of SPARK methods, with estimates of their errors."""

from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._driver import GAINS, Step
from .._kkt import LinearSolver, select_linear_solver
from .._results import RESULTS
from .._step import (
    constant_guess,
    continued_guess,
    differentiable_stages,
    modified_jacobian,
    ModifiedJacobian,
    NewtonOptions,
    solve_stages,
    Stages,
)
from .._system import FlatSystem
from .._tableau import AbstractSparkMethod
from ._estimate import estimate, History, no_history
from ._implicit_steps import ImplicitSteps


# Extrapolated further than this, stages are no better starting values than the state itself.
LONGEST_EXTRAPOLATION = 3.0


class Memory(NamedTuple):
    """The step before: where it started, its size (0: there was none), its stages as a vector."""

    t: FloatScalar
    h: FloatScalar
    x: Float[Array, " n"]
    stages: Float[Array, " m"]
    history: History


class SparkSteps(ImplicitSteps):
    """Steps of a SPARK method.

    **Arguments:**

    - `static`: the flat system without its arrays.
    - `method`, `newton`, `linear_solver`, `predict`: see [`jaxspark.solve`][].
    """

    probes, gains = True, GAINS

    def __init__(
        self,
        static: FlatSystem,
        method: AbstractSparkMethod,
        newton: NewtonOptions,
        linear_solver: LinearSolver | None,
        predict: bool,
    ):
        super().__init__(static)
        self.tableau, self.newton = method.tableau, newton
        self.linear_solver: LinearSolver | None = linear_solver
        self.predict = predict

    @property
    def error_order(self) -> int:
        """The order of the method, which the estimate of the error shares."""
        return self.tableau.order

    def probe(self, dtype: Any) -> float:
        """Large enough for differences of stages to be more than their rounding errors."""
        return max(super().probe(dtype), float(jnp.finfo(dtype).eps) ** (1 / 3))

    def _stages(self, system: FlatSystem, x: Any, vector: Any) -> Stages:
        like = constant_guess(system, self.tableau, *self.split(x))
        return jax.flatten_util.ravel_pytree(like)[1](vector)

    def start(self, parameters: Any, t: FloatScalar, x: Float[Array, " n"]) -> tuple[Any, Any]:
        """The state itself at every stage."""
        stages = constant_guess(self.system(parameters), self.tableau, *self.split(x))
        vector = jax.flatten_util.ravel_pytree(stages)[0]
        return Memory(t, jnp.zeros_like(t), x, vector, no_history(x[self.ny :])), vector

    def recalled(self, t, h, x, note) -> Memory:
        """Its stages are recorded."""
        return Memory(t, h, x, note, no_history(x[self.ny :]))

    def make(
        self, parameters: Any, t: FloatScalar, h: FloatScalar, x: Float[Array, " n"], memory: Memory
    ) -> Step:
        """A step whose iteration starts from the polynomials of the step before."""
        system, tableau = self.system(parameters), self.tableau
        solver = select_linear_solver(system, self.linear_solver)
        y, z = self.split(x)
        idle = h == 0
        size = jnp.where(idle, 1, h)
        constant = constant_guess(system, tableau, y, z)
        guess = self._guess(system, t, h, x, memory, constant) if self.predict else constant
        held = (system, t, y, z, size)
        newton, jacobian = solve_stages(held, tableau, solver, guess, idle, self.newton)
        good = newton.result == RESULTS.successful
        # The stages of a failed step need not be finite.
        stages = jax.tree.map(lambda a, b: jnp.where(good, a, b), newton.stages, constant)
        if not isinstance(jacobian, ModifiedJacobian):
            jacobian = modified_jacobian(system, tableau, solver, t, size, stages)
        error = estimate(system, tableau, jacobian, t, (y, z), size, stages, memory.history)
        x1 = jnp.concatenate([stages.y[-1], stages.z[-1]])
        vector = jax.flatten_util.ravel_pytree(stages)[0]
        ends = ((t, y, z), (t + h, stages.y[-1], stages.z[-1]))
        first, last = (
            jnp.concatenate([system.velocity(*end), slope])
            for end, slope in zip(ends, error.slopes, strict=True)
        )
        return Step(
            jnp.where(good & ~idle, x1, x), jnp.concatenate([error.y, error.z]), vector,
            Memory(t, h, x, vector, error.history), newton.iterations, newton.result, (first, last),
            error.rough,
        )  # fmt: skip

    def _guess(
        self, system: FlatSystem, t: Any, h: Any, x: Any, memory: Memory, constant: Stages
    ) -> Stages:
        """The stages of the step before, continued, if there was one not much shorter."""
        known = memory.h != 0
        before = jnp.where(known, memory.h, 1)
        ratio = h / before
        stages = self._stages(system, x, memory.stages)
        y, z = self.split(memory.x)
        further = continued_guess(
            system, self.tableau, y, z, stages, x[: self.ny], before, ratio, t != memory.t
        )
        use = known & (jnp.abs(ratio) <= LONGEST_EXTRAPOLATION)
        return jax.tree.map(lambda a, b: jnp.where(use, a, b), further, constant)

    def end(self, system, t, h, x, note):
        """The last of the stages."""
        solver = select_linear_solver(system, self.linear_solver)
        known = self._stages(system, x, note)
        stages = differentiable_stages(
            self.tableau, solver, system, t, *self.split(x), h, known, self.newton
        )
        return jnp.concatenate([stages.y[-1], stages.z[-1]])
