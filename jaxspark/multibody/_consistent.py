"""Parameters of bodies with given base parameters, as near as bodies can come to these.

Source: P. M. Wensing, S. Kim & J.-J. E. Slotine, *Linear matrix inequalities for physically
consistent inertial parameter identification* (2018), on what is consistent; C. Rucker & P. M.
Wensing, *Smooth parameterization of rigid-body inertia* (2022), for the coordinates.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import fit
from ..fit._inertia import LogCholesky, UPPER
from ._bodies import entry


# Coordinates stay as they were within some of these, where torques do not tell them.
PRIOR, MOST, LAST, HALVINGS = 3.0, 60, 1e-9, 12
# What is added to moments of inertia, of their sum.
THICK = 1e-4


def consistent(found: Any) -> dict[str, Any]:
    """The parameters; see [`jaxspark.multibody.Identification`][]."""
    bodies = _bodies(found)
    joints = [what for what in ("armature", "damping") if _has(found, what)]
    count, nz = len(found.base.chosen), found.mechanism.tree.nz
    steps = _sizes(found, joints, nz)
    told = found.search.told
    root = (told.singular_values[: told.rank, None] * told.right_vectors[: told.rank]) * told.scale
    # Offsets of sensors are as they were found.
    root, target = jnp.asarray(root[:, :count]), jnp.asarray(found.vector[:count])

    def filled(x):
        args = _copy(found.given)
        for k, (name, transform, _) in enumerate(bodies):
            values = transform.forward(x[10 * k : 10 * k + 10])
            upper = jnp.zeros((3, 3), x.dtype).at[UPPER].set(values[4:])
            args["bodies"][name] = {
                "mass": values[0], "com": values[1:4], "inertia": upper + jnp.triu(upper, 1).T
            }  # fmt: skip
        for k, what in enumerate(joints):
            at = 10 * len(bodies) + k * nz
            change = x[at : at + nz] * jnp.asarray(steps[k])
            for name, (_, where) in found.mechanism._at.items():
                own = args["joints"][name]
                own[what] = jnp.asarray(own[what]) + change[where]
        return args

    start = np.concatenate([np.concatenate([x for _, _, x in bodies] or [np.zeros(0)]),
                            np.zeros(len(joints) * nz)])  # fmt: skip

    @jax.jit
    def residuals(x):
        return jnp.concatenate([root @ (found.base.of(filled(x)) - target), (x - start) / PRIOR])

    return filled(jnp.asarray(_least(residuals, start)))


def _least(residuals: Any, x: np.ndarray) -> np.ndarray:
    """Levenberg and Marquardt's iteration."""
    slope, damping = jax.jit(jax.jacfwd(residuals)), 1e-3
    r = np.asarray(residuals(jnp.asarray(x)))
    for _ in range(MOST):
        J = np.asarray(slope(jnp.asarray(x)))
        size = np.sum(J**2, axis=0)
        for _ in range(HALVINGS):
            left = np.concatenate([J, np.diag(np.sqrt(damping * size))])
            step = np.linalg.lstsq(left, np.concatenate([-r, np.zeros(len(x))]), rcond=None)[0]
            new = np.asarray(residuals(jnp.asarray(x + step)))
            if np.sum(new**2) <= np.sum(r**2):
                break
            damping *= 10
        else:
            return x
        better = np.sum(r**2) - np.sum(new**2)
        x, r, damping = x + step, new, damping / 10
        if better <= LAST * (1 + np.sum(r**2)):
            return x
    return x


def _bodies(found: Any) -> list[tuple[str, LogCholesky, np.ndarray]]:
    """Of each body its name, and its ten coordinates as they are given."""
    out = []
    known = dict.fromkeys(name.rpartition(".")[0] for name in found.base.names)
    for name in known:
        if name not in found.given["bodies"]:
            continue
        own = found.given["bodies"][name]
        mass, com, inertia = (np.asarray(entry(own, x)) for x in ("mass", "com", "inertia"))
        # A lamina is no body with a volume, but near one.
        thicker = THICK * max(float(np.trace(inertia)), THICK * float(mass))
        made = fit.rigid_body(mass, com, inertia + thicker * np.eye(3))
        start = np.asarray(made.transform.inverse(jnp.asarray(made.start)))
        out.append((name, made.transform, start))
    return out


def _has(found: Any, what: str) -> bool:
    return any(name.endswith(f".{what}") for name in found.base.names)


def _sizes(found: Any, joints: list[str], nz: int) -> np.ndarray:
    """Of changes in joints: as large as what was found."""
    values, sizes = found.values, np.ones((len(joints), nz))
    for k, what in enumerate(joints):
        own = [abs(x) for name, x in values.items() if name.endswith(f".{what}")]
        sizes[k] = max(own, default=1.0) or 1.0
    return sizes


def _copy(tree: Any) -> Any:
    return {k: _copy(v) for k, v in tree.items()} if isinstance(tree, dict) else tree
