# C types of these loops.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.models.confusion_loops cimport Student
from crowdstream.models.horizon_loops cimport Horizons

cdef class ChangeEvidence:
    cdef Horizons horizons
    cdef double[::1] evidence
    cdef public bint watching

    cdef bint is_shown(self) noexcept nogil
    cdef void score(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double discount, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
    cdef void see(self, Student student, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double discount) noexcept nogil
    cdef void add(self, Py_ssize_t which, double ratio) noexcept nogil
    cdef double foresee(self, Student student, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth) noexcept nogil
