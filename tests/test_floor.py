"""The default of `solve` against the same mathematics in C, written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.fresh import _floor
from benchmarks.fresh._members import MEMBERS


TOLERANCE = 1e-9


@pytest.mark.skipif(not _floor.available(), reason="there is no C compiler")
@pytest.mark.parametrize("name", _floor.NAMES)
def test_the_default_takes_the_steps_of_c(name):
    fresh = MEMBERS[name]
    y, z, args = fresh.start()
    lanes = np.stack([args, args * np.where(np.arange(args.size) < 2, 1.1, 1.0)])

    @jax.jit
    def motion(args):
        end = jaxspark.solve(
            fresh.system, y, z, args, t1=fresh.t1, rtol=TOLERANCE, atol=TOLERANCE, max_steps=1000
        )
        steps = end.stats.num_steps + end.stats.num_rejected_steps
        return jnp.concatenate([end.y1, end.z1]), steps

    floor = _floor.Floor(fresh)
    found, steps = floor.run(TOLERANCE)
    expected = [motion(lane) for lane in lanes]
    # Rounding errors may decide on one.
    assert abs(steps - int(expected[0][1])) <= 2
    np.testing.assert_allclose(found, expected[0][0], rtol=TOLERANCE, atol=TOLERANCE)
    ends = np.stack([end for end, _ in expected])
    assert np.max(np.abs(ends[1] - ends[0])) > 1e3 * TOLERANCE
    np.testing.assert_allclose(floor.lanes(lanes, TOLERANCE), ends, rtol=TOLERANCE, atol=TOLERANCE)
