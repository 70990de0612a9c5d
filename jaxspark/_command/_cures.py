"""Cures that the library gives in Python, in the words of the command line."""

import re


# What is replaced, a regular expression, and by what.
CURES = (
    (
        r"make a record of each \(of a table by `trial=`, the column that tells them apart\)",
        'name the column that tells them apart, trial = "..." in the configuration',
    ),
    (r"Or pass delimiter='(.|\\t)'\.", r'Or set delimiter = "\1" in the configuration.'),
    (r'say missing="allow"', 'set missing = "allow" in the configuration'),
    (
        r'give NaN and missing="allow"',
        'leave its cell empty and set missing = "allow" in the configuration',
    ),
    (r"Leave it out of `channels` of this record: others may have it\.", "Leave out the file."),
    (
        r"Convert it by `numpy\.deg2rad`, or silence this warning if",
        "Convert it, or name its unit in [units] of the configuration; ignore this if",
    ),
    (r"silence this warning", "ignore this"),
    (r", a smaller step, or look at jaxspark\.fit\.simulate\(.*\), which says where it fails\.",
     " or a smaller step."),
    (r"raise max_iterations", "raise --max-iterations"),
    (r"jaxspark\.fit\.multistart, or windows", "or --window"),
    (r"the `noise` of the channels to the model", "the noise of the channels in [noise]"),
)  # fmt: skip


def in_words_of_command(text: str) -> str:
    """A message of the library as one of the program."""
    for pattern, words in CURES:
        text = re.sub(pattern, words, text)
    return text
