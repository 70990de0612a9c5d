"""Arms that swing: what each law of friction leaves, on pieces that were fitted and left out."""

import pathlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxspark import fit

from .._figures import at_most, Figure, note
from ._arms import model, NAMES, PUBLISHED, read


# Pieces that are not fitted.
LEFT_OUT = {1: (), 2: (6, 14, 22), 3: (6, 14)}
# Root mean squares (rad): fitted pieces of the single arm, pieces left out of the others.
VISCOUS = {1: (0.0049,), 2: (0.0029, 0.0046), 3: (0.0019, 0.0015, 0.0028)}
COULOMB = {1: (0.0013,), 2: (0.0005, 0.0007), 3: (0.00025, 0.0003, 0.00025)}
LEAVE_ONE_OUT = 0.0047
ITERATIONS = {1: 15, 2: 25, 3: 20}
# Of all published numbers, how many combinations the records tell.
TOLD = {2: 6, 3: 10}
FULL = {2: 10, 3: 15}
SECONDS = 60


def geometry(links: int) -> dict[str, Any]:
    """Free numbers that are told while the rest is held: by dynamics alone, in units of a mass."""
    numbers = PUBLISHED[links]
    free = {f"a{i + 1}": fit.positive(a, "m") for i, a in enumerate(numbers["a"])}
    free |= {f"L{i + 1}": fit.positive(x, "m") for i, x in enumerate(numbers["L"])}
    free |= {f"I{i + 1}": fit.positive(x, "kg m2") for i, x in enumerate(numbers["I"]) if 0 < i < 2}
    return free | {f"m{i + 1}": fit.positive(m, "kg") for i, m in enumerate(numbers["m"]) if i > 1}


def viscous(links: int) -> dict[str, Any]:
    """Friction of joints by their rates."""
    numbers = PUBLISHED[links]["k"]
    return {f"k{i + 1}": fit.real(k, "N m s", scale=1e-4) for i, k in enumerate(numbers)}


def coulomb_and_drag(links: int) -> dict[str, Any]:
    """Dry friction of joints and drag of links, zeros of angles and lags of rates."""
    found: dict[str, Any] = {}
    for i in range(1, links + 1):
        found[f"k{i}"] = 0.0
        found[f"c{i}"] = fit.real(1e-4, "N m", scale=1e-4)
        found[f"s{i}"] = fit.real(0.01, "N s2/m3", scale=0.01)
    return found | sensors(links)


def sensors(links: int) -> dict[str, Any]:
    """Zeros of angles, and lags of rates."""
    found = {f"zero{i + 1}": fit.real(0.0, "rad", scale=1e-3) for i in range(links)}
    return found | {f"lag{i + 1}": fit.real(0.0, "s", scale=1e-3) for i in range(links)}


def arm(links: int, folder: pathlib.Path, tiny: bool = False) -> Iterator[Figure]:
    """What two laws leave, and how long it takes."""
    pieces = read(folder, links)
    if tiny:
        pieces = {key: record.window(*record.times[[0, 20]]) for key, record in pieces.items()}
    left_out = [pieces[k] for k in LEFT_OUT[links] if k in pieces]
    fitted = [record for k, record in pieces.items() if k not in LEFT_OUT[links]]
    name = f"{NAMES[links]} arm"
    for law, numbers, targets in (
        ("viscous", viscous(links), VISCOUS[links]),
        ("Coulomb and drag", coulomb_and_drag(links), COULOMB[links]),
    ):
        begun = time.perf_counter()
        found = fit.estimate(
            model(links, geometry(links) | numbers), fitted, progress=False, throw=False
        )
        trials = found.predict(left_out) if left_out else found.findings().trials
        found.findings()
        seconds = time.perf_counter() - begun
        where = "left out" if left_out else "fitted"
        yield from _angles(f"{name}, {law}, {where}", fit.rms_of(trials), targets)
        yield at_most(f"{name}, {law}: iterations", len(found.history), ITERATIONS[links], "d")
        yield at_most(f"{name}, {law}: s, cold, to the findings", seconds, SECONDS, ".0f")
        yield note(f"{name}, {law}: how it ended", found.message)
        yield note(f"{name}, {law}: estimates", _listed(found.values))
        if not left_out:
            yield from _crossed(name, law, found)
    yield from _published(links, left_out or fitted, "left out" if left_out else "fitted")


def _crossed(name: str, law: str, found: fit.Fit) -> Iterator[Figure]:
    """Of records left out one at a time; beside the criterion that takes residuals as white."""
    crossed = fit.cross_validate(found)
    what = f"{name}, {law}, one piece left out at a time: rms of angle1 (rad)"
    if law == "viscous":
        yield note(what, f"{crossed.rms['angle1']:.5f}")
    else:
        yield at_most(what, crossed.rms["angle1"], LEAVE_ONE_OUT, ".5f")
    criteria = found.findings().criteria
    assert criteria is not None
    yield note(f"{name}, {law}: Schwarz's criterion, for white residuals", f"{criteria.bic:.0f}")


def chosen(folder: pathlib.Path, tiny: bool = False) -> Iterator[Figure]:
    """Which law of friction pieces left out choose, and which the criterion of Schwarz."""
    fitted = list(read(folder, 1).values())
    if tiny:
        fitted = [record.window(*record.times[[0, 20]]) for record in fitted]
    quadratic = {"c1": 0.0} | {k: v for k, v in coulomb_and_drag(1).items() if k != "c1"}
    laws = {
        "viscous": viscous(1) | sensors(1),
        "viscous and drag": quadratic | viscous(1),
        "Coulomb and drag": coulomb_and_drag(1),
        "Coulomb, viscous and drag": coulomb_and_drag(1) | viscous(1),
    }
    fits = {
        law: fit.estimate(model(1, geometry(1) | numbers), fitted, progress=False, throw=False)
        for law, numbers in laws.items()
    }
    table = fit.compare(fits)
    for law in table.laws:
        numbers = f"{law.left_out['angle1']:.5f}, {law.bic:.0f}, {law.bic_correlated:.0f}"
        what = f"single arm, {law.name}: rms left out (rad), BIC, the same for correlated residuals"
        yield note(what, numbers)
    what = "single arm: the law that pieces left out choose"
    yield Figure(what, "Coulomb and drag", table.best, table.best == "Coulomb and drag")
    first = min(table.laws, key=lambda law: law.bic)
    each = first.samples / first.independent
    words = f"{first.name} (residuals are correlated: of {each:.0f} samples one is independent)"
    yield note("single arm: the law that Schwarz's criterion chooses", words)
    what = "single arm: the law that the criterion for correlated residuals chooses"
    yield note(what, table.by_bic)


def all_free(links: int, folder: pathlib.Path, tiny: bool = False) -> Iterator[Figure]:
    """All published numbers free, from 30 % off: which combinations the records tell."""
    pieces = read(folder, links)
    fitted = [record for k, record in pieces.items() if k not in LEFT_OUT[links]]
    left_out = [pieces[k] for k in LEFT_OUT[links] if k in pieces]
    numbers = PUBLISHED[links]
    flat = {f"{key}{i + 1}": x for key in "maLIk" for i, x in enumerate(numbers[key])}
    flat["g"] = numbers["g"]
    name = f"{NAMES[links]} arm, all {len(flat)} numbers free"
    for seed in range(1 if tiny else 3):
        rng = np.random.default_rng(seed)
        free = {key: fit.positive(x * rng.uniform(0.7, 1.3)) for key, x in flat.items()}
        options = {"max_iterations": 1 if tiny else 100, "progress": False, "throw": False}
        found = fit.estimate(model(links, free), fitted, **options)
        of = f"{name}, 30 % off, seed {seed}"
        yield at_most(f"{of}: iterations", len(found.history), ITERATIONS[links], "d")
        if tiny:
            return
        rank = found.uncertainty.directions.rank
        yield Figure(f"{of}: combinations told", f"{TOLD[links]}", f"{rank}", rank == TOLD[links])
        for words in found.findings().unidentifiable:
            yield note(f"{of}: what they are", words)
        yield from _angles(f"{of}, left out", fit.rms_of(found.predict(left_out)), VISCOUS[links])
        if links == 2:
            yield from _base_dynamics(of, found.values, flat)


def _base_dynamics(of: str, ours: Mapping[str, float], theirs: Mapping[str, float]):
    """Base numbers of the double arm against published ones, and in their units."""
    for (what, own), other in zip(_base(ours).items(), _base(theirs).values(), strict=True):
        yield at_most(f"{of}: {what} off the published one", abs(own / other - 1), 0.005, ".4f")


def _base(p: Mapping[str, float]) -> dict[str, float]:
    J1 = p["I1"] + p["m1"] * p["a1"] ** 2 + p["m2"] * p["L1"] ** 2
    return {
        "g (m1 a1 + m2 L1) / J1": p["g"] * (p["m1"] * p["a1"] + p["m2"] * p["L1"]) / J1,
        "g m2 a2 / J1": p["g"] * p["m2"] * p["a2"] / J1,
        "J2 / J1": (p["I2"] + p["m2"] * p["a2"] ** 2) / J1,
        "m2 L1 a2 / J1": p["m2"] * p["L1"] * p["a2"] / J1,
    }


def _published(links: int, records: Sequence[fit.Record], where: str) -> Iterator[Figure]:
    """The published numbers on the same pieces: starts and noise alone are fitted."""
    found = fit.estimate(model(links, {}), records, progress=False, throw=False)
    left = fit.rms_of(found.findings().trials)
    listed = " ".join(f"{left[f'angle{i + 1}']:.5f}" for i in range(links))
    what = f"{NAMES[links]} arm, published numbers, free starts, {where}: rms of angles (rad)"
    yield note(what, listed)


def _angles(of: str, left: Mapping[str, float], targets: Sequence[float]) -> Iterator[Figure]:
    for i, target in enumerate(targets):
        yield at_most(f"{of}: rms of angle{i + 1} (rad)", left[f"angle{i + 1}"], target, ".5f")


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.5g}" for name, value in values.items())
