"""The command ``fabproj``, also as ``python -m fabproj``."""

import sys

from . import _native


def main():
    return _native.main(["fabproj", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
