# C types of these loops; what is here other compiled modules may use.

from crowdstream.labels.batch_loops cimport Tasks

cdef struct Pick:
    Py_ssize_t winner
    double confidence
    double margin
    Py_ssize_t tied

cdef void count(Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
cdef void rescale(double[::1] product) noexcept nogil
cdef unsigned long long mix(unsigned long long value) noexcept nogil
cdef double highest(double[:, ::1] scores, Py_ssize_t t, Py_ssize_t named) noexcept nogil
cdef double odds_against(double[:, ::1] scores, Py_ssize_t t, double best, double scale) noexcept nogil
cdef Pick pick(double[:, ::1] scores, Py_ssize_t t, double m, Py_ssize_t named, double rho, unsigned long long[::1] keys, bint tossed, unsigned long long coin) noexcept nogil
