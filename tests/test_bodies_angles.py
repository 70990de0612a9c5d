"""Angles and quaternions of rotation matrices, against scipy's."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxspark import multibody as mb
from jaxspark.multibody._angles import quaternion_of
from jaxspark.multibody._rotations import rotation


SEQUENCES = ["".join(x) for x in itertools.product("xyz", repeat=3) if x[0] != x[1] != x[2]]
SEQUENCES += [x.upper() for x in SEQUENCES]
RANDOM = Rotation.random(40, np.random.default_rng(0))


def test_angles_are_those_of_scipy():
    R, q = jnp.asarray(RANDOM.as_matrix()), jnp.asarray(np.roll(RANDOM.as_quat(), 1, 1))
    for axes in SEQUENCES:
        expected = RANDOM.as_euler(axes)
        assert np.max(np.abs(mb.angles(R, axes) - expected)) <= 1e-13, axes
        assert np.max(np.abs(mb.angles(q, axes) - expected)) <= 1e-13, axes


def test_angles_give_the_rotation_back_where_two_axes_are_parallel():
    for axes in SEQUENCES:
        for middle in (0.0, np.pi) if axes[0] == axes[2] else (0.5 * np.pi, -0.5 * np.pi):
            R = Rotation.from_euler(axes, [0.7, middle, 0.4]).as_matrix()
            R[np.abs(R) < 1e-15] = 0.0
            found = mb.angles(jnp.asarray(R), axes)
            assert found[2] == 0
            back = Rotation.from_euler(axes, np.asarray(found)).as_matrix()
            assert np.max(np.abs(back - R)) <= 1e-14, axes
            slope = jax.jacrev(lambda R, axes=axes: mb.angles(R, axes))(jnp.asarray(R))
            assert np.all(np.isfinite(slope))


def test_quaternions_of_matrices():
    # Turns by half a turn, too, where the real part is zero.
    half = Rotation.from_rotvec(np.pi * np.concatenate([np.eye(3), [[0.6, 0.8, 0]]]))
    R = np.concatenate([RANDOM.as_matrix(), half.as_matrix()])
    q = np.asarray(quaternion_of(jnp.asarray(R)))
    assert np.max(np.abs(np.sum(q**2, 1) - 1)) <= 1e-15 and np.min(q[:, 0]) >= 0
    assert np.max(np.abs(rotation(jnp.asarray(q)) - R)) <= 1e-15


@pytest.mark.parametrize("axes", ["ZYX", "xzx"])
def test_derivatives_of_angles(axes):
    # Along a turn: forward and backward, against differences.
    R, turn = RANDOM[0], np.array([0.3, -0.2, 0.5])
    moved = lambda h: mb.angles(jnp.asarray((Rotation.from_rotvec(h * turn) * R).as_matrix()), axes)
    differences = (moved(1e-5) - moved(-1e-5)) / 2e-5
    change = jnp.asarray(np.cross(turn, R.as_matrix().T).T)
    at = jnp.asarray(R.as_matrix())
    forward = jax.jvp(lambda R: mb.angles(R, axes), (at,), (change,))[1]
    backward = jnp.sum(jax.jacrev(lambda R: mb.angles(R, axes))(at) * change[None], (1, 2))
    assert np.max(np.abs(forward - differences)) <= 1e-8
    assert np.max(np.abs(forward - backward)) <= 1e-13


def test_single_precision_and_batches():
    R = jnp.asarray(RANDOM.as_matrix(), jnp.float32).reshape(4, 10, 3, 3)
    found = jax.jit(jax.vmap(lambda R: mb.angles(R, "zyx")))(R)
    assert found.dtype == jnp.float32 and found.shape == (4, 10, 3)
    assert np.max(np.abs(np.asarray(found).reshape(40, 3) - RANDOM.as_euler("zyx"))) <= 1e-5


@pytest.mark.parametrize(
    ("orientation", "axes", "message"),
    [
        (np.eye(3), "zy", "three letters"),
        (np.eye(3), "zYx", "all small or all capital"),
        (np.eye(3), "zzx", "next to each other differ"),
        (np.eye(3), "abc", "axes are x, y and z"),
        (np.ones(3), "zyx", "got shape \\(3,\\)"),
    ],
)
def test_what_is_no_orientation(orientation, axes, message):
    with pytest.raises(ValueError, match=message):
        mb.angles(orientation, axes)
