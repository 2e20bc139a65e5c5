# Types of drift_loops.py.

cimport cython

from libc.math cimport exp, log, sqrt

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.monitoring.judging_loops cimport Judge, JudgedSums

cdef Py_ssize_t REF_B, REF_C, REF_D, REF_N, LOW, HIGH, UP, DOWN, BEGUN, ENDED, EXCESS
cdef Py_ssize_t SEEN, WORKER, DIRECTION, BEFORE, AFTER, EVIDENCE, ANSWERS
cdef Py_ssize_t REFRESH, LEVELS
cdef double SHIFT, LOWEST, LOWEST_RATIO, HIGHEST_RATIO, WORSE, BETTER, USUAL, PRIOR, LEEWAY, LEAST_CHANGE, REFERENCE
cdef double LEAST_SPREAD, MOST_SKILL, SETTLED_IN, TINY

cdef class DriftSums(JudgedSums):
    cdef double[:, ::1] rows, swings, rung, events
    cdef double[::1] count

    cdef void count_task(self, Judge judge, Tasks tasks, Py_ssize_t t, double weight) noexcept nogil
    cdef void add_label(self, Judge judge, Py_ssize_t i, Py_ssize_t at) noexcept nogil
    @cython.final
    cdef bint is_unusual(self, Py_ssize_t i, Py_ssize_t way) noexcept nogil
    @cython.final
    cdef double known(self, Judge judge, Py_ssize_t i) noexcept nogil
    @cython.final
    cdef void set_limits(self, Judge judge, Py_ssize_t i) noexcept nogil
    @cython.final
    cdef void move(self, Py_ssize_t i, Py_ssize_t way, double ratio) noexcept nogil
    @cython.final
    cdef void begin_swing(self, Py_ssize_t way, double before, double now) noexcept nogil
    @cython.final
    cdef void end_swing(self, Py_ssize_t i, Py_ssize_t way, double whole) noexcept nogil
    @cython.final
    cdef void alarm(self, Judge judge, Py_ssize_t i, Py_ssize_t way) noexcept nogil
    @cython.final
    cdef void record(self, Py_ssize_t i, Py_ssize_t way, double before, double after) noexcept nogil
