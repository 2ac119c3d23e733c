"""Runs the blocks of a page: Python in one namespace, shell commands in the same folder; C is kept as main.c."""

import os
import pathlib
import re
import subprocess
import sys

GUIDE = pathlib.Path(__file__).parents[3] / "docs" / "guide"


def blocks(page):
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(page, folder):
    names, ran = {"__name__": "page"}, 0
    programs = pathlib.Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, f"{page.name}, block {ran}", "exec"), names)
        elif language == "sh":
            subprocess.run(["sh", "-e", "-c", text], cwd=folder, env=environment, check=True)
        elif language == "c":
            (folder / "main.c").write_text(text)
        else:
            # Rust is run by cargo.
            assert language == "rust", language
            continue
        ran += 1
    return ran
