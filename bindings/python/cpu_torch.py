"""Lets a CUDA build of PyTorch load on a machine without CUDA's libraries, for tests.

python cpu_torch.py FOLDER

Does nothing where `import torch` works. Otherwise it builds libraries with the missing names into FOLDER; all their
functions say "no device" (100). Tests then run with LD_LIBRARY_PATH=FOLDER.
"""

import collections
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Libraries of the system, which are there.
SYSTEM = "c m dl pthread rt gcc_s stdc++ gomp gfortran quadmath z".split()
# Names that CUDA's libraries begin with, where a library does not say the version that it wants.
CUDA = re.compile("cu(da|blas|dnn|fft|solver|sparse|pti|rand|File|[A-Z])|nccl|nvrtc|nvshmem|nvtx")
NO_DEVICE = 100


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def loads(folder):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    code = [sys.executable, "-c", "import torch"]
    return subprocess.run(code, env=environment, capture_output=True).returncode == 0


def missing(folder):
    """The names that each absent library should have, by version."""
    own = {path.name for path in folder.glob("*.so*")}
    system = tuple(f"lib{name}.so" for name in SYSTEM) + ("ld-linux",)
    wanted = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in sorted(folder.glob("*.so*")):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-Wd", path))
        needed = [name for name in needed if name not in own and not name.startswith(system)]
        versions, file = {}, None
        for line in output("readelf", "-WV", path).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found[1]
            elif found := re.search(r"Name: (\S+)\s+Flags", line):
                versions[found[1]] = file
        for name in needed:
            wanted[name][""]
        for line in output("nm", "-D", "--undefined-only", path).splitlines():
            name, _, version = line.split()[-1].partition("@")
            version = version.lstrip("@")
            if version and versions.get(version) in needed:
                wanted[versions[version]][version].add(name)
            elif not version and CUDA.match(name):
                for library in needed:
                    wanted[library][""].add(name)
    return wanted


def build(library, versions, folder):
    names = sorted(set().union(*versions.values()))
    with tempfile.TemporaryDirectory() as place:
        source, script = pathlib.Path(place, "names.c"), pathlib.Path(place, "names.map")
        source.write_text("".join(f"long {name}(void) {{ return {NO_DEVICE}; }}\n" for name in names if name.isidentifier()))
        blocks = (f"{version} {{ global: {'; '.join(sorted(names))}; }};\n" for version, names in versions.items() if version)
        script.write_text("".join(blocks))
        options = ["-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{library}"]
        if script.read_text():
            options.append(f"-Wl,--version-script={script}")
        subprocess.run(["cc", *options, "-o", folder / library, source], check=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if loads(folder):
        return
    torch = pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0])
    for library, versions in missing(torch / "lib").items():
        build(library, versions, folder)
    if not loads(folder):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
        subprocess.run([sys.executable, "-c", "import torch"], env=environment, check=True)


if __name__ == "__main__":
    main()
