# The types of these loops' own objects.

from crowdstream.sums.loops cimport Rows

cdef struct Reading:
    double R
    double V
    double met
    double met2
    double N

cdef struct Errors:
    double observed
    double expected

cdef struct Pick:
    Py_ssize_t winner
    double confidence
    double margin
    Py_ssize_t tied

cdef class Teacher:
    cdef Rows sums
    cdef readonly double[::1] f
    cdef double[::1] votes
    cdef Py_ssize_t classes
    cdef public Py_ssize_t workers, met_workers, groups, main
    cdef public double mean, spread, strength, surplus, met, all_met, evidence, unit, V

    cdef Reading read(self, Py_ssize_t i) noexcept nogil
    cdef Reading read_without(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t m, double weight) noexcept nogil
    cdef double skill_from(self, Reading found) noexcept nogil
    cdef bint is_inside(self, Py_ssize_t i) noexcept nogil
    cdef double odds(self, Py_ssize_t i, bint own, Py_ssize_t x, Py_ssize_t m, double weight) noexcept nogil
    cdef void find_groups(self, double[:, ::1] scratch) noexcept nogil
    cdef void find_mean(self) noexcept nogil
    cdef void find_evidence(self, double[:, ::1] scratch) noexcept nogil
    cdef void find_spread(self, double[:, ::1] scratch) noexcept nogil

cdef class Student:
    cdef double[:, :, ::1] counts
    cdef double[::1] mass
    cdef double[:, ::1] pooled
    cdef double[::1] prior
    cdef Py_ssize_t classes
    cdef public Py_ssize_t workers
    cdef public double strength, typical

    cdef Errors errors(self, Py_ssize_t i) noexcept nogil
    cdef double likelihood(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t a, Errors found) noexcept nogil

cdef class Crowd:
    cdef Rows sums
    cdef Teacher teacher
    cdef Student taught
    cdef Student swept
    cdef double[:, ::1] work
    cdef public double[::1] rho
    cdef Py_ssize_t classes
    cdef public double gate
    cdef public bint heads

    cdef void judge(self, Py_ssize_t begin, Py_ssize_t end, bint own, double weight) noexcept nogil
    cdef void judge_relative(self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t z, double odds) noexcept nogil
    cdef double kin_power(self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t kind) noexcept nogil
    cdef void rescale(self) noexcept nogil
    cdef void score(self, double[:, ::1] out, Py_ssize_t t) noexcept nogil
    cdef void teach(self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
    cdef void soften(self, Py_ssize_t row, Py_ssize_t truth, double weight) noexcept nogil
    cdef void answer(self, Py_ssize_t m, bint own, double weight, double[:, ::1] scores) noexcept nogil
