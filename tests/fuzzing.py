"""Files of every format and saved states, spoilt at random, and a try to read each of them.

Knows what may go wrong in reading: nothing but `CrowdstreamError`.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl

import crowdstream as cs
from crowdstream.errors import CrowdstreamError
from crowdstream.labels import Vocabulary, code_table
from crowdstream.labels.columns import ColumnNames
from crowdstream.labels.gold import COLUMNS
from crowdstream.labels.meaning.interpreting import Interpreter
from crowdstream.labels.meaning.kinds import LabelHints
from crowdstream.labels.readers import BadRows, find_sources, make_options, read_all, read_batches
from crowdstream.labels.readers.jsonl import decode_row
from crowdstream.labels.readers.small_tables import read_small_table
from crowdstream.serialization import HEADER, kind_of, seal

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import zipfile

ROWS = [(f"t{k // 3}", f"wé{k % 4}", "xyz"[k % 3 * (k % 2)]) for k in range(24)]
NAMES = ("task", "worker", "label")
ASKED = ("criterion", *("tone", "Tone", "toxic") * 8)
HINTS = (
    LabelHints(),
    LabelHints(as_classes=True),
    LabelHints(choices=True, separator="|"),
    LabelHints(ordinal=True),
    LabelHints(order=("x", "y", "z")),
    LabelHints(threshold=0.5),
    LabelHints(bins=3),
    LabelHints(repeats="majority", as_classes=True),
    LabelHints(repeats="first", exact=True, keep=("none",)),
)
"""What a user may say of labels."""

OPTIONS = make_options(max_bytes="64MB")

TOKENS = (
    *(b"\x00", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\x80", b"\x1a"),
    *(b",", b";", b"|", b"\t", b'"', b'""', b"\n", b"\r", b"\r\n", b"\n\n", b"\\", b"\\u0000"),
    *(b"[", b"]", b"{", b"}", b"[[[[[[[[", b'{"a":', b":", b"null", b"NaN", b"1e999", b"\\ud800"),
    *(b"task,worker,label\n", b"task", b"worker", b"label", b"\xff\xff\xff\xff", b"\x7f\xff"),
)
"""What parsers trip over."""

Packer = Callable[[bytes], bytes]


def _frame() -> pl.DataFrame:
    return pl.DataFrame(ROWS, list(NAMES), orient="row")


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _text(separator: str = ",", end: str = "\n") -> str:
    return "".join(separator.join(row) + end for row in (NAMES, *ROWS))


def seeds() -> dict[str, bytes]:
    """A good file of each format, by the name it has; those of states are called .state."""
    records = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    plain = _text().encode()
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    crowd = cs.Adaptive().fit(_frame())
    stream = cs.Stream(cs.Adaptive(), max_labels=5)
    for task, worker, label in ROWS:
        stream.observe(task=task, worker=worker, label=label)
    frame = _frame()
    return {
        "plain.csv": plain,
        "quoted.csv": b'"task","worker","label"\n"a ""b"",","w\n","x"\n' + plain[18:],
        "other.csv": _text(";", "\r").encode("latin-1"),
        "wide.csv": b"task,ann,bob\n1,x,y\n2,y,\n",
        "utf16.csv": _text("|").encode("utf-16"),
        "l.tsv": _text("\t", "\r\n").encode(),
        "l.jsonl": lines,
        "l.json": json.dumps(records, indent=1).encode(),
        "l.parquet": _written(frame.write_parquet),
        "l.arrow": _written(frame.write_ipc),
        "l.xlsx": _written(frame.write_excel),
        "l.csv.gz": gzip.compress(plain, mtime=0),
        "l.jsonl.gz": gzip.compress(lines, mtime=0),
        "l.csv.zst": zstd.compress(plain),
        "l.json.zst": zstd.compress(json.dumps(records).encode()),
        "adaptive.state": crowd.to_bytes(),
        "stream.state": stream.to_bytes(),
    }


def meaning_seeds() -> dict[str, bytes]:
    """Files that mean more than one class per worker and task, by the names they have."""
    records = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    return {
        "questions.csv": "".join(
            f"{','.join(row)},{more}\n" for row, more in zip((NAMES, *ROWS), ASKED, strict=True)
        ).encode(),
        "columns.csv": b"item,judge,tone,toxic,remark\n"
        + b"".join(b"%d,%d,%d,%d,ok\n" % (k // 4, k % 4, k % 3, k % 5 % 2) for k in range(40)),
        "again.jsonl": "".join(
            json.dumps(record | {"epoch": k % 3}) + "\n" for k, record in enumerate(records)
        ).encode(),
        "scores.csv": b"task,worker,label\n"
        + b"".join(b"%d,%d,0.%d\n" % (k // 3, k % 3, k) for k in range(24)),
        "sets.jsonl": "".join(
            json.dumps(record | {"label": ["x", "y", "z"][: 1 + k % 3]}) + "\n"
            for k, record in enumerate(records)
        ).encode(),
    }


FIXTURES = Path(__file__).parent / "fixtures"


def tool_seeds() -> dict[str, bytes]:
    """Every file of a tool that the fixtures have, by its tool and name."""
    paths = (path for path in sorted(FIXTURES.rglob("*")) if path.is_file())
    files = (path for path in paths if path.parent not in (FIXTURES, FIXTURES / "make"))
    return {f"{path.parent.name}-{path.name}": path.read_bytes() for path in files}


def unpacked(name: str, data: bytes) -> tuple[bytes, Packer]:
    """What is inside of a packed file or a sealed state, and how to pack it again."""
    if name.endswith(".gz"):
        return gzip.decompress(data), lambda inner: gzip.compress(inner, 1, mtime=0)
    if name.endswith(".zst"):
        return zstd.decompress(data), zstd.compress
    if name.endswith((".zip", ".eval")):
        return _archive_entry(data)
    if name.endswith(".state"):
        return data[HEADER.size :], lambda inner: seal(kind_of(data), inner)
    return data, bytes


def _archive_entry(data: bytes) -> tuple[bytes, Packer]:
    """The first file of labels in an archive, and the archive with another one in its place."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    first = next(name for name in entries if not name.startswith("_journal"))

    def pack(inner: bytes) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in (entries | {first: inner}).items():
                archive.writestr(name, content)
        return file.getvalue()

    return entries[first], pack


def mutate(data: bytes, draw: random.Random) -> bytes:
    """Some changes in some places."""
    for _ in range(draw.choice([1, 1, 2, 3, 8])):
        at = draw.randrange(len(data) + 1)
        stop = min(len(data), at + draw.choice([1, 2, 4, 16, 200]))
        match draw.randrange(6):
            case 0:
                data = data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + draw.choice(TOKENS) * draw.choice([1, 1, 3, 200]) + data[at:]
            case 2:
                data = data[:at] + data[stop:]
            case 3:
                data = data[:at] + data[at:stop] * draw.choice([2, 5, 300]) + data[stop:]
            case 4:
                data = data[:at]
            case _:
                data = data[:at] + draw.randbytes(stop - at) + data[stop:]
    return data


VALUES: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    10**30,
    1e300,
    0.5,
    "",
    " ",
    "x",
    "\ud800",
    [],
    [[]],
    {},
    {"id": {}},
)
"""What stands in JSON where something else is expected."""


def scramble(value: object, draw: random.Random, rate: float) -> object:
    """JSON some of whose values are others, or missing, or twice as many."""
    if draw.random() < rate:
        return draw.choice(VALUES)
    if isinstance(value, dict):
        kept = [key for key in value if draw.random() >= rate]
        return {key: scramble(value[key], draw, rate) for key in kept}
    if isinstance(value, list):
        found = [scramble(each, draw, rate) for each in value]
        return found + found if draw.random() < rate else found
    return value


def spoil_values(name: str, seed: bytes, draw: random.Random) -> bytes:
    """A file whose JSON is whole but holds what nobody expects there."""
    inner, pack = unpacked(name, seed)
    rate = draw.choice([0.003, 0.03, 0.2])
    if name.endswith((".jsonl", ".zip")):
        records = [scramble(json.loads(line), draw, rate) for line in inner.splitlines()]
        return pack("".join(json.dumps(record) + "\n" for record in records).encode())
    return pack(json.dumps(scramble(json.loads(inner), draw, rate)).encode())


def spoil(name: str, seed: bytes, draw: random.Random) -> bytes:
    """A file that was good, changed outside or, if it is packed, inside."""
    if "-" in name and name.endswith((".json", ".jsonl", ".zip", ".eval")) and draw.random() < 0.5:
        return spoil_values(name, seed, draw)
    if draw.random() < 0.3:
        return mutate(seed, draw)
    inner, pack = unpacked(name, seed)
    return pack(mutate(inner, draw))


def attempt(
    name: str, data: bytes, folder: Path, draw: random.Random, *, told: bool = False
) -> bool:
    """Read a file or a state in one of the ways there are; whether it could be read.

    ``told``: something is said of what the file means, which it may not bear out.
    Whatever else than `CrowdstreamError` is raised comes out of here.
    """
    try:
        if name.endswith(".state"):
            cs.load(data)
            return True
        path = folder / name
        path.write_bytes(data)
        names = ColumnNames(wide=name.startswith("wide") or draw.random() < 0.05)
        hints = LabelHints()
        if told:
            asked, again = draw.choice([None, "tone", "criterion"]), draw.choice([None, "epoch"])
            names, hints = names._replace(question=asked, repeat=again), draw.choice(HINTS)
        sources = find_sources([str(path)], None, OPTIONS)
        with BadRows(draw.choice(["fail", "skip"])) as bad:
            match draw.randrange(4):
                case 0:
                    read_small_table(str(path), COLUMNS)
                case 1:
                    size = draw.choice([7, 64, 4096])
                    batches = Interpreter(names, hints)
                    for _, raw in read_batches(sources, names, bad, size):
                        batches.batch(raw).frame()
                    batches.read_as(), batches.notes()
                case 2 if name.endswith(".jsonl"):
                    for line in data.split(b"\n"):
                        decode_row(line)
                case _:
                    meaning = Interpreter(names, hints).whole(read_all(sources, names, bad))
                    for question in meaning.questions:
                        code_table(question, Vocabulary(), Vocabulary())
    except CrowdstreamError:
        return False
    return True
