"""The command ``fabproj``, also as ``python -m fabproj``."""

import signal
import sys

from . import _native


def main():
    # Ctrl-C is the command's own: Python's handler would raise KeyboardInterrupt over its exit code.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["fabproj", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
