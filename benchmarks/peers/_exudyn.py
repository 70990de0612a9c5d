"""Exudyn, C++ for flexible multibody systems: its own bodies and joints, equal steps."""

import contextlib
import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ._pendulum import GRAVITY, Pendulum
from ._require import peer
from ._run import Run


Scheme = Literal["generalized alpha", "trapezoidal rule"]


class Exudyn:
    """A point mass and a massless rod, by generalized alpha (index 3) or trapezoidal (index 2).

    The setting is the step size as a fraction of the whole time.
    """

    def __init__(self, pendulum: Pendulum, scheme: Scheme, every: float = 1e9):
        sys.exudynFast = True  # pyright: ignore  # its release build, which checks no ranges
        with contextlib.redirect_stdout(None):  # it tells that it has no checks
            self._exudyn, self._tools = peer("exudyn"), peer("exudyn.utilities")
        self.name, self._scheme, self._pendulum = f"Exudyn, {scheme}", scheme, pendulum
        self._every = every
        self._container = self._exudyn.SystemContainer()
        self._bodies = bodies = self._container.AddSystem()
        self._node = self._build(bodies)
        outputs = self._exudyn.OutputVariableType
        self._sensors = [
            bodies.AddSensor(
                self._tools.SensorNode(
                    nodeNumber=self._node, storeInternal=True, outputVariableType=output
                )
            )
            for output in (outputs.Position, outputs.Velocity)
        ]
        bodies.Assemble()

    def _build(self, bodies: Any) -> int:
        tools, pendulum = self._tools, self._pendulum
        node = bodies.AddNode(
            tools.NodePoint2D(
                referenceCoordinates=list(pendulum.q0), initialVelocities=list(pendulum.v0)
            )
        )
        body = bodies.AddObject(tools.ObjectMassPoint2D(physicsMass=1.0, nodeNumber=node))
        ground = bodies.AddObject(tools.ObjectGround())
        ends = [bodies.AddMarker(tools.MarkerBodyPosition(bodyNumber=k)) for k in (ground, body)]
        bodies.AddObject(
            tools.ObjectConnectorDistance(markerNumbers=ends, distance=pendulum.length)
        )
        whole = bodies.AddMarker({"markerType": "BodyMass", "bodyNumber": body})
        bodies.AddLoad(tools.LoadMassProportional(markerNumber=whole, loadVector=[0, -GRAVITY, 0]))
        return node

    def run(self, tolerance: float) -> Callable[[], Any]:
        """A function that integrates with this setting."""
        alpha = self._scheme == "generalized alpha"
        settings = self._exudyn.SimulationSettings()
        time = settings.timeIntegration
        time.endTime, time.numberOfSteps = self._pendulum.t_end, round(1 / tolerance)
        time.newton.useModifiedNewton, time.adaptiveStep = True, False
        time.newton.relativeTolerance, time.newton.absoluteTolerance = 1e-10, 1e-12
        time.generalizedAlpha.spectralRadius = 0.9 if alpha else 1.0
        time.generalizedAlpha.useIndex2Constraints = not alpha
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = self._every
        kinds = self._exudyn.DynamicSolverType
        kind = kinds.GeneralizedAlpha if alpha else kinds.TrapezoidalIndex2

        def solve():
            if not self._bodies.SolveDynamic(settings, solverType=kind, storeSolver=False):
                raise RuntimeError("Exudyn's Newton iteration failed")
            data = self._bodies.systemData
            q = self._pendulum.q0 + np.array(data.GetODE2Coordinates())
            return np.concatenate([q, np.array(data.GetODE2Coordinates_t())])

        return solve

    def read(self, result: Any) -> Run:
        """What the function returned."""
        return Run(result)

    def written(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the last run, at intervals of `every`."""
        parts = [np.array(self._bodies.GetSensorStoredData(s)) for s in self._sensors]
        q, v = (part[:, 1:3] for part in parts)
        return q, v
