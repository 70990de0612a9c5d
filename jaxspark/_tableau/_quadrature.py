"""Gauss, Radau IIA and Lobatto nodes and weights on [0, 1], to full double precision.

All nodes are zeros of combinations of Legendre polynomials (Hairer & Wanner, *Solving
Ordinary Differential Equations II*, section IV.5):

- Gauss: `P_s(2c - 1)`,
- Radau IIA: `P_s(2c - 1) - P_{s-1}(2c - 1)`,
- Lobatto: `P_s(2c - 1) - P_{s-2}(2c - 1)`.

Weights integrate the Lagrange polynomials, which have degree `s - 1`, so that a Gauss
rule of the same size is exact for them. Everything is done in extended precision where
the platform has it and rounded once, at the end.
"""

import functools
from typing import TypeAlias

import numpy as np


Vector: TypeAlias = np.ndarray
Matrix: TypeAlias = np.ndarray


def _legendre(degree: int, x: Vector) -> tuple[Vector, Vector]:
    """Values and derivatives of the Legendre polynomial `P_degree` at `x`."""
    previous, value = np.ones_like(x), x.copy()
    d_previous, d_value = np.zeros_like(x), np.ones_like(x)
    if degree == 0:
        return previous, d_previous
    for n in range(1, degree):
        following = ((2 * n + 1) * x * value - n * previous) / (n + 1)
        d_following = d_previous + (2 * n + 1) * value
        previous, value = value, following
        d_previous, d_value = d_value, d_following
    return value, d_value


def _zeros(s: int, lower: int) -> Vector:
    """The zeros in [0, 1] of `P_s(2c - 1) - P_lower(2c - 1)`; `lower < 0` means `P_s`."""
    series = np.zeros(s + 1)
    series[s] = 1.0
    if lower >= 0:
        series[lower] = -1.0
    x = np.sort(np.polynomial.legendre.legroots(series).real).astype(np.longdouble)
    for _ in range(5):  # Newton: quadratic from 1e-14, so this is ample.
        value, slope = _legendre(s, x)
        if lower >= 0:
            value_lower, slope_lower = _legendre(lower, x)
            value, slope = value - value_lower, slope - slope_lower
        x = x - value / slope
    if lower < 0 or (s - lower) % 2 == 0:
        x = (x - x[::-1]) / 2  # exactly symmetric about the midpoint
    return (1 + x) / 2


@functools.cache
def gauss_nodes(s: int) -> Vector:
    """The `s` Gauss nodes on [0, 1], in extended precision."""
    return _zeros(s, -1)


@functools.cache
def radau_nodes(s: int) -> Vector:
    """The `s` Radau IIA nodes on [0, 1], the last of which is 1."""
    nodes = np.ones(1, np.longdouble) if s == 1 else _zeros(s, s - 1)
    nodes[-1] = 1
    return nodes


@functools.cache
def lobatto_nodes(s: int) -> Vector:
    """The `s >= 2` Lobatto nodes on [0, 1], which include 0 and 1."""
    if s < 2:
        raise ValueError(f"Lobatto quadrature needs at least 2 nodes; got {s}.")
    if s == 2:
        return np.array([0, 1], np.longdouble)
    nodes = _zeros(s, s - 2)
    nodes[0], nodes[-1] = 0, 1
    return nodes


def lagrange(nodes: Vector, x: Vector) -> Matrix:
    """The Lagrange polynomials on `nodes` at the points `x`.

    **Returns:** `l_j(x_i)`, of shape `(len(x), len(nodes))`.
    """
    values = np.ones((len(x), len(nodes)), np.longdouble)
    for j, node in enumerate(nodes):
        for other in np.delete(nodes, j):
            values[:, j] *= (x - other) / (node - other)
    return values


def integrate_lagrange(nodes: Vector, upper: Vector) -> Matrix:
    r"""`\int_0^{upper_i} l_j` for the Lagrange polynomials `l_j` on `nodes`.

    **Returns:** a matrix of shape `(len(upper), len(nodes))`.
    """
    points = gauss_nodes(len(nodes))
    # Gauss weights, Abramowitz & Stegun 25.4.29, on [0, 1].
    _, slope = _legendre(len(nodes), 2 * points - 1)
    weights = 1 / (4 * points * (1 - points) * slope**2)
    rows = [end * (weights @ lagrange(nodes, end * points)) for end in upper]
    return np.stack(rows)
