"""A run control by request and reply. One program at each crate, and a command to all of them.

    python run_control.py serve tcp://*:5600
    python run_control.py start tcp://crate1:5600 tcp://crate2:5600
"""

import asyncio
import sys

import netio


async def serve(address: str) -> None:
    state = "stopped"
    async with netio.Context() as context:
        reply = netio.Reply(context)
        print("at", reply.bind(address), flush=True)
        async for request, to in reply:
            command = bytes(request)
            state = {b"start": "running", b"stop": "stopped"}.get(command, state)
            await to.send(state.encode())


async def command(text: str, addresses: list[str]) -> None:
    async with netio.Context() as context:
        async def ask(address: str) -> None:
            request = netio.Request(context)
            request.connect(address)
            try:
                answer = bytes(await request.ask(text.encode(), timeout=5.0)).decode()
            except netio.RequestError as error:
                answer = str(error)
            print(f"{address}: {answer}")

        await asyncio.gather(*(ask(address) for address in addresses))


if __name__ == "__main__":
    verb, *where = sys.argv[1:]
    asyncio.run(serve(where[0]) if verb == "serve" else command(verb, where))
