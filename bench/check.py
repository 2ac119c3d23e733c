"""Checks of the Python side that need no large package; its argument is a folder of reference models."""

import pathlib
import sys
import unittest

import numpy
from safetensors.numpy import load_file

import worker
from model_file import ModelFile

REFERENCE = pathlib.Path(sys.argv.pop())


class ModelFiles(unittest.TestCase):
    """A reader that shares no code with ours finds the same projections in our files."""

    def test_projections_agree(self):
        models = sorted(REFERENCE.glob("*.model.safetensors"))
        self.assertGreaterEqual(len(models), 3)
        for path in models:
            calls = load_file(path.with_name(path.name.replace(".model.", ".calls.")))
            found = ModelFile(path).project(calls["y"], calls["x"])
            spread = calls["projection"].std(axis=0)
            with self.subTest(model=path.stem):
                # Projections of points from all over the region differ, or the check would be void.
                self.assertTrue((spread > 0.05).all(), spread)
                numpy.testing.assert_allclose(found, calls["projection"], rtol=1e-4, atol=1e-4)


class Protocol(unittest.TestCase):
    def setUp(self):
        self.calls = 0

        def make():
            return self.call

        self.worker = worker.Worker({"count": make}, project=lambda points: points, seconds=1e-4)

    def call(self):
        self.calls += 1

    def test_a_case_is_warmed_and_timed(self):
        self.assertEqual(self.worker.answer("warm count"), "ok")
        after_warming = self.calls
        kind, *seconds = self.worker.answer("run count 3").split()
        self.assertEqual(kind, "seconds")
        self.assertEqual(len(seconds), 3)
        self.assertTrue(all(0.0 < float(value) < 1.0 for value in seconds))
        self.assertGreater(self.calls, after_warming + 3)

    def test_a_point_is_projected(self):
        self.assertEqual(self.worker.answer("project 0.25 -1.5"), "point 0.25 -1.5")

    def test_other_requests_are_refused(self):
        for request in ("", "run count", "run count x", "warm nothing", "halt"):
            self.assertTrue(self.worker.answer(request).startswith("error"), request)


if __name__ == "__main__":
    unittest.main()
