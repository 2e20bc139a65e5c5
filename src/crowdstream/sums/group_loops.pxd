# What other compiled modules may use of these loops.

cdef Py_ssize_t find(int[::1] groups, Py_ssize_t i) noexcept nogil
cdef void join(int[::1] groups, Py_ssize_t i, Py_ssize_t j) noexcept nogil
