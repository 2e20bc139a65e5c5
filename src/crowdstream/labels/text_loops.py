# cython: language_level=3
"""Compiled loops over text where it lies, eight bytes at a time: a hash table, and plain CSV.

Knows nothing of labels, and nothing of files but their bytes. Addresses are taken at their word:
callers see to it that they may be read. Uncompiled there are no addresses to read from; `COMPILED`
says so, and callers have polars do the work.
"""

from __future__ import annotations

import cython

COMPILED = cython.compiled

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()

Record = cython.struct(
    tag=cython.ulonglong,  # length, and from bit 40 on the kind
    one=cython.ulonglong,  # the first 16 bytes, zeros after the end
    two=cython.ulonglong,
    hashed=cython.ulonglong,
    rest=cython.longlong,  # where in the arena the other bytes are
    code=cython.longlong,
)

TEXTS, WORDS = range(2)
"""Places in ``used``: how many texts there are, how many words of the arena they take; then how
many texts each kind has."""
ROWS, RUNS, HEADS, LAST, AT, WANT = range(6)
"""Places in the state of `read_rows`: rows, runs and bytes of heads so far, where the last head
begins, where the next row does, how long the text is that found no room."""
DONE, GROW, ODD = range(3)
"""What `read_rows` returns: all rows are read, the table is full, a row is not plain."""


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
    """Eight bytes of which ``left``, at least one, are of the text; zeros for the others."""
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
    left: cython.Py_ssize_t = length - done
    if left >= 8:
        return load(text + done)
    return load(text + length - 8) >> (64 - 8 * left)


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
    ones: cython.ulonglong = 0x0101010101010101
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


@cython.final
@cython.cclass
class TextTable:
    """Texts known so far, open addressing; the arrays are made and grown by `words`."""

    slots: cython.int[::1]
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
    ) -> cython.longlong:
        """The code of a text, new or known; −1 if there is no room for a new one.

        ``tag`` is its length and from bit 40 on its kind; ``text`` is looked at beyond 16 bytes.
        """
        low: cython.ulonglong = 0xFFFFFFFF
        length: cython.Py_ssize_t = tag & low
        kind: cython.Py_ssize_t = tag >> 40
        done: cython.Py_ssize_t
        entry: cython.Py_ssize_t
        rest: cython.Py_ssize_t
        size: cython.Py_ssize_t = (length - 9) >> 3 if length > 16 else 0
        same: cython.bint
        last: cython.ulonglong = self.slots.shape[0] - 1
        slot: cython.ulonglong
        hashed: cython.ulonglong = mix(mix(tag, one), two)
        for done in range(16, length, 8):
            hashed = mix(hashed, load_inside(text, done, length))
        slot = hashed & last
        entry = self.slots[slot]
        while entry >= 0:
            same = (
                self.records[entry].tag == tag
                and self.records[entry].one == one
                and self.records[entry].two == two
                and self.records[entry].hashed == hashed
            )
            if same and length > 16:
                rest = self.records[entry].rest
                for done in range(16, length, 8):
                    if self.arena[rest] != load_inside(text, done, length):
                        same = False
                        break
                    rest += 1
            if same:
                return self.records[entry].code
            slot = (slot + 1) & last
            entry = self.slots[slot]
        entry = self.used[0]
        rest = self.used[1]
        if entry == self.records.shape[0] or rest + size > self.arena.shape[0]:
            return -1
        self.slots[slot] = entry
        self.records[entry].tag = tag
        self.records[entry].one = one
        self.records[entry].two = two
        self.records[entry].hashed = hashed
        self.records[entry].rest = rest
        self.records[entry].code = self.used[2 + kind]
        for done in range(16, length, 8):
            self.arena[rest] = load_inside(text, done, length)
            rest += 1
        self.used[0] += 1
        self.used[1] += size
        self.used[2 + kind] += 1
        return self.used[2 + kind] - 1


def fill_slots(table: TextTable):
    """Put the texts of a table into its slots, which are all free."""
    slots: cython.int[::1] = table.slots
    last: cython.ulonglong = slots.shape[0] - 1
    slot: cython.ulonglong
    entry: cython.Py_ssize_t
    with cython.nogil:
        for entry in range(table.used[0]):
            slot = table.records[entry].hashed & last
            while slots[slot] >= 0:
                slot = (slot + 1) & last
            slots[slot] = entry


def code_chunk(
    views: cython.const[cython.ulonglong][::1],
    buffers: cython.const[cython.ulonglong][::1],
    valid: cython.size_t,
    first_bit: cython.Py_ssize_t,
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
    bits: cython.p_uchar = cython.cast(cython.p_uchar, valid)
    text: cython.p_uchar
    k: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    rows: cython.Py_ssize_t = codes.shape[0]
    length: cython.Py_ssize_t
    head: cython.ulonglong
    tail: cython.ulonglong
    one: cython.ulonglong
    two: cython.ulonglong
    low: cython.ulonglong = 0xFFFFFFFF
    code: cython.longlong
    known: cython.longlong = table.used[0]
    with cython.nogil:
        for k in range(row, rows):
            if valid:
                bit = first_bit + k
                if not (bits[bit >> 3] >> (bit & 7)) & 1:
                    codes[k] = -1
                    continue
            head = views[2 * k]
            tail = views[2 * k + 1]
            length = head & low
            if length <= 12:
                text = cython.NULL
                one = (head >> 32) | (tail << 32)
                two = tail >> 32
            else:
                text = cython.cast(
                    cython.p_uchar, cython.cast(cython.size_t, buffers[tail & low] + (tail >> 32))
                )
                one = load(text)
                two = load_inside(text, 8, length)
            code = table.find(text, length, one, two)
            if code < 0:
                rows = k
                break
            if code == known:
                firsts[code] = before + k
                known += 1
            codes[k] = code
    return rows


def run_starts(
    views: cython.const[cython.ulonglong][::1],
    buffers: cython.const[cython.ulonglong][::1],
    before: cython.Py_ssize_t,
    starts: cython.longlong[::1],
):
    """Rows of a chunk that differ from the one before (the first always), and how many."""
    runs: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    done: cython.Py_ssize_t
    length: cython.Py_ssize_t
    here: cython.ulonglong
    there: cython.ulonglong
    low: cython.ulonglong = 0xFFFFFFFF
    one: cython.p_uchar
    two: cython.p_uchar
    same: cython.bint
    with cython.nogil:
        for k in range(views.shape[0] // 2):
            same = k > 0 and views[2 * k] == views[2 * k - 2]
            if same and views[2 * k + 1] != views[2 * k - 1]:
                here = views[2 * k + 1]
                there = views[2 * k - 1]
                length = views[2 * k] & low
                same = length > 12
                if same:
                    one = cython.cast(
                        cython.p_uchar,
                        cython.cast(cython.size_t, buffers[here & low] + (here >> 32)),
                    )
                    two = cython.cast(
                        cython.p_uchar,
                        cython.cast(cython.size_t, buffers[there & low] + (there >> 32)),
                    )
                    for done in range(0, length, 8):
                        if load_inside(one, done, length) != load_inside(two, done, length):
                            same = False
                            break
            if not same:
                starts[runs] = before + k
                runs += 1
    return runs


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def find_padded(
    table: TextTable, text: cython.p_uchar, length: cython.Py_ssize_t, kind: cython.ulonglong
) -> cython.longlong:
    """As `TextTable.find`, of a text, not empty, behind which seven bytes more may be read."""
    one: cython.ulonglong = load_some(text, length)
    two: cython.ulonglong = load_some(text + 8, length - 8) if length > 8 else 0
    return table.find(text, length | (kind << 40), one, two)


def read_rows(
    data: cython.uchar[::1],
    stop: cython.Py_ssize_t,
    separator: cython.uchar,
    at_task: cython.int,
    at_worker: cython.int,
    at_label: cython.int,
    fields: cython.int,
    table: TextTable,
    spots: cython.longlong[:, ::1],
    heads: cython.uchar[::1],
    workers: cython.int[::1],
    labels: cython.int[::1],
    starts: cython.longlong[::1],
    state: cython.longlong[::1],
):
    """Whole rows up to ``stop``: codes of workers and labels, and each run's task once.

    Workers may be many, and each is somewhere else in memory: they are looked up some rows later,
    as many as ``spots`` has room for, so that the processor waits for several of them at a time.
    If the table is full in between, those rows are read again.
    """
    newline: cython.uchar = 10
    carriage: cython.uchar = 13
    ones: cython.ulonglong = 0x0101010101010101
    separators: cython.ulonglong = ones * separator
    newlines: cython.ulonglong = ones * newline
    base: cython.p_uchar = cython.address(data[0])
    into: cython.p_uchar = cython.address(heads[0])
    task: cython.p_uchar = base
    label: cython.p_uchar = base
    task_size: cython.Py_ssize_t = 0
    label_size: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t = state[0]
    runs: cython.Py_ssize_t = state[1]
    filled: cython.Py_ssize_t = state[2]
    last: cython.Py_ssize_t = state[3]
    at: cython.Py_ssize_t = state[4]
    last_size: cython.Py_ssize_t = filled - last - 1 if runs else 0
    last_one: cython.ulonglong = 0
    last_two: cython.ulonglong = 0
    one: cython.ulonglong
    two: cython.ulonglong
    word: cython.ulonglong
    found: cython.ulonglong
    code: cython.longlong = 0
    begin: cython.Py_ssize_t
    k: cython.Py_ssize_t
    size: cython.Py_ssize_t
    done: cython.Py_ssize_t
    r: cython.Py_ssize_t
    place: cython.int
    same: cython.bint
    status: cython.int = 0
    with cython.nogil:
        if last_size > 0:
            last_one = load_some(into + last, last_size)
        if last_size > 8:
            last_two = load_some(into + last + 8, last_size - 8)
        while at < stop and status == 0:
            r = 0
            while at < stop and r < spots.shape[0]:
                begin = at
                for place in range(fields):
                    k = begin
                    while True:
                        word = load(base + k)
                        found = zeros(word ^ separators) | zeros(word ^ newlines)
                        if found:
                            break
                        k += 8
                    k += lowest(found)
                    size = k - begin
                    if (base[k] == newline) != (place == fields - 1):
                        status = 2
                        break
                    if place == fields - 1 and size > 0 and base[k - 1] == carriage:
                        size -= 1
                    if place == at_task:
                        task = base + begin
                        task_size = size
                    elif place == at_worker:
                        spots[r, 0] = begin
                        spots[r, 1] = size
                    elif place == at_label:
                        label = base + begin
                        label_size = size
                    begin = k + 1
                if status == 2 or task_size == 0 or spots[r, 1] == 0:
                    status = 2
                    break
                code = -1
                if label_size > 0:
                    code = find_padded(table, label, label_size, 1)
                    if code < 0:
                        state[5] = label_size
                        status = 1
                        break
                labels[row + r] = code
                one = load_some(task, task_size)
                two = load_some(task + 8, task_size - 8) if task_size > 8 else 0
                same = task_size == last_size and one == last_one and two == last_two
                if same and task_size > 16:
                    for done in range(16, task_size, 8):
                        if load_inside(task, done, task_size) != load_inside(
                            into + last, done, task_size
                        ):
                            same = False
                            break
                if not same:
                    last_size = task_size
                    last_one = one
                    last_two = two
                    starts[runs] = row + r
                    runs += 1
                    last = filled
                    memcpy(into + last, task, task_size)
                    into[last + task_size] = newline
                    filled = last + task_size + 1
                at = begin
                r += 1
            if status != 0:
                break
            for k in range(r):
                code = find_padded(table, base + spots[k, 0], spots[k, 1], 0)
                if code < 0:
                    state[5] = spots[k, 1]
                    status = 1
                    break
                workers[row + k] = code
            if status == 0:
                row += r
                state[0] = row
                state[1] = runs
                state[2] = filled
                state[3] = last
                state[4] = at
    return status
