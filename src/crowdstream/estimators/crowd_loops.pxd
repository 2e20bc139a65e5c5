# C types of these loops.

from crowdstream.estimators.confusion_loops cimport Student
from crowdstream.estimators.task_store_loops cimport TaskRows
from crowdstream.estimators.teacher_loops cimport Teacher
from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.sums.agreement_loops cimport AgreementRows

cdef class Flow:
    cdef Tasks tasks
    cdef int[::1] workers
    cdef int[::1] labels
    cdef double[:, ::1] scores
    cdef public unsigned long long[::1] keys
    cdef public object coin
    cdef public double settle, known, against, shift, slope, ceiling, now
    cdef public double renew_after, renewed_labels, fresh, few, half, fade, most
    cdef public Py_ssize_t min_labels, max_labels, named, closings
    cdef public long long clock, look_at, origin
    cdef readonly Py_ssize_t room
    cdef public Py_ssize_t at
    cdef readonly Py_ssize_t opened, taken, repeated, late, closed

    cdef double weight(self, long long place) noexcept

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
    cdef void close_judged(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight, double own) noexcept nogil
    cdef bint decide(self, TaskRows store, Flow flow, object name, Py_ssize_t slot, Py_ssize_t m, double weight, bint is_new, dict found) except *
    cdef double corrected(self, Flow flow, double confidence) noexcept
    cdef bint holds(self, Flow flow, Py_ssize_t m, double own, Py_ssize_t winner, double sure) noexcept
    cdef Py_ssize_t count_known(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own, double known) noexcept nogil
    cdef void ask_those(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own, double known, double[:, ::1] scores, Py_ssize_t t) noexcept nogil

cdef double log_odds(double p) noexcept nogil
