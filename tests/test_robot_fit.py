"""Sensors on mechanisms, models of these, and `jaxspark fit robot.xml`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from commands import run
from jaxspark import fit, multibody as mb
from mechanisms_of_bodies import four_bar, open_chain
from robots import log_of_two_links, TWO_LINKS


TIMES = np.arange(0, 1.5, 0.01)


def test_sensors_are_derivatives_of_a_motion():
    """Of a closed loop: marker by position, gyroscope and accelerometer by differences."""
    bar, h = four_bar(), 1e-4
    y, z = bar.state({"A": 0.5}, {"A": 8.0})
    times = jnp.arange(5.0) * h
    motion = jaxspark.solve(
        bar.system, y, z, bar.parameters, t1=4 * h, ts=times, rtol=1e-13, atol=1e-13
    )
    turned = mb.Place("coupler", (1, 0.1, 0), (0.8, 0.1, 0.5, -0.2))
    names = [f"{kind}:tip:{axis}" for kind in ("gyro", "acc", "marker") for axis in "xyz"]
    observe = mb.sensors(bar, [*names, "q:A", "v:D"], {"tip": turned})
    shown = jax.vmap(lambda t, y, z: observe(t, y, z, None, None, bar.parameters))(
        times, motion.ys, motion.zs
    )
    x = np.asarray(jax.vmap(lambda y: bar.position("coupler", y, turned.position))(motion.ys))
    np.testing.assert_allclose(np.stack([shown[f"marker:tip:{k}"] for k in "xyz"], 1), x)
    R = np.asarray(jax.vmap(lambda y: bar.pose("coupler", y)[:3, :3])(motion.ys))
    w, i, j, k = turned.quaternion
    axes = np.array(
        [
            [1 - 2 * (j * j + k * k), 2 * (i * j - k * w), 2 * (i * k + j * w)],
            [2 * (i * j + k * w), 1 - 2 * (i * i + k * k), 2 * (j * k - i * w)],
            [2 * (i * k - j * w), 2 * (j * k + i * w), 1 - 2 * (i * i + j * j)],
        ]
    )
    own = R @ axes
    fourth = np.array([-1, 16, -30, 16, -1]) / 12 / h**2
    force = own[2].T @ (fourth @ x - np.array([0, -9.81, 0]))
    np.testing.assert_allclose([shown[f"acc:tip:{k}"][2] for k in "xyz"], force, atol=2e-4)
    slope = (R[3] - R[1]) / (2 * h) @ R[2].T
    spin = own[2].T @ np.array([slope[2, 1], slope[0, 2], slope[1, 0]])
    np.testing.assert_allclose([shown[f"gyro:tip:{k}"][2] for k in "xyz"], spin, atol=1e-4)
    np.testing.assert_allclose(shown["q:A"], bar.coordinates(motion.ys)["A"][:, 0])


def test_gain_zero_and_place_of_a_sensor_are_parameters():
    chain = open_chain()
    observe = mb.sensors(
        chain, ["q:free:2", "marker:mass:z"], {"mass": mb.Place("mass", (0, 0, 1))}
    )
    y, z = chain.state({"hinge": 2.0})
    t = jnp.zeros(())

    def shown(errors, position):
        args = chain.parameters | {
            "sensors": {"q:free:2": errors},
            "places": {"mass": {"position": position, "quaternion": jnp.array([1.0, 0, 0, 0])}},
        }
        return observe(t, y, z, None, None, args)

    one = shown({"zero": jnp.asarray(0.5), "gain": jnp.asarray(2.0)}, jnp.zeros(3))
    plain = observe(t, y, z, None, None, chain.parameters)
    assert one["q:free:2"] == 2 * plain["q:free:2"] + 0.5
    origin, above = (chain.position("mass", y, at)[2] for at in ((0, 0, 0), (0, 0, 1)))
    assert abs(above - origin) > 0.2
    np.testing.assert_allclose([one["marker:mass:z"], plain["marker:mass:z"]], [origin, above])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["q:elbw"], "Column 'q:elbw': 'elbw' is none of the joints.*Did you mean 'elbow'"),
        (["gyro:lower"], "ends with :x, :y or :z"),
        (["acc:lowr:x"], "'lowr' is none of the bodies or places"),
        (["speed:elbow"], "Column 'speed:elbow' shows nothing that is known"),
        (["tau:elbow"], "drive the mechanism"),
    ],
)
def test_columns_that_are_none_are_named(names, message):
    with pytest.raises(ValueError, match=message):
        mb.sensors(mb.load(TWO_LINKS), names)


def test_columns_of_joints_with_several_coordinates():
    with pytest.raises(ValueError, match="'free' has 7 of these"):
        mb.sensors(open_chain(), ["q:free"])
    with pytest.raises(ValueError, match="Place 'tip' is on 'hand'"):
        mb.sensors(open_chain(), [], {"tip": mb.Place("hand")})


RECORD = fit.record([0.0, 0.1], {"q:shoulder": [0.0, 0.1]})


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        (["bodies/hand"], "No parameter is 'bodies/hand'"),
        (["joints/elbow"], "joints/elbow/quaternion is a rotation"),
        (["bodies/lower/inertia"], "name bodies/lower as a whole"),
    ],
)
def test_paths_that_are_none_are_named(unknown, message):
    with pytest.raises(ValueError, match=message):
        mb.model(mb.load(TWO_LINKS), RECORD, unknown)


def test_unknown_parameters_are_specified():
    robot = mb.load(TWO_LINKS)
    known = fit.bounded(0.2, 0.0, 1.0)
    model = mb.model(
        robot, RECORD, {"bodies/*": None, "joints/elbow/damping": known, "sensors/*/zero": None}
    )
    tree = fit.parametrise(model.parameters, 1)
    assert tree.size == 22
    assert "bodies.lower.mass" in tree.names and "sensors.q:shoulder.zero" in tree.names
    args = tree.args(tree.start)
    for name in ("upper", "lower"):
        body, own = args["bodies"][name], robot.parameters["bodies"][name]
        np.testing.assert_allclose(body.inertia, own["inertia"], atol=1e-15)
        np.testing.assert_allclose(body.centre, own["com"], atol=1e-15)
    with pytest.raises(ValueError, match="is a current: give the motor's constant"):
        driven = fit.record([0.0, 0.1], {"q:elbow": [0.0, 0.1]}, {"i:elbow": [1.0, 2.0]})
        mb.model(robot, driven, ["bodies/lower/mass"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot")
    (path / "robot.xml").write_text(TWO_LINKS)
    log_of_two_links(path / "log.csv", TIMES, 0.003)
    log_of_two_links(path / "noisy.csv", TIMES, 0.003, torque_noise=0.02)
    return path


def command(folder, *more, log="log.csv"):
    options = ["--motor", "elbow=0.5", "--set", "bodies/lower/mass=1.3", "--no-plots", "--quiet"]
    return run("fit", folder / "robot.xml", folder / log, *options, *more)


def estimates(folder):
    found = fit.from_json((folder / "report.json").read_text())
    return {x.name: x for x in found.estimates}


def test_command_with_torques(folder):
    out = folder / "torques"
    status, _, err = command(
        folder, "--torques", "--out", out, "--save", folder / "identified.xml", log="noisy.csv"
    )
    assert status == 0, err
    found = estimates(out)
    for name, true in {"lower.mx": 0.01, "lower.mz": -0.15, "upper.mz": -0.8}.items():
        assert abs(found[name].value - true) < 4 * found[name].error < 0.1, name
    saved = mb.load(folder / "identified.xml").parameters["bodies"]["lower"]
    moment = float(saved["mass"] * saved["com"][2])
    assert moment == pytest.approx(found["lower.mz"].value, rel=1e-3)


def test_command_with_simulations(folder):
    out = folder / "simulations"
    paths = ["bodies/lower/mass", "joints/*/damping", "sensors/gyro:imu:y/zero"]
    asked = [word for path in paths for word in ("--identify", path)]
    status, _, err = command(folder, *asked, "--out", out, "--save", folder / "fitted.xml")
    assert status == 0, err
    found = estimates(out)
    for name, true in {
        "bodies.lower.mass": 1.0, "joints.shoulder.damping[0]": 0.3,
        "joints.elbow.damping[0]": 0.1, "sensors.gyro:imu:y.zero": 0.0,
    }.items():  # fmt: skip
        assert abs(found[name].value - true) < 4 * found[name].error < 0.05, name
    saved = mb.load(folder / "fitted.xml").parameters["bodies"]["lower"]["mass"]
    assert saved == pytest.approx(found["bodies.lower.mass"].value)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "say what to identify"),
        (["--identify", "bodies/lowr"], "No parameter is 'bodies/lowr'"),
        (["--torques", "--identify", "joints/elbow/rest"], 'there is no path "joints/elbow/rest"'),
        (["--torques", "--set", "bodies/lowr/mass=1"], 'there is no parameter "bodies/lowr/mass"'),
        (["--torques", "--place", "a"], "is not of the form name=body,x,y,z"),
    ],
)
def test_command_refuses_by_name(folder, more, message):
    status, _, err = command(folder, *more)
    assert status == 2 and message in err


def test_command_names_a_wrong_column(folder):
    text = (folder / "log.csv").read_text()
    for name, message in {
        "gyr:imu:y": 'column "gyr:imu:y" shows nothing that is known',
        "gyro:im:y": "Column 'gyro:im:y': 'im' is none of the bodies or places",
    }.items():
        (folder / "wrong.csv").write_text(text.replace("gyro:imu:y", name))
        asked = ["--motor", "elbow=0.5", "--identify", "bodies/lower/mass"]
        status, _, err = run("fit", folder / "robot.xml", folder / "wrong.csv", *asked)
        assert status == 2 and message in err, err
    status, _, err = run("fit", folder / "model.py", folder / "log.csv", "--torques")
    assert status == 2 and "--torques is for robots" in err
    status, _, err = run("fit", folder / "no.xml", folder / "log.csv", "--torques")
    assert status == 2 and "no such file" in err
