"""A live histogram of what a read-out pushes: 16-bit samples, as many to a message as it likes.

    python histogram.py tcp://daq1:5555
"""

import asyncio
import sys

import matplotlib.pyplot as plt
import numpy as np
import netio

BINS = np.arange(0, 4097, 16)

async def count(address: str, counts: np.ndarray) -> None:
    async with netio.Context() as context:
        pull = netio.Pull(context)
        pull.connect(address)
        async for batch in pull.batches():
            for message in batch:
                counts += np.histogram(message.array("<u2"), BINS)[0]


async def main(address: str) -> None:
    counts = np.zeros(len(BINS) - 1, dtype=np.int64)
    counting = asyncio.create_task(count(address, counts))
    figure, axes = plt.subplots()
    bars = axes.stairs(counts, BINS, fill=True)
    plt.show(block=False)
    while plt.fignum_exists(figure.number) and not counting.done():
        bars.set_data(counts)
        axes.set(xlabel="sample", ylim=(0, max(1, counts.max() * 1.1)))
        figure.canvas.draw_idle()
        figure.canvas.flush_events()
        await asyncio.sleep(0.1)  # messages are counted meanwhile
    if not counting.cancel():
        counting.result()  # what ended it is told

if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
