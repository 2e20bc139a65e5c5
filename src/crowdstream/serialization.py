"""Saved states: bytes that know what they are, in memory and in files. Knows nothing of contents.

The format's version is here: a state of another version is refused by name, never misread.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import os
import stat
import struct
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from crowdstream.errors import StateError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PackedArrays = dict[str, tuple[str, list[int], bytes]]
"""Arrays as they are saved: their type, shape and bytes."""

Packed: TypeAlias = "dict[str, NDArray[np.generic]]"
"""Saved arrays by name."""

FORMAT = 7
"""Version of the saved bytes; raised when their meaning changes."""

HEADER = struct.Struct("<8s8sHQ16s")  # magic, kind, format, length, checksum
MAGIC = b"crowdstr"
SIZES = struct.Struct("<QQ")  # of what `join_arrays` puts before arrays

NAME_LENGTH = 50
"""Characters of a file's name that its temporary one shows: file systems allow 255 bytes in all."""


def seal(kind: str, *payload: bytes | memoryview) -> bytes:
    """The payload, in one or more parts, behind its kind (up to 8 letters), length and checksum.

    >>> bytes(unseal("note", seal("note", b"hel", b"lo")))
    b'hello'
    """
    length = sum(len(part) for part in payload)
    header = HEADER.pack(MAGIC, kind.encode(), FORMAT, length, _digest(*payload))
    return b"".join([header, *payload])


def unseal(kind: str, data: bytes) -> memoryview:
    """The payload that `seal` wrapped, not copied; a `StateError` says what is wrong with others.

    >>> unseal("note", seal("note", b"hello")[:-1])
    Traceback (most recent call last):
    crowdstream.errors.StateError: cut short or overlong: 4 bytes where 5 were saved
    """
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise StateError(f"these {len(data)} bytes are not a saved state")
    _, found, version, length, digest = HEADER.unpack_from(data)
    payload = memoryview(data)[HEADER.size :]
    if version != FORMAT:
        raise StateError(f"saved in format {version}; this version of crowdstream reads {FORMAT}")
    if len(payload) != length:
        raise StateError(f"cut short or overlong: {len(payload)} bytes where {length} were saved")
    if _digest(payload) != digest:
        raise StateError("altered: the checksum does not match")
    if found.rstrip(b"\0") != kind.encode():
        raise StateError(
            f"expected a saved {kind}, found a saved {found.rstrip(bytes(1)).decode()}"
        )
    return payload


def _digest(*payload: bytes | memoryview) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for part in payload:
        found.update(part)
    return found.digest()


def kind_of(data: bytes) -> str:
    """Return the kind of state in these bytes, or an empty string if it is unknown."""
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        return ""
    kind: bytes = HEADER.unpack_from(data)[1]
    return kind.rstrip(b"\0").decode("ascii", "replace")


def pack_arrays(arrays: Mapping[str, NDArray[np.generic]]) -> PackedArrays:
    """Arrays as types, shapes and bytes."""
    return {k: (v.dtype.str, list(v.shape), v.tobytes()) for k, v in arrays.items()}


def unpack_arrays(
    packed: Mapping[str, tuple[str, list[int], bytes]],
) -> dict[str, NDArray[np.generic]]:
    """The arrays that `pack_arrays` packed.

    >>> import numpy as np
    >>> unpack_arrays(pack_arrays({"a": np.arange(3)}))["a"].tolist()
    [0, 1, 2]
    """
    import numpy as np

    try:
        return {
            name: np.frombuffer(data, np.dtype(kind)).reshape(shape).copy()
            for name, (kind, shape, data) in packed.items()
        }
    except (TypeError, ValueError) as error:
        raise StateError(f"a saved state whose arrays do not fit: {error}") from None


def join_arrays(head: bytes, arrays: Mapping[str, NDArray[np.generic]]) -> list[bytes | memoryview]:
    """Bytes and large arrays as parts of a payload; the arrays are not copied.

    >>> import numpy as np
    >>> head, arrays = split_arrays(memoryview(b"".join(join_arrays(b"x", {"a": np.arange(3)}))))
    >>> bytes(head), arrays["a"].tolist()
    (b'x', [0, 1, 2])
    """
    import msgspec

    kinds = [(name, array.dtype.str, list(array.shape)) for name, array in arrays.items()]
    index = msgspec.msgpack.encode(kinds)
    parts = [array.reshape(-1).view("u1").data for array in arrays.values()]
    return [SIZES.pack(len(index), len(head)), index, head, *parts]


def split_arrays(payload: memoryview) -> tuple[memoryview, dict[str, NDArray[np.generic]]]:
    """Split what `join_arrays` joined; the arrays are read-only views."""
    import msgspec
    import numpy as np

    try:
        first, second = SIZES.unpack_from(payload)
        at = SIZES.size + first + second
        kinds = msgspec.msgpack.decode(
            payload[SIZES.size : SIZES.size + first], type=list[tuple[str, str, list[int]]]
        )
        arrays: dict[str, NDArray[np.generic]] = {}
        for name, kind, shape in kinds:
            size = np.dtype(kind).itemsize * math.prod(shape)
            arrays[name] = np.frombuffer(payload[at : at + size], kind).reshape(shape)
            at += size
    except (struct.error, msgspec.MsgspecError, TypeError, ValueError) as error:
        raise StateError(f"a saved state whose arrays do not fit: {error}") from None
    return payload[SIZES.size + first : SIZES.size + first + second], arrays


def read_state(source: bytes | str | Path) -> bytes:
    """The bytes of a saved state: given, or in a file."""
    if not isinstance(source, (str, Path)):
        if not isinstance(source, (bytes, bytearray, memoryview)):
            raise StateError(f"expected saved bytes, found {type(source).__name__}")
        return bytes(source)
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise StateError(f"{source}: {error.strerror or error}") from None


class Savable(ABC):
    """Base of everything that can be saved as bytes."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The whole state as bytes, versioned and with a checksum."""

    def save(self, path: str | Path) -> None:
        """Write the whole state to a file, at once or not at all; `load` brings it back.

        Parameters
        ----------
        path
            Where to. An existing file is replaced and keeps its mode; links are followed; devices
            and pipes are written to.

        Examples
        --------
        >>> import crowdstream as cs, tempfile
        >>> crowd = cs.Adaptive().fit([("t1", "ann", 1), ("t1", "bob", 1)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     crowd.save(f"{folder}/crowd.state")
        ...     cs.load(f"{folder}/crowd.state").workers_
        ['ann', 'bob']
        """
        write_state(path, self.to_bytes())


def write_state(path: str | Path, data: bytes) -> None:
    """Write bytes to a file, at once or not at all, and wait until they are on the disk."""
    with replacing(path) as name, open(name, "wb") as file:
        file.write(data)
        file.flush()
        if is_replaced(path):  # pipes and devices have nothing to wait for
            os.fsync(file.fileno())


def is_replaced(path: str | Path) -> bool:
    """Return True if writing to a path makes a new file there.

    Devices, pipes and sockets, and what only an open descriptor leads to, are written to instead.

    >>> is_replaced(__file__), is_replaced(os.devnull)
    (True, False)
    """
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return True
    return stat.S_ISREG(kind) and os.path.exists(os.path.realpath(path))


def refuse_output(path: str | Path) -> str:
    """Why nothing can be written to a path, as far as that can be told before; or nothing.

    >>> refuse_output(os.curdir)
    'it is a folder'
    """
    target = os.path.realpath(path)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return "" if os.path.isdir(os.path.dirname(target)) else "its folder does not exist"
    except OSError as error:  # a loop of links, a folder that is a file or closed to us
        return "its links lead in a circle" if error.errno == errno.ELOOP else str(error.strerror)
    for kind, name in ((stat.S_ISDIR, "a folder"), (stat.S_ISSOCK, "a socket")):
        if kind(found.st_mode):
            return f"it is {name}"
    return "" if os.access(path, os.W_OK) else "it is write-protected"


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[str]:
    """A temporary name to write under; it becomes the file's own if all goes well, or vanishes.

    Links are followed: they stay, and the file that they lead to is replaced, or made. It keeps its
    mode and, as far as we may, its owner. A device or a pipe is never replaced: the name given is
    its own then, and what is written has gone out, whatever happens later.
    """
    if reason := refuse_output(path):
        raise StateError(f"{path}: cannot be written: {reason}")
    if not is_replaced(path):
        yield str(path)
        return
    target = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:NAME_LENGTH]}.", dir=target.parent)
    except OSError as error:
        raise StateError(f"{path}: cannot be written: {error.strerror}") from None
    os.close(handle)
    try:
        yield name
        _take_after(target, name)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _take_after(target: Path, name: str) -> None:
    """Give a new file the owner and mode of the one it replaces, or those of any new file."""
    try:
        old = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        return
    new = os.stat(name)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(PermissionError):  # another's file, in a folder of ours
            os.chown(name, old.st_uid, old.st_gid)
    os.chmod(name, stat.S_IMODE(old.st_mode) & 0o777)


def over(name: str, arrays: Packed) -> Packed:
    """Arrays under this name."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def under(name: str, arrays: Mapping[str, NDArray[Any]]) -> Packed:
    """The arrays that `over` put under this name."""
    return {
        key.removeprefix(name + "."): array
        for key, array in arrays.items()
        if key.startswith(name + ".")
    }
