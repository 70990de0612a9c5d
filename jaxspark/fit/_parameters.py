"""What users write for parameters: numbers, bounds, bodies, networks."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._forms import ArrayForm, PlanarForm, RigidForm, tree_form
from ._inertia import LogCholesky, LogPlanar, PlanarBody, RigidBody, UPPER
from ._inertia_check import checked_body
from ._parameter import Parameter
from ._prior import AbstractPrior, prior_on, PriorOn
from ._start import bound_like, checked_unit, finite, positive_scale
from ._transforms import Above, AbstractTransform, Below, Bounded, Identity, Numbers, Positive


def real(
    start: Numbers,
    unit: str = "",
    *,
    scale: Numbers | None = None,
    prior: AbstractPrior | None = None,
    per_trial: bool = False,
) -> Parameter:
    """A number or an array without bounds.

    **Arguments:**

    - `start`: where the search starts, in the unit; of any shape.
    - `unit`: for reports.
    - `scale`: size of a typical value, one for all entries or one each. A coordinate is the
        value divided by this or by the size of the start value, whichever is larger. Default: the
        size of the start value; where that is zero the largest of the array, or 1.
    - `prior`: a [`jaxspark.fit.Normal`][], what is known beforehand. Default: nothing.
    - `per_trial`: whether each trial (record) has its own.

    **Returns:** a [`jaxspark.fit.Parameter`][].

    **Raises:** `ValueError` for a start that is not finite, or a wrong scale or prior; `TypeError`
    for what is not a prior.
    """
    what = "fit.real"
    x = finite(what, start)
    size = np.abs(x)
    if scale is None:
        size = np.where(size > 0, size, size.max() or 1.0)
    else:
        size = np.maximum(size, positive_scale(what, scale, x))
    transform = Identity(size.ravel())
    return _array(what, x, unit, transform, prior, per_trial)


def positive(
    start: Numbers,
    unit: str = "",
    *,
    prior: AbstractPrior | None = None,
    per_trial: bool = False,
) -> Parameter:
    """A positive number, or an array of such; its logarithm is estimated.

    **Arguments:** as for [`jaxspark.fit.real`][], without `scale`; `prior` may be a
    [`jaxspark.fit.LogNormal`][].

    **Returns:** a [`jaxspark.fit.Parameter`][].

    **Raises:** `ValueError` for a start that is not positive, or a wrong prior.
    """
    what = "fit.positive"
    x = finite(what, start)
    if (x <= 0).any():
        raise ValueError(
            f"{what}: the start value is {x.tolist()}; it must be above 0. Use fit.real for a "
            "number of either sign, or fit.bounded."
        )
    return _array(what, x, unit, Positive(x.ravel()), prior, per_trial)


def bounded(
    start: Numbers,
    lower: Numbers = -np.inf,
    upper: Numbers = np.inf,
    unit: str = "",
    *,
    prior: AbstractPrior | None = None,
    per_trial: bool = False,
) -> Parameter:
    """A number between bounds, or an array of such.

    **Arguments:** as for [`jaxspark.fit.real`][], without `scale`, and

    - `lower`, `upper`: the bounds, one for all entries or one each. Leave one out, or give
        infinity, for a number with one bound only.

    **Returns:** a [`jaxspark.fit.Parameter`][].

    **Raises:** `ValueError` for a start on a bound or outside, for bounds of which the lower is
    not below the upper, or which are finite for some entries only, or a wrong prior.
    """
    what = "fit.bounded"
    x = finite(what, start)
    low, high = (bound_like(what, name, b, x) for name, b in (("lower", lower), ("upper", upper)))
    if not (low < high).all():
        raise ValueError(
            f"{what}: the lower bound {low.tolist()} is not below the upper {high.tolist()}."
        )
    if not ((low < x) & (x < high)).all():
        raise ValueError(
            f"{what}: the start value {x.tolist()} is on or outside the bounds {low.tolist()} and "
            f"{high.tolist()}. It must be inside, since a bound itself is never reached."
        )
    has_low, has_high = bool(np.isfinite(low).any()), bool(np.isfinite(high).any())
    x_, low_, high_ = x.ravel(), low.ravel(), high.ravel()
    match has_low, has_high:
        case True, True:
            transform = Bounded(low_, high_)
        case True, False:
            transform = Above(low_, x_ - low_)
        case False, True:
            transform = Below(high_, high_ - x_)
        case _:
            return real(start, unit, prior=prior, per_trial=per_trial)
    return _array(what, x, unit, transform, prior, per_trial)


def fixed(value: Numbers | RigidBody | PlanarBody, unit: str = "") -> Parameter:
    """A number, array or body that is held, and listed in reports.

    **Arguments:**

    - `value`: the number, array, [`jaxspark.fit.RigidBody`][] or [`jaxspark.fit.PlanarBody`][];
        it becomes floating-point numbers.
    - `unit`: for reports; bodies have their own.

    **Returns:** a [`jaxspark.fit.Parameter`][].

    **Raises:** `ValueError` for a value that is not finite.
    """
    what = "fit.fixed"
    if isinstance(value, RigidBody | PlanarBody):
        form = RigidForm() if isinstance(value, RigidBody) else PlanarForm()
        x = finite(what, np.asarray(form.unpack(value)))
    else:
        x = finite(what, value)
        form = ArrayForm(x.shape, checked_unit(what, unit))
    return Parameter(x.ravel(), form, Identity(np.ones(x.size)), held=True)


def rigid_body(
    mass: Numbers,
    centre: Numbers,
    inertia: Numbers,
    *,
    prior: Mapping[str, Any] | None = None,
    per_trial: bool = False,
) -> Parameter:
    """Inertia of a body in space, physically consistent throughout.

    Ten coordinates without bounds stand for mass, centre and inertia: the entries of a triangular
    factor of the pseudo-inertia, those on its diagonal by their logarithms. So every vector of
    coordinates is a body. Functions of the system get a [`jaxspark.fit.RigidBody`][].

    **Arguments:**

    - `mass`: the mass where the search starts (kg).
    - `centre`: the centre of mass there, in the frame of the body (m), shape `(3,)`.
    - `inertia`: the inertia matrix there, about the centre of mass (kg m^2), shape `(3, 3)`.
    - `prior`: priors of `"mass"`, `"centre"` or `"inertia"`, for instance
        `{"mass": fit.Normal(1.2, 0.01)}`.
    - `per_trial`: whether each trial (record) has its own.

    **Returns:** a [`jaxspark.fit.Parameter`][].

    **Raises:** `ValueError` for a start that no body with a volume has, or a wrong prior.

    Source: C. Rucker & P. M. Wensing, *Smooth parameterization of rigid-body inertia*, IEEE
    Robotics and Automation Letters 7 (2022).
    """
    what = "fit.rigid_body"
    m, c, i = checked_body(what, mass, centre, inertia, 3)
    length = np.sqrt(np.trace(i) / (2 * m))
    transform = LogCholesky(m, length, max(length, np.linalg.norm(c)))
    start = np.concatenate([[m], c, i[UPPER]])
    parts = {"mass": ((), (0, 1)), "centre": ((3,), (1, 4)), "inertia": ((3, 3), (4, 10))}
    priors = _body_priors(what, prior, parts, start, transform)
    return Parameter(start, RigidForm(), transform, priors, per_trial)


def planar_body(
    mass: Numbers,
    centre: Numbers,
    inertia: Numbers,
    *,
    prior: Mapping[str, Any] | None = None,
    per_trial: bool = False,
) -> Parameter:
    """Inertia of a body that moves in a plane, physically consistent throughout.

    Four coordinates without bounds stand for mass, centre and inertia: the logarithms of the mass
    and of the radius of gyration, and the centre. Functions of the system get a
    [`jaxspark.fit.PlanarBody`][].

    **Arguments:** as for [`jaxspark.fit.rigid_body`][], with `centre` of shape `(2,)` and one
    number for `inertia`.

    **Returns:** a [`jaxspark.fit.Parameter`][].

    **Raises:** `ValueError` for a start that no body has, or a wrong prior.
    """
    what = "fit.planar_body"
    m, c, i = checked_body(what, mass, centre, inertia, 2)
    length = np.sqrt(i / m)
    transform = LogPlanar(m, length, max(length, np.linalg.norm(c)))
    start = np.concatenate([[m], c, [i]])
    parts = {"mass": ((), (0, 1)), "centre": ((2,), (1, 3)), "inertia": ((), (3, 4))}
    priors = _body_priors(what, prior, parts, start, transform)
    return Parameter(start, PlanarForm(), transform, priors, per_trial)


def free(
    tree: Any,
    unit: str = "",
    *,
    scale: float = 1.0,
    prior: AbstractPrior | None = None,
    per_trial: bool = False,
) -> Parameter:
    """A whole PyTree, for instance a neural network, of which every array is estimated.

    Arrays are those of floating-point numbers (which `equinox.filter_grad` would differentiate);
    Python numbers, integers and functions in the tree stay as they are.

    **Arguments:**

    - `tree`: the PyTree with its start values.
    - `scale`: size of a typical value: a coordinate is the value divided by it.
    - `prior`: one [`jaxspark.fit.Normal`][] for all entries, for instance `fit.Normal(0, 1)`.
    - `unit`, `per_trial`: as for [`jaxspark.fit.real`][].

    **Returns:** a [`jaxspark.fit.Parameter`][].

    **Raises:** `ValueError` if there is no such array, if one is not finite, or for a wrong scale
    or prior; `TypeError` if there are specifications in the tree.
    """
    what = "fit.free"
    leaves = jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, Parameter))
    if any(isinstance(leaf, Parameter) for leaf in leaves):
        raise TypeError(
            f"{what}: the tree holds specifications itself. Leave out fit.free: parameters may be "
            "nested as they are."
        )
    form = tree_form(tree, checked_unit(what, unit), what)
    x = finite(what, np.asarray(form.unpack(tree)))
    typical = positive_scale(what, scale, np.zeros(()))
    transform = Identity(np.full(x.size, typical))
    priors = ()
    if prior is not None:
        lower = np.full(x.size, -np.inf)
        on = prior_on(prior, (), (0, x.size), lower, what)
        wide = jax.tree.map(lambda number: np.broadcast_to(number, x.shape).copy(), on.prior)
        priors = (PriorOn(wide, (0, x.size)),)
    return Parameter(x, form, transform, priors, per_trial)


def _array(
    what: str,
    x: np.ndarray,
    unit: str,
    transform: AbstractTransform,
    prior: AbstractPrior | None,
    per_trial: bool,
) -> Parameter:
    lower = np.asarray(transform.bounds(jnp.asarray(x.ravel()))[0])
    priors = () if prior is None else (prior_on(prior, x.shape, (0, x.size), lower, what),)
    form = ArrayForm(x.shape, checked_unit(what, unit))
    return Parameter(x.ravel(), form, transform, priors, per_trial)


def _body_priors(
    what: str,
    prior: Mapping[str, Any] | None,
    parts: dict[str, tuple[tuple[int, ...], tuple[int, int]]],
    start: np.ndarray,
    transform: AbstractTransform,
) -> tuple[PriorOn, ...]:
    """Priors of parts of a body, in the order of its values."""
    if prior is None:
        return ()
    if not isinstance(prior, Mapping) or not set(prior) <= set(parts):
        raise ValueError(
            f'{what}: the prior of a body is a dictionary of priors of "mass", "centre" or '
            f'"inertia", for instance {{"mass": fit.Normal(1.2, 0.01)}}; given is {prior!r}.'
        )
    lower = np.asarray(transform.bounds(jnp.asarray(start))[0])
    return tuple(
        prior_on(
            prior[name], shape, where, lower, f"{what}, {name}",
            UPPER if shape == (3, 3) else None,
        )
        for name, (shape, where) in parts.items()
        if name in prior
    )  # fmt: skip
