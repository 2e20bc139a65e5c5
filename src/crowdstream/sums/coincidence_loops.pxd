# Types of coincidence_loops.py.

from crowdstream.labels.batch_loops cimport Tasks

cdef class CoincidenceRows:
    cdef long long[::1] tasks
    cdef long long[::1] squares
    cdef long long[:, ::1] said
    cdef long long[:, ::1] moved
    cdef long long[:, :, ::1] pairs
    cdef long long[:, :, ::1] fourth

cpdef void add_tasks(Tasks tasks, long long sign, int[::1] row_of, CoincidenceRows sums, long long[::1] votes, int[::1] found, long long[:, ::1] products, long long[:, ::1] alike)
cdef void add_task(Tasks tasks, Py_ssize_t t, long long sign, int[::1] row_of, CoincidenceRows sums, long long[::1] votes, int[::1] found, long long[:, ::1] products) noexcept nogil
cdef void add_votes(Py_ssize_t d, long long sign, Py_ssize_t r, CoincidenceRows sums, long long[::1] votes, int[::1] found, long long[:, ::1] products) noexcept nogil
cpdef void add_pair_tables(Tasks tasks, int[::1] slots, int[:, :, ::1] tables, long long[::1] held)
