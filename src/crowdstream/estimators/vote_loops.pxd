# C types of these loops; what is here other compiled modules may use.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.sums.agreement_loops cimport AgreementRows

cdef struct Pick:
    Py_ssize_t winner
    double confidence
    double margin
    Py_ssize_t tied

cdef class FamilyPowers:
    cdef AgreementRows sums
    cdef public double[::1] rho
    cdef public double least, own

    cdef bint is_known(self, Py_ssize_t i, Py_ssize_t m) noexcept nogil
    cdef double of(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t i) noexcept nogil

cdef void count(Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
cdef void rescale(double[::1] product) noexcept nogil
cdef Pick pick(double[:, ::1] scores, Py_ssize_t t, double m, Py_ssize_t named, double rho, unsigned long long[::1] keys, bint tossed, unsigned long long coin) noexcept nogil
cdef double calibrated(double confidence, double shift, double slope, double ceiling) noexcept nogil
