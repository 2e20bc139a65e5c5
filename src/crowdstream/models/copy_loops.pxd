# What other compiled modules may use of these loops.

from crowdstream.labels.batch_loops cimport Tasks

cdef Py_ssize_t mark_minority(Tasks tasks, Py_ssize_t t, int[::1] slots, int[::1] votes, long long[::1] here) noexcept nogil
cdef unsigned long long pair_key(int i, int j) noexcept nogil
