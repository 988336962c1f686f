"""A stand-in for the chat program: tells what it was given, over the real link.

python line_chat.py chat|ask|find --fd N ...
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from bot.link import Link
from protocol.jobs import Ask, ListMatters

OPEN = sorted(int(path.name) for path in Path("/proc/self/fd").iterdir() if path.exists())
"""What was open before anything of ours ran."""


async def main(arguments: list[str]) -> None:
    fd = int(arguments[arguments.index("--fd") + 1])
    async with Link.over_fd(fd) as link:
        told = {
            "user": link.welcome.user,
            "arguments": [a for a in arguments if a != str(fd)],
            "environment": sorted(os.environ),
            "open": OPEN,
            "matters": [m.id for m in (await link.call(ListMatters())).matters],
            "pid": os.getpid(),
        }
        if sys.stdin.isatty():
            told["size"] = list(os.get_terminal_size(0))
            told["leads"] = os.tcgetpgrp(0) == os.getpgrp()
        resized = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, resized.set)
        say(told)  # whoever reads it may resize at once
        while True:
            line = await asyncio.to_thread(sys.stdin.readline)
            if not line:
                break
            if line.startswith("count"):
                ask = Ask(matter="M-A1DR", conversation="c", question=line.strip(), key=line)
                job = (await link.call(ask)).job
                async for event in link.follow(job):
                    say({"seq": event.seq})
                say({"over": True})
            elif line.startswith("size"):
                await asyncio.wait_for(resized.wait(), 60)
                say({"size": list(os.get_terminal_size(0))})
            elif line.startswith("exit"):
                raise SystemExit(int(line.split()[1]))
            else:
                say({"heard": line.strip()})


def say(what: dict) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


asyncio.run(main(sys.argv[1:]))
