"""Many records, each by itself: as alone, in chunks, after interruptions, by two processes."""

import csv
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import swings
from jaxspark import fit


TIMES = np.linspace(0.0, 2.0, 41)
COUNT = 7


def model():
    start = fit.Start.from_channels(*swings.state(0.0, 0.0))
    return swings.model((0.0, 0.0), start=start)


class Records:
    """Made when they are asked for, of different lengths; which were is noted."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return COUNT

    def __getitem__(self, k):
        self.asked.append(k)
        times = TIMES if k % 2 else TIMES[: 41 - k]
        return swings.record(
            times, 0.5 + 0.1 * k, 0.2, seed=k, name=f"swing {k}", length=0.8 + 0.02 * k
        )


@pytest.fixture(scope="module")
def table():
    return fit.each(model(), Records(), chunk=3, progress=False)


def test_rows_are_the_fits_of_records_alone(table):
    assert len(table) == COUNT and table.records[4] == "swing 4"
    assert table.names == ("drag", "length") and table.channels == ("angle", "rate")
    assert set(table.status) == {"converged"}
    for k in (0, 5):
        record = Records()[k]
        alone = fit.estimate(model(), record, progress=False)
        np.testing.assert_allclose(table.values[k], alone.vector, rtol=1e-6)
        np.testing.assert_allclose(table.errors[k], list(alone.errors.values()), rtol=1e-3)
        assert table.iterations[k] == len(alone.history)
        left = fit.rms_of(alone.findings().trials)
        np.testing.assert_allclose(table.rms[k], [left["angle"], left["rate"]], rtol=1e-6)
    truth = 0.8 + 0.02 * np.arange(COUNT)
    scores = (table.values[:, 1] - truth) / table.errors[:, 1]
    assert np.abs(scores).max() < 4 and scores.std() > 0.2


def test_chunks_in_a_folder_are_not_fitted_again(table, tmp_path, monkeypatch):
    options = {"chunk": 3, "folder": tmp_path, "progress": False}
    half = fit.each(model(), Records(), part=(0, 2), **options)
    assert half.codes.tolist() == [0, 0, 0, -1, -1, -1, 0]
    assert half.status[3] == "not fitted yet" and np.isnan(half.values[3:6]).all()
    again = fit.each(model(), Records(), **options)
    np.testing.assert_allclose(again.values, table.values, rtol=1e-9)
    monkeypatch.setattr("jaxspark.fit._each.fitted_lanes", None)
    stored = fit.each(model(), Records(), **options)
    np.testing.assert_array_equal(stored.values, again.values)
    # Another model does not take them for its own.
    other = swings.model((0.0, 0.0), start=model().start, step=0.04)
    with pytest.raises(fit.CheckpointError, match="belongs to other records, another model"):
        fit.each(other, Records(), **options)
    path = tmp_path / "chunk-000001.npz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(fit.CheckpointError, match="no chunk of jaxspark"):
        fit.each(model(), Records(), **options)


def test_a_record_that_fails_spoils_no_other(tmp_path):
    good, flat = Records()[1], np.zeros(TIMES.size)
    # Measured values beyond what the simulation can follow make its start impossible to improve.
    still = fit.record(
        TIMES, {"angle": 1e-9 * TIMES + flat, "rate": 1e-9 * (TIMES + 1)}, name="still"
    )
    found = fit.each(model(), [good, still], chunk=2, progress=False)
    alone = fit.each(model(), [good], progress=False)
    np.testing.assert_allclose(found.values[0], alone.values[0], rtol=1e-9)
    path = found.to_csv(tmp_path / "table.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["record"] for row in rows] == [good.name, "still"]
    assert float(rows[0]["length"]) == found.values[0, 1]


def test_errors_are_those_of_estimate_where_noise_is_known():
    made = swings.model(
        (0.0, 0.0), start=model().start, noise={"angle": 0.003, "rate": 0.05},
        parameters={**swings.specs(), "drag": fit.positive(0.2, prior=fit.LogNormal(0.3, 1.05))},
    )  # fmt: skip
    record = Records()[1]
    found = fit.each(made, record, progress=False)
    alone = fit.estimate(made, record, progress=False)
    np.testing.assert_allclose(found.values[0], alone.vector, rtol=1e-6)
    np.testing.assert_allclose(found.errors[0], list(alone.errors.values()), rtol=1e-4)


@pytest.mark.thorough
def test_two_processes_share_a_folder(table, tmp_path):
    words = (
        "import sys, jax; jax.config.update('jax_enable_x64', True)\n"
        "import test_fit_each as t\n"
        "from jaxspark import fit\n"
        "part = (int(sys.argv[2]), 2)\n"
        "fit.each(t.model(), t.Records(), chunk=2, folder=sys.argv[1], part=part, progress=False)\n"
    )
    here = pathlib.Path(__file__).parent
    both = [
        subprocess.Popen([sys.executable, "-c", words, str(tmp_path), str(k)], cwd=here)
        for k in range(2)
    ]
    assert [process.wait(timeout=600) for process in both] == [0, 0]
    assert len(list(tmp_path.glob("chunk-*.npz"))) == 4
    gathered = fit.each(model(), Records(), chunk=2, folder=tmp_path, progress=False)
    np.testing.assert_allclose(gathered.values, table.values, rtol=1e-7)


def test_errors():
    given = Records()
    for part in ((2, 2), (0, 0), (-1, 2)):
        with pytest.raises(ValueError, match="part must be"):
            fit.each(model(), given, part=part)
    with pytest.raises(fit.DataError, match="nothing to fit"):
        fit.each(model(), [])
    with pytest.raises(ValueError, match="chunk"):
        fit.each(model(), given, chunk=0)
    several = swings.model((0.5, 0.0), (0.6, 0.0))
    with pytest.raises(ValueError, match="one start for all records"):
        fit.each(several, given)
