"""Checks of the Python side that need no large package."""

import unittest

import worker


class Protocol(unittest.TestCase):
    def setUp(self):
        self.calls = 0

        def make():
            return self.call

        self.worker = worker.Worker({"count": make}, seconds=1e-4)

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

    def test_other_requests_are_refused(self):
        for request in ("", "run count", "run count x", "warm nothing", "halt"):
            self.assertTrue(self.worker.answer(request).startswith("error"), request)


if __name__ == "__main__":
    unittest.main()
