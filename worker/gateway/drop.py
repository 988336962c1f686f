"""The file drop over SFTP: every operation, answered by the virtual tree or refused.

The library's own file server is replaced whole: whatever is not written out here is refused, and a
test fails when the library gains an operation. Rights are looked up at every one. Putting and
getting are sealed in the matter's journal before they count.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, NoReturn, TypeVar

import asyncssh  # noqa: TID251

from protocol.errors import AppError
from protocol.frames import Stamp
from protocol.ids import MatterId
from worker import access
from worker.access import Action, Identity
from worker.audit import Journal
from worker.gateway import DropSettings
from worker.gateway.moving import Download, NameTaken, TooMuch, Upload
from worker.gateway.tree import BadName, Folder, NoSuchPlace, Place, Side, normal, place
from worker.logs import Log
from worker.registry import RegistryFile

_log: Final = Log("drop")
_T = TypeVar("_T")

_READ, _WRITE, _APPEND, _CREATE = 0x01, 0x02, 0x04, 0x08  # SFTP version 3, section 6.3
_NEEDS: Final = {Side.INBOX: Action.ADD, Side.OUT: Action.EXPORT}
_OPEN_FILES: Final = 32  # of one session
_BATCH_S: Final = 2.0  # files that follow each other within this are read in one go


class DropBox(asyncssh.SFTPServer):
    """One SFTP session of one user."""

    def __init__(
        self,
        chan: asyncssh.SSHServerChannel[bytes],
        settings: DropSettings,
        registry: RegistryFile,
        stamp: Stamp,
        arrived: Callable[[MatterId], Awaitable[None]],
        acting_for: str | None = None,
    ) -> None:
        """Joins the parts.

        Args:
            chan: The channel.
            settings: Where matters and journals lie, and how large an upload may be.
            registry: Who may what.
            stamp: Whose session it is.
            arrived: Told of a matter with new files, soon after the last of a batch.
            acting_for: The Discord account a bot puts files for.
        """
        super().__init__(chan)
        self._settings = settings
        self._registry = registry
        self._stamp = stamp
        self._who = Identity(
            user=stamp.user,
            fingerprint=stamp.fingerprint,
            peer=stamp.peer,
            acting_for=acting_for,
        )
        self._arrived = arrived
        self._new: set[MatterId] = set()
        self._open = 0
        self._soon: asyncio.Task[None] | None = None
        self.cut = False
        """Set when the peer is gone: uploads he did not close himself are discarded."""

    # --- looking ---

    def realpath(self, path: bytes) -> bytes:
        try:
            return normal(path).encode()
        except NoSuchPlace:
            raise asyncssh.SFTPNoSuchFile("no such file") from None

    async def lstat(self, path: bytes) -> asyncssh.SFTPAttrs:
        return await self._do(lambda: self._attrs(self._place(path)))

    async def stat(self, path: bytes) -> asyncssh.SFTPAttrs:
        return await self.lstat(path)

    def fstat(self, file_obj: object) -> asyncssh.SFTPAttrs:
        assert isinstance(file_obj, Upload | Download)
        return _file(file_obj.size_bytes, 0.0)

    async def scandir(self, path: bytes) -> AsyncIterator[asyncssh.SFTPName]:
        for name, attrs in await self._do(lambda: self._names(self._place(path))):
            yield asyncssh.SFTPName(name.encode(), attrs=attrs)

    # --- putting and getting ---

    async def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> Upload | Download:
        if self._open >= _OPEN_FILES:
            raise asyncssh.SFTPFailure("too many files are open")
        where = await self._do(lambda: self._place(path))
        if where.matter is None or where.side is None or where.name is None:
            raise asyncssh.SFTPPermissionDenied("that is a folder")
        matter, name = where.matter, where.name
        if where.side is Side.OUT:
            if pflags & (_WRITE | _APPEND | _CREATE):
                raise asyncssh.SFTPPermissionDenied("out is for reading")
            return await self._get(matter, name)
        if pflags & (_READ | _APPEND) or not pflags & _CREATE or not pflags & _WRITE:
            raise asyncssh.SFTPPermissionDenied("the inbox takes new files only")
        most = self._settings.upload_bytes
        upload = await self._do(
            lambda: Upload(self._settings.matters, matter, name, most_bytes=most)
        )
        self._open += 1
        return upload

    async def read(self, file_obj: object, offset: int, size: int) -> bytes:
        if not isinstance(file_obj, Download):
            raise asyncssh.SFTPPermissionDenied("the inbox is not for reading")
        return await self._do(lambda: file_obj.read(offset, size))

    async def write(self, file_obj: object, offset: int, data: bytes) -> int:
        if not isinstance(file_obj, Upload):
            raise asyncssh.SFTPPermissionDenied("out is for reading")
        await self._do(lambda: file_obj.write(offset, data))
        return len(data)

    async def close(self, file_obj: object) -> None:
        assert isinstance(file_obj, Upload | Download)
        self._open -= 1
        if isinstance(file_obj, Download):
            await self._do(file_obj.close)
        elif self.cut or not self._may(file_obj.matter, Action.ADD):
            await self._do(file_obj.discard)
            _log.info("upload.discarded", user=self._stamp.user, matter=file_obj.matter)
        else:
            await self._put(file_obj)

    async def fsync(self, file_obj: object) -> None:
        if isinstance(file_obj, Upload):
            await self._do(file_obj.sync)

    def setstat(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        """Times and modes of uploads are taken in silence, since clients set them; nothing else."""
        if attrs.size is not None or self._quietly(path).side is not Side.INBOX:
            self._refuse()

    def lsetstat(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        self.setstat(path, attrs)

    async def fsetstat(self, file_obj: object, attrs: asyncssh.SFTPAttrs) -> None:
        if not isinstance(file_obj, Upload):
            self._refuse()
        size = attrs.size
        if size is not None:
            await self._do(lambda: file_obj.resize(size))

    async def exit(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
        await self._tell()
        self.channel.exit(0)  # or scp, which looks at the status, says that it failed

    # --- refused ---

    def open56(
        self, path: bytes, desired_access: int, flags: int, attrs: asyncssh.SFTPAttrs
    ) -> NoReturn:
        self._refuse()

    def remove(self, path: bytes) -> NoReturn:
        self._refuse()

    def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> NoReturn:
        self._refuse()

    def rmdir(self, path: bytes) -> NoReturn:
        self._refuse()

    def rename(self, oldpath: bytes, newpath: bytes) -> NoReturn:
        self._refuse()

    def posix_rename(self, oldpath: bytes, newpath: bytes) -> NoReturn:
        self._refuse()

    def readlink(self, path: bytes) -> NoReturn:
        self._refuse()

    def symlink(self, oldpath: bytes, newpath: bytes) -> NoReturn:
        self._refuse()

    def link(self, oldpath: bytes, newpath: bytes) -> NoReturn:
        self._refuse()

    def lock(self, file_obj: object, offset: int, length: int, flags: int) -> NoReturn:
        self._refuse()

    def unlock(self, file_obj: object, offset: int, length: int) -> NoReturn:
        self._refuse()

    def statvfs(self, path: bytes) -> NoReturn:
        self._refuse()

    def fstatvfs(self, file_obj: object) -> NoReturn:
        self._refuse()

    def map_path(self, path: bytes) -> NoReturn:
        self._refuse()

    def reverse_map_path(self, path: bytes) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise asyncssh.SFTPPermissionDenied("not here: put into inbox, get from out")

    # --- ours ---

    async def _get(self, matter: MatterId, name: str) -> Download:
        file = await self._do(lambda: Download(self._settings.matters, matter, name))
        try:
            await self._seal("file.got", file.matter, file.sha256, file.size_bytes)
        except BaseException:
            file.close()
            raise
        self._open += 1
        return file

    async def _put(self, file: Upload) -> None:
        try:
            sha256 = await self._do(file.whole)
            await self._seal("file.put", file.matter, sha256, file.size_bytes)
            try:
                await self._do(file.place)
            except asyncssh.SFTPError:
                await self._seal("file.put_failed", file.matter, sha256, file.size_bytes)
                raise
        finally:
            await self._do(file.discard)
        self._new.add(file.matter)
        if self._soon is not None:
            self._soon.cancel()
        self._soon = asyncio.create_task(self._tell_soon())

    async def _tell_soon(self) -> None:
        await asyncio.sleep(_BATCH_S)
        self._soon = None
        await self._tell()

    async def _tell(self) -> None:
        while self._new:
            await self._arrived(self._new.pop())

    async def _seal(self, what: str, matter: MatterId, sha256: str, size_bytes: int) -> None:
        details = {"file": sha256, "bytes": str(size_bytes)}
        journal = Journal(self._settings.audit, matter)
        now = dt.datetime.now(dt.UTC)
        ruling = access.decide(self._registry.current(), self._who, Action.READ, matter, now=now)
        by = ruling.person
        through = self._stamp.user if self._who.acting_for is not None else None
        await self._do(lambda: journal.seal(what, by=by, through=through, now=now, details=details))
        _log.info(what, user=by, matter=matter, hash=sha256[:12], bytes=size_bytes)

    def _may(self, matter: MatterId, action: Action) -> bool:
        now = dt.datetime.now(dt.UTC)
        return access.decide(self._registry.current(), self._who, action, matter, now=now).allowed

    def _visible(self) -> tuple[MatterId, ...]:
        now = dt.datetime.now(dt.UTC)
        seen = access.visible_matters(self._registry.current(), self._who, now=now)
        return tuple(matter for matter in seen if self._may(matter, Action.READ))

    def _place(self, path: bytes) -> Place:
        """A place that this user may look at now."""
        where = place(path)
        if where.matter is not None:
            action = _NEEDS[where.side] if where.side is not None else Action.READ
            if not self._may(where.matter, action):
                raise NoSuchPlace
        return where

    def _quietly(self, path: bytes) -> Place:
        try:
            return self._place(path)
        except NoSuchPlace:
            raise asyncssh.SFTPNoSuchFile("no such file") from None

    def _attrs(self, where: Place) -> asyncssh.SFTPAttrs:
        if where.matter is None:
            return _folder(writable=False)
        if where.side is None:
            _there(self._settings, where.matter)
            return _folder(writable=False)
        if where.name is None:
            _there(self._settings, where.matter)
            return _folder(writable=where.side is Side.INBOX)
        with Folder(self._settings.matters, where.matter, where.side) as folder:
            found = folder.stat(where.name)
        if found is None:
            raise NoSuchPlace
        return _file(found.st_size, found.st_mtime)

    def _names(self, where: Place) -> list[tuple[str, asyncssh.SFTPAttrs]]:
        if where.name is not None:
            raise NoSuchPlace
        dots = [(name, _folder(writable=False)) for name in (".", "..")]
        if where.matter is None:
            return dots + [(matter, _folder(writable=False)) for matter in self._visible()]
        _there(self._settings, where.matter)
        if where.side is None:
            return dots + [(side.value, _folder(writable=side is Side.INBOX)) for side in Side]
        try:
            with Folder(self._settings.matters, where.matter, where.side) as folder:
                return dots + [
                    (name, _file(found.st_size, found.st_mtime)) for name, found in folder.files()
                ]
        except NoSuchPlace:
            return dots  # nothing was put or exported yet

    async def _do(self, work: Callable[[], _T]) -> _T:
        """Runs blocking work in a thread; what goes wrong becomes a constant sentence."""
        try:
            return await asyncio.to_thread(work)
        except NoSuchPlace:
            raise asyncssh.SFTPNoSuchFile("no such file") from None
        except NameTaken:
            raise asyncssh.SFTPFailure("there is a file of that name; give it another") from None
        except BadName as error:
            raise asyncssh.SFTPFailure(str(error)) from None
        except TooMuch:
            raise asyncssh.SFTPFailure("the file is larger than the drop takes") from None
        except AppError as error:
            _log.trouble("drop.unrecorded", error, user=self._stamp.user)
            raise asyncssh.SFTPFailure("this cannot be recorded, so it is not done") from None
        except OSError as error:
            _log.trouble("drop.disk", error, user=self._stamp.user)
            raise asyncssh.SFTPFailure("the box cannot store or read this now") from None


def _there(settings: DropSettings, matter: MatterId) -> None:
    handle = -1
    try:
        handle = os.open(settings.matters / matter, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        raise NoSuchPlace from None
    finally:
        if handle >= 0:
            os.close(handle)


def _folder(*, writable: bool) -> asyncssh.SFTPAttrs:
    mode = stat.S_IFDIR | (0o750 if writable else 0o550)
    return asyncssh.SFTPAttrs(size=0, uid=0, gid=0, permissions=mode, atime=0, mtime=0)


def _file(size_bytes: int, mtime: float) -> asyncssh.SFTPAttrs:
    mode = stat.S_IFREG | 0o440
    at = int(mtime)
    return asyncssh.SFTPAttrs(size=size_bytes, uid=0, gid=0, permissions=mode, atime=at, mtime=at)
