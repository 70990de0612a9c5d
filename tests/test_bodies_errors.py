"""What is no mechanism is refused by name."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark import multibody as mb
from mechanisms_of_bodies import four_bar, rod


BAR = [rod("bar", 1.0, 1.0)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.Body("ground"), "what does not move"),
        (lambda: mb.Body("b", -1.0), "has mass -1"),
        (lambda: mb.Body("b", 1.0, com=(1, 2, 3, 4)), "com of body 'b' must be three"),
        (lambda: mb.Body("b", 1.0, inertia=np.ones((2, 2))), "one number, three or a matrix"),
        (lambda: mb.Body("b", 1.0, inertia=[[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: mb.Body("b", 1.0, inertia=(1, 1, 3)), "as no body has"),
        (lambda: mb.Body("b", 1.0, lines=[np.ones((2, 2))]), "arrays \\(points, 3\\)"),
        (lambda: mb.Revolute("a", "bar", "bar"), "to itself"),
        (lambda: mb.Revolute("a", "ground", "bar", axis=(0, 0, 0)), "must not be zero"),
        (lambda: mb.Revolute("a", "ground", "bar", quaternion=(1, 0, 0)), "four numbers"),
        (lambda: mb.Universal("a", "ground", "bar", second=(1, 1, 0)), "are perpendicular"),
        (lambda: mb.Screw("a", "ground", "bar", pitch=1.0, cut=True), "cannot close a loop"),
        (lambda: mb.Mechanism(BAR, [mb.Revolute("a", "ground", "bat")]), "'bat'.*none of the bo"),
        (lambda: mb.Mechanism(BAR, []), "No joints lead from the ground to \\['bar'\\]"),
        (lambda: mb.Mechanism(BAR * 2, []), "\\['bar'\\] occur twice"),
        (lambda: mb.Mechanism(BAR, [mb.Spherical("s", "bar", "ground")]), "exchange the two bod"),
        (
            lambda: mb.Mechanism(
                BAR,
                [
                    mb.Revolute("a", "ground", "bar", cut=False),
                    mb.Weld("w", "ground", "bar", cut=False),
                ],
            ),
            "closes a loop, and cut=False",
        ),
        (
            lambda: mb.Mechanism(
                BAR,
                [
                    mb.Revolute("a", "ground", "bar"),
                    mb.PointOnLine("l", "ground", "bar", position=(0, 5), axis=(1, 0, 0)),
                ],
            ),
            "do not close",
        ),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Revolute("a", "ground", "bar")], forces=[mb.Spring("s", "bar", "bat")]
            ),
            "acts on 'bat'",
        ),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Revolute("a", "ground", "bar")],
                forces=[mb.Motor("m", "b", lambda t, q, z, args: 0.0)],
            ),
            "none of the joints",
        ),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Spherical("a", "ground", "bar")],
                forces=[mb.Motor("m", "a", lambda t, q, z, args: 0.0)],
            ),
            "needs a joint with axes",
        ),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Spherical("a", "ground", "bar")], constraints=[mb.Coupling("g", "a")]
            ),
            "joints with one coordinate",
        ),
        (lambda: mb.Coupling("g", "a", polynomial=[[1.0]]), "vector of finite"),
        (lambda: four_bar().state({"E": 1.0}), "'E' is no joint with coordinates"),
        (lambda: four_bar().state({"A": [1.0, 2.0]}), "has 1 of these"),
        (
            lambda: mb.Mechanism(
                BAR,
                [
                    mb.Revolute("a", "ground", "bar"),
                    mb.Revolute("b", "ground", "bar", damping=1.0, cut=True),
                ],
            ),
            "damping, stiffness and armature would do nothing",
        ),
        (lambda: four_bar().state({"A": np.nan}), "all finite; got"),
        (lambda: mb.Revolute("a", "ground", "bar", damping=[1, 2]), "damping of joint 'a' must"),
        (lambda: mb.Spherical("a", "ground", "bar", stiffness=3.0), "has no axis, and so no st"),
        (
            lambda: mb.Mechanism(
                BAR, [mb.Revolute("a", "ground", "bar")], constraints=[mb.Coupling("g", "a")] * 2
            ),
            "occur twice",
        ),
        (lambda: four_bar().state({"A": 1.0, "B": 1.0, "D": 1.0}), "stay open, by"),
        (lambda: four_bar().state({"A": 1.0}, {"A": 1.0, "B": 9.0}), "do not allow these vel"),
        (lambda: four_bar().pose("bat", jnp.zeros(3)), "'bat' is none of the bodies"),
    ],
)  # fmt: skip
def test_wrong_mechanisms_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_functions_that_are_none_are_refused():
    with pytest.raises(TypeError, match="torque of 'm' must be a function"):
        mb.Motor("m", "a", 3.0)
    with pytest.raises(TypeError, match="force of 'f' must be a function"):
        mb.PointForce("f", "bar", 3.0)
