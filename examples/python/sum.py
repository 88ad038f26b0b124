"""Sums 64-bit words that are pushed here, page by page, as NumPy arrays without a copy.

    python sum.py 'tcp://*:5555'
"""

import asyncio
import sys

import netio


async def main(address: str) -> None:
    async with netio.Context() as context:
        pull = netio.Pull(context)
        print("at", pull.bind(address), flush=True)
        messages = total = 0
        async for batch in pull.batches():
            messages += len(batch)
            total += int(batch.array("<u8").sum())
            if batch.tags()[-1] == 2:  # the sender's last message; all others have the tag 1
                break
        print(f"{messages} messages, sum {total}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
