"""Base parameters: sums of products that motions tell, in words, and comparisons in these."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from jaxspark import fit
from jaxspark.fit._monomials import invariants, terms


TIMES = np.linspace(0.0, 1.0, 51)


def compound():
    """A pendulum of mass, distance to the centre, inertia and friction, in its angle."""

    def force(t, y, z, args):
        return -args["m"] * args["g"] * args["a"] * jnp.sin(y) - args["k"] * z

    def momentum(t, y, z, args):
        return (args["I"] + args["m"] * args["a"] ** 2) * z

    system = jaxspark.ConstrainedSystem(force, p=momentum)
    numbers = {"m": 0.3, "a": 0.2, "I": 4e-3, "k": 2e-3, "g": 9.81}
    parameters = {name: fit.positive(value) for name, value in numbers.items()}
    start = fit.Start(np.array([1.2]), np.zeros(1))
    made = fit.Model(
        system, lambda t, y, z, lam, psi, args: {"angle": y[0]}, parameters, start, 0.02
    )
    return made, numbers


@pytest.fixture(scope="module")
def found():
    made, numbers = compound()
    record = fit.simulate(made, TIMES)
    return fit.base_parameters(made, record), numbers


def test_the_pendulum_tells_two_numbers(found):
    base, numbers = found
    # g m a and k over I + m a^2: whatever serves as a unit, these follow, and nothing else.
    assert base.rank == 2 and len(base.words) == 2 and len(base.units) + len(base.hold) >= 3
    own = base.of(numbers)
    assert set(own) == set(base.words)
    x = np.array([numbers[name] for name in base.names])
    J = numbers["I"] + numbers["m"] * numbers["a"] ** 2
    told = {
        "gravity": np.log(numbers["m"] * numbers["g"] * numbers["a"] / J),
        "friction": np.log(numbers["k"] / J),
    }
    # Moving along what leaves both as they are, and the units, leaves the base parameters.
    names = list(base.names)

    def logs(p):
        p = dict(zip(names, p))
        inertia = p["I"] + p["m"] * p["a"] ** 2
        return np.log([p["m"] * p["g"] * p["a"] / inertia, p["k"] / inertia])

    np.testing.assert_allclose(logs(x), list(told.values()))
    slopes = np.array(
        [(logs(x + 1e-6 * x * e) - logs(x - 1e-6 * x * e)) / 2e-6 for e in np.eye(5)]
    ).T
    held = [names.index(unit) for unit in base.units]
    both = np.concatenate([slopes, np.eye(5)[held]])
    null = np.linalg.svd(both)[2][np.linalg.matrix_rank(both, 1e-4) :]
    for one in base.invariants:
        assert np.abs(null @ (one.slope(x) * x)).max(initial=0) <= 1e-4 * abs(one.value(x))


def test_sets_that_move_alike_are_equal_in_these(found):
    base, numbers = found
    heavy = {name: value * (2.5 if name in "mIk" else 1.0) for name, value in numbers.items()}
    assert all(abs(off) <= 1e-9 for off in base.compare(heavy, numbers).values())
    rough = dict(numbers, k=1.1 * numbers["k"])
    assert max(abs(off) for off in base.compare(rough, numbers).values()) > 0.05


def test_priors_tell_no_motion(found):
    base, numbers = found
    made, _ = compound()
    prior = {**made.parameters, "m": fit.positive(0.3, prior=fit.LogNormal(0.3, 1.01))}
    record = fit.simulate(made, TIMES)
    other = fit.base_parameters(dataclasses.replace(made, parameters=prior), record)
    assert other.rank == 2 and other.words == base.words


def test_terms_are_sorted_by_what_is_simple():
    found = terms(3, [0, 1])
    degrees = found.sum(1)
    assert np.all(np.diff(degrees) >= 0) and found[:, :2].any(1).all() and found.max() == 2
    assert len({tuple(row) for row in found}) == len(found)


def test_invariants_of_a_known_change():
    # x + y z and z stay: null directions (z, -1, 0) in x, y, z.
    rng = np.random.default_rng(0)
    points = [rng.uniform(0.5, 2, 3) for _ in range(30)]
    nulls = [np.array([[x[2], -1.0, 0.0]]) for x in points]
    scales = np.zeros((0, 3))
    (one,) = invariants(terms(3, [0, 1]), points, nulls, scales, 1, np.array([[0.0, 0, 1]]))
    assert one.words("xyz") == "x + y z"
    np.testing.assert_allclose(one.value(points[0]), points[0][0] + points[0][1] * points[0][2])


def test_errors():
    made, _ = compound()
    record = fit.simulate(made, TIMES)
    zero = dataclasses.replace(made, parameters={**made.parameters, "k": fit.real(0.0)})
    with pytest.raises(ValueError, match="start values other than zero"):
        fit.base_parameters(zero, record)
    each = {**made.parameters, "k": fit.positive(2e-3, per_trial=True)}
    with pytest.raises(ValueError, match="that all records share"):
        fit.base_parameters(dataclasses.replace(made, parameters=each), record)
