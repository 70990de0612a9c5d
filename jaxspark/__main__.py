"""`python -m jaxspark` runs the main job, or the command that is named."""

import sys

from ._command import main


if __name__ == "__main__":
    sys.exit(main())
