"""Models: files, certificates, figures, and what they say about themselves."""

import numpy
import pytest

import fabproj
from conftest import plate


def test_files(moons, tmp_path):
    path = tmp_path / "moons.safetensors"
    moons.save(path)
    assert fabproj.Model.load(str(path)) == moons
    assert fabproj.Model.from_bytes(path.read_bytes()).to_bytes() == moons.to_bytes()
    assert fabproj.Projector.load(path).dim == 2
    with pytest.raises(FileNotFoundError, match="cannot read .*none.safetensors"):
        fabproj.Model.load(tmp_path / "none.safetensors")
    with pytest.raises(OSError, match="cannot write"):
        moons.save(tmp_path / "no" / "folder.safetensors")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="is not a fabproj model: .*fabproj train SET -o MODEL"):
        fabproj.Model.load(tmp_path / "text")
    new = path.read_bytes().replace(b'\\"format\\":2', b'\\"format\\":9')
    path.write_bytes(new)
    with pytest.raises(ValueError, match="format version 9; this version of fabproj reads version 2"):
        fabproj.Model.load(path)


def test_what_it_says(moons, obstacle, of_callable):
    assert repr(moons).startswith("<fabproj.Model two-moons: y of 2, ")
    assert repr(moons).endswith("preset quick, seed 0>")
    assert "x of" in repr(obstacle) and "Guard of" in repr(obstacle.guard())
    assert "Projector of plate" in repr(of_callable.projector())
    inspection = moons.inspect()
    assert inspection.set_name == "two-moons" and inspection["dimension"] == 2
    assert "latent sets" in str(inspection)
    with pytest.raises(AttributeError, match="no field 'nothing'"):
        inspection.nothing
    assert moons.names == ["y0", "y1"] and moons.dim == 2 and moons.x_dim == 0
    assert "AT LEAST" in repr(moons.certificate)


def test_certificates(moons, of_callable):
    own = moons.certify(y=numpy.random.default_rng(0).normal(size=(2000, 2)), name="normal")
    assert own.certificate.samples == 2000 and own.certificate.inputs == "normal"
    assert moons.certificate.inputs != "normal"
    assert own.certificate.guarded_feasible == 1.0
    fresh = moons.certify(samples=1000, confidence=0.9, seed=3).certificate
    assert (fresh.samples, fresh.confidence, fresh.seed) == (1000, 0.9, 3)
    with pytest.raises(ValueError):
        moons.certify(confidence=2.0)
    with pytest.raises(ValueError, match="contains="):
        of_callable.certify(samples=100)
    with pytest.raises(ValueError):
        of_callable.certify(samples=100, contains=plate, bounds=[(-2, 2)])
    # The model knows the region that it was trained in.
    again = of_callable.certify(samples=500, contains=plate).certificate
    assert again.samples == 500 and again.raw_feasible > 0.8
    wide = of_callable.certify(samples=500, contains=plate, bounds=[(-3, 3)] * 2).certificate
    assert wide.feasible_inputs < again.feasible_inputs


def test_figures(moons, of_callable, tmp_path):
    figure = moons.plot()
    assert figure._repr_svg_().startswith("<svg") and "SVG" in repr(figure)
    figure.save(tmp_path / "moons.svg")
    assert (tmp_path / "moons.svg").read_text(encoding="utf-8") == figure.svg
    assert of_callable.plot(plate).svg.startswith("<svg")
    with pytest.raises(ValueError, match="contains="):
        of_callable.plot()
    with pytest.raises(ValueError, match="pass it: model.guard"):
        of_callable.guard()
