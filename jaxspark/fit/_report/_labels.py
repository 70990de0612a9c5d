"""What belongs to one trial, called by the number and the name of that trial."""

import dataclasses
import re

from .._findings import Findings


def labelled(findings: Findings) -> Findings:
    """The same, parameters and initial states of single trials called alike.

    `offset (trial 1)` and `y[0] (swing)` are `offset (trial 1, swing)` and
    `y[0] (trial 1, swing)`, if there are several trials; numbers as `Fit.names` has them.
    """
    fitted = [trial.name for trial in findings.trials if not trial.held_out]
    if len(fitted) < 2:
        return findings
    own = {f"(trial {k})": f"(trial {k}, {name})" for k, name in enumerate(fitted)}
    start = {f"({name})": f"(trial {k}, {name})" for k, name in enumerate(fitted)}

    def renamed(items, words):
        """With other words at the end of each name."""
        found = []
        for item in items:
            of = re.match(r"(.*?) (\(.*\))$", item.name, re.DOTALL)
            if of and of[2] in words:
                item = dataclasses.replace(item, name=f"{of[1]} {words[of[2]]}")
            found.append(item)
        return tuple(found)

    return dataclasses.replace(
        findings,
        estimates=renamed(findings.estimates, own),
        initial_states=renamed(findings.initial_states, start),
        profiles=renamed(findings.profiles, own),
    )
