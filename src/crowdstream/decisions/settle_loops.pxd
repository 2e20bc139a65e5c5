# C types of these loops; what is here other compiled modules may use.

cdef double log_odds(double p) noexcept nogil
cdef bint is_sure(double confidence, long long labels, double settle, long long min_labels) noexcept nogil
cdef bint survives(double confidence, double alone, bint same, long long labels, double against, double settle, long long min_labels) noexcept nogil
cdef Py_ssize_t reason_of(bint settled, long long labels, long long max_labels, bint is_idle, bint ends) noexcept nogil
