"""Nothing outside one room reads JAX's insides, and nothing that is not understood there fails."""

import os
import pathlib
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.versions._accesses import found_outside, names_in, names_in_code, of_room, sources
from helpers import pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import _jax_internals as internals
from jaxspark._jax_internals import (
    _attach,
    _gathered,
    _linear_map,
    _mix,
    _once,
    _options,
    _primitive,
    _ruled,
    _understood,
)
from jaxspark._jax_internals._sparsity import _programs, _reader


pytestmark = pytest.mark.inside

ROOT = pathlib.Path(__file__).parent.parent
PAGE = internals.__doc__
OWN = [
    _attach.attach_p, _mix.mix_p, _once.once_p, _linear_map.linear_map_p, _ruled.ruled_p,
    _gathered.gathered_p,
]  # fmt: skip


def test_one_door():
    assert list(found_outside()) == []


@pytest.mark.parametrize(
    "code",
    [
        "import equinox as eqx; eqx.internal.while_loop",
        "import jax as j; j.extend.core",
        "from jax import interpreters as i; i.ad",
        "import importlib; importlib.import_module('jax.extend')",
        "import jax; jax._src.core",
    ],
)
def test_disguises_are_seen_through(code):
    names = list(names_in_code(code))
    assert any(of_room(name) or "._src" in name or "equinox.internal" in name for name in names)


def test_the_first_page_names_all_that_is_used():
    general = {"jax", "extend", "interpreters", "experimental", "core"}
    used = set()
    for path in sources("jaxspark/_jax_internals"):
        used |= {name for name in names_in(path) if of_room(name)}
    # By their own names, or by those of the modules that they are in.
    parts = {name: set(name.split(".")) - general for name in used}
    missing = {name for name, own in parts.items() if own and not any(x in PAGE for x in own)}
    assert not missing, missing


# What is not understood.


@pytest.fixture
def said(monkeypatch):
    """Nothing has been said yet."""
    monkeypatch.setattr(_understood, "_said", set())


def chain(y):
    """Points on a line of rods: the first at the origin."""
    ends = jnp.concatenate([jnp.zeros((1, 2)), y])
    return jnp.sum((ends[1:] - ends[:-1]) ** 2, 1) - 1.0


def hung(solver="auto"):
    """Where a chain of twelve points, found as blocks, is after two steps."""
    count = 12
    system = jaxspark.linear.with_blocks(
        jaxspark.LagrangianSystem(
            lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[:, 1]),
            holonomic=lambda t, q, args: chain(q),
        )
    )
    angles = 0.3 + 0.1 * np.arange(count)
    y0 = jnp.asarray(np.cumsum(np.stack([np.sin(angles), -np.cos(angles)], 1), 0))
    solution = jaxspark.rollout(
        system, y0, 0 * y0, method=jaxspark.Gauss(2), h=0.01, num_steps=2, linear_solver=solver
    )
    return np.asarray(solution.y1)


@pytest.fixture(scope="module")
def hung_before():
    return hung()


def renamed(eqn):
    name = eqn.primitive.name
    return "multiply" if name == "mul" else name


def without_axes(eqn):
    return {name: value for name, value in eqn.params.items() if name != "start_indices"}


def raises(*_):
    raise RuntimeError("as if JAX had changed")


@pytest.mark.parametrize(
    "where, what, words",
    [
        ((_reader, "name_of"), renamed, "no rule for the primitive 'multiply'"),
        ((_reader, "parameters_of"), without_axes, "'slice' of JAX failed with KeyError"),
        ((_reader.Reader, "run"), raises, "RuntimeError: as if JAX had changed"),
        ((_reader, "taken_apart"), lambda program: (object(), ()), "AttributeError"),
        ((_programs, "Literal"), None, "ImportError"),
    ],
    ids=["primitive", "parameter", "interpreter", "structure", "module"],
)
@pytest.mark.parametrize("solver", ["auto", jaxspark.linear.RangeSpace()], ids=["auto", "blocks"])
def test_programs_that_are_not_understood(
    monkeypatch, said, hung_before, where, what, words, solver
):
    monkeypatch.setattr(*where, what)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = hung(solver)
    ours = [w for w in caught if issubclass(w.category, jaxspark.JaxInternalsWarning)]
    assert any(words in str(w.message) for w in ours)
    # Each thing once, with the versions and what it costs.
    texts = [str(w.message) for w in ours]
    assert len(texts) == len(set(texts))
    assert all(f"jax {jax.__version__}" in text and "Jacobians" in text for text in texts)
    np.testing.assert_allclose(found, hung_before, rtol=1e-12, atol=1e-13)


def start(length):
    """A pendulum of some length (m): state and parameters."""
    y0, z0 = pendulum_start()
    scale = length / PENDULUM_ARGS["l"]
    return scale * y0, scale * z0, {**PENDULUM_ARGS, "l": length}


def after_steps(method, length):
    """A number of what some steps of equal size have made of it."""
    options = {"h": 0.05, "num_steps": 4, "throw": False}
    solution = jaxspark.rollout(pendulum(), *start(length), method=method, **options)
    return solution.y1[1] + jnp.sum(solution.zs**2)


def rattle(length):
    """By a composition of RATTLE."""
    return after_steps(jaxspark.Composition(jaxspark.Lobatto(2), 4), length)


def gauss(length):
    """By a Gauss method, whose products with tableaus are written out."""
    return after_steps(jaxspark.Gauss(2), length)


def adaptive(length):
    """By steps of any size, whose reverse mode has loops of its own."""
    options = {"t1": 0.2, "rtol": 1e-6, "atol": 1e-6, "max_steps": 32, "throw": False}
    solution = jaxspark.solve(pendulum(), *start(length), method=jaxspark.Gauss(2), **options)
    return solution.y1[1] + jnp.sum(solution.z1**2)


def derivatives(function, x):
    """Value, first and second derivatives, forward over reverse, of a batch too."""
    each = [function, jax.grad(function), jax.jacfwd(jax.grad(function))]
    values = [jax.jit(f)(x) for f in each]
    return [*map(float, values), *np.asarray(jax.jit(jax.vmap(each[1]))(jnp.array([x, 1.1 * x])))]


@pytest.mark.parametrize(
    "function, rtol, names",
    [
        (rattle, 1e-11, {"attach_derivative"}),
        (gauss, 1e-11, {"attach_derivative", "mix["}),
        (adaptive, 1e-9, {"ruled", "linear_map"}),
    ],
    ids=["rattle", "gauss", "adaptive"],
)
def test_the_switch(function, rtol, names):
    inside = derivatives(function, 0.8)
    program = str(jax.make_jaxpr(jax.grad(function))(0.8))
    assert {name for name in names if name in program} == names
    # What was traced stays as it was traced.
    jax.clear_caches()
    with jaxspark.jax_internals(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not internals.allowed()
        program = str(jax.make_jaxpr(jax.grad(function))(0.8))
        assert not [name for name in names if name in program]
        plain = derivatives(function, 0.8)
    assert internals.allowed()
    jax.clear_caches()
    np.testing.assert_allclose(plain, inside, rtol=rtol)


def test_the_switch_as_a_context_of_its_own():
    off = jaxspark.jax_internals(False)
    for _ in range(2):
        with off:
            assert not internals.allowed()
        assert internals.allowed()


@pytest.mark.parametrize("value, allowed", [("", True), ("0", True), ("1", False), ("yes", False)])
def test_the_variable(value, allowed):
    program = "from jaxspark._jax_internals import allowed; print(allowed())"
    environment = {**os.environ, "JAXSPARK_PLAIN": value, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(allowed)


def test_the_switch_takes_booleans():
    with pytest.raises(TypeError, match="True or False|Type-check error"):
        jaxspark.jax_internals("no")


@pytest.mark.parametrize("primitive", OWN, ids=lambda p: p.name)
def test_trials_pass(primitive):
    # They run where JAX is newer than what was tested.
    assert primitive._trial()


@pytest.mark.parametrize("primitive", OWN, ids=lambda p: p.name)
def test_a_primitive_whose_trial_fails(monkeypatch, said, primitive):
    monkeypatch.setattr(_primitive, "TESTED", (0, 0))
    for fails in (raises, lambda: False):
        monkeypatch.setattr(_understood, "_said", set())
        monkeypatch.setattr(primitive, "_error", None)
        monkeypatch.setattr(primitive, "_trial", fails)
        with pytest.warns(jaxspark.JaxInternalsWarning, match=primitive.name):
            assert not primitive.usable()
        # It is said once, and not tried again.
        assert not primitive.usable()


def test_a_primitive_that_cannot_be_made(said):
    broken = _primitive.OwnPrimitive("broken", raises, lambda: True, "It costs something.")
    with pytest.warns(jaxspark.JaxInternalsWarning, match="as if JAX had changed.*It costs"):
        assert not broken.usable()


def test_a_primitive_that_works_is_tried_once(monkeypatch):
    calls = []
    good = _primitive.OwnPrimitive("good", lambda _: None, lambda: calls.append(1) or True, "")
    monkeypatch.setattr(_primitive, "TESTED", (0, 0))
    assert good.usable() and good.usable() and calls == [1]


def test_rules_that_lack_something(monkeypatch, said):
    monkeypatch.delattr(_primitive.ad, "instantiate_zeros")
    primitive = _primitive.OwnPrimitive("lame", lambda _: None, lambda: True, "It costs something.")
    with pytest.warns(jaxspark.JaxInternalsWarning, match="instantiate_zeros"):
        assert not primitive.usable()


def test_the_cost_is_that_of_who_asks(monkeypatch, said):
    monkeypatch.setattr(_reader, "name_of", renamed)
    with pytest.warns(jaxspark.JaxInternalsWarning, match="Steps take twice as long"):
        cost = "Steps take twice as long."
        assert internals.depends_on(lambda x: 2.0 * x, 1.0, which=(0,), cost=cost)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.arctan2(x, x), lambda x: jnp.sort(x),
        lambda x: jnp.linalg.inv(jnp.outer(x, x)),
        lambda x: jnp.interp(x, x, x), lambda x: jnp.linalg.eigh(jnp.outer(x, x))[1],
        lambda x: jnp.cumsum(x)[jnp.argmax(x)] * x, lambda x: jnp.linalg.norm(x) + jnp.hypot(x, x),
        lambda x: jax.random.normal(jax.random.key(0), x.shape) * x, lambda x: jnp.fft.rfft(x).real,
        lambda x: jax.scipy.special.gammaln(x), lambda x: jnp.linalg.qr(jnp.outer(x, x))[0],
        lambda x: jnp.linalg.slogdet(jnp.outer(x, x))[1], lambda x: jnp.convolve(x, x),
        lambda x: jnp.sinc(x) + jnp.mod(x, 2.0) + jnp.round(x) + jnp.heaviside(x, 0.5),
    ],
)  # fmt: skip
def test_what_users_write_is_known(said, function):
    # A warning would be an error.
    assert internals.depends_on(function, jnp.arange(1.0, 4.0), which=(0,))
    internals.jacobian_pattern(function, jnp.arange(1.0, 4.0))


def test_compile_options_that_are_refused():
    options = {"xla_backend_optimization_level": 1, "xla_of_no_release": True}
    assert _options.accepted(options) == {"xla_backend_optimization_level": 1}
    with jaxspark.jax_internals(False):
        assert _options.accepted(options) == {}


def test_programs_that_cannot_be_taken_apart(monkeypatch, said):
    monkeypatch.setattr("jax.extend.core.jaxpr_as_fun", raises)
    lengths = jnp.linspace(0.7, 0.9, 3)
    split = jaxspark.batch.over_devices(gauss)
    with pytest.warns(jaxspark.JaxInternalsWarning, match="several devices"):
        found = split(lengths)
    np.testing.assert_allclose(found, [float(gauss(x)) for x in lengths], rtol=1e-12)


@pytest.mark.parametrize(
    "platforms, wanted",
    [(("cpu",), [True]), (("tpu",), [False]), (("cpu", "tpu"), [False, True])],
)
def test_only_what_the_platform_runs_is_traced(platforms, wanted):
    seen = []

    def lanes(function):
        def call(x):
            seen.append(internals.on_cpu())
            return jax.vmap(function)(x)

        return call

    def double(x):
        rule = lambda x, change, _: None if change is None else 2 * change
        return internals.ruled(lambda x: 2 * x, rule, x, lanes)

    jax.jit(jax.vmap(double)).trace(jnp.ones(3)).lower(lowering_platforms=platforms)
    assert sorted(seen) == wanted and internals.on_cpu() is None
