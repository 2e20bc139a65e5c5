# Types of drift_loops.py.

cimport cython

from libc.math cimport exp, log, sqrt

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.monitoring.judging_loops cimport Judge, JudgedSums

cdef Py_ssize_t REFRESH, PENDING, OWN, SHARED
cdef double SHIFT, LOWEST, HIGHEST, LOWEST_RATIO, HIGHEST_RATIO, AHEAD, BELOW, WORSE, BETTER, LONG, USUAL, PRIOR, SURE, WITHDRAWN, LONGEST
cdef double APART, LEEWAY, LEAST_CHANGE, REFERENCE, SHARE, LEAST_CROWD

cdef class DriftSums(JudgedSums):
    cdef double[:, ::1] rows, swings, events
    cdef double[::1] count
    cdef double near_up, near_down, near_for

    cdef void count_task(self, Judge judge, Tasks tasks, Py_ssize_t t, double weight) noexcept nogil
    cdef void add_label(self, Judge judge, Py_ssize_t i, Py_ssize_t at) noexcept nogil
    @cython.final
    cdef inline bint is_usual(self, Py_ssize_t i, Py_ssize_t way, double ratio, double near) noexcept nogil
    @cython.final
    cdef inline void go_on(self, Py_ssize_t i, Py_ssize_t way, double ratio) noexcept nogil
    @cython.final
    cdef void find_near(self) noexcept nogil
    @cython.final
    cdef double least_unusual(self, Py_ssize_t first, double allowed) noexcept nogil
    @cython.final
    cdef bint is_unusual(self, Py_ssize_t i, Py_ssize_t way) noexcept nogil
    @cython.final
    cdef double mean_excess(self, Py_ssize_t j) noexcept nogil
    @cython.final
    cdef double known(self, Judge judge, double right, double size) noexcept nogil
    @cython.final
    cdef double variance(self, Py_ssize_t i, double skill, double size) noexcept nogil
    @cython.final
    cdef void set_limits(self, Judge judge, Py_ssize_t i) noexcept nogil
    @cython.final
    cdef void move(self, Py_ssize_t i, Py_ssize_t way, double ratio) noexcept nogil
    @cython.final
    cdef void start(self, Py_ssize_t i, Py_ssize_t way) noexcept nogil
    @cython.final
    cdef void begin_swing(self, Py_ssize_t way, double before, double now) noexcept nogil
    @cython.final
    cdef void end_swing(self, Py_ssize_t i, Py_ssize_t way, double whole) noexcept nogil
    @cython.final
    cdef void suspect(self, Judge judge, Py_ssize_t i, Py_ssize_t way) noexcept nogil
    @cython.final
    cdef void look(self, Judge judge, Py_ssize_t i, Py_ssize_t way, double ratio) noexcept nogil
    @cython.final
    cdef double before(self, Judge judge, Py_ssize_t i) noexcept nogil
    @cython.final
    cdef double after(self, Py_ssize_t i) noexcept nogil
    @cython.final
    cdef Py_ssize_t verdict(self, Judge judge, Py_ssize_t i, Py_ssize_t way) noexcept nogil
    @cython.final
    cdef double least_change(self, Py_ssize_t i, double skill, double size) noexcept nogil
    @cython.final
    cdef double others_moved(self, Py_ssize_t i, double size) noexcept nogil
    @cython.final
    cdef void alarm(self, Judge judge, Py_ssize_t i, Py_ssize_t way, Py_ssize_t found) noexcept nogil
    @cython.final
    cdef void record(self, Judge judge, Py_ssize_t i, Py_ssize_t way, Py_ssize_t found) noexcept nogil
