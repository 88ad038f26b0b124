"""Pushes 64-bit words, as many to a message as are asked for: what sum.py adds up.

    python push.py tcp://127.0.0.1:5555 [MESSAGES [WORDS]]
"""

import asyncio
import sys

import numpy as np

import netio


async def main(address: str, messages: int = 100_000, words: int = 8) -> None:
    data = np.arange(words, dtype="<u8")
    async with netio.Context() as context:
        push = netio.Push(context)
        push.connect(address)
        for number in range(messages):
            last = number == messages - 1
            await push.send(data, tag=2 if last else 1)
        push.close(5.0)  # delivers what was sent
        books = await push.wait_closed()
        print(f"{books.acknowledged} messages acknowledged, {books.dropped} dropped")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
