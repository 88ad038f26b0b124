"""Watches what a builder publishes: its rate, what was missed and why, and lost connections.

    python builder_monitor.py tcp://builder1:5556
"""
import asyncio
import sys
import time

import netio
from netio import events


async def tell(subscribe: netio.Subscribe) -> None:
    async for event in subscribe.events():
        match event:
            case events.Up(peer):
                print(f"connected to {peer.name or peer.address} over {peer.wire}")
            case events.Down(peer, reason, detail):
                print(f"{'lost' if peer.was_up else 'cannot reach'} {peer.address}: {detail}")
            case events.Gap(peer, first, count, reason):
                print(f"missed {count} events ({reason.name})")


async def main(address: str) -> None:
    async with netio.Context() as context:
        subscribe = netio.Subscribe(context, policy=netio.Policy.drop_old, name="monitor")
        telling = asyncio.create_task(tell(subscribe))  # before connect()
        subscribe.subscribe_all()
        subscribe.connect(address)
        count, since = 0, time.monotonic()
        async for batch in subscribe.batches():
            count += len(batch)
            if (now := time.monotonic()) - since >= 1.0:
                missed = subscribe.books().missed
                print(f"{count / (now - since):10.0f} events/s, {missed} missed in all")
                count, since = 0, now
        await telling

if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
