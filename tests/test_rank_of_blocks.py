"""Large systems: dependent constraints are found without a dense matrix."""

import numpy as np
import pytest

import jaxspark
from benchmarks.large._chains import horizontal_chain


@pytest.mark.parametrize("duplicates", [0, 1])
def test_rank_of_a_straight_chain(duplicates):
    # More than 256 constraints; straight, so that small singular values lie close together.
    model = horizontal_chain(132)
    system = model.system
    again = jaxspark.Joint(system.joints[1].function, [(4, 3)] * duplicates)
    joints = (*system.joints, again) if duplicates else system.joints
    larger = jaxspark.MultibodySystem(
        system.mass, system.force, joints, own=system.own, ground=system.ground
    )
    found = jaxspark.diagnostics.constraint_rank(larger, 0.0, model.y0, model.z0, model.args)
    assert found.size == 264 + 2 * duplicates
    assert int(found.rank) == found.size - duplicates
    direction = np.concatenate([np.ravel(x) for x in found.null_direction[0]])
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    if duplicates:
        # Only the two copies of a joint take part, with opposite signs.
        twice = np.abs(direction[[8, 9, 264, 265]])
        assert np.linalg.norm(twice) == pytest.approx(1.0)
        np.testing.assert_allclose(twice[:2], twice[2:], rtol=0, atol=1e-9)
