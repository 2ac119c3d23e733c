"""Writes points.csv: 10,000 settings of a reactor, and whether it ran safely at each of them.

Stands in for a laboratory. The training never sees this file, nor truth.toml, which says the same.
"""

import math
import random


def safe(temperature, flow):
    u, v = (temperature - 360) / 50, (flow - 80) / 50
    cooled = u * u + v * v <= 1
    quiet = (u - 0.35) ** 2 + (v + 0.2) ** 2 >= 0.3**2
    converted = v <= 0.5 + 0.35 * math.sin(3 * u)
    return cooled and quiet and converted


random.seed(7)
with open("points.csv", "w") as file:
    file.write("temperature,flow,label\n")
    for _ in range(10_000):
        temperature, flow = (round(random.uniform(low, low + 130), 2) for low in (295, 15))
        file.write(f"{temperature},{flow},{int(safe(temperature, flow))}\n")
