"""Random mechanisms: trees and loops in two and three dimensions.

A family has one number of bodies, of joints and of springs; who is joined to whom, where, and how
heavy everything is are arguments, so that one program moves all of a family.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark


# Less than this, relative to the largest, the constraints are too close to dependent at the start.
REGULAR = 0.2
SPRINGS = 2


@dataclasses.dataclass(frozen=True)
class Family:
    """Mechanisms that one program moves.

    - `name`: with its kind, its numbers of bodies and joints.
    - `bodies`, `joints`: these numbers.
    - `widths`: how many coordinates and velocities a body has.
    - `system`: of the functions.
    - `place`: from a random generator poses of the bodies, shape `(bodies, width)`.
    - `local`: from a pose and a point in space, where in the body it is.
    - `energy`: `energy(t, y, z, args)` (J).
    - `grounded`: whether the first body is joined to the ground.
    """

    name: str
    bodies: int
    joints: int
    widths: tuple[int, int]
    system: Any
    place: Callable[[np.random.Generator, int], np.ndarray]
    local: Callable[[Any, Any], Any]
    energy: Callable[..., Any]
    grounded: bool = True


def ends_of(pairs: Any, own: Any, ground: Any) -> tuple[Any, Any]:
    """Rows of an array of the bodies at both ends; the ground is the last."""
    every = jnp.concatenate([own, ground[None]])
    return every[pairs[:, 0]], every[pairs[:, 1]]


def moved(t: Any, args: Any) -> Any:
    """By how much the ground has moved (m)."""
    drive = args["drive"]
    return drive["by"] * (jnp.sin(drive["rate"] * t + 1.0) - jnp.sin(1.0))


def _springs(places: Callable[..., Any], t: Any, y: Any, args: Any) -> Any:
    """Energy of springs between points of bodies: smooth even where their length is zero."""
    springs = args["springs"]
    a, b = places(t, y, springs["at"], springs["points"], args)
    square = jnp.sum((a - b) ** 2, 1)
    rest = springs["rest"]
    return jnp.sum(springs["stiffness"] * (square - rest**2) ** 2 / (8 * rest**2))


def _family(kind: str, bodies: int, joints: int, **options: Any) -> Family:
    """A family of particles, or of rigid bodies in the plane or in space."""
    dim = 3 if kind in ("particles in space", "bodies in space") else 2
    flat, spatial = kind == "bodies in a plane", kind == "bodies in space"
    width = {"bodies in a plane": 3, "bodies in space": 7}.get(kind, dim)
    velocities = {"bodies in a plane": 3, "bodies in space": 6}.get(kind, dim)
    ground = np.zeros(width)
    if spatial:
        ground[3] = 1.0

    def rotated(pose, x):
        if flat:
            c, s = jnp.cos(pose[2]), jnp.sin(pose[2])
            return jnp.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])
        if not spatial:
            return 0.0 * x
        q = pose[3:] / jnp.sqrt(jnp.sum(pose[3:] ** 2))
        u = 2 * jnp.cross(q[1:], x)
        return x + q[0] * u + jnp.cross(q[1:], u)

    def back(pose, x):
        # Particles have no points but themselves.
        offset = x - pose[:dim]
        if flat:
            return rotated(jnp.stack([0.0, 0.0, -pose[2]]), offset)
        if not spatial:
            return 0.0 * x
        return rotated(pose.at[4:].multiply(-1.0), offset)

    def places(t, y, pairs, points, args):
        base = jnp.asarray(ground).at[:dim].add(moved(t, args))
        one, other = ends_of(pairs, y, base)
        at = jax.vmap(lambda pose, x: pose[:dim] + rotated(pose, x))
        a, b = at(one, points[:, 0]), at(other, points[:, 1])
        if flat or spatial:
            return a, b
        # The ground has points, particles have none.
        on_ground = (pairs == bodies)[:, :, None]
        return a + jnp.where(on_ground[:, 0], points[:, 0], 0.0), b + jnp.where(
            on_ground[:, 1], points[:, 1], 0.0
        )

    def g(t, y, args):
        given = args["joints"]
        a, b = places(t, y, given["at"], given["points"], args)
        if flat or spatial:
            return (a - b).reshape(-1)
        return jnp.sum((a - b) ** 2, 1) - given["length"] ** 2

    def potential(t, y, args):
        weight = jnp.sum(args["bodies"]["m"] * y[:, dim - 1]) * args["gravity"]
        return weight + _springs(places, t, y, args)

    def inertias(args):
        own = args["bodies"]
        parts = [jnp.broadcast_to(own["m"][:, None], (bodies, dim))]
        return jnp.concatenate([*parts, own["inertia"][:, : velocities - dim]], 1)

    def kinetic(y, z, args):
        own = inertias(args)
        if not spatial:
            return 0.5 * jnp.sum(own * z * z)
        inside = jax.vmap(lambda pose, w: rotated(pose.at[4:].multiply(-1.0), w))(y, z[:, 3:])
        return 0.5 * jnp.sum(own * jnp.concatenate([z[:, :3], inside], 1) ** 2)

    def force(t, y, z, args):
        return -args["bodies"]["damping"][:, None] * z

    def knife(t, y, z, args):
        return -jnp.sin(y[0, 2]) * z[0, 0] + jnp.cos(y[0, 2]) * z[0, 1]

    def energy(t, y, z, args):
        return kinetic(y, z, args) + potential(t, y, args)

    k = knife if options.get("knife") else None
    if spatial:
        system = _spatial(kinetic, potential, force, g)
    elif flat:
        system = jaxspark.MechanicalSystem(
            lambda t, y, args: jnp.diag(inertias(args).reshape(-1)),
            lambda t, y, z, args: force(t, y, z, args) - jax.grad(potential, 1)(t, y, args),
            holonomic=g,
            nonholonomic=k,
        )
    else:
        system = jaxspark.LagrangianSystem(
            lambda t, y, z, args: kinetic(y, z, args) - potential(t, y, args),
            holonomic=g,
            force=force,
        )

    def place(rng, count):
        poses = np.zeros((count, width))
        poses[:, :dim] = rng.uniform(-1.5, 1.5, (count, dim))
        poses[:, dim : dim + 1] = (
            rng.uniform(-3, 3, (count, 1)) if flat else poses[:, dim : dim + 1]
        )
        if spatial:
            q = rng.standard_normal((count, 4))
            poses[:, 3:] = q / np.linalg.norm(q, axis=1, keepdims=True)
        return poses

    name = f"{bodies} {kind}, {joints} joints" + (", a knife edge" if k else "")
    return Family(name, bodies, joints, (width, velocities), system, place, back, energy, k is None)


def _spatial(kinetic: Any, potential: Any, force: Any, g: Any) -> jaxspark.ConstrainedSystem:
    """Bodies with quaternions; the velocities are those of centres, and angular ones in space."""

    def velocity(t, y, z, args):
        q, w = y[:, 3:], z[:, 3:]
        scalar = -0.5 * jnp.sum(q[:, 1:] * w, 1, keepdims=True)
        vector = 0.5 * (q[:, :1] * w + jnp.cross(w, q[:, 1:]))
        return jnp.concatenate([z[:, :3], scalar, vector], 1)

    def momentum(t, y, z, args):
        return jax.grad(kinetic, 1)(y, z, args)

    def forces(t, y, z, args):
        # Virtual work along the same velocities; of angular momenta in space it is the rate.
        rate = jax.vjp(lambda z: velocity(t, y, z, args), z)[1]
        return force(t, y, z, args) - rate(jax.grad(potential, 1)(t, y, args))[0]

    return jaxspark.ConstrainedSystem(forces, v=velocity, p=momentum, g=g)


FAMILIES = [
    _family("particles in a plane", 2, 2),
    _family("particles in a plane", 4, 4),
    _family("particles in a plane", 4, 6),
    _family("particles in space", 3, 3),
    _family("particles in space", 4, 6),
    _family("bodies in a plane", 1, 1),
    _family("bodies in a plane", 3, 3),
    _family("bodies in a plane", 3, 4),
    _family("bodies in a plane", 2, 1, knife=True),
    _family("bodies in space", 1, 1),
    _family("bodies in space", 2, 2),
    _family("bodies in space", 2, 3),
]


def _pairs(rng: np.random.Generator, family: Family) -> np.ndarray:
    """A tree from the ground, or from the first body, and joints that close loops."""
    n = family.bodies
    if family.grounded:
        tree = [(i, n if i == 0 else rng.integers(-1, i) % (n + 1)) for i in range(n)]
    else:
        tree = [(i, rng.integers(0, i)) for i in range(1, n)]
    tree = tree[: family.joints]
    taken = {frozenset(pair) for pair in tree}
    while len(tree) < family.joints:
        pair = tuple(rng.choice(n + 1, 2, replace=False))
        if frozenset(pair) not in taken or n < 3:
            taken.add(frozenset(pair))
            tree.append(pair)
    return np.array(tree, int)


def sample(family: Family, rng: np.random.Generator) -> tuple[Any, Any, Any, bool]:
    """A mechanism: its coordinates, velocities that are not consistent yet, args, conservative.

    Of one half nothing is driven or damped.
    """
    n, dim = family.bodies, 3 if "space" in family.name else 2
    conservative = bool(rng.integers(2))
    while True:
        y, at = family.place(rng, n), _pairs(rng, family)
        poses = np.concatenate([y, np.zeros((1, y.shape[1]))])
        if y.shape[1] == 7:
            poses[-1, 3] = 1.0
        ends = poses[at][:, :, :dim]
        middle = ends.mean(1) + 0.3 * rng.standard_normal((len(at), dim))
        particles = family.widths[0] == dim
        if particles:
            # The bar goes from one particle to another, or to a point of the ground.
            anchor = rng.uniform(-1, 1, (len(at), 2, dim)) * (at == n)[:, :, None]
            length = np.linalg.norm(ends[:, 0] + anchor[:, 0] - ends[:, 1] - anchor[:, 1], axis=1)
            points = anchor
        else:
            local = jax.vmap(lambda pose, x: family.local(pose, x))
            points = np.stack([local(poses[at[:, i]], middle) for i in range(2)], 1)
            length = np.ones(len(at))
        pairs = np.stack([rng.choice(n + 1, 2, replace=False) for _ in range(SPRINGS)])
        scale = 0.0 if conservative else 1.0
        args = {
            "bodies": {
                "m": rng.uniform(0.3, 3.0, n),
                "inertia": rng.uniform(0.1, 1.0, (n, 3)),
                "damping": scale * rng.uniform(0, 1.0, n),
            },
            "joints": {"at": at, "points": points, "length": length},
            "springs": {
                "at": pairs,
                "points": 0.3 * rng.standard_normal((SPRINGS, 2, dim)),
                "stiffness": rng.uniform(0, 15.0, SPRINGS),
                "rest": rng.uniform(0.5, 1.5, SPRINGS),
            },
            "drive": {"by": scale * 0.1 * rng.standard_normal(dim), "rate": np.array(4.0)},
            "gravity": np.array(9.81),
        }
        z = rng.standard_normal((n, family.widths[1]))
        if np.all(length > 0.4) and _regular(family, y, z, args):
            return y, z, args, conservative


def _regular(family: Family, y: Any, z: Any, args: Any) -> bool:
    rows = np.asarray(_jacobian(family.name)(y, z, args))
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.svd(rows, compute_uv=False)
    return bool(np.all(np.isfinite(values)) and values[-1] > REGULAR * values[0])


_COMPILED: dict[str, Any] = {}


def _jacobian(name: str) -> Any:
    """Of all constraints by the velocities at a state; compiled once."""
    if name not in _COMPILED:
        system = next(family for family in FAMILIES if family.name == name).system

        def rows(y, z, args):
            t = jnp.asarray(0.0)
            velocity = (lambda z: z) if system.v is None else (lambda z: system.v(t, y, z, args))
            every = [jnp.zeros((0, z.size))]
            if system.g is not None:
                along = lambda z: jax.jvp(lambda y: system.g(t, y, args), (y,), (velocity(z),))[1]
                every.append(jax.jacfwd(along)(z).reshape(-1, z.size))
            if system.k is not None:
                every.append(jax.jacfwd(lambda z: system.k(t, y, z, args))(z).reshape(-1, z.size))
            return jnp.concatenate(every)

        _COMPILED[name] = jax.jit(rows)
    return _COMPILED[name]
