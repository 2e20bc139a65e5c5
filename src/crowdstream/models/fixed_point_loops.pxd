# C types of these loops.

cdef double excess(double[::1] agreement, Py_ssize_t top, double share, double[::1] slope) noexcept nogil
cdef double bracketed(double[::1] agreement, Py_ssize_t top, double low, double high, double[::1] slope) noexcept nogil
