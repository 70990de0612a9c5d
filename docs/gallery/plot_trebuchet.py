"""
Trebuchet
=========

A falling weight swings a beam, whose sling throws a stone. At an event the sling opens: the
coordinate `hooked` goes from one to zero.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

LONG, SHORT, HANGER, SLING, GROUND = 4.0, 1.0, 0.8, 3.2, -3.0  # (m)


def lagrangian(t, q, v, args):  # weight 1000 kg, stone 10 kg, 50 kg at the tip
    energy = 25 * jnp.sum(v["tip"] ** 2) + 500 * jnp.sum(v["weight"] ** 2)
    energy += 5 * jnp.sum(v["stone"] ** 2) + 0.5 * v["hooked"] ** 2
    energy -= 9.81 * (50 * q["tip"][1] + 1000 * q["weight"][1] + 10 * q["stone"][1])
    stretch = jnp.maximum(jnp.linalg.norm(q["stone"] - q["tip"]) - SLING, 0.0)
    depth = jnp.maximum(GROUND - q["stone"][1], 0.0)
    hooked = jax.lax.stop_gradient(q["hooked"])  # no force acts on it
    return energy - 2e4 * hooked * stretch**2 - 2e4 * depth**2


def constraints(t, q, args):
    hanger = q["weight"] + SHORT / LONG * q["tip"]
    return jnp.stack([jnp.linalg.norm(q["tip"]) - LONG, jnp.linalg.norm(hanger) - HANGER])


def angle(t, q, v, args):  # between beam and sling; below zero once it is open
    tip, sling = q["tip"], q["stone"] - q["tip"]
    return tip[0] * sling[1] - tip[1] * sling[0] - 5.0 - 50.0 * (1.0 - q["hooked"])


opens = jaxspark.Event(
    angle, direction=False, reset=lambda t, q, v, args: (q | {"hooked": 0.0 * q["hooked"]}, v)
)
trebuchet = jaxspark.LagrangianSystem(lagrangian, holonomic=constraints)
tip = jnp.stack([-jnp.sqrt(LONG**2 - GROUND**2), jnp.asarray(GROUND)])
weight = -SHORT / LONG * tip - jnp.array([0.0, HANGER])
stone = tip + jnp.array([SLING, 0.0])
q0 = {"tip": tip, "weight": weight, "stone": stone, "hooked": jnp.array(1.0)}
v0 = jax.tree.map(jnp.zeros_like, q0)
times = jnp.linspace(0, 1.8, 361)
motion = jaxspark.solve(trebuchet, q0, v0, t1=1.8, events=opens, ts=times)


def shape(t, q):
    tip, stone = q["tip"], q["stone"]
    beam = jnp.stack([tip, -SHORT / LONG * tip, q["weight"]])
    sling = jnp.stack([tip, tip + q["hooked"] * (stone - tip)])
    return {"beam": beam, "sling": sling, "stone": stone[None], "stand": jnp.zeros((1, 2))}


limits = ((-6, 18), (-4, 14))
film = pictures.animate(motion, shape, trace="stone", seconds=5, limits=limits)
