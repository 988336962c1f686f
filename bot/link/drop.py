"""Puts one file into a matter's inbox over SFTP, for somebody in a chat.

The login name names the account the bot acts for; the gateway looks at it only for keys of role
``bot`` and lets it narrow what the key may, never widen it.
"""

from __future__ import annotations

import asyncio
from typing import Final

import asyncssh  # noqa: TID251

from bot.link.ssh import connect
from bot.link.ways import Target
from protocol.errors import BadRequest, Refused, Unavailable
from protocol.ids import MatterId

_PUT_S: Final = 120.0


async def put(target: Target, account: str, matter: MatterId, name: str, data: bytes) -> None:
    """Puts a file where the worker reads it at once.

    Args:
        target: The gateway.
        account: The Discord account in whose name it is put there.
        matter: The matter.
        name: The file's name; the box takes plain names only.
        data: What is in it.

    Raises:
        Refused: The matter is not for this account, or there is none.
        BadRequest: The box does not take a file of that name or size.
        Unavailable: The box cannot be reached.
    """
    try:
        async with asyncio.timeout(_PUT_S):
            conn = await connect(target, login=f"for-{account}")
            async with conn, conn.start_sftp_client() as sftp:
                # A slash in the name would be another place: the box refuses it, we do too.
                if "/" in name or "\\" in name:
                    raise BadRequest("the box does not take a file of that name")
                async with sftp.open(f"/{matter}/inbox/{name}", "wb") as file:
                    await file.write(data)
    except (asyncssh.SFTPNoSuchFile, asyncssh.PermissionDenied) as error:
        raise Refused("refused") from error
    except asyncssh.SFTPError as error:
        raise BadRequest("the box does not take this file") from error
    except (asyncssh.Error, OSError, TimeoutError) as error:
        raise Unavailable("the box cannot be reached", next_step="try again later") from error
