# C types of these loops; what is here other compiled modules may use.

from crowdstream.models.scoring_loops cimport FamilyPowers
from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.sums.sparse_loops cimport SparseRows

cdef class Student:
    cdef FamilyPowers powers
    cdef double[:, :, ::1] counts
    cdef SparseRows sparse
    cdef bint many
    cdef double[::1] mass, row
    cdef int[::1] where
    cdef double[:, ::1] pooled
    cdef double[::1] prior
    cdef double[::1] product
    cdef Py_ssize_t classes
    cdef double observed, expected
    cdef public Py_ssize_t workers
    cdef public double strength, typical
    cdef public bint even

    cdef void add_pooled(self) noexcept nogil
    cdef double count(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t a) noexcept nogil
    cdef double total(self, Py_ssize_t i, Py_ssize_t a) noexcept nogil
    cdef double shrunk(self, double counted, Py_ssize_t i, Py_ssize_t x, Py_ssize_t a) noexcept nogil
    cdef void open(self, Py_ssize_t i, Py_ssize_t x) noexcept nogil
    cdef void close(self, Py_ssize_t i, Py_ssize_t x) noexcept nogil
    cdef void learn_many(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight, double total) noexcept nogil
    cdef void read(self, Py_ssize_t i) noexcept nogil
    cdef double likelihood(self, Py_ssize_t i, Py_ssize_t x, Py_ssize_t a) noexcept nogil
    cdef void judge(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void learn(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
