# C types of these loops; what is here other compiled modules may use.

cdef class SparseRows:
    cdef object grow
    cdef int[:, ::1] starts, sizes
    cdef double[:, ::1] right, totals
    cdef int[::1] where, left
    cdef double[::1] values
    cdef public Py_ssize_t size

    cdef void add(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t a, double count) noexcept nogil
    cdef Py_ssize_t moved(self, Py_ssize_t begin, Py_ssize_t size) noexcept nogil
    cdef double count(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t a) noexcept nogil
    cdef void put(self, Py_ssize_t i, Py_ssize_t x, double[::1] room) noexcept nogil
    cdef void clear(self, Py_ssize_t i, Py_ssize_t x, double[::1] room) noexcept nogil

cdef double distance(double one, double other) noexcept nogil
