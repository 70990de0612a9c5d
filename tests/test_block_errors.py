"""What block solvers and multibody systems refuse, in which words, and what they report."""

import jax.numpy as jnp
import numpy as np
import pytest

import helpers
import jaxspark
from benchmarks.large import _topologies as topologies
from jaxspark import Joint, MultibodySystem
from jaxspark._blocks._explicit import ExplicitNullSpace
from jaxspark.linear import AcyclicNullSpace, BlockMatrix, Pattern, RangeSpace
from rods import right_hand_sides, solve, with_values


# Structure.


def test_repeated_pivots():
    explicit = AcyclicNullSpace("explicit", pivots="first_active")
    explicit.symbolic(topologies.chain(4, tip_first=True).pattern)
    words = r"joint 0 along x and joint 1 along x both pick column 0, unknown 0 of block 0\."
    with pytest.raises(ValueError, match=words + " Number children first, or use .*'matching'"):
        explicit.symbolic(topologies.chain(4).pattern)


def test_structural_rank():
    pattern = Pattern([2, 1], [(0, -1), (1, -1), (1, -1)], labels=("slot", "pin", "bolt"))
    with pytest.raises(ValueError, match="Only 2 of the 3 rows .* left for (pin|bolt). Are"):
        ExplicitNullSpace("matching").symbolic(pattern)


def test_empty_rows():
    entries = np.ones((3, 2, 2), bool)
    entries[1] = False
    pattern = Pattern([2, 2], [(0, -1), (1, 0), (1, 0)], entries, ("slot", "pin", "bolt"))
    with pytest.raises(ValueError, match="^pin constrain nothing: their Jacobian is zero"):
        AcyclicNullSpace().symbolic(pattern)
    with pytest.raises(ValueError, match="No unknown is constrained by pin"):
        ExplicitNullSpace().symbolic(pattern)


@pytest.mark.parametrize(
    "row, words",
    [
        ((1, 1), "pin joins block 1 to itself"),
        ((1, 2), "pin touches block 2, but there are only 2 blocks"),
        ((-2, 1), "pin touches block"),
        ((-1, -1), "pin touches no block"),
    ],
)
def test_rows_of_no_two_blocks(row, words):
    with pytest.raises(ValueError, match=words):
        Pattern([2, 2], [(0, -1), row], labels=("slot", "pin"))


def test_overconstrained_roots():
    pattern = Pattern([2, 3], [(0, -1)] * 2 + [(1, 0)] * 4, labels=tuple("abcdef"))
    words = "overconstrained: a, b, c, d, e, f are 6 constraints for 5 unknowns.*redundant=True"
    with pytest.raises(ValueError, match=words):
        AcyclicNullSpace(loops="cluster").symbolic(pattern)
    plan = AcyclicNullSpace(redundant=True).symbolic(pattern)
    assert plan.num_clusters == 1 and plan.rows.tolist() == [6]


def test_cycles():
    pattern = topologies.ring(4).pattern
    words = "joint . along x, joint . along y close loops. Use loops='cluster' or loops='border'"
    for mode in ("recursive", "auto"):
        with pytest.raises(ValueError, match=words):
            AcyclicNullSpace(mode, loops="error").symbolic(pattern)
    AcyclicNullSpace(loops="error").symbolic(topologies.chain(4).pattern)
    # Rows that depend on each other: the explicit mode's words for it.
    with pytest.raises(ValueError, match="A cycle: .*joint . along . depend on each other"):
        AcyclicNullSpace("explicit", loops="error").symbolic(topologies.pinned_chain(3).pattern)


def test_large_clusters():
    pattern = topologies.ring(12).pattern
    words = r"cluster of \d\d unknowns, more than max_cluster = 16: joint .* more\. Use loops="
    with pytest.raises(ValueError, match=words):
        AcyclicNullSpace(loops="cluster").symbolic(pattern)
    AcyclicNullSpace(loops="cluster", max_cluster=36).symbolic(pattern)
    # "auto" has a border for that.
    assert len(AcyclicNullSpace(loops="auto").symbolic(pattern).rows_left) == 2


def test_klu_in_single_precision():
    pytest.importorskip("klujax")
    case = topologies.chain(3)
    single = BlockMatrix(*(x.astype(jnp.float32) for x in (case.matrix.K, case.matrix.B)))
    with pytest.raises(TypeError, match="KLU works in double precision"):
        jaxspark.linear.KLU().factor_blocks(case.pattern, single)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"mode": "iterative"}, "mode must be one of .*'recursive'.*; got 'iterative'"),
        ({"basis": "svd"}, "basis must be one of .*'qr', 'pivot'.*; got 'svd'"),
        ({"loops": "cut"}, "loops must be one of .*'border'.*; got 'cut'"),
        ({"max_cluster": 0}, "max_cluster must be at least 1; got 0"),
        ({"redundant": True, "basis": "pivot"}, "Redundant constraints have no pivots"),
        ({"redundant": True, "mode": "explicit"}, "Redundant constraints have no pivots"),
    ],
)
def test_options(options, words):
    # With jaxtyping's checks on, some of it is a TypeError already.
    with pytest.raises((ValueError, TypeError), match=f"{words}|type-check|Type-check"):
        AcyclicNullSpace(**options)


def test_order_of_range_space():
    with pytest.raises((ValueError, TypeError), match="order must be|[Tt]ype-check"):
        RangeSpace("backward")


def test_pivots_that_are_none():
    pattern = topologies.chain(2).pattern
    with pytest.raises(ValueError, match="pivots must be 'first_active', 'matching' or columns"):
        AcyclicNullSpace("explicit", pivots="largest").symbolic(pattern)
    with pytest.raises(ValueError, match="There are 4 rows, but 2 pivots"):
        AcyclicNullSpace("explicit", pivots=(0, 1)).symbolic(pattern)


# Values.


@pytest.mark.parametrize("loops", ["auto", "cluster"])
def test_redundant_and_singular_joints_are_reported(loops):
    solver = AcyclicNullSpace(loops=loops)
    for make in (topologies.chain, topologies.pinned_chain):
        pattern, B = make(4).pattern, np.array(make(4).matrix.B)
        f, g = right_hand_sides(pattern, 1)
        assert solve(solver, pattern, with_values(pattern, B), f, g)[1]
        singular = B.copy()
        singular[3] = 0
        assert not solve(solver, pattern, with_values(pattern, singular), f, g)[1]
        redundant = B.copy()
        redundant[3] = -2 * B[2]
        assert not solve(solver, pattern, with_values(pattern, redundant), f, g)[1]
        forces = with_values(pattern, B, symmetric=False)
        forces = BlockMatrix(forces.K, forces.B, forces.forces.at[3].set(0))
        assert not solve(solver, pattern, forces, f, g)[1]
        assert not solve(solver, pattern, with_values(pattern, B * np.nan), f, g)[1]


def test_free_motions_without_mass_are_reported():
    pattern, B = topologies.chain(3).pattern, np.asarray(topologies.chain(3).matrix.B)
    f, g = right_hand_sides(pattern, 1)
    matrix = with_values(pattern, B)
    massless = BlockMatrix(matrix.K.at[2].set(0), matrix.B)
    assert not solve(AcyclicNullSpace(), pattern, massless, f, g)[1]
    # Singular blocks are no harm where the constraints leave no motion without mass.
    weights = BlockMatrix(jnp.asarray(np.diag([1.0, 1, 0]))[None].repeat(3, 0), matrix.B)
    assert solve(AcyclicNullSpace(), pattern, weights, f, g)[1]


# Multibody systems.


ARGS = {"g": 9.81}
METHOD = jaxspark.Gauss(2)


def mass(t, y, own, args):
    del t, own, args
    return jnp.asarray([1.0, 1.0, 0.1], y.dtype)


def force(t, y, z, own, args):
    del t, z, own
    return jnp.stack([0 * y[0], 0 * y[0] - args["g"], 0 * y[0]])


def hinge(t, a, b, own, args):
    del t, own, args
    arms = [0.5 * jnp.stack([jnp.cos(y[2]), jnp.sin(y[2])]) for y in (a, b)]
    return a[:2] - arms[0] - b[:2] - arms[1]


def pin(t, a, b, own, args):
    del t, b, own, args
    return a[:2] - 0.5 * jnp.stack([jnp.cos(a[2]), jnp.sin(a[2])])


def doubled(t, a, b, own, args):
    closed = pin(t, a, b, own, args)
    return jnp.stack([closed[0], closed[1], closed[0] - closed[1]])


START = np.array([[0.5, 0.0, 0.0], [1.5, 0.0, 0.0]]), np.zeros((2, 3))


def run(joints, y=START[0], z=START[1], **options):
    system = MultibodySystem(mass, force, joints)
    options = {"linear_solver": AcyclicNullSpace(), **options}
    return jaxspark.rollout(system, y, z, ARGS, method=METHOD, h=0.01, num_steps=2, **options)


def test_redundant_joints_end_a_rollout():
    joints = (Joint(doubled, [(0, -1)], name="pin"), Joint(hinge, [(1, 0)], name="hinge"))
    with pytest.raises(jaxspark.SolveError, match="redundant") as failure:
        run(joints)
    error = failure.value
    assert bool(error.solution.result == jaxspark.RESULTS.singular)
    assert int(error.rank.rank) == 4 and error.rank.size == 5
    assert "rank 4 of 5; this combination" in str(error)
    # Row 2 of the pin is row 0 less row 1.
    direction = np.asarray(error.rank.null_direction[0][0]).ravel()
    np.testing.assert_allclose(direction / direction[2], [-1, 1, 1], atol=1e-9)
    solution = run(joints, throw=False)
    assert bool(solution.result == jaxspark.RESULTS.singular)
    assert np.array_equal(solution.y1, START[0])
    assert bool(run((Joint(pin, [(0, -1)]), joints[1])).successful)


@pytest.mark.parametrize(
    "pairs, words",
    [
        ([(0, 1, 2)], r"pairs of hinge must be integers of shape \(count, 2\)"),
        ([0, 1], r"pairs of hinge must be integers .* their shape is \(2,\)"),
        ([(0.0, 1.0)], "pairs of hinge must be integers .*float64"),
        ([(0, -1), (1, 1)], r"Pair number 1 of hinge is \(1, 1\): it must be two different"),
        ([(0, -2)], r"Pair number 0 of hinge is \(0, -2\)"),
        ([(-1, -1)], r"Pair number 0 of hinge is \(-1, -1\)"),
    ],
)
@pytest.mark.parametrize("kind", [Joint, jaxspark.RollingJoint, jaxspark.ForceElement])
def test_pairs(kind, pairs, words):
    with pytest.raises(ValueError, match=words):
        kind(hinge, np.asarray(pairs), name="hinge")


def test_functions():
    with pytest.raises(TypeError, match="function"):
        Joint(None, [(0, -1)])
    with pytest.raises(TypeError, match="own"):
        Joint(hinge, [(0, -1)], own=3.0)
    for options in ({"mass": None}, {"force": 1.0}, {"velocity": 1.0}, {"own": [1.0]}):
        given = {"mass": mass, "force": force, **options}
        with pytest.raises(TypeError, match=next(iter(options))):
            MultibodySystem(**given)
    for name, kind in (("joints", "Joint"), ("rolling", "RollingJoint"),
                       ("elements", "ForceElement")):  # fmt: skip
        with pytest.raises(TypeError, match=rf"{name} must be jaxspark.{kind}|parameter '{name}'"):
            MultibodySystem(mass, force, **{name: [hinge]})


def test_bodies_that_do_not_exist():
    with pytest.raises(ValueError, match="^hinge joins body 2, but there are 2 bodies"):
        run(Joint(hinge, [(1, 0), (2, 1)], name="hinge"))


def test_states_of_different_lengths():
    words = r"one entry for each body along its first axis; the lengths are \[2, 3\]"
    joints = Joint(pin, [(0, -1)])
    rate = lambda t, y, z, own, args: z
    system = MultibodySystem(mass, force, joints, velocity=rate)
    with pytest.raises(ValueError, match=words):
        jaxspark.rollout(
            system, START[0], np.zeros((3, 3)), ARGS, method=METHOD, h=0.1, num_steps=1
        )
    with pytest.raises(ValueError, match=words):
        run(joints, START[0], np.zeros((3, 3)))


def test_joints_must_return_vectors():
    scalar = lambda t, a, b, own, args: a[0] - b[0]
    matrix = lambda t, a, b, own, args: (a - b)[:, None]
    for function, shape in ((scalar, r"\(\)"), (matrix, r"\(3, 1\)")):
        with pytest.raises(ValueError, match=f"function of hinge must return a vector.*{shape}"):
            run(Joint(function, [(1, 0)], name="hinge"))


def test_linear_solvers_that_are_none():
    # With jaxtyping's checks on, it is a TypeError before.
    with pytest.raises(TypeError, match="linear_solver"):
        run(Joint(pin, [(0, -1)]), linear_solver="something")


def test_systems_without_blocks():
    start = helpers.pendulum_start()
    with pytest.raises(ValueError, match="declares no blocks: use jaxspark.MultibodySystem"):
        jaxspark.rollout(
            helpers.pendulum(), *start, helpers.PENDULUM_ARGS, method=METHOD, h=0.1, num_steps=1,
            linear_solver=AcyclicNullSpace(),
        )  # fmt: skip
