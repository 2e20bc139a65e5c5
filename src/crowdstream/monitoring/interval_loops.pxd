# Types of interval_loops.py.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.monitoring.judging_loops cimport Judge, JudgedSums

cdef double COARSE

cdef double rounded(double x) noexcept nogil

cdef class IntervalSums(JudgedSums):
    cdef double[:, ::1] rows
    cdef double[:, ::1] doubts
    cdef double[::1] total
    cdef double fetched

    cdef void fetch(self, Tasks tasks, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef void count_task(self, Judge judge, Tasks tasks, Py_ssize_t t, double weight) noexcept nogil
    cdef void add_task(self, Judge judge, Tasks tasks, Py_ssize_t t, double weight) noexcept nogil

cdef class SlopeSums(JudgedSums):
    cdef double[::1] pull
    cdef double[:, ::1] info

    cdef void add_task(self, Judge judge, Tasks tasks, Py_ssize_t t, double weight) noexcept nogil
