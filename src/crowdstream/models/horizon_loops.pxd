# C types of these loops.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.models.scoring_loops cimport FamilyPowers

cdef class Horizons:
    cdef FamilyPowers powers
    cdef double[:, ::1] rows
    cdef double[:, ::1] crowd
    cdef double[:, ::1] work
    cdef double[::1] total
    cdef double[::1] keep
    cdef double[::1] prior
    cdef double[::1] odds
    cdef object room
    cdef Py_ssize_t horizons, classes
    cdef readonly double mean, mixed, lasting

    cdef void find_mean(self) noexcept nogil
    cdef void find_priors(self) noexcept nogil
    cdef void renew(self) noexcept nogil
    cdef double skill(self, Py_ssize_t i) noexcept nogil
    cdef double ratio(self, Py_ssize_t i) noexcept nogil
    cdef double odds_of(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t i) noexcept nogil
    cdef void score(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
    cdef void learn(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth) noexcept nogil
    cdef void make_room(self, Py_ssize_t workers, Py_ssize_t labels) noexcept nogil
    cdef void meet(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void judge(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth) noexcept nogil
    cdef void study(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth) noexcept nogil
    cdef void mirror_if_wrong(self) noexcept nogil
    cdef void add_label(self, Py_ssize_t i, double h, double e, double off) noexcept nogil
    cdef void compare_horizons(self) noexcept nogil
    cdef void subtract(self, Py_ssize_t i, double h, double e) noexcept nogil
