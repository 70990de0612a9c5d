"""Random mechanisms in coordinates of joints and of bodies, against each other."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

import jaxspark
from jaxspark import multibody

from .._figures import at_least, at_most, Figure, note


TOPOLOGIES, DRAWS, SECONDS, MOST = 10, 50, 0.2, 10
MOTION, RESIDUAL = 1e-9, 1e-12
TIGHT = {"rtol": 1e-11, "atol": 1e-11, "throw": False}
JOINTS = (
    multibody.Revolute, multibody.Prismatic, multibody.Cylindrical, multibody.Universal,
    multibody.Planar, multibody.Spherical, multibody.Free,
)  # fmt: skip
# What closes a loop, and how many equations it has.
CLOSING = {
    multibody.PointOnPlane: 1, multibody.PointOnLine: 2, multibody.Planar: 3,
    multibody.Spherical: 3, multibody.Universal: 4, multibody.Cylindrical: 4,
    multibody.Revolute: 5,
}  # fmt: skip


class Compared(NamedTuple):
    """Of one topology: the worst difference and residual, how many motions, and how many ended."""

    apart: float
    residual: float
    ended: int


def random(tiny: bool) -> Iterator[Figure]:
    """As many mechanisms as topologies times draws of all their parameters."""
    topologies, draws = (1, 2) if tiny else (TOPOLOGIES, DRAWS)
    found = []
    for seed in range(topologies):
        found.append(x := _compared(np.random.default_rng(seed), draws))
        words = f"{x.ended}; {x.apart:.1e} apart, constraints {x.residual:.1e}"
        yield note(f"topology {seed}: of {draws} draws ended", words)
        jax.clear_caches()
    total, ended = topologies * draws, sum(x.ended for x in found)
    yield note("random mechanisms, with and without loops", f"{total}")
    yield at_least("of these motions that both formulations ended", ended, total, ".0f")
    apart, residual = max(x.apart for x in found), max(x.residual for x in found)
    yield at_most(f"places of bodies after {SECONDS:g} s, apart", apart, MOTION)
    yield at_most("constraints, worst", residual, RESIDUAL)


def _direction(rng: np.random.Generator, size: int = 3) -> np.ndarray:
    x = rng.normal(size=size)
    return x / np.linalg.norm(x)


def _body(rng: np.random.Generator, name: str) -> Any:
    """Moments of a cloud of points, so that some body has them."""
    points = 0.2 * rng.normal(size=(8, 3))
    weights = rng.uniform(0.1, 0.3, size=8)
    com = weights @ points / np.sum(weights)
    about = points - com
    inertia = np.einsum(
        "k,kij->ij", weights, np.sum(about**2, 1)[:, None, None] * np.eye(3)
        - about[:, :, None] * about[:, None, :],
    )  # fmt: skip
    return multibody.Body(name, np.sum(weights), com=com, inertia=inertia)


def _place(rng: np.random.Generator, kind: Any) -> dict[str, Any]:
    place = {
        "position": 0.4 * rng.normal(size=3), "quaternion": _direction(rng, 4),
        "child_position": 0.3 * rng.normal(size=3), "child_quaternion": _direction(rng, 4),
        "axis": _direction(rng),
    }  # fmt: skip
    if kind is multibody.Universal:
        place["second"] = np.cross(place["axis"], _direction(rng))
    return place


def mechanism(rng: np.random.Generator) -> Any:
    """A tree of two to five bodies with springs and damping; every second one has a loop."""
    count = int(rng.integers(2, 6))
    bodies = [_body(rng, f"body {k}") for k in range(count)]
    joints = []
    for k in range(count):
        kind = JOINTS[int(rng.integers(len(JOINTS)))]
        parent = "ground" if k == 0 else ["ground", *(f"body {j}" for j in range(k))][
            int(rng.integers(k + 1))
        ]  # fmt: skip
        place = _place(rng, kind)
        joints.append(kind(f"joint {k}", parent, f"body {k}", damping=0.1, **place))
    spring = multibody.Spring(
        "spring", "ground", f"body {count - 1}", at_first=(2, 2, 2), stiffness=5.0, length=1.0
    )
    options: dict[str, Any] = {"forces": [spring]}
    open_one = multibody.Mechanism(bodies, joints, **options)
    guess = {
        name: np.asarray(0.5 * rng.normal(size=at.size))
        for name, at in open_one.coordinates(np.arange(open_one.tree.ny)).items()
    }
    # Of the joints that the loop has: as many equations would leave no other lengths.
    sizes = {name: at.size for name, at in open_one.velocities(np.arange(open_one.tree.nz)).items()}
    freedom, last = 0, f"body {count - 1}"
    while last != "ground":
        joint = next(joint for joint in joints if joint.child == last)
        freedom, last = freedom + sizes.get(joint.name, 0), joint.parent
    closing = [kind for kind, rows in CLOSING.items() if rows < freedom]
    if rng.integers(2) and closing:
        kind = closing[int(rng.integers(len(closing)))]
        joints.append(_closed(rng, open_one, open_one.state(guess)[0], kind, count))
    return multibody.Mechanism(bodies, joints, guess=guess, **options)


def _closed(rng: Any, of: Any, y: Any, kind: Any, count: int) -> Any:
    """A joint between the last body and the ground whose frames coincide there at `y`."""
    place = _place(rng, kind)
    q, x = place["child_quaternion"], place["child_position"]
    T = np.asarray(of.pose(f"body {count - 1}", y))
    R = T[:3, :3] @ _matrix(q)
    turned = {"quaternion": _quaternion(R), "position": T[:3, :3] @ x + T[:3, 3]}
    return kind("loop", "ground", f"body {count - 1}", cut=True, **(place | turned))


def _matrix(q: np.ndarray) -> np.ndarray:
    w, u = q[0], q[1:]
    skew = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


def _quaternion(R: np.ndarray) -> np.ndarray:
    return np.roll(Rotation.from_matrix(R).as_quat(), 1)


def _drawn(rng: np.random.Generator, of: Any, first: bool) -> Any:
    """Parameters a little apart, of bodies that exist."""
    args = jax.tree.map(lambda x: x, of.parameters)
    if first:
        return args
    for body in of.tree.bodies:
        args["bodies"][body.name] = {
            x: jnp.asarray(getattr(_body(rng, body.name), x)) for x in ("mass", "com", "inertia")
        }
    for joint in of.tree.joints:
        own = args["joints"][joint.name]
        for x in ("position", "child_position"):
            own[x] = own[x] + 0.01 * rng.normal(size=3)
    return args


def _compared(rng: np.random.Generator, draws: int) -> Compared:
    ours = mechanism(rng)
    other = ours.by_bodies()

    @jax.jit
    def ends(y, z, args):
        z = jaxspark.project(ours.system, 0.0, y, z, args, throw=False).z
        one = jaxspark.solve(ours.system, y, z, args, t1=SECONDS, **TIGHT)
        start = other.of_joints(y, z, args)
        two = jaxspark.solve(other.system, *start, args, t1=SECONDS, **TIGHT)
        names = [body.name for body in ours.tree.bodies]
        apart = [ours.pose(x, one.y1, args) - other.pose(x, two.y1, args) for x in names]
        residual = jnp.maximum(one.stats.max_g, two.stats.max_g)
        good = (one.t1 == SECONDS) & (two.t1 == SECONDS)
        return jnp.max(jnp.abs(jnp.stack(apart))), residual, good

    found: list[list[float]] = []
    for _ in range(MOST * draws):
        if len(found) == draws:
            break
        args = _drawn(rng, ours, not found)
        try:
            y, z = ours.state(args=args)
        except ValueError:
            # These lengths do not close the loop: others are drawn.
            continue
        z = jnp.asarray(rng.normal(size=z.size))
        found.append([float(x) for x in ends(y, z, args)])
    assert len(found) == draws, f"only {len(found)} draws of {MOST * draws} close {ours.loops}"
    apart, residual, ended = np.array(found).T
    good = ended > 0
    return Compared(
        float(np.max(apart[good], initial=0)), float(np.max(residual[good], initial=0)),
        int(np.sum(good)),
    )  # fmt: skip
