# C types of these loops.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.models.scoring_loops cimport Scoring
from crowdstream.stream.task_loops cimport TaskRows

cdef class LabelLoop:
    cdef Scoring scoring
    cdef TaskRows store
    cdef Tasks tasks
    cdef int[::1] workers
    cdef int[::1] labels
    cdef double[:, ::1] scores
    cdef public unsigned long long[::1] keys
    cdef public object coin
    cdef public int[::1] fresh
    cdef public list met
    cdef public double settle, against, shift, slope, ceiling, now
    cdef public double renew_after, renew_labels, few, fade, most
    cdef public Py_ssize_t min_labels, max_labels, named, closings, known, known_closed, most_known
    cdef public long long clock, look_at, origin
    cdef readonly Py_ssize_t room
    cdef public Py_ssize_t at
    cdef readonly Py_ssize_t opened, taken, repeated, late, closed

    cdef Py_ssize_t meet(self, Py_ssize_t new) except? -2
    cdef double weight(self, long long place) noexcept
    cdef bint decide(self, object name, Py_ssize_t slot, Py_ssize_t m, double weight, bint is_new, dict found) except *
    cdef double corrected(self, double confidence) noexcept
    cdef bint holds(self, Py_ssize_t m, double own, Py_ssize_t winner, double sure) noexcept
