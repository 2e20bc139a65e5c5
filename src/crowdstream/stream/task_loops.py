# cython: language_level=3
# cython: infer_types=True
"""The tasks of a stream in columns: names, order of idleness, labels in blocks. Arrays only.

A task has a slot: a row of each of three arrays. Names are found by a hash table of slots (open
addressing, linear probing). Labels stand in blocks of seven, which is a line of a processor's cache
and what most tasks need; further blocks are chained. Slots and blocks of tasks that are gone are
used again. Two lists go through the slots: open tasks, the longest idle first, and closed ones, the
longest closed first. Knows workers and classes by their codes only, and nothing of crowds.

Changing the columns changes what `crowdstream.stream.tasks` saves; benchmarks/stream.py
times it.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.decisions.rows import OPEN
    from cython.cimports.crowdstream.stream.rows import *
else:
    from crowdstream.decisions.rows import OPEN
    from crowdstream.stream.rows import *

if not cython.compiled:
    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()


ODD = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio


@cython.cfunc
def hash_of(name) -> cython.Py_ssize_t:
    """31 bits of a name's hash, spread: the numbers 8, 16, 24, … must not meet."""
    if not cython.compiled:
        return ((hash(name) & 0xFFFFFFFFFFFFFFFF) * ODD & 0xFFFFFFFFFFFFFFFF) >> 33
    value: cython.ulonglong = cython.cast(cython.ulonglong, hash(name))
    return cython.cast(cython.Py_ssize_t, (value * ODD) >> 33)


@cython.final
@cython.cclass
class TaskRows:
    """Slots of tasks; `bind` says where the columns are, which have room for what is added.

    ``free`` and ``free_block`` begin the lists of what can be used again, −1 for none; ``used`` and
    ``used_blocks`` are how many were ever used. ``opened``: tasks that were ever opened.
    ``remember``: how many closed tasks are kept. Tasks closed by `shut` wait with their labels
    until `drain` gives these out.
    """

    def __init__(self):
        self.names = []
        self.used = self.used_blocks = self.n_open = self.n_closed = self.n_waiting = 0
        self.free = self.free_block = -1
        self.opened = self.remember = 0

    def bind(self, index, codes, orders, floats, blocks, waiting, ends):
        """Work on these arrays of `crowdstream.stream.tasks.TaskStore` from now on."""
        self.index = index
        self.mask = index.shape[0] - 1
        self.codes = codes
        self.orders = orders
        self.floats = floats
        self.blocks = blocks
        self.waiting = waiting
        self.ends = ends

    # Names -----------------------------------------------------------------------------------

    def find(self, name):
        """The slot of a task, or −1."""
        h = hash_of(name)
        at: cython.Py_ssize_t = h & self.mask
        while True:
            slot: cython.Py_ssize_t = self.index[at]
            if slot < 0:
                return -1
            if self.codes[slot, HASH] == h and self.names[slot] == name:
                return slot
            at = (at + 1) & self.mask

    def slot_of(self, name):
        """The same for Python."""
        return self.find(name)

    def enter(self, slot):
        """Make a slot known by its hash."""
        at: cython.Py_ssize_t = self.codes[slot, HASH] & self.mask
        while self.index[at] >= 0:
            at = (at + 1) & self.mask
        self.index[at] = slot

    def leave(self, slot):
        """Make it unknown; what was pushed on by it moves back."""
        hole: cython.Py_ssize_t = self.codes[slot, HASH] & self.mask
        while self.index[hole] != slot:
            hole = (hole + 1) & self.mask
        at: cython.Py_ssize_t = (hole + 1) & self.mask
        while self.index[at] >= 0:
            home: cython.Py_ssize_t = self.codes[self.index[at], HASH] & self.mask
            if ((at - home) & self.mask) >= ((at - hole) & self.mask):
                self.index[hole] = self.index[at]
                hole = at
            at = (at + 1) & self.mask
        self.index[hole] = -1

    def enter_all(self):
        """Make all slots in use known, in an empty index."""
        for slot in range(self.used):
            if self.codes[slot, STATE] != FREE:
                self.enter(slot)

    # Order -----------------------------------------------------------------------------------

    def push(self, which, slot):
        """Put a slot at the end of a list."""
        last: cython.Py_ssize_t = self.ends[which, 1]
        self.codes[slot, BEFORE] = last
        self.codes[slot, AFTER] = -1
        if last < 0:
            self.ends[which, 0] = slot
        else:
            self.codes[last, AFTER] = slot
        self.ends[which, 1] = slot

    def unlink(self, which, slot):
        """Take a slot out of a list."""
        before: cython.Py_ssize_t = self.codes[slot, BEFORE]
        after: cython.Py_ssize_t = self.codes[slot, AFTER]
        if before < 0:
            self.ends[which, 0] = after
        else:
            self.codes[before, AFTER] = after
        if after < 0:
            self.ends[which, 1] = before
        else:
            self.codes[after, BEFORE] = before

    def touch_slot(self, slot, now):
        """The task has just had a label: it is the last to be idle."""
        self.floats[slot, LAST] = now
        if self.ends[OPEN_LIST, 1] != slot:
            self.unlink(OPEN_LIST, slot)
            self.push(OPEN_LIST, slot)

    def touch(self, slot: cython.Py_ssize_t, now: cython.double):
        """The same for Python."""
        self.touch_slot(slot, now)

    def first(self, which: cython.Py_ssize_t):
        """The first slot of a list, or −1."""
        return self.ends[which, 0]

    def fill_order(self, which: cython.Py_ssize_t, out: cython.longlong[::1]):
        """The slots of a list, in order."""
        slot: cython.Py_ssize_t = self.ends[which, 0]
        for k in range(out.shape[0]):
            out[k] = slot
            slot = self.codes[slot, AFTER]

    # Tasks -----------------------------------------------------------------------------------

    def add_name(self, name, now):
        """Open a task: its slot."""
        slot: cython.Py_ssize_t = self.free
        if slot >= 0:
            self.free = self.codes[slot, AFTER]
        else:
            slot = self.used
            self.used += 1
        self.names[slot] = name
        self.codes[slot, HASH] = hash_of(name)
        self.codes[slot, STATE] = OPEN
        self.codes[slot, FLAGS] = 0
        self.codes[slot, BLOCK] = -1
        self.codes[slot, SIZE] = 0
        self.codes[slot, VOTES] = 0
        self.codes[slot, TRUTH] = -1
        self.orders[slot, PLACE] = -1
        self.orders[slot, OPENED] = self.opened
        self.floats[slot, LAST] = now
        self.floats[slot, CONFIDENCE] = 0.0
        self.floats[slot, MARGIN] = 0.0
        self.opened += 1
        self.n_open += 1
        self.enter(slot)
        self.push(OPEN_LIST, slot)
        return slot

    def add(self, name, now: cython.double):
        """The same for Python."""
        return self.add_name(name, now)

    def shut(self, slot, state, label, confidence, margin, flags):
        """Close a task: keep the decision; its labels wait for `drain`."""
        self.waiting[self.n_waiting, 0] = self.codes[slot, BLOCK]
        self.waiting[self.n_waiting, 1] = self.codes[slot, SIZE]
        self.waiting[self.n_waiting, 2] = self.codes[slot, VOTES]
        self.waiting[self.n_waiting, 3] = self.orders[slot, PLACE]
        self.n_waiting += 1
        self.unlink(OPEN_LIST, slot)
        self.n_open -= 1
        self.codes[slot, STATE] = state
        self.codes[slot, BLOCK] = -1
        self.codes[slot, SIZE] = 0
        self.codes[slot, TRUTH] = label
        self.codes[slot, FLAGS] = flags
        self.floats[slot, CONFIDENCE] = confidence
        self.floats[slot, MARGIN] = margin
        self.push(CLOSED_LIST, slot)
        self.n_closed += 1

    def forget_surplus(self):
        """Forget the tasks that were closed first, beyond those that are remembered."""
        while self.n_closed > self.remember:
            slot: cython.Py_ssize_t = self.ends[CLOSED_LIST, 0]
            self.unlink(CLOSED_LIST, slot)
            self.n_closed -= 1
            self.leave(slot)
            self.names[slot] = None
            self.codes[slot, STATE] = FREE
            self.codes[slot, AFTER] = self.free
            self.free = slot

    def close(
        self,
        slot: cython.Py_ssize_t,
        state: cython.Py_ssize_t,
        label: cython.Py_ssize_t,
        confidence: cython.double,
        margin: cython.double,
        flags: cython.Py_ssize_t,
    ):
        """Close a task whose labels were learnt already: keep the decision, free the labels."""
        self.shut(slot, state, label, confidence, margin, flags)
        self.n_waiting -= 1
        self.free_blocks(self.waiting[self.n_waiting, 0])
        self.forget_surplus()

    def kept(self, slot):
        """The decision on a closed task: class, confidence, margin, votes, flags and state."""
        return (
            self.codes[slot, TRUTH],
            self.floats[slot, CONFIDENCE],
            self.floats[slot, MARGIN],
            self.codes[slot, VOTES],
            self.codes[slot, FLAGS],
            self.codes[slot, STATE],
        )

    def find_closed(self, names):
        """The decisions on those of some tasks that are remembered as closed, by name."""
        found: dict = {}
        for name in names:
            slot: cython.Py_ssize_t = self.find(name)
            if slot >= 0 and self.codes[slot, STATE] != OPEN:
                found[name] = self.kept(slot)
        return found

    def decision_of(self, slot: cython.Py_ssize_t):
        """The same for Python."""
        return self.kept(slot)

    # Labels ----------------------------------------------------------------------------------

    def seek(self, slot, worker):
        """A worker's label on a task, ``SKIP``, or ``ABSENT``; remembers where it stands."""
        block: cython.Py_ssize_t = self.codes[slot, BLOCK]
        left: cython.Py_ssize_t = self.codes[slot, SIZE]
        while left > 0:
            for k in range(min(left, HELD)):
                if self.blocks[block, k] == worker:
                    self.at_block = block
                    self.at_offset = HELD + k
                    return self.blocks[block, HELD + k]
            left -= HELD
            block = self.blocks[block, NEXT]
        return ABSENT

    def label_of(self, slot: cython.Py_ssize_t, worker: cython.Py_ssize_t):
        """The same for Python."""
        return self.seek(slot, worker)

    def append(self, slot, worker, label):
        """Add the label (or skip) of a worker who has none; there is room for a block."""
        size: cython.Py_ssize_t = self.codes[slot, SIZE]
        block: cython.Py_ssize_t = self.codes[slot, BLOCK]
        offset: cython.Py_ssize_t = size % HELD
        for _ in range((size - 1) // HELD if size else 0):
            block = self.blocks[block, NEXT]
        if offset == 0:
            fresh: cython.Py_ssize_t = self.free_block
            if fresh >= 0:
                self.free_block = self.blocks[fresh, NEXT]
            else:
                fresh = self.used_blocks
                self.used_blocks += 1
            if size:
                self.blocks[block, NEXT] = fresh
            else:
                self.codes[slot, BLOCK] = fresh
            block = fresh
        self.blocks[block, offset] = worker
        self.blocks[block, HELD + offset] = label
        self.blocks[block, NEXT] = -1
        self.codes[slot, SIZE] = size + 1
        if label >= 0:
            self.codes[slot, VOTES] += 1

    def replace(self, slot: cython.Py_ssize_t, worker: cython.Py_ssize_t, label: cython.Py_ssize_t):
        """Set a worker's label: where its former one stands, else at the end.

        A skip that becomes a label moves to the end, since it comes now.
        """
        before: cython.Py_ssize_t = self.seek(slot, worker)
        if before >= 0 and label >= 0:
            self.blocks[self.at_block, self.at_offset] = label
            return
        if before != ABSENT:
            self.remove(slot, worker)
        self.append(slot, worker, label)

    def remove(self, slot: cython.Py_ssize_t, worker: cython.Py_ssize_t):
        """Take a worker's label or skip away; the others keep their order."""
        entries = self.entries(slot)
        self.free_blocks(self.codes[slot, BLOCK])
        self.codes[slot, BLOCK] = -1
        self.codes[slot, SIZE] = self.codes[slot, VOTES] = 0
        for who, label in entries:
            if who != worker:
                self.append(slot, who, label)

    def entries(self, slot: cython.Py_ssize_t):
        """Workers and labels of an open task as they came, −1 for a skip."""
        found = []
        block: cython.Py_ssize_t = self.codes[slot, BLOCK]
        for k in range(self.codes[slot, SIZE]):
            at: cython.Py_ssize_t = k % HELD
            if k and at == 0:
                block = self.blocks[block, NEXT]
            found.append((self.blocks[block, at], self.blocks[block, HELD + at]))
        return found

    def free_blocks(self, block):
        """Let a task's blocks be used again."""
        while block >= 0:
            after: cython.Py_ssize_t = self.blocks[block, NEXT]
            self.blocks[block, NEXT] = self.free_block
            self.free_block = block
            block = after

    def gather(self, block, size, workers, labels, at, skips):
        """Copy labels, and ``skips`` if wanted, to two arrays from ``at`` on; where they end."""
        left: cython.Py_ssize_t = size
        to: cython.Py_ssize_t = at
        while left > 0:
            for k in range(min(left, HELD)):
                if skips or self.blocks[block, HELD + k] >= 0:
                    workers[to] = self.blocks[block, k]
                    labels[to] = self.blocks[block, HELD + k]
                    to += 1
            left -= HELD
            block = self.blocks[block, NEXT]
        return to

    def fill_labels(
        self, slot: cython.Py_ssize_t, workers: cython.int[::1], labels: cython.int[::1]
    ):
        """Copy the labels of a task, without skips."""
        self.gather(self.codes[slot, BLOCK], self.codes[slot, SIZE], workers, labels, 0, False)

    def drain(
        self,
        starts: cython.longlong[::1],
        places: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
    ):
        """Give out the labels of the tasks that wait, as a batch, and free their blocks."""
        at: cython.Py_ssize_t = 0
        starts[0] = 0
        for k in range(self.n_waiting):
            block: cython.Py_ssize_t = self.waiting[k, 0]
            at = self.gather(block, self.waiting[k, 1], workers, labels, at, False)
            starts[k + 1] = at
            places[k] = self.waiting[k, 3]
            self.free_blocks(block)
        self.n_waiting = 0

    def count_waiting(self):
        """The labels of the tasks that wait."""
        total: cython.Py_ssize_t = 0
        for k in range(self.n_waiting):
            total += self.waiting[k, 2]
        return total

    # Questions -------------------------------------------------------------------------------

    def best_for(self, worker: cython.Py_ssize_t, gains: cython.double[::1]):
        """The open task of the highest gain that a worker has not answered; the longest idle first.

        ``gains``: one per slot; below 0 where nobody is to be asked. −1 if there is none.
        """
        best: cython.Py_ssize_t = -1
        most: cython.double = -1.0
        slot: cython.Py_ssize_t = self.ends[OPEN_LIST, 0]
        while slot >= 0:
            if gains[slot] >= 0.0 and gains[slot] > most and self.seek(slot, worker) == ABSENT:
                best = slot
                most = gains[slot]
            slot = self.codes[slot, AFTER]
        return best

    # Saving ----------------------------------------------------------------------------------

    def fill_entries(
        self, slots: cython.longlong[::1], workers: cython.int[::1], labels: cython.int[::1]
    ):
        """Labels and skips of these tasks, one task after another."""
        at: cython.Py_ssize_t = 0
        for k in range(slots.shape[0]):
            slot: cython.Py_ssize_t = slots[k]
            at = self.gather(
                self.codes[slot, BLOCK], self.codes[slot, SIZE], workers, labels, at, True
            )

    def restore(
        self,
        names: list,
        n_open: cython.Py_ssize_t,
        sizes: cython.const[cython.int][::1],
        workers: cython.const[cython.int][::1],
        labels: cython.const[cython.int][::1],
    ):
        """Slots for these tasks, first the open ones with their labels; false if one comes twice.

        Their other columns are filled in already; there is room for all, and nothing in it.
        """
        at: cython.Py_ssize_t = 0
        for slot in range(len(names)):
            if self.find(names[slot]) >= 0:
                return False
            self.names[slot] = names[slot]
            self.codes[slot, HASH] = hash_of(names[slot])
            self.enter(slot)
            if slot >= n_open:
                self.push(CLOSED_LIST, slot)
                continue
            self.push(OPEN_LIST, slot)
            self.codes[slot, BLOCK] = -1
            self.codes[slot, SIZE] = self.codes[slot, VOTES] = 0
            for _ in range(sizes[slot]):
                self.append(slot, workers[at], labels[at])
                at += 1
        self.used = len(names)
        self.n_open = n_open
        self.n_closed = self.used - n_open
        return True
