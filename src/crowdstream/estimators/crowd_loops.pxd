# C types of these loops.

from crowdstream.estimators.confusion_loops cimport Student
from crowdstream.estimators.teacher_loops cimport Teacher
from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.sums.agreement_loops cimport AgreementRows

cdef class StopRule:
    cdef double settle, rho, known, against
    cdef Py_ssize_t min_labels, max_labels

cdef class Crowd:
    cdef AgreementRows sums
    cdef Teacher teacher
    cdef Student taught
    cdef Student swept
    cdef Py_ssize_t classes
    cdef double[::1] weights
    cdef double[::1] bias
    cdef double[:, ::1] features
    cdef double[:, ::1] parts
    cdef public double gate, rho, discount, lean
    cdef public bint fell_back, golden, alone

    cdef void judge(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own) noexcept nogil
    cdef void score(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
    cdef double weighed(self, Py_ssize_t a) noexcept nogil
    cdef void fill_features(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void look(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void add_common_factor(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void teach(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
    cdef bint is_settled(self, StopRule rule, double[:, ::1] scores, Py_ssize_t t, Py_ssize_t m) noexcept nogil
    cdef bint holds(self, StopRule rule, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
    cdef Py_ssize_t count_known(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own, double known) noexcept nogil
    cdef void ask_those(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own, double known, double[:, ::1] scores, Py_ssize_t t) noexcept nogil

cdef Py_ssize_t best_of(double[:, ::1] scores, Py_ssize_t t) noexcept nogil
cdef double log_odds(double p) noexcept nogil
