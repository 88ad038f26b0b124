"""Plays a detector: sends spectra for histogram.py, or frames for event_display.py.

    python detector.py spectra 'tcp://*:5555'
    python detector.py frames 'tcp://*:5556'
"""

import asyncio
import sys

import numpy as np
import netio

RANDOM = np.random.default_rng(1)
ROWS, COLUMNS = np.mgrid[:352, :384]
RADIUS = np.hypot(ROWS - 200, COLUMNS - 170)
RINGS = 900 * np.exp(-RADIUS / 120) * np.cos(RADIUS / 9) ** 2 + 60


def spectrum() -> np.ndarray:
    """The samples of a channel: two peaks over a falling background."""
    return np.concatenate([RANDOM.exponential(900, 3000), RANDOM.normal(1400, 45, 900),
                           RANDOM.normal(2600, 60, 500)]).clip(0, 4095).astype("<u2")


async def main(what: str, address: str) -> None:
    async with netio.Context() as context:
        frames = what == "frames"
        socket = netio.Publish(context) if frames else netio.Push(context)
        print("at", socket.bind(address), flush=True)
        while True:
            data = RANDOM.poisson(RINGS).astype("<u2") if frames else spectrum()
            await socket.send(data, tag=1)
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
