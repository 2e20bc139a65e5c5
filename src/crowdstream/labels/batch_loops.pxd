# What other compiled modules see of a batch of labels.

cdef class Tasks:
    cdef long long[::1] starts
    cdef int[::1] workers
    cdef int[::1] labels
    cdef int[::1] truths
    cdef Py_ssize_t size

    cdef Py_ssize_t truth(self, Py_ssize_t t) noexcept nogil
