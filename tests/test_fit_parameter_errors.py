"""What cannot be a parameter, a prior, or a value, and what the errors say."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark.fit._inertia import RigidBody
from jaxspark.fit._parameters import bounded, fixed, free, planar_body, positive, real, rigid_body
from jaxspark.fit._parametrise import parametrise
from jaxspark.fit._prior import LogNormal, Normal
from jaxspark.fit._start import checked_unit


INERTIA = np.diag([0.3, 0.25, 0.4])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: real(np.nan), "fit.real: the value given is nan, not finite"),
        (lambda: fixed([1.0, np.inf]), "fit.fixed: .*not finite"),
        (lambda: real(np.zeros(0)), "an array without entries"),
        (lambda: real([1.0, 2.0], scale=[1.0, 2.0, 3.0]), r"scale has shape \(3,\)"),
        (lambda: real(1.0, scale=0.0), "scale is 0.0; it must be positive"),
        (lambda: positive(0.0), "fit.positive: the start value is 0.0; it must be above 0"),
        (lambda: positive([1.0, -1.0]), "must be above 0"),
        (lambda: bounded(2.0, 0.0, 2.0), "start value 2.0 is on or outside the bounds 0.0 and 2"),
        (lambda: bounded(-1.0, 0.0, 2.0), "on or outside the bounds"),
        (lambda: bounded(0.0, 0.0), "on or outside the bounds"),
        (lambda: bounded(1.0, 2.0, 1.0), "lower bound 2.0 is not below the upper 1.0"),
        (lambda: bounded([1.0, 2.0], [0.0, 0.0, 0.0], 3.0), r"lower bound has shape \(3,\)"),
        (lambda: bounded([1.0, 2.0], 0.0, [3.0, np.inf]), "upper bound is .* finite for all"),
        (lambda: real([1.0, 2.0], prior=Normal([0.0] * 3, 1.0)), r"prior has .*shape \(3,\)"),
        (lambda: real(1.0, prior=Normal([0.0], 1.0)), r"prior has numbers of shape \(1,\)"),
        (lambda: real(1.0, prior=LogNormal(1.0, 2.0)), "values which cannot be negative"),
        (lambda: bounded(1.0, -1.0, prior=LogNormal(1.0, 2.0)), "cannot be negative"),
        (lambda: Normal(0.0, 0.0), "standard deviation is 0.0; it must be positive"),
        (lambda: Normal(np.inf, 1.0), "mean is inf, not finite"),
        (lambda: LogNormal(-1.0, 2.0), "median is -1.0; it must be positive"),
        (lambda: LogNormal(1.0, 1.0), "factor is 1.0; it must be above 1"),
        (
            lambda: planar_body(1.0, [0, 0], 1.0, prior={"weight": Normal(0.0, 1.0)}),
            "dictionary of priors",
        ),
        (lambda: free({"a": 1.0}), "no array of floating-point numbers"),
        (lambda: free(jnp.array([1.0, np.nan])), "fit.free: .*not finite"),
        (lambda: free(jnp.array([1j])), "is complex"),
        (lambda: free(jnp.ones(2), prior=Normal([0.0, 1.0], 1.0)), r"numbers of shape \(2,\)"),
        (lambda: parametrise({"a": real(1.0)}, 0), "number of trials is 0"),
        (
            lambda: parametrise({"a": {"b": real(1.0)}, "a.b": fixed(1.0)}, 1),
            "two parameters have the name a.b",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_errors_of_types():
    with pytest.raises(TypeError, match="holds specifications itself"):
        free({"a": real(1.0)})
    with pytest.raises(TypeError, match=r"unit is Normal.*must be text.*\(\.\.\., prior="):
        checked_unit("fit.a", Normal(1.0, 1.0))
    for make in (real, positive, fixed, bounded, free):
        args = (jnp.ones(2), 0.0, 2.0) if make is bounded else (jnp.ones(2),)
        with pytest.raises(TypeError, match="unit"):
            make(*args, 3)  # pyright: ignore
    with pytest.raises(TypeError, match=r"upper bound is 'm', which is no .*\.\.\., unit='m'\)"):
        bounded(0.5, 0.0, "m")
    with pytest.raises(TypeError, match="fit.real: the value given is 'a', which is no number.$"):
        real("a")
    with pytest.raises(TypeError, match="the prior is 3"):
        rigid_body(1.0, [0, 0, 0], INERTIA, prior={"mass": 3})  # pyright: ignore


def test_errors_of_values():
    par = parametrise({"a": positive(1.0, "m"), "b": real([1.0, 2.0], per_trial=True)}, 2)
    with pytest.raises(ValueError, match=r"a = -1 m is not possible: it must be above 0\.$"):
        par.unconstrained(np.array([-1.0, 1, 1, 1, 1]))
    bodies = parametrise({"a": rigid_body(1.0, [0, 0, 0], INERTIA)}, 1)
    values = np.array([-1.0, 0, 0, 0, *INERTIA[np.triu_indices(3)]])
    with pytest.raises(ValueError, match="a.mass = -1 kg .* above 0, .* triangle inequality"):
        bodies.unconstrained(values)
    with pytest.raises(ValueError, match="must be a vector of 5 numbers, or a tree"):
        par.unconstrained(np.ones(4))
    with pytest.raises(ValueError, match=r"b: an array of shape \(3,\) is given where \(2,\)"):
        par.unconstrained({"a": 1.0, "b": np.ones(3)})
    with pytest.raises(ValueError, match=r"b: values of shape \(3, 2\) are given"):
        par.unconstrained({"a": 1.0, "b": np.ones((3, 2))})
    with pytest.raises(ValueError, match=r"a: values of shape \(2, 1\) are given"):
        par.unconstrained({"a": [1.0, 2.0], "b": np.ones(2)})
    with pytest.raises(ValueError, match=r"vector of shape \(4,\) is given; there are 5"):
        par.physical(jnp.ones(4))
    with pytest.raises(ValueError, match="there is no trial 2: there are 2, from 0 on"):
        par.args(par.start, 2)
    with pytest.raises(ValueError, match="there is no trial -1"):
        par.of_trial(-1)
    body = parametrise({"link": rigid_body(1.0, [0, 0, 0], INERTIA)}, 1)
    bad = RigidBody(1.0, jnp.zeros(3), jnp.diag(jnp.array([1.0, 1.0, 3.0])))
    with pytest.raises(ValueError, match=r"link.inertia\[0,0\] = 1 .*triangle inequality"):
        body.unconstrained({"link": bad})
    with pytest.raises(ValueError, match="link: .* where a RigidBody is needed"):
        body.unconstrained({"link": 1.0})
