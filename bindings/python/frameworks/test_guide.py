"""The pages of the guide that need frameworks."""

import pytest

import pages


@pytest.mark.parametrize("page", ["frameworks.md", "deploy.md"])
def test_page_of_the_guide(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pages.run(pages.GUIDE / page, tmp_path) >= 2
