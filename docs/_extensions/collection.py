"""When Python looks for unreachable objects: seldom, for here it finds next to none.

Tracing and compiling make many small objects that live on. Looking at them after every 700 to
2000 new ones, as Python does by default, takes 4 % of the time in which the site is built.
"""

import gc


THRESHOLDS = (100_000, 50, 1000)


def seldom():
    gc.set_threshold(*THRESHOLDS)
