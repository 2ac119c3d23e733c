"""Compares answers of examples/optimal_power_flow.rs with PYPOWER.

usage: power_flow.py CASE.json ANSWERS.csv [OPTIMA]

Each answer goes through PYPOWER's own power flow, and its limits and cost are checked there. For the first OPTIMA
answers PYPOWER also solves the optimal power flow.
"""

import csv
import json
import sys

import numpy as np
from pypower.api import ppoption, runopf, runpf

# Violations up to here, per unit, are what two power flows may differ by.
AGREE = 1e-6
# What PYPOWER's own optima are good for, relative.
OPTIMAL = 1e-5
SLACK = 3.0
# A rate from here on says that there is none, MVA.
NO_LIMIT = 9000.0


def columns(rows, *names):
    return np.array([[row[name] for name in names] for row in rows])


def network(case):
    """The case in PYPOWER's matrices."""
    bus, gen, branch, cost = (case[key] for key in ("bus", "gen", "branch", "cost"))
    zeros = np.zeros((len(gen), 11))
    angle = np.full((len(branch), 1), 360.0)
    return {
        "version": "2",
        "baseMVA": case["base_mva"],
        "bus": columns(
            bus, "number", "type", "load_mw", "load_mvar", "shunt_mw", "shunt_mvar",
            "area", "vm", "va_deg", "base_kv", "zone", "vm_max", "vm_min",
        ),
        "gen": np.hstack([
            columns(
                gen, "bus", "mw", "mvar", "mvar_max", "mvar_min", "vm_set", "mbase", "status", "mw_max", "mw_min"
            ),
            zeros,
        ]),
        "branch": np.hstack([
            columns(
                branch, "from", "to", "r", "x", "b", "rate_a_mva", "rate_b", "rate_c", "tap", "shift_deg", "status"
            ),
            -angle,
            angle,
        ]),
        "gencost": np.hstack([
            np.tile([2.0, 0.0, 0.0, 3.0], (len(cost), 1)),
            columns(cost, "quadratic", "linear", "constant"),
        ]),
    }


def loaded(case, answer):
    """The network with an answer's loads; the answer's set-points."""
    grid = network(case)
    bus, gen = grid["bus"], grid["gen"]
    x = np.array([value for name, value in answer.items() if name.startswith("x")])
    y = np.array([value for name, value in answer.items() if name.startswith("y")])
    real, reactive = np.flatnonzero(bus[:, 2]), np.flatnonzero(bus[:, 3])
    bus[real, 2] *= x[: len(real)]
    bus[reactive, 3] *= x[len(real):]
    slack = bus[bus[:, 1] == SLACK, 0][0]
    others = np.flatnonzero(gen[:, 0] != slack)
    return grid, others, y[: len(others)] * grid["baseMVA"], y[len(others):]


def violation(grid):
    """The largest violation of a solved network, per unit."""
    bus, gen, branch, base = grid["bus"], grid["gen"], grid["branch"], grid["baseMVA"]
    worst = [np.max(bus[:, 7] - bus[:, 11]), np.max(bus[:, 12] - bus[:, 7])]
    for value, high, low in ((2, 3, 4), (1, 8, 9)):
        worst += [np.max(gen[:, value] - gen[:, high]) / base, np.max(gen[:, low] - gen[:, value]) / base]
    limited = branch[branch[:, 5] < NO_LIMIT]
    for real in (13, 15):
        if len(limited):
            power = np.hypot(limited[:, real], limited[:, real + 1])
            worst.append(np.max(power - limited[:, 5]) / base)
    return max(worst)


def cost(grid):
    power = grid["gen"][:, 1]
    quadratic, linear, constant = grid["gencost"][:, 4:].T
    return float(np.sum((quadratic * power + linear) * power + constant))


def main():
    case = json.load(open(sys.argv[1]))
    optima = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    with open(sys.argv[2]) as file:
        answers = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    quiet = ppoption(VERBOSE=0, OUT_ALL=0, PF_TOL=1e-10, OPF_VIOLATION=1e-8, PDIPM_GRADTOL=1e-8, PDIPM_COMPTOL=1e-8,
                     PDIPM_COSTTOL=1e-9)
    worst, apart, gaps = -np.inf, 0.0, []
    for place, answer in enumerate(answers):
        grid, others, power, voltage = loaded(case, answer)
        grid["gen"][others, 1], grid["gen"][:, 5] = power, voltage
        solved, ok = runpf(grid, quiet)
        if not ok:
            sys.exit(f"answer {place}: PYPOWER finds no power flow")
        worst = max(worst, violation(solved))
        apart = max(apart, abs(cost(solved) / answer["objective"] - 1.0))
        if place < optima:
            best = runopf(loaded(case, answer)[0], quiet)
            if best["success"]:
                gaps.append(answer["objective"] / best["f"] - 1.0)
    print(f"{len(answers)} answers in PYPOWER's power flow: largest violation {worst:.1e} per unit, costs within {apart:.1e}")
    failed = worst > AGREE or apart > AGREE
    if gaps:
        low, high = 100 * min(gaps), 100 * max(gaps)
        print(f"{len(gaps)} optima of PYPOWER: gaps from {low:.5f} % to {high:.5f} %")
        failed |= min(gaps) < -OPTIMAL
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
