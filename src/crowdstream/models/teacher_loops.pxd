# C types of these loops; what is here other compiled modules may use.

from crowdstream.models.scoring_loops cimport FamilyPowers, Scoring
from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.sums.agreement_loops cimport AgreementRows

cdef struct Reading:
    double R
    double V
    double met
    double met2
    double N

cdef class Teacher:
    cdef AgreementRows sums
    cdef FamilyPowers powers
    cdef readonly double[::1] f
    cdef double[::1] votes
    cdef double[::1] product
    cdef Py_ssize_t classes
    cdef public Py_ssize_t workers, met_workers, groups, main
    cdef public double cap, mean, spread, strength, surplus, met, all_met, evidence, unit, V

    cdef Reading read(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t m, double weight) noexcept nogil
    cdef double noise(self, double met, double met2) noexcept nogil
    cdef double skill_from(self, Reading found) noexcept nogil
    cdef bint is_inside(self, Py_ssize_t i) noexcept nogil
    cdef double odds(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t m, double weight) noexcept nogil
    cdef void judge(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own) noexcept nogil
    cdef void find_groups(self, double[:, ::1] scratch) noexcept nogil
    cdef void find_mean(self) noexcept nogil
    cdef void find_evidence(self, double[:, ::1] scratch) noexcept nogil
    cdef void find_spread(self, double[:, ::1] scratch) noexcept nogil

cdef class TeacherVotes(Scoring):
    cdef Teacher teacher
    cdef double lean
