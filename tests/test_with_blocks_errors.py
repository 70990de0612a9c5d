"""Blocks that users give, and systems in which none are found."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from jaxspark._system import flatten
from test_with_blocks import not_ideal, of_arrays, start


def test_given_blocks():
    plain, split = of_arrays()
    y, z = start(split, 5)
    # In a dictionary `r` comes before `turn`.
    given = jaxspark.linear.with_blocks(plain, np.tile(np.arange(5), 3))
    args = {"m": jnp.asarray(1.3)}
    flats = [
        flatten(system, jnp.asarray(0.0), y, z, args)[0]
        for system in (given, jaxspark.linear.with_blocks(given))
    ]
    assert flats[0].structure == flats[1].structure
    wrong = {
        "integer for each of the 15": np.arange(5),
        "without gaps": 2 * np.arange(15),
        "row 2 of g touches blocks": np.arange(15),
    }
    for words, blocks in wrong.items():
        with pytest.raises(ValueError, match=words):
            flatten(jaxspark.linear.with_blocks(plain, blocks), jnp.asarray(0.0), y, z, args)
    for blocks in (np.zeros(15), np.zeros((5, 3), int)):
        with pytest.raises(ValueError, match="vector of integers"):
            jaxspark.linear.with_blocks(plain, blocks)


def refused(system, ny, nz, args=None):
    flatten(system, jnp.asarray(0.0), jnp.zeros(ny), jnp.zeros(nz), args)


def test_no_blocks():
    f = lambda t, y, z, args: -z
    dense_rows = jaxspark.ConstrainedSystem(f=f, g=lambda t, y, args: jnp.cumsum(y**2)[20:22])
    with pytest.raises(ValueError, match="row 0 of g touches .*MultibodySystem"):
        refused(jaxspark.linear.with_blocks(dense_rows), 26, 26)
    coupled = jaxspark.ConstrainedSystem(f=f, p=lambda t, y, z, args: z * jnp.sum(z**2))
    with pytest.raises(ValueError, match="couple all 26 velocities"):
        refused(jaxspark.linear.with_blocks(coupled), 26, 26)
    unmoved = jaxspark.ConstrainedSystem(f=f, g=lambda t, y, args: jnp.sin(t)[None])
    with pytest.raises(ValueError, match="row 0 of g does not depend on any unknown"):
        refused(jaxspark.linear.with_blocks(unmoved), 26, 26)


def test_forces_that_are_not_linear():
    plain, _ = not_ideal(True)
    args = {"m": jnp.asarray(1.3)}
    rub = jaxspark.ConstrainedSystem(
        f=plain.f, p=plain.p, g=plain.g, friction=lambda t, y, z, lam, args: -jnp.abs(lam[0]) * z
    )
    squared = jaxspark.ConstrainedSystem(
        f=plain.f, p=plain.p, g=plain.g, r=lambda t, y, lam, args: plain.r(t, y, lam**2, args)
    )
    for system in (rub, squared):
        with pytest.raises(ValueError, match="linear in their multipliers"):
            refused(jaxspark.linear.with_blocks(system), 12, 12, args)
    elsewhere = jaxspark.ConstrainedSystem(
        f=plain.f, p=plain.p, g=lambda t, y, args: y[0::3], r=lambda t, y, lam, args: jnp.stack(
            [lam[::-1], 0 * lam, 0 * lam], 1
        ).ravel(),
    )  # fmt: skip
    with pytest.raises(ValueError, match="acts on block"):
        refused(jaxspark.linear.with_blocks(elsewhere, np.arange(12) // 3), 12, 12, args)


def test_coordinates_of_two_blocks():
    system = jaxspark.ConstrainedSystem(
        f=lambda t, y, z, args: -z, v=lambda t, y, z, args: z + jnp.roll(z, 1)
    )
    with pytest.raises(ValueError, match="v of coordinate 0 depends on velocities of blocks"):
        refused(jaxspark.linear.with_blocks(system, [0, 0, 1, 1]), 4, 4)
