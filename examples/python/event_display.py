"""Shows now and then one frame of a detector, and never holds the publisher up.

With Policy.sample only the latest message of each tag waits for this program, however slow it is.

    python event_display.py tcp://daq1:5556 352 384
"""

import asyncio
import sys

import matplotlib.pyplot as plt
import numpy as np
import netio


async def main(address: str, rows: int, columns: int) -> None:
    figure, axes = plt.subplots()
    picture = axes.imshow(np.zeros((rows, columns)))
    plt.show(block=False)
    async with netio.Context() as context:
        frames = netio.Subscribe(context, policy=netio.Policy.sample, name="event-display")
        frames.subscribe_all()
        frames.connect(address)
        while plt.fignum_exists(figure.number):
            if (message := frames.try_receive()) is not None:
                frame = message.array("<u2").reshape(rows, columns)
                picture.set_data(frame)
                picture.set_clim(0, np.percentile(frame, 99.9))
                axes.set_title(f"detector {message.tag}: {frame.sum(dtype='u8'):,} counts")
                figure.canvas.draw_idle()
            figure.canvas.flush_events()
            await asyncio.sleep(0.2)  # what comes meanwhile replaces what came before it


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
