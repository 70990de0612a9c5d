"""Errors that name the culprit: the function, the argument, the state."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import unit_mass
from jaxspark import ConstrainedSystem, Gauss, LagrangianSystem, MechanicalSystem


Y, Z = np.array([0.3, -0.4]), np.array([0.4, 0.3])


def forces(t, y, z, args):
    return -y


def line(t, y, args):
    return y[:1] * 4 + y[1:] * 3


def moving(t, y, z, args):
    return z[:1]


def wrong_shape(*args):
    return jnp.zeros(3)


def one_entry(*args):
    """Would be broadcast, silently, if shapes were not checked."""
    return jnp.ones(1)


def integers(t, *args):
    return jnp.zeros(2, int)


def single(t, *args):
    return jnp.zeros(2, jnp.float32)


def structured(t, *args):
    return {"a": jnp.zeros(2)}


def fails(*args):
    raise KeyError("stiffness")


def energy(t, q, v, args):
    return 0.5 * jnp.sum(v**2)


def no_force(t, q, v, args):
    return jnp.zeros_like(q)


def attempt(system, y=Y, z=Z):
    return jax.eval_shape(lambda y, z: jaxspark.step(system, Gauss(1), 0.0, y, z, 0.1)[0], y, z)


def words(error):
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


GENERAL = [
    (ConstrainedSystem(wrong_shape), "f (forces) must return"),
    (ConstrainedSystem(one_entry), "f (forces) must return"),
    (ConstrainedSystem(structured), "f (forces) must return"),
    (ConstrainedSystem(integers), "f (forces) returns dtype int64"),
    (ConstrainedSystem(single), "f (forces) returns dtype float32"),
    (ConstrainedSystem(fails), "the function f (forces)"),
    (ConstrainedSystem(forces, v=wrong_shape), "v must return"),
    (ConstrainedSystem(forces, v=one_entry), "v must return"),
    (ConstrainedSystem(forces, v=integers), "v returns dtype int64"),
    (ConstrainedSystem(forces, v=fails), "the function v"),
    (ConstrainedSystem(forces, p=wrong_shape), "p (momentum) must return"),
    (ConstrainedSystem(forces, p=one_entry), "p (momentum) must return"),
    (ConstrainedSystem(forces, p=single), "p (momentum) returns dtype float32"),
    (ConstrainedSystem(forces, p=fails), "the function p (momentum)"),
    (ConstrainedSystem(forces, g=line, r=wrong_shape), "r must return"),
    (ConstrainedSystem(forces, g=line, r=one_entry), "r must return"),
    (ConstrainedSystem(forces, g=line, r=integers), "r returns dtype int64"),
    (ConstrainedSystem(forces, g=line, r=fails), "the function r"),
    (ConstrainedSystem(forces, k=moving, reaction=wrong_shape), "reaction must return"),
    (ConstrainedSystem(forces, k=moving, reaction=one_entry), "reaction must return"),
    (ConstrainedSystem(forces, k=moving, reaction=single), "reaction returns dtype float32"),
    (ConstrainedSystem(forces, k=moving, reaction=fails), "the function reaction"),
    (ConstrainedSystem(forces, g=integers), "g (holonomic) returns dtype int64"),
    (ConstrainedSystem(forces, g=single), "g (holonomic) returns dtype float32"),
    (ConstrainedSystem(forces, g=fails), "the function g (holonomic)"),
    (ConstrainedSystem(forces, k=integers), "k (nonholonomic) returns dtype int64"),
    (ConstrainedSystem(forces, k=single), "k (nonholonomic) returns dtype float32"),
    (ConstrainedSystem(forces, k=fails), "the function k (nonholonomic)"),
    (MechanicalSystem(lambda t, q, args: jnp.eye(3), no_force), "mass must return"),
    (MechanicalSystem(lambda t, q, args: jnp.ones(2), no_force), "mass must return"),
    (
        MechanicalSystem(lambda t, q, args: jnp.eye(2, dtype=int), no_force),
        "mass returns dtype int64",
    ),
    (MechanicalSystem(lambda t, q, args: None, no_force), "mass"),
    (LagrangianSystem(lambda t, q, v, args: v), "lagrangian"),
]


@pytest.mark.parametrize("system, expected", GENERAL)
def test_the_error_names_the_function(system, expected):
    with pytest.raises((TypeError, ValueError, KeyError)) as caught:
        attempt(system)
    assert expected in words(caught.value)


def nonideal(function):
    edge = lambda t, q, v, args: v[1:]
    wrapped = lambda t, q, v, psi, args: function(t, q, v, args)
    return LagrangianSystem(energy, nonholonomic=edge, nonideal=wrapped)


def nonideal_mechanical(function):
    edge = lambda t, q, v, args: v[1:]
    wrapped = lambda t, q, v, psi, args: function(t, q, v, args)
    return MechanicalSystem(unit_mass, no_force, nonholonomic=edge, nonideal=wrapped)


@pytest.mark.parametrize("promotion", ["raise", "allow"])
@pytest.mark.parametrize("function", [wrong_shape, one_entry, integers, single])
@pytest.mark.parametrize(
    "name, build",
    [
        ("force", lambda function: MechanicalSystem(unit_mass, function)),
        ("force", lambda function: LagrangianSystem(energy, force=function)),
        ("nonideal", nonideal),
        ("nonideal", nonideal_mechanical),
    ],
)
def test_the_error_names_the_force(name, build, function, promotion):
    """Whatever JAX is told about promotion: it must not hide the mistake."""
    dtypes = "strict" if promotion == "raise" else "standard"
    with jax.numpy_rank_promotion(promotion), jax.numpy_dtype_promotion(dtypes):
        with pytest.raises((TypeError, ValueError)) as caught:
            attempt(build(function))
    assert name in words(caught.value).replace("f (forces)", "").replace("forces", "")


@pytest.mark.parametrize(
    "build, name",
    [
        (lambda: ConstrainedSystem(1.0), "f"),
        (lambda: ConstrainedSystem(None), "f"),
        (lambda: ConstrainedSystem(forces, v=1.0), "v"),
        (lambda: ConstrainedSystem(forces, p=np.eye(2)), "p"),
        (lambda: ConstrainedSystem(forces, g=line, r=2), "r"),
        (lambda: ConstrainedSystem(forces, g=0.0), "g"),
        (lambda: ConstrainedSystem(forces, k="k"), "k"),
        (lambda: MechanicalSystem(np.eye(2), no_force), "mass"),
        (lambda: MechanicalSystem(unit_mass, None), "force"),
        (lambda: MechanicalSystem(unit_mass, no_force, holonomic=1), "holonomic"),
        (lambda: MechanicalSystem(unit_mass, no_force, nonholonomic=1), "nonholonomic"),
        (lambda: LagrangianSystem(0.0), "lagrangian"),
        (lambda: LagrangianSystem(energy, holonomic=0.0), "holonomic"),
        (lambda: LagrangianSystem(energy, nonholonomic=0.0), "nonholonomic"),
        (lambda: LagrangianSystem(energy, force=np.zeros(2)), "force"),
        (lambda: LagrangianSystem(energy, nonholonomic=fails, nonideal=0.0), "nonideal"),
        (lambda: ConstrainedSystem(forces, k=fails, reaction=0.0), "reaction"),
        (
            lambda: MechanicalSystem(unit_mass, no_force, nonholonomic=fails, nonideal=0.0),
            "nonideal",
        ),
    ],
)
def test_arguments_that_are_no_functions(build, name):
    with pytest.raises(TypeError, match=rf"\b{name}\b"):
        build()


def test_functions_that_lack_their_constraint():
    with pytest.raises(ValueError, match="no holonomic constraint g"):
        ConstrainedSystem(forces, r=forces)
    with pytest.raises(ValueError, match="no nonholonomic constraint k"):
        ConstrainedSystem(forces, reaction=forces)
    with pytest.raises(ValueError, match="nonideal"):
        LagrangianSystem(energy, nonideal=forces)
    with pytest.raises(ValueError, match="nonideal"):
        MechanicalSystem(unit_mass, no_force, nonideal=forces)


@pytest.mark.parametrize(
    "y, z, error, message",
    [
        (np.array([0, 1]), Z, TypeError, "y0 has dtype int"),
        (Y, np.array([0, 1]), TypeError, "z0 has dtype int"),
        (Y, Z + 0j, TypeError, "z0 has dtype complex"),
        ((Y, np.float32(Y)), (Z, Z), TypeError, "y0 mixes the dtypes float32, float64"),
        (Y, np.float32(Z), TypeError, "y has dtype float64, but z has dtype float32"),
        (Y, np.zeros(3), ValueError, r"y has 2 entries and z has 3; .* v\(t, y, z, args\)"),
        ({}, Z, ValueError, "y0 has no array"),
    ],
)
def test_wrong_states(y, z, error, message):
    system = ConstrainedSystem(lambda t, y, z, args: z)
    with pytest.raises(error, match=message):
        jaxspark.rollout(system, y, z, method=Gauss(1), h=0.1, num_steps=1)
    with pytest.raises(error, match=message.replace("y0", "y0?").replace("z0", "z0?")):
        jaxspark.diagnostics.constraint_residuals(system, 0.0, y, z)
