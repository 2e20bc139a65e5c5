# C types of these loops; what is here other compiled modules may use.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.sums.agreement_loops cimport AgreementRows

cdef class Scoring:
    cdef AgreementRows sums
    cdef public double discount, least
    cdef public bint fell_back, golden

    cdef void learn(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
    cdef void score(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
    cdef void meet_worker(self) noexcept nogil
    cdef void close(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
    cdef Py_ssize_t count_known(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own, double least) noexcept nogil

cdef class FamilyPowers:
    cdef AgreementRows sums
    cdef public double[::1] rho
    cdef public double least, own

    cdef double of(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t i) noexcept nogil

cdef void count(Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
cdef double known_from(AgreementRows sums, double unit, bint forgets) noexcept nogil
cdef void rescale(double[::1] product) noexcept nogil
cdef unsigned long long mix(unsigned long long value) noexcept nogil
cdef double calibrated(double confidence, double shift, double slope, double ceiling) noexcept nogil
