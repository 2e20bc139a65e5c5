# Types of trend_loops.py.

cimport cython

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.monitoring.judging_loops cimport Judge, JudgedSums

cdef double SHORTEST

cdef class TrendSums(JudgedSums):
    cdef double[:, ::1] rows
    cdef double[:, :, ::1] points
    cdef double[::1] count

    cdef void count_task(self, Judge judge, Tasks tasks, Py_ssize_t t, double weight) noexcept nogil
    cdef void add_label(self, Judge judge, Py_ssize_t i, Py_ssize_t at) noexcept nogil
    @cython.final
    cdef void finish_point(self, Py_ssize_t i) noexcept nogil
