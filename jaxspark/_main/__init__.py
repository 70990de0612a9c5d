"""The main job: a compound pendulum, identified from a measurement of its swing."""

from ._cli import main as main
