"""Base parameters from torques: values, intervals, what is not told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark import fit, multibody as mb
from jaxspark.multibody._search import Search
from jaxspark.multibody._splines import basis, evaluated, fitted
from jaxspark.multibody._tridiagonal import Tridiagonal
from mechanisms_of_bodies import four_bar, open_chain
from robots import arm, arm_record, excited, torques


TIMES = np.arange(0, 6, 0.01)


@pytest.fixture(scope="module")
def truth():
    robot = arm()
    states = excited(TIMES, 3)
    return robot, states, torques(robot, states)


def wrong(robot):
    """Masses that are off by a third."""
    args = jax.tree.map(lambda x: x, robot.parameters)
    for body in args["bodies"].values():
        body["mass"] = 1.3 * body["mass"]
    return args


@pytest.fixture(scope="module")
def found(truth):
    robot, states, tau = truth
    return [
        mb.identify(
            robot, arm_record(TIMES, states, tau, seed), parameters=wrong(robot), intervals=48
        )
        for seed in range(6)
    ]


def test_intervals_cover_the_truth(truth, found):
    """Errors in standard errors are those of a normal distribution, 108 of them."""
    robot = truth[0]
    true = np.asarray(found[0].base.of(robot.parameters))
    off = np.array([(x.vector - true) / list(x.errors.values()) for x in found])
    assert 0.8 < np.sqrt(np.mean(off**2)) < 1.2
    assert 0.89 < np.mean(np.abs(off) < 1.96) < 0.995
    low, high = np.array(list(found[0].intervals(0.999).values())).T
    assert np.all((low < true) & (true < high))


def test_noise_is_found(found):
    for name, size in {"q:j1": 2e-3, "q:j3": 2e-3, "tau:j1": 0.05, "tau:j3": 0.05}.items():
        assert np.mean([x.sigma[name] for x in found]) == pytest.approx(size, rel=0.05)


def test_least_squares_with_noisy_accelerations_are_biased_and_these_are_not(truth, found):
    """Of differences of noisy positions the regressor errs by far more than intervals say."""
    robot, states, tau = truth
    record = arm_record(TIMES, states, tau, 0)
    q = np.stack([record.channels[f"q:j{j + 1}"] for j in range(3)], 1)
    v = np.gradient(q, TIMES, axis=0)
    a = np.gradient(v, TIMES, axis=0)
    Y = np.asarray(mb.regressor(robot, q, v, a, joints=("damping",)))
    names = found[0].base.names
    Y = Y[..., [names.index(name) for name in found[0].base.chosen]].reshape(
        -1, len(found[0].names)
    )
    measured = np.stack([record.channels[f"tau:j{j + 1}"] for j in range(3)], 1)
    plain = np.linalg.lstsq(Y, measured.reshape(-1), rcond=None)[0]
    true = np.asarray(found[0].base.of(robot.parameters))
    assert np.max(np.abs(plain - true)) > 10 * np.max(np.abs(found[0].vector - true))


def test_bodies_have_these_base_parameters(truth, found):
    parameters = found[0].parameters
    again = np.asarray(found[0].base.of(parameters))
    errors = np.array(list(found[0].errors.values()))
    assert np.max(np.abs(again - found[0].vector) / errors) < 0.1
    for body in parameters["bodies"].values():
        fit.rigid_body(body["mass"], body["com"], body["inertia"])


def test_what_is_not_told_and_the_report(found):
    assert not found[0].unidentifiable
    assert "a.m, a.mx" in found[0].meanings[-1]
    assert any(x.startswith("a.Izz stands for a.Izz + b.Izz") for x in found[0].meanings)
    findings = found[0].findings(0.9)
    assert [x.name for x in findings.estimates] == list(found[0].names)
    assert fit.from_json(fit.to_json(findings)).level == 0.9
    assert "b.mx" in repr(found[0]) and "b.mx" in found[0]._repr_html_()


def test_what_one_torque_does_not_tell(truth):
    robot, states, tau = truth
    record = arm_record(TIMES[:300], states[:, :300], tau[:300], 0)
    channels = {k: x for k, x in record.channels.items() if k not in ("tau:j1", "tau:j2")}
    found = mb.identify(robot, fit.record(record.times, channels), intervals=24)
    lost = {name for name, error in found.errors.items() if not np.isfinite(error)}
    assert {"a.Izz", "b.Ixx", "j1.damping", "j2.damping"} <= lost
    assert not {"c.mx", "c.mz", "j3.damping"} & lost
    assert "a.Izz" in found.unidentifiable[0]
    true = np.asarray(found.base.of(robot.parameters))
    told = np.array([name not in lost for name in found.names])
    errors = np.array(list(found.errors.values()))[told]
    assert np.max(np.abs(found.vector - true)[told] / errors) < 4


def test_what_nothing_tells_stays(truth):
    """The damping of a joint whose torque is not measured is as it was, and called not told."""
    robot, states, tau = truth
    record = arm_record(TIMES[:300], states[:, :300], tau[:300], 0)
    for name in ("j1", "j3"):
        channels = {k: x for k, x in record.channels.items() if k != f"tau:{name}"}
        found = mb.identify(robot, fit.record(record.times, channels), intervals=24)
        at = found.names.index(f"{name}.damping")
        damping = float(robot.parameters["joints"][name]["damping"][0])
        assert abs(found.vector[at] - damping) <= 1e-12
        assert not np.isfinite(found.errors[f"{name}.damping"])


def test_forces_have_their_times_and_may_have_forward_derivatives_alone():
    def force(t, x, v, args):
        del x, v, args
        size = jax.lax.while_loop(lambda s: s < 2.5, lambda s: s + 1, 0 * t)
        return size * jnp.sin(2 * t) * jnp.array([1.0, 0, 0])

    cart = mb.Mechanism(
        [mb.Body("cart", 2.0, inertia=0.1)],
        [mb.Prismatic("rail", "ground", "cart", axis=(1, 0, 0))],
        forces=[mb.PointForce("wind", "cart", force)],
    )
    times, rng = np.linspace(0, 4, 200), np.random.default_rng(0)
    q, tau = np.sin(3 * times), -18 * np.sin(3 * times) - 3 * np.sin(2 * times)
    noisy = {
        "q:rail": q + 1e-4 * rng.normal(size=200),
        "tau:rail": tau + 0.01 * rng.normal(size=200),
    }
    found = mb.identify(cart, fit.record(times, noisy))
    assert abs(found.vector[0] - 2.0) < 4 * found.errors[found.names[0]] < 0.02


def test_finer_splines_that_fail_leave_the_coarser_ones(truth, monkeypatch):
    robot, states, tau = truth
    record, runs = arm_record(TIMES[:300], states[:, :300], tau[:300], 0), []
    run = Search.run

    def second_fails(self):
        runs.append(self)
        if len(runs) == 2:
            raise RuntimeError
        run(self)

    monkeypatch.setattr(Search, "run", second_fails)
    assert mb.identify(robot, record).search is runs[0]


def test_offsets_currents_and_intervals_by_themselves(truth):
    robot, states, tau = truth
    record = arm_record(TIMES[:300], states[:, :300], tau[:300], 3)
    channels = dict(record.channels)
    channels["i:j1"] = (channels.pop("tau:j1") + 0.4) / 2.5
    record = fit.record(record.times, channels)
    found = mb.identify(robot, record, offsets=True, constants={"j1": 2.5})
    assert found.names[-3:] == ("j1.offset", "j2.offset", "j3.offset")
    true = np.concatenate([np.asarray(found.base.of(robot.parameters)), [0.4, 0, 0]])
    off = (found.vector - true) / list(found.errors.values())
    assert np.sqrt(np.mean(off**2)) < 1.5


def columns(robot, **others):
    count = 40
    values = {f"q:{name}": np.sin(np.arange(count) / 5) for name in robot._at}
    return fit.record(0.02 * np.arange(count), {**values, **others})


def skate():
    """A blade that three joints would move in a plane."""
    bodies = [mb.Body(name, 1.0, inertia=0.1) for name in ("x", "y", "blade")]
    joints = [
        mb.Prismatic("along", "ground", "x", axis=(1, 0, 0)),
        mb.Prismatic("across", "x", "y", axis=(0, 1, 0)),
        mb.Revolute("turn", "y", "blade"),
    ]
    edge = mb.KnifeEdge("edge", "ground", "blade", at=(0.2, 0, 0))
    return mb.Mechanism(bodies, joints, constraints=[edge])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mb.identify(four_bar(), columns(four_bar())), "closes loops"),
        (lambda: mb.identify(open_chain(), columns(arm())), "has joints with quaternions"),
        (lambda: mb.identify(skate(), columns(skate())), "has constraints of velocities"),
        (lambda: mb.identify(arm(), columns(arm())), "has no torques"),
        (
            lambda: mb.identify(arm(), fit.record([0.0, 1.0], {"tau:j1": [0.0, 1.0]})),
            "no column 'q:j1'",
        ),
        (
            lambda: mb.identify(arm(), columns(arm(), **{"i:j1": np.ones(40)})),
            "give the motor's constant",
        ),
        (
            lambda: mb.identify(
                arm(), columns(arm(), **{"i:j1": np.ones(40), "tau:j1": np.ones(40)}),
                constants={"j1": 1.0},
            ),
            "is in the columns",
        ),
        (
            lambda: mb.identify(arm(), columns(arm(), **{"tau:j4": np.ones(40)})),
            "Column 'tau:j4': 'j4' is none of the joints",
        ),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::jaxspark.fit.DataWarning")
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_splines_and_blocks():
    times = np.linspace(1, 3, 200)
    of = basis(times, 40)
    values = evaluated(of, fitted(of, np.sin(3 * times)[:, None]))[:, :, 0]
    np.testing.assert_allclose(values[0], np.sin(3 * times), atol=1e-9)
    np.testing.assert_allclose(values[2], -9 * np.sin(3 * times), atol=1e-4)
    rng = np.random.default_rng(0)
    full = rng.normal(size=(12, 12))
    full = full @ full.T + 12 * np.eye(12)
    full[:4, 8:] = full[8:, :4] = 0
    block = lambda i, j: full[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
    factors = Tridiagonal(
        np.stack([block(i, i) for i in range(3)]), np.stack([block(i, i + 1) for i in range(2)])
    )
    inverse = np.linalg.inv(full)
    x = factors.solve(np.eye(12).reshape(3, 4, 12)).reshape(12, 12)
    np.testing.assert_allclose(x, inverse, atol=1e-14)
    diagonal, above = factors.inverse_blocks()
    np.testing.assert_allclose(diagonal[1], inverse[4:8, 4:8], atol=1e-15)
    np.testing.assert_allclose(above[1], inverse[4:8, 8:], atol=1e-15)
