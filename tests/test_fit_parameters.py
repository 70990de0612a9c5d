"""Parameters as a vector: names, order, values, trials, priors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jaxspark.fit._inertia import RigidBody
from jaxspark.fit._parameters import bounded, fixed, free, planar_body, positive, real, rigid_body
from jaxspark.fit._parametrise import parametrise
from jaxspark.fit._prior import LogNormal, Normal
from jaxspark.fit._transforms import Above, Below, Bounded, Identity, Positive


INERTIA = np.array([[0.3, 0.02, 0.0], [0.02, 0.25, -0.01], [0.0, -0.01, 0.4]])


class Arm(eqx.Module):
    length: object
    count: int
    name: str = eqx.field(static=True)


def everything():
    return {
        "arm": Arm(positive(0.4, "m", prior=LogNormal(0.5, 1.2)), 3, "left"),
        "damping": bounded(0.1, 0.0, 2.0, "N m s"),
        "gravity": 9.81,
        "k": real([1.0, -20.0, 0.0], "N/m", prior=Normal([1.0, -10.0, 0.5], 2.0)),
        "link": rigid_body(1.0, [0.1, 0, 0], INERTIA, prior={"mass": Normal(1.1, 0.1)}),
        "mass": fixed(3.2, "kg"),
        "matrix": real(np.arange(4.0).reshape(2, 2)),
        "offset": real(0.0, "V", per_trial=True, prior=Normal(0.0, 0.3)),
        "plate": planar_body(2.0, [0.1, 0.2], 0.3, per_trial=True),
        "steps": np.arange(3),
        "table": [np.array([1.0, 2.0]), None],
    }


SHARED = (
    "arm.length", "damping", "k[0]", "k[1]", "k[2]",
    "link.mass", "link.centre[0]", "link.centre[1]", "link.centre[2]",
    "link.inertia[0,0]", "link.inertia[0,1]", "link.inertia[0,2]",
    "link.inertia[1,1]", "link.inertia[1,2]", "link.inertia[2,2]",
    "matrix[0,0]", "matrix[0,1]", "matrix[1,0]", "matrix[1,1]",
)  # fmt: skip
OWN = ("offset", "plate.mass", "plate.centre[0]", "plate.centre[1]", "plate.inertia")


def somewhere(par, seed=0, dtype=jnp.float64):
    noise = np.random.default_rng(seed).normal(size=par.size)
    return (par.start + 0.3 * jnp.asarray(noise)).astype(dtype)


@pytest.mark.parametrize(
    "transform, values",
    [
        (Identity([2.0, 3.0]), [-4.0, 0.5]),
        (Positive(0.01), [1e-4, 30.0]),
        (Above([-1.0, 5.0], 2.0), [-0.5, 7.0]),
        (Below(3.0, [2.0, 0.5]), [2.5, -8.0]),
        (Bounded(-1.0, [2.0, 0.5]), [1.7, -0.9]),
    ],
)
def test_transforms(transform, values):
    """Inverse to each other, increasing, with exact derivatives, inside their bounds."""
    x = jnp.array(values)
    u = transform.inverse(x)
    np.testing.assert_allclose(transform.forward(u), x, rtol=1e-13)
    slope = jax.jvp(transform.forward, (u,), (jnp.ones(2),))[1]
    difference = (transform.forward(u + 1e-6) - transform.forward(u - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-8)
    assert (slope > 0).all()
    lower, upper = transform.bounds(x)
    ends = transform.forward(jnp.array([-25.0, -25.0])), transform.forward(jnp.array([25.0, 25.0]))
    assert (lower < ends[0]).all() and (ends[1] < upper).all()
    grid = jnp.broadcast_to(u, (4, 2))
    assert transform.forward(grid).shape == (4, 2)
    assert transform.forward(u.astype(jnp.float32)).dtype == jnp.float32
    np.testing.assert_allclose(transform.inverse(transform.forward(u)), u, rtol=0, atol=1e-13)


def test_meaning_of_coordinates():
    """What `u` is, by hand."""
    par = parametrise({"a": positive(5.0), "b": bounded(1.0, 0.0, 4.0), "c": real(-3.0)}, 1)
    np.testing.assert_allclose(par.start, [0.0, np.log(1 / 3), -1.0], rtol=1e-15)
    np.testing.assert_allclose(
        par.physical(jnp.ones(3)), [5 * np.e, 4 / (1 + np.exp(-1)), 3.0], rtol=1e-14
    )
    scales = parametrise({"a": real([0.0, 4.0, -0.5]), "b": real(0.0), "c": real(2, scale=8)}, 1)
    np.testing.assert_allclose(scales.physical(jnp.ones(5)), [4.0, 4.0, 0.5, 1.0, 8.0])
    one = parametrise({"a": bounded(3.0, lower=1.0), "b": bounded(-1.0, upper=2.0)}, 1)
    np.testing.assert_allclose(one.physical(jnp.ones(2)), [1 + 2 * np.e, 2 - 3 / np.e])
    np.testing.assert_allclose(one.start, 0, atol=1e-15)


def test_names_units_and_bounds():
    par = parametrise(everything(), 2)
    own = tuple(f"{name} (trial {i})" for i in range(2) for name in OWN)
    assert par.names == SHARED + own
    assert par.size == len(par.names) == par.start.size and par.num_trials == 2
    units = dict(zip(par.names, par.units))
    assert units["arm.length"] == "m" and units["link.inertia[0,1]"] == "kg m^2"
    assert units["link.centre[1]"] == "m" and units["plate.mass (trial 1)"] == "kg"
    assert units["offset (trial 0)"] == "V" and units["matrix[1,0]"] == ""
    assert par.fixed == (("mass", "kg", 3.2),)
    lower, upper = (dict(zip(par.names, bound)) for bound in par.bounds())
    assert lower["damping"] == 0 and upper["damping"] == 2
    assert lower["arm.length"] == 0 and upper["arm.length"] == np.inf
    assert lower["link.inertia[1,1]"] == 0 and lower["link.inertia[1,2]"] == -np.inf
    assert lower["plate.inertia (trial 1)"] == 0 and lower["offset (trial 1)"] == -np.inf


def test_args_at_the_start():
    par = parametrise(everything(), 2)
    args = par.args(par.start, 1)
    assert args["arm"].count == 3 and args["arm"].name == "left"
    assert args["steps"].dtype == np.arange(3).dtype and args["table"][1] is None
    np.testing.assert_allclose(args["arm"].length, 0.4, rtol=1e-15)
    np.testing.assert_allclose(args["k"], [1.0, -20.0, 0.0], rtol=1e-15)
    np.testing.assert_allclose(args["matrix"], [[0, 1], [2, 3]])
    np.testing.assert_allclose(args["mass"], 3.2)
    np.testing.assert_allclose(args["link"].inertia, INERTIA, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(args["plate"].centre, [0.1, 0.2], rtol=1e-15)
    assert args["gravity"] == 9.81


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_dtype_of_the_vector(dtype):
    """All results have it, whatever JAX's default; integers stay."""
    par = parametrise(everything(), 2)
    u = somewhere(par, dtype=dtype)
    args = eqx.filter_jit(par.args)(u, 1)
    inexact = [x for x in jax.tree.leaves(args) if eqx.is_inexact_array(x)]
    assert len(inexact) == 14 and all(x.dtype == dtype for x in inexact)
    values = par.physical(u)
    assert values.dtype == par.prior_residuals(u).dtype == par.log_prior(u).dtype == dtype
    back = par.unconstrained(values)
    assert back.dtype == dtype
    np.testing.assert_allclose(back, u, atol=100 * jnp.finfo(dtype).eps)
    # As an argument of compiled functions, arrays in it are traced.
    np.testing.assert_allclose(eqx.filter_jit(lambda p: p.physical(u))(par), values, rtol=1e-6)


def test_physical_agrees_with_args():
    par = parametrise(everything(), 3)
    u = somewhere(par)
    values = dict(zip(par.names, np.asarray(eqx.filter_jit(par.physical)(u))))
    for trial in range(3):
        args = par.args(u, trial)
        assert values["k[1]"] == args["k"][1] and values["matrix[0,1]"] == args["matrix"][0, 1]
        assert values["arm.length"] == args["arm"].length
        assert values["link.inertia[0,2]"] == args["link"].inertia[2, 0]
        assert values[f"offset (trial {trial})"] == args["offset"]
        np.testing.assert_allclose(values[f"plate.inertia (trial {trial})"], args["plate"].inertia)
    assert values["offset (trial 0)"] != values["offset (trial 2)"]


def test_round_trips():
    par = parametrise(everything(), 2)
    u = somewhere(par)
    np.testing.assert_allclose(par.unconstrained(par.physical(u)), u, rtol=0, atol=1e-13)
    shared = par.unconstrained(par.args(u, 1))
    same = u.at[par.of_trial(0)].set(u[par.of_trial(1)])
    np.testing.assert_allclose(shared, same, rtol=0, atol=1e-13)
    both = [par.args(u, i) for i in range(2)]
    args = {**both[0], "offset": np.array([b["offset"] for b in both])}
    args["plate"] = jax.tree.map(lambda *x: jnp.stack(x), *(b["plate"] for b in both))
    np.testing.assert_allclose(par.unconstrained(args), u, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        par.unconstrained(np.asarray(par.physical(u))), u, rtol=0, atol=1e-13
    )
    plain = parametrise({"a": positive(2.0), "b": [1, real([0.0, 3.0])]}, 1)
    np.testing.assert_allclose(
        plain.unconstrained({"a": 4, "b": [1, [6.0, 9.0]]}), [np.log(2), 2.0, 3.0]
    )


def test_derivatives():
    par = parametrise(everything(), 2)
    u = somewhere(par)

    @jax.jit
    def derivatives(u):
        values = par.physical(u)
        return (
            jax.jacfwd(par.physical)(u),
            jax.jacrev(par.physical)(u),
            jax.jacfwd(par.unconstrained)(values),
            par.prior_residuals(u),
            jax.jacfwd(par.prior_residuals)(u),
            jax.grad(par.log_prior)(u),
            jax.hessian(par.log_prior)(u),
        )

    jacobian, backward, inverse, r, slope, gradient, hessian = derivatives(u)
    np.testing.assert_allclose(backward, jacobian, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(inverse @ jacobian, np.eye(par.size), rtol=0, atol=1e-10)
    steps = 1e-6 * jnp.eye(par.size)
    along = jax.jit(jax.vmap(lambda e: (par.physical(u + e) - par.physical(u - e)) / 2e-6))
    np.testing.assert_allclose(jacobian.T, along(steps), rtol=1e-6, atol=1e-8)
    # The gradient of the prior follows from its residuals, since these are least squares.
    np.testing.assert_allclose(gradient, -(r @ slope), rtol=1e-12, atol=1e-14)
    ahead, behind = (
        derivatives(u + 1e-6 * way)[5] for way in (jnp.ones_like(u), -jnp.ones_like(u))
    )
    np.testing.assert_allclose(
        hessian @ jnp.ones_like(u), (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-6
    )


def test_trials_under_vmap():
    """The trial may be traced; what acts on a trial is what `of_trial` says."""
    par = parametrise(everything(), 3)
    u = somewhere(par)
    trials = jnp.arange(3)
    stacked = jax.jit(jax.vmap(lambda i: par.args(u, i)["plate"].mass))(trials)
    expected = [np.asarray(par.physical(u))[par.names.index(f"plate.mass (trial {i})")]
                for i in range(3)]  # fmt: skip
    np.testing.assert_allclose(stacked, expected, rtol=1e-15)

    def numbers(u, i):
        leaves = [x for x in jax.tree.leaves(par.args(u, i)) if eqx.is_inexact_array(x)]
        return jnp.concatenate([x.ravel() for x in leaves])

    slopes = jax.vmap(jax.jacfwd(numbers), (None, 0))(u, trials)
    acting = jax.vmap(par.of_trial)(trials)
    for i in range(3):
        nonzero = np.flatnonzero(np.abs(slopes[i]).sum(0))
        assert np.array_equal(nonzero, np.asarray(par.of_trial(i)))
        assert np.array_equal(nonzero, np.asarray(acting[i]))
        assert [par.names[j] for j in nonzero] == [*SHARED, *(f"{n} (trial {i})" for n in OWN)]


def test_network():
    """`free` estimates every array of a network, and it computes as before."""
    network = eqx.nn.MLP(2, "scalar", 3, 1, activation=jnp.tanh, key=jax.random.key(0))
    par = parametrise({"friction": free(network, "N", scale=0.5, prior=Normal(0.0, 2.0))}, 1)
    assert par.size == 3 * 2 + 3 + 3 + 1
    assert par.names[3] == "friction.layers[0].weight[1,1]"
    assert par.names[6] == "friction.layers[0].bias[0]"
    assert par.names[-1] == "friction.layers[1].bias[0]" and par.units[-1] == "N"
    np.testing.assert_allclose(2 * network.layers[0].weight[1, 1], par.start[3], rtol=1e-15)
    x = jnp.array([0.3, -0.7])
    np.testing.assert_allclose(par.args(par.start)["friction"](x), network(x), rtol=1e-14)
    slope = jax.grad(lambda u: par.args(u)["friction"](x))(par.start)
    direct = eqx.filter_grad(lambda n: n(x))(network)
    np.testing.assert_allclose(slope[:6], 0.5 * direct.layers[0].weight.ravel(), rtol=1e-13)
    np.testing.assert_allclose(par.unconstrained(par.args(par.start)), par.start, rtol=1e-14)
    weights = np.asarray(par.physical(par.start))
    np.testing.assert_allclose(
        par.log_prior(par.start), scipy.stats.norm.logpdf(weights, 0, 2).sum(), rtol=1e-13
    )
    assert par.args(par.start.astype(jnp.float32))["friction"].layers[0].bias.dtype == jnp.float32


def test_densities():
    x = jnp.array([0.3, 2.0, 5.0])
    np.testing.assert_allclose(
        Normal([1.0, 2.0, 3.0], 0.7).log_density(x),
        scipy.stats.norm.logpdf(x, [1, 2, 3], 0.7), rtol=1e-13,
    )  # fmt: skip
    # Of the logarithm, not of the value: the Jacobian is the value.
    np.testing.assert_allclose(
        LogNormal(1.5, 1.3).log_density(x),
        scipy.stats.lognorm.logpdf(x, np.log(1.3), scale=1.5) + np.log(x), rtol=1e-13,
    )  # fmt: skip
    assert LogNormal(1.5, 1.3).residual(jnp.array(1.5 / 1.3)) == pytest.approx(-1, rel=1e-14)


def test_priors_of_all():
    """In the order of the names, those of each trial once for each trial."""
    par = parametrise(everything(), 2)
    u = somewhere(par)
    v = dict(zip(par.names, np.asarray(par.physical(u))))
    k = np.array([v["k[0]"], v["k[1]"], v["k[2]"]])
    expected = [
        np.log(v["arm.length"] / 0.5) / np.log(1.2),
        *((k - [1, -10, 0.5]) / 2),
        (v["link.mass"] - 1.1) / 0.1,
        v["offset (trial 0)"] / 0.3,
        v["offset (trial 1)"] / 0.3,
    ]
    np.testing.assert_allclose(par.prior_residuals(u), expected, rtol=1e-12)
    log = scipy.stats.norm.logpdf
    total = log(np.log(v["arm.length"]), np.log(0.5), np.log(1.2))
    total += log(k, [1, -10, 0.5], 2).sum() + log(v["link.mass"], 1.1, 0.1)
    total += log(v["offset (trial 0)"], 0, 0.3) + log(v["offset (trial 1)"], 0, 0.3)
    np.testing.assert_allclose(par.log_prior(u), total, rtol=1e-12)
    none = parametrise({"a": real(1.0)}, 2)
    assert none.prior_residuals(none.start).shape == (0,) and none.log_prior(none.start) == 0


def test_prior_of_an_inertia_matrix():
    """Each distinct entry counts once."""
    mean = np.array([[0.3, 0.01, 0.02], [0.01, 0.3, 0.03], [0.02, 0.03, 0.5]])
    spec = rigid_body(1.0, [0, 0, 0], INERTIA, prior={"inertia": Normal(mean, 0.1)})
    par = parametrise(spec, 1)
    assert par.names[4] == "value.inertia[0,0]"
    expected = (INERTIA - mean)[np.triu_indices(3)] / 0.1
    np.testing.assert_allclose(par.prior_residuals(par.start), expected, rtol=1e-11, atol=1e-12)


def test_body_that_is_held():
    body = RigidBody(1.0, jnp.zeros(3), INERTIA)
    par = parametrise({"a": real(1.0), "link": fixed(body)}, 1)
    assert par.size == 1 and par.fixed[0] == ("link.mass", "kg", 1.0)
    assert ("link.inertia[1,2]", "kg m^2", -0.01) in par.fixed
    np.testing.assert_allclose(par.args(par.start)["link"].inertia, INERTIA, rtol=1e-15)
