# C types of these loops; what is here other compiled modules may use.

from crowdstream.labels.batch_loops cimport Tasks

cdef class AgreementRows:
    cdef double[:, ::1] rows
    cdef double[::1] shares
    cdef int[::1] groups
    cdef int[::1] family
    cdef double[:, ::1] relatives
    cdef double[::1] total
    cdef double[::1] votes
    cdef Py_ssize_t classes
    cdef public Py_ssize_t workers
    cdef public long long changes

    cdef double typical_answers(self) noexcept nogil
    cdef bint is_known(self, Py_ssize_t i, Py_ssize_t m, double own, double least) noexcept nogil
    cdef void add_task(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
    cdef void add_relative(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t z, double weight) noexcept nogil
