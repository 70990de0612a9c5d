"""Files of measurements, for the tests of readers."""

import numpy as np

from jaxspark.fit import read_csv


T = np.array([0.0, 0.1, 0.25])
HEADER = "time_s,angle,force\n"
GOOD = HEADER + "0,1,10\n0.1,2,20\n0.25,4,15\n"


def written(tmp_path, content, name="log.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(tmp_path, content, **options):
    options = {"channels": ["angle"], "inputs": ["force"], **options}
    return read_csv(written(tmp_path, content), **options)


def assert_good(found):
    np.testing.assert_array_equal(found.times, T)
    np.testing.assert_array_equal(found.channels["angle"], [1, 2, 4])
    np.testing.assert_array_equal(found.inputs["force"], [10, 20, 15])
