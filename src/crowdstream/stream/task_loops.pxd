# C types of these loops; what is here other compiled modules may use.

cdef class TaskRows:
    cdef public list names
    cdef int[::1] index
    cdef int[:, ::1] codes
    cdef long long[:, ::1] orders
    cdef double[:, ::1] floats
    cdef int[:, ::1] blocks
    cdef long long[:, ::1] waiting
    cdef int[:, ::1] ends
    cdef Py_ssize_t mask, at_block, at_offset
    cdef public Py_ssize_t used, used_blocks, free, free_block, n_open, n_closed, n_waiting
    cdef public long long opened, remember

    cdef Py_ssize_t find(self, object name) except? -2
    cdef void enter(self, Py_ssize_t slot) noexcept
    cdef void leave(self, Py_ssize_t slot) noexcept
    cdef void push(self, Py_ssize_t which, Py_ssize_t slot) noexcept
    cdef void unlink(self, Py_ssize_t which, Py_ssize_t slot) noexcept
    cdef void touch_slot(self, Py_ssize_t slot, double now) noexcept
    cdef Py_ssize_t add_name(self, object name, double now) except? -2
    cdef Py_ssize_t seek(self, Py_ssize_t slot, Py_ssize_t worker) noexcept
    cdef void append(self, Py_ssize_t slot, Py_ssize_t worker, Py_ssize_t label) noexcept
    cdef void free_blocks(self, Py_ssize_t block) noexcept
    cdef Py_ssize_t gather(self, Py_ssize_t block, Py_ssize_t size, int[::1] workers, int[::1] labels, Py_ssize_t at, bint skips) noexcept
    cdef void shut(self, Py_ssize_t slot, Py_ssize_t state, Py_ssize_t label, double confidence, double margin, Py_ssize_t flags) noexcept
    cdef void forget_surplus(self)
    cdef tuple kept(self, Py_ssize_t slot)
