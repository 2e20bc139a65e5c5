# C types of these loops; what is here other compiled modules may use.

from crowdstream.labels.batch_loops cimport Tasks

cdef struct Pick:
    Py_ssize_t winner
    double confidence
    double margin
    Py_ssize_t tied

cdef Pick pick(double[:, ::1] scores, Py_ssize_t t, double m, Py_ssize_t named, double rho, unsigned long long[::1] keys, bint tossed, unsigned long long coin) noexcept nogil
