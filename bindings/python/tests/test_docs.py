"""The examples of the docstrings and of the package's page."""

import ast
import doctest
import functools
import inspect
import json
import pathlib
import re

import pytest

import fabproj
import pages
from fabproj import _native

ITEMS = [
    fabproj,
    fabproj.train,
    fabproj.verified,
    fabproj.Problem,
    *(
        member
        for owner in (_native.Model, _native.Projector, _native.Guard, _native.Solver)
        for member in (owner, *(getattr(owner, name) for name in vars(owner) if not name.startswith("_")))
        if ">>>" in (getattr(member, "__doc__", None) or "")
    ),
]


@pytest.fixture(autouse=True)
def short_trainings(monkeypatch):
    """The examples are run, but their quick trainings ask less and end sooner."""
    short = {"samples": 2000, "phase_two": 400, "boundary": 500, "feasible": 2000, "infeasible": 2000}
    train = fabproj.train

    @functools.wraps(train)
    def shorter(set, **options):
        return train(set, **{**(short if options.get("preset") == "quick" else {}), **options})

    monkeypatch.setattr(fabproj, "train", shorter)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: getattr(item, "__qualname__", "fabproj"))
def test_docstring(item):
    text = inspect.getdoc(item)
    test = doctest.DocTestParser().get_doctest(text, {}, str(item), None, 0)
    assert test.examples
    runner = doctest.DocTestRunner()
    report = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_every_public_item_is_documented():
    for owner in (_native.Model, _native.Projector, _native.Guard, _native.Solver, fabproj):
        for name in vars(owner):
            if not name.startswith("_"):
                assert getattr(owner, name).__doc__, f"{owner.__name__}.{name}"


def test_the_page_of_the_package(tmp_path, monkeypatch):
    page = pathlib.Path(__file__).parents[1] / "README.md"
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, str(page), "exec"), {})
    assert (tmp_path / "plate.safetensors").exists()


@pytest.mark.parametrize("page", ["README.md", "own-set.md", "guard.md", "troubleshooting.md", "solve.md"])
def test_page_of_the_guide(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pages.run(pages.GUIDE / page, tmp_path) >= 2


def test_front_page(tmp_path, monkeypatch):
    """Its Python; its shell commands are those of a clone."""
    monkeypatch.chdir(tmp_path)
    page = pages.GUIDE.parents[1] / "README.md"
    names, python = {}, [text for language, text in pages.blocks(page) if language == "python"]
    assert python
    for text in python:
        exec(compile(text, str(page), "exec"), names)


def test_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((pages.GUIDE / "moons.ipynb").read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names, shown = {}, []
    for text in code:
        # As a notebook does: the value of the last expression is shown.
        tree = ast.parse(text)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "notebook", "exec"), names)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), "notebook", "eval"), names))
    assert any(hasattr(value, "_repr_svg_") for value in shown) and len(shown) >= 4


def test_every_page_is_run():
    run = {"README.md", "own-set.md", "guard.md", "troubleshooting.md", "solve.md", "frameworks.md", "deploy.md"}
    with_blocks = {page.name for page in pages.GUIDE.glob("*.md") if pages.blocks(page)}
    assert with_blocks == run
