# C types of these loops; what is here other compiled modules may use.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.sums.sparse_loops cimport SparseRows

cdef class PosteriorCounts:
    cdef double[:, :, ::1] counts
    cdef SparseRows sparse
    cdef bint many
    cdef double least
    cdef double[::1] mass, room
    cdef int[::1] where
    cdef Py_ssize_t classes, size

    cdef double find(self, double total) noexcept nogil
    cdef void find_said(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef double keep_said(self, double total) noexcept nogil
    cdef double keep(self) noexcept nogil
    cdef void know(self, Py_ssize_t truth) noexcept nogil
    cdef void add(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double total) noexcept nogil

cdef class Products:
    cdef double[:, ::1] own, off, on, pooled
    cdef double[::1] prior, odds
    cdef bint root
    cdef Py_ssize_t classes

    cdef double judge(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double[::1] room) noexcept nogil
    cdef void multiply(self, Py_ssize_t i, Py_ssize_t x, double[::1] room) noexcept nogil

cdef class DenseProducts(Products):
    cdef double[:, :, ::1] said

cdef class SparseProducts(Products):
    cdef SparseRows said
    cdef Py_ssize_t workers
    cdef double[::1] kept
    cdef double[:, ::1] most

    cdef double likelihood(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t a, double counted) noexcept nogil
    cdef double judge_said(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, PosteriorCounts into) noexcept nogil

cdef double rounded(double share) noexcept nogil
cdef void shrink(double[::1] room) noexcept nogil
