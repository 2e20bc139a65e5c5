# What other compiled modules may use of these loops.

cdef Py_ssize_t find(int[::1] groups, Py_ssize_t i) noexcept nogil

cdef class Rows:
    cdef double[:, ::1] rows
    cdef double[::1] shares
    cdef int[::1] groups
    cdef int[::1] family
    cdef double[:, ::1] kin
    cdef double[::1] votes
    cdef double[::1] total
    cdef int[::1] who
    cdef int[::1] what
    cdef int[::1] nobody
    cdef Py_ssize_t classes

    cdef void add_task(self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
    cdef void add_relative(self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t z, double weight) noexcept nogil
