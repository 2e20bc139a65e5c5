# Types of pair_loops.py.

from crowdstream.labels.batch_loops cimport Tasks

cdef class PairSums:
    cdef double[:, ::1] met, same
    cdef int[::1] slots
    cdef long long[::1] scratch

    cpdef void add(self, Tasks tasks, double weight, double growth, Py_ssize_t most)
