"""A process that times the Python peers on request.

It first writes the line `cases NAME...`, then answers each line of its standard input with one line:

    warm NAME                prepares the case and calls it until it is warm     ->  ok
    run NAME REPETITIONS     times it                                            ->  seconds S...

Each S is the mean time of one call over a repetition of at least `--milliseconds`. What goes wrong is
answered with `error TEXT`. The end of the input ends the process. The Rust side, the benchmark `worker`
of the fabproj crate, speaks the same protocol, so that `cargo xtask bench` can let the two take turns.
"""

import argparse
import sys
import time


def cases():
    """How to make each case, by name. Imports wait until here, since torch takes seconds to load."""
    import torch

    from peers import phase_one, phase_two, projection

    torch.set_num_threads(1)
    return {
        "point-eager": lambda: projection.Eager(1),
        "point-onnx": lambda: projection.Runtime(1),
        "point-released": projection.Released,
        "batch-eager": lambda: projection.Eager(projection.LARGE_BATCH),
        "batch-onnx": lambda: projection.Runtime(projection.LARGE_BATCH),
        "phase-one-best": phase_one.Best,
        "phase-one-released": phase_one.Released,
        "phase-two-vectorised": phase_two.Vectorised,
        "phase-two-compiled": lambda: phase_two.Vectorised(compiled=True),
        "phase-two-released": phase_two.Released,
    }


class Timed:
    """A case with the number of calls that fill a repetition."""

    def __init__(self, call, seconds):
        self.call = call
        self.calls = 1
        # The first call may compile; the second may still allocate.
        call()
        call()
        while (spent := self.repetition() * self.calls) < seconds:
            growth = 1.2 * seconds / max(spent, 1e-9)
            self.calls = int(self.calls * min(max(growth, 1.5), 10.0)) + 1

    def repetition(self):
        call = self.call
        start = time.perf_counter()
        for _ in range(self.calls):
            call()
        return (time.perf_counter() - start) / self.calls


class Worker:
    def __init__(self, makers, seconds):
        self.makers = makers
        self.seconds = seconds
        self.warm = {}

    def answer(self, request):
        match request.split():
            case ["warm", name] if name in self.makers:
                self.prepared(name)
                return "ok"
            case ["run", name, repetitions] if name in self.makers and repetitions.isdecimal():
                timed = self.prepared(name)
                return " ".join(["seconds", *(repr(timed.repetition()) for _ in range(int(repetitions)))])
            case _:
                return f"error unknown request: {request}"

    def prepared(self, name):
        if name not in self.warm:
            self.warm[name] = Timed(self.makers[name](), self.seconds)
        return self.warm[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--milliseconds", type=float, default=50.0, help="shortest repetition")
    arguments = parser.parse_args()
    # Libraries print warnings where they like; the protocol keeps the real standard output.
    answers, sys.stdout = sys.stdout, sys.stderr
    worker = Worker(cases(), arguments.milliseconds / 1000.0)
    print("cases", *worker.makers, file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = worker.answer(line.strip())
        except Exception as error:  # Reported to the other side, which decides.
            answer = "error " + " ".join(f"{type(error).__name__}: {error}".split())[:2000]
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
