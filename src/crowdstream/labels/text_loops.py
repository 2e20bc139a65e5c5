# cython: language_level=3
# cython: infer_types=True
"""Compiled loops over text where it lies, eight bytes at a time: a hash table, and rows of CSV.

Changing it changes no saved state (text gets its codes in order of first appearance, whatever the
hash), but what benchmarks/cli.py measures. Knows nothing of labels, and nothing of files but their
bytes. Addresses are not checked: callers make sure that they may be read. Uncompiled there are no
addresses to read from; `COMPILED` says so, and callers do without all but `last_row_end`.
"""

from __future__ import annotations

import cython

COMPILED = cython.compiled

if cython.compiled:
    from cython.cimports.crowdstream.labels.marks import fetch, find_marks, lowest_mark
    from cython.cimports.crowdstream.labels.text_views import BUFFER_BITS
    from cython.cimports.libc.string import memchr, memcpy
else:
    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()

Record = cython.struct(
    tag=cython.ulonglong,  # length, and from bit 40 on the kind
    one=cython.ulonglong,  # the first 16 bytes, zeros after the end
    two=cython.ulonglong,
    code=cython.int,
    rest=cython.uint,  # where in the arena the other bytes are, in words
)
Span = cython.struct(text=cython.p_uchar, size=cython.Py_ssize_t)
Words = cython.struct(  # a text with its first 16 bytes
    text=cython.p_uchar, size=cython.ulonglong, one=cython.ulonglong, two=cython.ulonglong
)

TEXTS, ARENA = range(2)
"""Places in ``used``: how many texts there are, how much of the arena they take; then how many
texts each kind has."""
DONE, FULL, ODD = range(3)
"""What `RowReader.read` returns: all rows are read; the table of texts is full; the next row needs
a closer look: blank, broken quotes, another number of fields, no task or worker, not UTF-8."""

FULL_TABLE = cython.declare(cython.longlong, -1)
NOT_UTF8 = cython.declare(cython.longlong, -2)
LOW = cython.declare(cython.ulonglong, 0xFFFFFFFF)
FREE = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # a slot; others: half a hash, a record
LARGE_TABLE = cython.declare(cython.longlong, 8192)  # half a megabyte: no longer near at hand
ROWS_AT_ONCE = cython.declare(cython.Py_ssize_t, 256)
# Rows that are read before their workers are looked up: enough for the processor to look up
# several at a time, few enough that what was read is still in the cache.


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def load(place: cython.p_uchar) -> cython.ulonglong:
    """Eight bytes, which must be ours to read; the compiler makes one instruction of it."""
    word: cython.ulonglong = 0
    memcpy(cython.address(word), place, 8)
    return word


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def load_some(place: cython.p_uchar, left: cython.Py_ssize_t) -> cython.ulonglong:
    """Eight bytes of which ``left`` are of the text; zeros for the others."""
    if left <= 0:
        return 0
    shift: cython.int = 0 if left >= 8 else 64 - 8 * left
    return (load(place) << shift) >> shift


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def load_inside(
    text: cython.p_uchar, done: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.ulonglong:
    """The word at ``done`` of a text of 8 bytes or more, outside of which nothing is read."""
    left = length - done
    if left >= 8:
        return load(text + done)
    return load(text + length - 8) >> (64 - 8 * left)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def same_text(
    one: cython.p_uchar, two: cython.p_uchar, done: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.bint:
    """Whether two texts of 8 bytes or more are equal from ``done`` on."""
    while done < length:
        if load_inside(one, done, length) != load_inside(two, done, length):
            return False
        done += 8
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def mix(state: cython.ulonglong, word: cython.ulonglong) -> cython.ulonglong:
    """One step of the hash: a multiplication by 2⁶⁴ over the golden ratio, its high bits folded."""
    golden: cython.ulonglong = 0x9E3779B97F4A7C15
    state = (state ^ word) * golden
    return state ^ (state >> 29)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def zeros(word: cython.ulonglong) -> cython.ulonglong:
    """A bit in the highest place of the lowest byte that is zero; those above may have one too."""
    ones: cython.ulonglong = 0x0101010101010101  # locals: the compiler knows what they are
    high: cython.ulonglong = 0x8080808080808080
    return (word - ones) & ~word & high


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def lowest(bits: cython.ulonglong) -> cython.Py_ssize_t:
    """The number of the lowest byte whose highest bit is set: one must be."""
    places: cython.ulonglong = 0x0001020304050607
    return (((bits & (~bits + 1)) >> 7) * places) >> 56


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_utf8(text: cython.p_uchar, length: cython.Py_ssize_t) -> cython.bint:
    """Whether bytes are text in UTF-8, by the table of the Unicode standard (3.9, table 3-7)."""
    k: cython.Py_ssize_t = 0
    while k < length:
        byte: cython.int = text[k]
        if byte < 0x80:
            k += 1
            continue
        if byte < 0xC2 or byte > 0xF4:
            return False
        more: cython.Py_ssize_t = 1 + (byte >= 0xE0) + (byte >= 0xF0)
        if k + more >= length:
            return False
        second: cython.int = text[k + 1]
        if (
            (byte == 0xE0 and second < 0xA0)
            or (byte == 0xED and second > 0x9F)
            or (byte == 0xF0 and second < 0x90)
            or (byte == 0xF4 and second > 0x8F)
        ):
            return False
        for j in range(k + 1, k + more + 1):
            if text[j] & 0xC0 != 0x80:
                return False
        k += more + 1
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def hash_of(
    text: cython.p_uchar, tag: cython.ulonglong, one: cython.ulonglong, two: cython.ulonglong
) -> cython.ulonglong:
    """Hash a text: its tag, its first 16 bytes, and what follows them."""
    length: cython.Py_ssize_t = tag & LOW
    hashed = mix(mix(tag, one), two)
    for done in range(16, length, 8):
        hashed = mix(hashed, load_inside(text, done, length))
    return hashed


@cython.final
@cython.cclass
class TextTable:
    """Texts known so far, open addressing; the arrays are made and grown by `text_codes`.

    A slot holds the number of a record, and in its upper half that of the text's hash: nearly all
    texts that are in each other's way are told apart without a look at their records, each of which
    is somewhere else in memory.
    """

    slots: cython.ulonglong[::1]
    records: Record[::1]
    arena: cython.ulonglong[::1]
    used: cython.longlong[::1]

    def __init__(self, slots, records, arena, used):
        self.slots = slots
        self.records = records
        self.arena = arena
        self.used = used

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def find(
        self,
        text: cython.p_uchar,
        tag: cython.ulonglong,
        one: cython.ulonglong,
        two: cython.ulonglong,
        check: cython.bint,
    ) -> cython.longlong:
        """The code of a text, new or known; negative if a new one finds no place or is not UTF-8.

        ``tag`` is its length and from bit 40 on its kind; ``text`` is looked at beyond 16 bytes,
        and to ``check`` it.
        """
        return self.find_hashed(text, tag, one, two, hash_of(text, tag, one, two), check)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def find_hashed(
        self,
        text: cython.p_uchar,
        tag: cython.ulonglong,
        one: cython.ulonglong,
        two: cython.ulonglong,
        hashed: cython.ulonglong,
        check: cython.bint,
    ) -> cython.longlong:
        """As `find`, of a text whose hash is known."""
        length: cython.Py_ssize_t = tag & LOW
        kind: cython.Py_ssize_t = tag >> 40
        size: cython.Py_ssize_t = (length - 9) >> 3 if length > 16 else 0
        last: cython.ulonglong = self.slots.shape[0] - 1
        slot = hashed & last
        held = self.slots[slot]
        while held != FREE:
            if held >> 32 == hashed >> 32:  # else another text: no need to look at it
                known = cython.address(self.records[held & LOW])
                same: cython.bint = known.tag == tag and known.one == one and known.two == two
                if same and size:
                    rest: cython.Py_ssize_t = known.rest
                    for done in range(16, length, 8):
                        if self.arena[rest] != load_inside(text, done, length):
                            same = False
                            break
                        rest += 1
                if same:
                    return known.code
            slot = (slot + 1) & last
            held = self.slots[slot]
        if check and not is_utf8(text, length):
            return NOT_UTF8
        entry: cython.ulonglong = self.used[0]
        rest = self.used[1]
        if self.used[0] == self.records.shape[0] or rest + size > self.arena.shape[0]:
            return FULL_TABLE
        code = self.used[2 + kind]
        self.slots[slot] = (hashed >> 32 << 32) | entry
        self.records[entry] = Record(tag, one, two, code, rest)
        for done in range(16, length, 8):
            self.arena[rest] = load_inside(text, done, length)
            rest += 1
        self.used[0] += 1
        self.used[1] += size
        self.used[2 + kind] += 1
        return code

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def find_span(self, span: Span, kind: cython.ulonglong) -> cython.longlong:
        """As `find`, of a text behind which seven bytes more may be read."""
        tag: cython.ulonglong = span.size | (kind << 40)
        one = load_some(span.text, span.size)
        return self.find(span.text, tag, one, load_some(span.text + 8, span.size - 8), True)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def find_fetched(
        self, span: Span, kind: cython.ulonglong, hashed: cython.ulonglong
    ) -> cython.longlong:
        """As `find_span`, of a text that `fetch_spans` has seen."""
        tag: cython.ulonglong = span.size | (kind << 40)
        one = load_some(span.text, span.size)
        two = load_some(span.text + 8, span.size - 8)
        return self.find_hashed(span.text, tag, one, two, hashed, True)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fetch_spans(
    table: TextTable,
    spans: cython.pointer[Span],
    hashes: cython.p_ulonglong,
    number: cython.Py_ssize_t,
    kind: cython.ulonglong,
) -> cython.void:
    """Note the hashes of texts, and fetch what they will be compared with.

    In a large table each text waits for two places in memory. So the processor waits for those of
    many texts at once.
    """
    last: cython.ulonglong = table.slots.shape[0] - 1
    for k in range(number):
        text = spans[k].text
        size = spans[k].size
        tag: cython.ulonglong = size | (kind << 40)
        one = load_some(text, size)
        hashes[k] = hash_of(text, tag, one, load_some(text + 8, size - 8))
        fetch(cython.address(table.slots[hashes[k] & last]))
    for k in range(number):
        held = table.slots[hashes[k] & last]
        if held != FREE:
            fetch(cython.address(table.records[held & LOW]))


def fill_slots(table: TextTable):
    """Put the texts of a table into its slots, which are all free.

    Their hashes are made anew: without them two records fill a line of the cache.
    """
    slots: cython.ulonglong[::1] = table.slots
    last: cython.ulonglong = slots.shape[0] - 1
    with cython.nogil:
        for entry in range(table.used[0]):
            known = cython.address(table.records[entry])
            length: cython.Py_ssize_t = known.tag & LOW
            hashed = mix(mix(known.tag, known.one), known.two)
            word: cython.Py_ssize_t = known.rest
            for _ in range(16, length, 8):
                hashed = mix(hashed, table.arena[word])
                word += 1
            slot: cython.ulonglong = hashed & last
            while slots[slot] != FREE:
                slot = (slot + 1) & last
            place: cython.ulonglong = entry
            slots[slot] = (hashed >> 32 << 32) | place


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def place_for(at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return where the next long text goes in the one buffer."""
    if at >> BUFFER_BITS != (at + size - 1) >> BUFFER_BITS:
        return ((at >> BUFFER_BITS) + 1) << BUFFER_BITS
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def write_view(
    view: cython.pointer[cython.ulonglong],
    size: cython.ulonglong,
    one: cython.ulonglong,
    two: cython.ulonglong,
    place: cython.ulonglong,
) -> cython.void:
    """Write the view of a text: its length, then all of it, or its first four bytes and its place.

    ``one`` and ``two`` are its first 16 bytes. See `arrow.TextChunk`.
    """
    view[0] = size | (one << 32)
    if size <= 12:
        view[1] = (one >> 32) | (two << 32)
    else:
        mask: cython.ulonglong = 1
        mask = (mask << BUFFER_BITS) - 1
        view[1] = (place >> BUFFER_BITS) | ((place & mask) << 32)


def copy_texts(
    table: TextTable,
    kind: cython.ulonglong,
    views: cython.ulonglong[::1],
    into: cython.uchar[::1],
):
    """Write the views of a kind's texts, by code, and long ones into ``into``: how many bytes.

    There must be room for them all, and for what buffers leave free.
    """
    at: cython.Py_ssize_t = 0
    code: cython.Py_ssize_t = 0
    with cython.nogil:
        for entry in range(table.used[0]):
            known = cython.address(table.records[entry])
            if known.tag >> 40 != kind:
                continue
            length: cython.Py_ssize_t = known.tag & LOW
            begin: cython.Py_ssize_t = place_for(at, length)
            if 2 * code + 1 >= views.shape[0] or (length > 12 and begin + length > into.shape[0]):
                break
            write_view(cython.address(views[2 * code]), length, known.one, known.two, begin)
            code += 1
            if length <= 12:
                continue
            memcpy(cython.address(into[begin]), cython.address(known.one), min(length, 16))
            if length > 16:
                memcpy(
                    cython.address(into[begin + 16]),
                    cython.address(table.arena[known.rest]),
                    length - 16,
                )
            at = begin + length
    return at


@cython.final
@cython.cclass
class Views:
    """Part of a column of text as Arrow lays it out: see `arrow.TextChunk`."""

    views: cython.const[cython.ulonglong][::1]
    buffers: cython.const[cython.ulonglong][::1]
    valid: cython.p_uchar
    first_bit: cython.Py_ssize_t

    def __init__(self, views, buffers, valid: cython.size_t, first_bit: cython.Py_ssize_t):
        self.views = views
        self.buffers = buffers
        self.valid = cython.cast(cython.p_uchar, valid)
        self.first_bit = first_bit

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def is_null(self, row: cython.Py_ssize_t) -> cython.bint:
        """Whether there is no text."""
        if self.valid == cython.NULL:
            return False
        bit = self.first_bit + row
        return not (self.valid[bit >> 3] >> (bit & 7)) & 1

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def words(self, row: cython.Py_ssize_t) -> Words:
        """The text of a row that has one; where it lies only of more than 12 bytes."""
        head = self.views[2 * row]
        tail = self.views[2 * row + 1]
        size = head & LOW
        if size <= 12:
            return Words(cython.NULL, size, (head >> 32) | (tail << 32), tail >> 32)
        place: cython.size_t = self.buffers[tail & LOW] + (tail >> 32)
        text = cython.cast(cython.p_uchar, place)
        return Words(text, size, load(text), load_inside(text, 8, size))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fetch_rows(
    chunk: Views,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    table: TextTable,
    hashes: cython.p_ulonglong,
) -> cython.void:
    """Do as `fetch_spans` with rows of a chunk."""
    last: cython.ulonglong = table.slots.shape[0] - 1
    for row in range(begin, end):
        hashes[row - begin] = 0
        if not chunk.is_null(row):
            found = chunk.words(row)
            hashes[row - begin] = hash_of(found.text, found.size, found.one, found.two)
            fetch(cython.address(table.slots[hashes[row - begin] & last]))
    for k in range(end - begin):
        held = table.slots[hashes[k] & last]
        if held != FREE:
            fetch(cython.address(table.records[held & LOW]))


def code_chunk(
    chunk: Views,
    row: cython.Py_ssize_t,
    table: TextTable,
    codes: cython.int[::1],
    firsts: cython.longlong[::1],
    before: cython.Py_ssize_t,
):
    """Code the rows of a chunk from ``row`` on; how far it got before the table was full.

    ``codes`` are the chunk's; ``firsts`` take the row in which each code came up first, counted
    from the start of the column, of which ``before`` rows precede the chunk. Nulls are −1.
    """
    rows: cython.Py_ssize_t = codes.shape[0]
    known: cython.longlong = table.used[0]
    hashes = cython.declare(cython.ulonglong[256])
    begin: cython.Py_ssize_t = row
    with cython.nogil:
        while begin < rows:
            end = min(begin + ROWS_AT_ONCE, rows)
            large: cython.bint = table.used[0] > LARGE_TABLE
            if large:
                fetch_rows(chunk, begin, end, table, hashes)
            for k in range(begin, end):
                if chunk.is_null(k):
                    codes[k] = -1
                    continue
                found = chunk.words(k)
                if large:
                    hashed = hashes[k - begin]
                else:
                    hashed = hash_of(found.text, found.size, found.one, found.two)
                code = table.find_hashed(
                    found.text, found.size, found.one, found.two, hashed, False
                )
                if code < 0:
                    rows = end = k
                    break
                if code == known:
                    firsts[code] = before + k
                    known += 1
                codes[k] = code
            begin = end
    return rows


@cython.final
@cython.cclass
class RowReader:
    """Rows of CSV → codes of workers and labels, and a view of each run's task.

    Workers may be many, and each is somewhere else in memory: they are looked up a block of rows at
    a time, so that the processor waits for several of them at once. A block counts only when it is
    done: if the table is full in between, its rows are read again.

    ``views`` takes the tasks' names, two words each, and ``names`` the long ones; ``scratch`` is
    for text whose doubled quotes are made single.
    """

    separator: cython.uchar
    at_task: cython.int
    at_worker: cython.int
    at_label: cython.int
    fields: cython.int
    table: TextTable
    workers: cython.int[::1]
    labels: cython.int[::1]
    starts: cython.longlong[::1]
    views: cython.ulonglong[::1]
    names: cython.uchar[::1]
    last: Span
    last_one: cython.ulonglong
    last_two: cython.ulonglong
    scratch: cython.uchar[::1]
    scratched: cython.Py_ssize_t
    task: Span
    label: Span
    unquoted: Span
    waiting: Span[256]
    tasks: cython.int[::1]
    task_table: TextTable
    waiting_tasks: Span[256]
    hashes: cython.ulonglong[256]
    spread: cython.bint
    full_of_tasks = cython.declare(cython.bint, visibility="public")
    quoted: cython.bint
    block: cython.p_uchar
    marks: cython.ulonglong
    rows = cython.declare(cython.Py_ssize_t, visibility="public")
    runs = cython.declare(cython.Py_ssize_t, visibility="public")
    filled = cython.declare(cython.Py_ssize_t, visibility="public")
    at = cython.declare(cython.Py_ssize_t, visibility="public")
    wanted = cython.declare(cython.Py_ssize_t, visibility="public")

    def __init__(self, separator, places, fields, codes, tasks, scratch):
        self.separator = separator
        self.at_task, self.at_worker, self.at_label = places
        self.fields = fields
        self.workers, self.labels = codes
        self.starts, self.views, self.names = tasks
        self.scratch = scratch
        self.rows = self.runs = self.filled = self.at = 0
        self.last.size = 0  # no task's name is empty
        self.spread = self.full_of_tasks = False

    def code_tasks(self, tasks: cython.int[::1], table: TextTable):
        """Code tasks too, by a table of their own, in place of taking their names run by run."""
        self.tasks = tasks
        self.task_table = table
        self.spread = True

    def read(
        self,
        data: cython.uchar[::1],
        stop: cython.Py_ssize_t,
        table: TextTable,
        quoted: cython.bint,
    ):
        """Read whole rows from ``at`` up to ``stop``, behind a newline; `DONE`, `FULL` or `ODD`.

        ``quoted``: whether there may be quotes; without them rows are found more quickly. 64 bytes
        behind ``stop`` may be read.

        `FULL`: ``wanted`` is the length of the text that found no place, ``full_of_tasks`` whether
        in the table of tasks. `ODD`: ``at`` is where
        the row begins; those before it are read.
        """
        status: cython.Py_ssize_t = DONE
        limit: cython.Py_ssize_t = ROWS_AT_ONCE
        odd: cython.Py_ssize_t = ODD
        base: cython.p_uchar = cython.address(data[0])
        self.table = table
        self.quoted = quoted
        with cython.nogil:
            while self.at < stop and status == 0:
                status = self.read_block(base, base + stop, limit)
                limit = ROWS_AT_ONCE
                if status > odd:  # a worker's name is not UTF-8: first the rows before it
                    limit = status - odd
                    status = 0
        return status

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_block(
        self, base: cython.p_uchar, end: cython.p_uchar, limit: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """A block of rows: 0, 1 (full), or 2 + the number of good rows before an odd one."""
        high: cython.ulonglong = 0x8080808080808080
        names: cython.p_uchar = cython.address(self.names[0])
        runs = self.runs
        filled = self.filled
        last = self.last
        last_one = self.last_one
        last_two = self.last_two
        at = base + self.at
        rows: cython.Py_ssize_t = 0
        self.scratched = 0
        self.full_of_tasks = False
        if not self.quoted:
            self.block = at
            self.marks = find_marks(at, self.separator)
        while at < end and rows < limit:
            if self.quoted:
                following = self.scan_row(at, end, rows)
            else:
                following = self.scan_unquoted(at, rows)
            if following == cython.NULL:
                break
            code: cython.longlong = -1
            if self.label.size > 0:
                code = self.table.find_span(self.label, 1)
                if code == FULL_TABLE:
                    self.wanted = self.label.size
                    return 1
                if code == NOT_UTF8:
                    break
            self.labels[self.rows + rows] = code
            if self.spread:
                self.waiting_tasks[rows] = self.task
                at = following
                rows += 1
                continue
            text = self.task.text
            size = self.task.size
            one = load_some(text, size)
            two = load_some(text + 8, size - 8)
            same: cython.bint = size == last.size and one == last_one and two == last_two
            if not (same and (size <= 16 or same_text(text, last.text, 16, size))):
                if (size > 16 or (one | two) & high) and not is_utf8(text, size):
                    break
                if size > 12:
                    filled = place_for(filled, size)
                    memcpy(names + filled, text, size)
                write_view(cython.address(self.views[2 * runs]), size, one, two, filled)
                last = Span(names + filled, size)
                if size > 12:
                    filled += size
                last_one = one
                last_two = two
                self.starts[runs] = self.rows + rows
                runs += 1
            at = following
            rows += 1
        if rows == 0:
            return 2
        if self.spread:
            fetch_spans(self.task_table, self.waiting_tasks, self.hashes, rows, 0)
            for k in range(rows):
                code = self.task_table.find_fetched(self.waiting_tasks[k], 0, self.hashes[k])
                if code == FULL_TABLE:
                    self.wanted = self.waiting_tasks[k].size
                    self.full_of_tasks = True
                    return 1
                if code == NOT_UTF8:
                    return 2 + k
                self.tasks[self.rows + k] = code
        large: cython.bint = self.table.used[0] > LARGE_TABLE
        if large:
            fetch_spans(self.table, self.waiting, self.hashes, rows, 0)
        for k in range(rows):
            if large:
                code = self.table.find_fetched(self.waiting[k], 0, self.hashes[k])
            else:
                code = self.table.find_span(self.waiting[k], 0)
            if code == FULL_TABLE:
                self.wanted = self.waiting[k].size
                return 1
            if code == NOT_UTF8:
                return 2 + k
            self.workers[self.rows + k] = code
        self.rows += rows
        self.runs = runs
        self.filled = filled
        self.last = last
        self.last_one = last_one
        self.last_two = last_two
        self.at = at - base
        return 0

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def scan_unquoted(self, at: cython.p_uchar, row: cython.Py_ssize_t) -> cython.p_uchar:
        """Do as `scan_row` where there are no quotes, by marks of 64 bytes at a time."""
        fields = self.fields
        marks = self.marks
        block = self.block
        for place in range(fields):
            while marks == 0:
                block += 64
                marks = find_marks(block, self.separator)
            mark = block + lowest_mark(marks)
            marks &= marks - 1
            size: cython.Py_ssize_t = mark - at
            if (mark[0] == b"\n") != (place == fields - 1):
                return cython.NULL
            if place == fields - 1 and size > 0 and (mark - 1)[0] == b"\r":
                size -= 1
            if place == self.at_task:
                self.task = Span(at, size)
            elif place == self.at_worker:
                self.waiting[row] = Span(at, size)
            elif place == self.at_label:
                self.label = Span(at, size)
            at = mark + 1
        self.marks = marks
        self.block = block
        if self.task.size == 0 or self.waiting[row].size == 0:
            return cython.NULL
        return at

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def scan_row(
        self, at: cython.p_uchar, end: cython.p_uchar, row: cython.Py_ssize_t
    ) -> cython.p_uchar:
        """Find task, worker and label of the row at ``at``: where the next begins, NULL if odd."""
        separator = self.separator
        fields = self.fields
        separators: cython.ulonglong = 0x0101010101010101
        separators *= separator
        newlines: cython.ulonglong = 0x0A0A0A0A0A0A0A0A
        text: cython.p_uchar
        size: cython.Py_ssize_t
        for place in range(fields):
            text = at
            if at[0] == b'"':
                at = self.unquote(at + 1, end)
                if at == cython.NULL:
                    return cython.NULL
                text = self.unquoted.text
                size = self.unquoted.size
                if at[0] == b"\r":
                    at += 1
                if at[0] != b"\n" and at[0] != separator:
                    return cython.NULL
            else:
                while True:
                    word = load(at)
                    found = zeros(word ^ separators) | zeros(word ^ newlines)
                    if found:
                        break
                    at += 8
                at += lowest(found)
                size = at - text
            if (at[0] == b"\n") != (place == fields - 1):
                return cython.NULL
            if place == fields - 1 and size > 0 and text + size == at and (at - 1)[0] == b"\r":
                size -= 1
            if place == self.at_task:
                self.task = Span(text, size)
            elif place == self.at_worker:
                self.waiting[row] = Span(text, size)
            elif place == self.at_label:
                self.label = Span(text, size)
            at += 1
        if self.task.size == 0 or self.waiting[row].size == 0:
            return cython.NULL
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def unquote(self, at: cython.p_uchar, end: cython.p_uchar) -> cython.p_uchar:
        """Find the text of a field behind its opening quote: where the field ends, NULL if odd."""
        into = cython.address(self.scratch[0]) + self.scratched
        doubled: cython.bint = False
        length: cython.Py_ssize_t = 0
        self.unquoted.text = at
        while True:
            closing = cython.cast(cython.p_uchar, memchr(at, 34, end - at))
            if closing == cython.NULL:
                return cython.NULL
            again: cython.bint = closing[1] == b'"'
            size = closing - at + again  # of a doubled quote one stays
            if again and not doubled:
                doubled = True
                self.unquoted.text = into
            if doubled:
                memcpy(into + length, at, size)
            length += size
            if not again:
                break
            at = closing + 2
        self.unquoted.size = length
        if doubled:
            self.scratched += length
        return closing + 1


def last_row_end(data: cython.const[cython.uchar][::1], separator: cython.int):
    """Where the last whole row of CSV ends: a quote counts only at the beginning of a field."""
    end: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t = 0
    quoted: cython.bint = False
    begins: cython.bint = True
    with cython.nogil:
        while k < data.shape[0]:
            byte: cython.int = data[k]
            if quoted:
                if byte == 34:
                    if k + 1 < data.shape[0] and data[k + 1] == 34:
                        k += 1
                    else:
                        quoted = False
            elif byte == 34 and begins:
                quoted = True
                begins = False
            elif byte == 10:
                end = k + 1
                begins = True
            else:
                begins = byte == separator
            k += 1
    return end
