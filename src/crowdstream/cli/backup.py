"""`crowdstream backup`: a server's data, copied while it runs."""

from __future__ import annotations

import shutil
from pathlib import Path

from crowdstream.cli import options
from crowdstream.cli.terminal import say
from crowdstream.errors import InputError


class Folders(options.Group, panel="Where"):
    """From where to where."""

    HELP = """
    data: DIR  The server's folder.
    copy: OUT  A new folder for the copy.
    """
    data: str
    copy: str


def backup(folders: Folders) -> None:
    """Copy a server's data while it runs.

    The copy has all that the server has acknowledged so far. To restore is to start a server with
    the copy as its folder.

    \b
    Examples:
      crowdstream backup crowdstream-data backups/monday
      crowdstream serve --data backups/monday
    """
    from crowdstream.serve.store import backup as copy_database
    from crowdstream.serve.tokens import FILE

    source, target = Path(folders.data), Path(folders.copy)
    if target.exists():
        raise InputError("OUT", "a folder that is not there yet", folders.copy)
    beside = target.with_name(f".{target.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(mode=0o700, parents=True)
    try:
        copy_database(source, beside)
        for name in (FILE, "session.key"):
            if (source / name).exists():
                shutil.copy2(source / name, beside / name)
        beside.rename(target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    say(f"copied to {target}")
