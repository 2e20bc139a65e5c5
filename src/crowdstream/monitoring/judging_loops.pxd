# Types of judging_loops.py, for it and for other compiled modules.

cimport cython
from libc.math cimport pow

from crowdstream.labels.batch_loops cimport Tasks

cdef double LARGE
cdef Py_ssize_t NEXT

@cython.final
cdef class Judge:
    cdef double[::1] skills, odds, h, e2, e3, each, like, rest
    cdef int[::1] family
    cdef Py_ssize_t classes
    cdef double least, fetched

    cdef double skill(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t family_of(self, Py_ssize_t i) noexcept nogil
    cdef void multiply(self, Py_ssize_t y, double odds) noexcept nogil
    cdef void fetch(self, Tasks tasks, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef void start(self, Tasks tasks, Py_ssize_t t) noexcept nogil
    cdef void measure(self, Py_ssize_t at, Py_ssize_t y) noexcept nogil
    cdef void leave_out_family(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t z) noexcept nogil
    cdef void by_truth(self, Tasks tasks, Py_ssize_t t) noexcept nogil
    cdef void by_others(self, Tasks tasks, Py_ssize_t t) noexcept nogil
    cdef void by_others_of_two(self, Tasks tasks, Py_ssize_t t) noexcept nogil
    cdef void multiply_all(self, Tasks tasks, Py_ssize_t t) noexcept nogil
    cdef Py_ssize_t winner(self) noexcept nogil
    cdef void by_those_before(self, Tasks tasks, Py_ssize_t t) noexcept nogil
    cdef bint judge(self, Tasks tasks, Py_ssize_t t, bint in_order) noexcept nogil

cdef class JudgedSums:
    cpdef void add(self, Judge judge, Tasks tasks, double weight, double growth, bint in_order)
    cpdef void add_with(self, JudgedSums other, Judge judge, Tasks tasks, bint in_order)
    cdef void fetch(self, Tasks tasks, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef void count_task(self, Judge judge, Tasks tasks, Py_ssize_t t, double weight) noexcept nogil
    cdef void add_task(self, Judge judge, Tasks tasks, Py_ssize_t t, double weight) noexcept nogil
    cdef void add_label(self, Judge judge, Py_ssize_t i, Py_ssize_t at) noexcept nogil
