"""The program: identification and simulation of models in files, beside the main job."""

from ._program import main as main
