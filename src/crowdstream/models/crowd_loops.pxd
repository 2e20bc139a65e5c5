# C types of these loops.

from crowdstream.models.change_loops cimport ChangeEvidence
from crowdstream.models.confusion_loops cimport Student
from crowdstream.models.teacher_loops cimport Teacher
from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.models.scoring_loops cimport Scoring

cdef class Crowd(Scoring):
    cdef Teacher teacher
    cdef Student taught
    cdef Student swept
    cdef ChangeEvidence change
    cdef Py_ssize_t classes
    cdef double[::1] weights
    cdef double[::1] bias
    cdef double[:, ::1] features
    cdef double[:, ::1] parts
    cdef public double gate, rho, trust
    cdef public bint panel

    cdef void judge(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own) noexcept nogil
    cdef void weigh(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
    cdef bint is_changing(self) noexcept nogil
    cdef void weigh_lately(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
    cdef void watch(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth) noexcept nogil
    cdef double weighed(self, Py_ssize_t a) noexcept nogil
    cdef void fill_features(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void look(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void add_common_factor(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void teach(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
    cdef void count_posterior(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight, double own) noexcept nogil
