import numpy as np

import jaxspark


root = np.sqrt(3) / 6
tableau = jaxspark.methods.SparkTableau.build(
    "Gauss",
    4,
    c=np.array([0.5 - root, 0.5 + root]),
    b=np.array([0.5, 0.5]),
    A=np.array([[0.25, 0.25 - root], [0.25 + root, 0.25]]),
)
print(tableau)
assert tableau.symmetric and tableau.lagrange_dalembert and tableau.constraint_nodes == 3
assert np.isclose(tableau.R(1.0), (1 + 1 / 2 + 1 / 12) / (1 - 1 / 2 + 1 / 12))
