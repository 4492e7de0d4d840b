"""A cyclic task in Python: every 10 ms a small control law over a list of sensors.

    waykeeper markers python > waykeeper.py
    waykeeper run this-machine --core 3 -- python3 control.py
"""

import time

import waykeeper

PERIOD_NS = 10_000_000
SENSORS = 2000


def control(sensors, state):
    """A filter of first order over all sensors."""
    return [0.9 * old + 0.1 * new for old, new in zip(state, sensors)]


def main():
    sensors, state = [float(number) for number in range(SENSORS)], [0.0] * SENSORS
    waykeeper.name(0, "control")
    waykeeper.open_ring()
    following = time.monotonic_ns()
    while True:
        following += PERIOD_NS
        time.sleep(max(0, following - time.monotonic_ns()) / 1e9)
        with waykeeper.phase(0):
            state = control(sensors, state)


main()
