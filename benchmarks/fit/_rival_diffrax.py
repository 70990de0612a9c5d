"""diffrax on the equation of motion of the crank angle, which was derived by hand."""

from typing import Any, Literal

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from ._fourbar_motion import acceleration, loop
from ._problem import FitProblem
from ._rivals import added, assembled, measured, of_trial, parameters, Rival


SOLVERS = {"Dopri8": diffrax.Dopri8, "Tsit5": diffrax.Tsit5, "Dopri5": diffrax.Dopri5}


def by_diffrax(
    problem: FitProblem,
    tolerance: float,
    solver: str = "Dopri8",
    mode: Literal["forward", "reverse"] = "forward",
    batched: bool = True,
) -> Rival:
    """Residuals by `diffeqsolve`, their Jacobian by `jax.jacfwd`.

    **Arguments:**

    - `problem`: the four-bar linkage.
    - `tolerance`: relative, and absolute.
    - `solver`: its name.
    - `mode`: of the gradient of the sum of squares: by the Jacobian, or by reverse mode with
        diffrax's default, checkpoints.
    - `batched`: whether trials are mapped over by `jax.vmap`, or solved one after the other.
    """
    data = measured(problem)
    times = jnp.asarray(data[0].times)
    channels = jnp.stack([jnp.asarray(one.channels) for one in data])
    sigmas = jnp.asarray(data[0].sigmas)

    def residuals(own: Any, measured: Any, adjoint: Any) -> Any:
        def field(t, x, own):
            del t
            return jnp.stack([x[1], acceleration(jnp, x[0], x[1], parameters(own))])

        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field), SOLVERS[solver](), times[0], times[-1], None, own[-2:], own,
            saveat=diffrax.SaveAt(ts=times), adjoint=adjoint, max_steps=4096, throw=False,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        )  # fmt: skip
        assert solution.ys is not None
        crank = solution.ys[:, 0]
        rocker = jax.vmap(lambda angle: loop(jnp, angle, parameters(own))[1])(crank)
        return (jnp.stack([crank, rocker]) / sigmas[:, None] - measured).ravel()

    def forward(own, measured):
        return residuals(own, measured, diffrax.ForwardMode())

    def with_jacobian(own, measured):
        def twice(own):
            r = forward(own, measured)
            return r, r

        jacobian, r = jax.jacfwd(twice, has_aux=True)(own)
        return r, jacobian

    def half_sum(own, measured):
        r = residuals(own, measured, diffrax.RecursiveCheckpointAdjoint())
        return 0.5 * jnp.sum(r**2)

    def by_jacobian(own, measured):
        r, jacobian = with_jacobian(own, measured)
        return 0.5 * jnp.sum(r**2), r @ jacobian

    def mapped(function):
        def each(x):
            return jax.vmap(function)(x, channels)

        def one_by_one(x):
            return jax.lax.map(lambda pair: function(*pair), (x, channels))

        run = jax.jit(each if batched else one_by_one)

        def call(x):
            own = np.stack([of_trial(x, trial) for trial in range(len(data))])
            return [np.asarray(part) for part in jax.tree.leaves(run(own))]

        return call

    values, both = mapped(forward), mapped(with_jacobian)
    slope = mapped(jax.value_and_grad(half_sum) if mode == "reverse" else by_jacobian)
    how = "together" if batched else "one by one"
    return Rival(
        f"diffrax {solver}, reduced, {how}, gradient in {mode} mode",
        f"{tolerance:g}",
        lambda x: values(x)[0].ravel(),
        lambda x: assembled(list(zip(*both(x)))),
        lambda x: added([(float(v), g) for v, g in zip(*slope(x))]),
    )
