# C types of these loops.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.models.scoring_loops cimport Scoring

cdef class Horizons(Scoring):
    cdef double[:, ::1] rows
    cdef double[:, ::1] crowd
    cdef double[:, ::1] work
    cdef double[::1] total
    cdef double[::1] keep
    cdef double[::1] prior
    cdef double[::1] odds
    cdef object room
    cdef Py_ssize_t horizons, classes
    cdef public Py_ssize_t named
    cdef readonly double mean

    cdef void find_mean(self) noexcept nogil
    cdef void find_priors(self) noexcept nogil
    cdef void set_classes(self, Py_ssize_t classes) noexcept nogil
    cdef double skill(self, Py_ssize_t i) noexcept nogil
    cdef double ratio(self, Py_ssize_t i) noexcept nogil
    cdef void make_work(self, Py_ssize_t labels) noexcept nogil
    cdef void meet(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth) noexcept nogil
    cdef void judge(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth) noexcept nogil
    cdef void study(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth) noexcept nogil
    cdef void mirror_if_wrong(self) noexcept nogil
    cdef void add_label(self, Py_ssize_t i, double h, double e, double off) noexcept nogil
    cdef void compare_horizons(self) noexcept nogil
    cdef void subtract(self, Py_ssize_t i, double h, double e) noexcept nogil
