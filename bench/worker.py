"""A process that times the Python peers on request.

It first writes the line `cases NAME...`, then answers each line of its standard input with one line:

    warm NAME                prepares the case and calls it until it is warm     ->  ok
    run NAME REPETITIONS     times it                                            ->  seconds S...
    project Y...             projects one point, to compare the sides            ->  point P...

Each S is the mean time of one call over a repetition of at least `--milliseconds`, on the wall's clock or,
with `--cpu-time`, on the process's, all its threads together. What goes wrong is answered with `error TEXT`.
The end of the input ends the process. The Rust side, the benchmark `worker` of the fabproj crate, speaks
the same protocol, so that `cargo xtask bench` can let the two take turns.
"""

import argparse
import sys
import time

from model_file import ModelFile


def cases(model):
    """How to make each case, by name. Imports wait until here, since torch takes seconds to load."""
    import torch

    from peers import answer, phase_one, phase_two, projection

    torch.set_num_threads(1)
    large = projection.LARGE_BATCH
    return {
        "point-eager": lambda: projection.Eager(model, 1),
        "point-onnx": lambda: projection.Runtime(model, 1),
        "point-released": lambda: projection.Released(model),
        "batch-eager": lambda: projection.Eager(model, large),
        "batch-onnx": lambda: projection.Runtime(model, large),
        "answer-eager": lambda: answer.Eager(model),
        "answer-released": lambda: answer.Released(model),
        "phase-one-best": phase_one.Best,
        "phase-one-released": phase_one.Released,
        "phase-two-vectorised": phase_two.Vectorised,
        "phase-two-compiled": lambda: phase_two.Vectorised(compiled=True),
        "phase-two-released": phase_two.Released,
    }


class Timed:
    """A case with the number of calls that fill a repetition."""

    def __init__(self, call, seconds, clock):
        self.call = call
        self.clock = clock
        self.calls = 1
        # The first call may compile; the second may still allocate.
        call()
        call()
        while (spent := self.repetition() * self.calls) < seconds:
            growth = 1.2 * seconds / max(spent, 1e-9)
            self.calls = int(self.calls * min(max(growth, 1.5), 10.0)) + 1

    def repetition(self):
        call, clock = self.call, self.clock
        start = clock()
        for _ in range(self.calls):
            call()
        return (clock() - start) / self.calls


class Worker:
    def __init__(self, makers, project, seconds, clock=time.perf_counter):
        self.makers = makers
        self.clock = clock
        self.project = project
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
            case ["project", *point]:
                (projection,) = self.project([[float(value) for value in point]])
                return " ".join(["point", *(repr(float(value)) for value in projection)])
            case _:
                return f"error unknown request: {request}"

    def prepared(self, name):
        if name not in self.warm:
            self.warm[name] = Timed(self.makers[name](), self.seconds, self.clock)
        return self.warm[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="the model file whose projector is timed")
    parser.add_argument("--milliseconds", type=float, default=50.0, help="shortest repetition")
    parser.add_argument("--cpu-time", action="store_true", help="measure the process's own time")
    arguments = parser.parse_args()
    # Libraries print warnings where they like; the protocol keeps the real standard output.
    answers, sys.stdout = sys.stdout, sys.stderr
    model = ModelFile(arguments.model)
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    worker = Worker(cases(model), model.project, arguments.milliseconds / 1000.0, clock)
    print("cases", *worker.makers, file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = worker.answer(line.strip())
        except Exception as error:  # Reported to the other side, which decides.
            answer = "error " + " ".join(f"{type(error).__name__}: {error}".split())[:2000]
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
