# C types of these loops; what is here other compiled modules may use.

from crowdstream.labels.batch_loops cimport Tasks
from crowdstream.models.scoring_loops cimport Scoring
from crowdstream.sums.agreement_loops cimport AgreementRows

cdef double on_grid(double share) noexcept nogil

cdef class Shares:
    cdef double[::1] agreement, share, rise
    cdef public Py_ssize_t top
    cdef public double h, offset, slope, scale, total, drift, per_excess

    cdef double excess(self, Py_ssize_t n, double share) noexcept nogil
    cdef bint is_solvable(self, Py_ssize_t n) noexcept nogil
    cdef double bracketed(self, Py_ssize_t n, double low, double high) noexcept nogil
    cdef double search(self, Py_ssize_t n, bint dominant) noexcept nogil
    cdef void expect(self, double before, double after) noexcept nogil
    cdef double guess(self) noexcept nogil
    cdef bint is_clean(self, double before, double share) noexcept nogil
    cdef bint go_on(self, Py_ssize_t n, bint dominant) noexcept nogil
    cdef Py_ssize_t find(self, Py_ssize_t n, bint dominant) noexcept nogil
    cdef void find_top(self, Py_ssize_t n) noexcept nogil

cdef class FixedPoint(Scoring):
    cdef double[:, ::1] mirror, spare
    cdef Shares shares
    cdef double answer_rate, memory, shrinkage, clip
    cdef public double unit
    cdef public Py_ssize_t named, truth
    cdef readonly Py_ssize_t reason
    cdef readonly bint by_shares
    cdef readonly double mean
    cdef Py_ssize_t n, golds, groups, main, read_named
    cdef long long changes
    cdef bint is_current
    cdef double seen_total, tasks, labelled, left_out, read_unit
    cdef double start, signal, strength, all_met, evidence, answered, spread, group_met

    cdef void make_mirrors(self, Py_ssize_t size) noexcept
    cdef void make_spare(self, Py_ssize_t size) noexcept
    cdef void refresh(self) noexcept nogil
    cdef void extend(self) noexcept nogil
    cdef bint is_copied(self) noexcept nogil
    cdef void note(self) noexcept nogil
    cdef void copy(self, Py_ssize_t i) noexcept nogil
    cdef void derive(self, Py_ssize_t i, double before, double known) noexcept nogil
    cdef void learn(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t truth, double weight) noexcept nogil
    cdef void link(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef void regroup(self, Py_ssize_t i, double before, double met) noexcept nogil
    cdef void prefer(self, Py_ssize_t root) noexcept nogil
    cdef void leave_out(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own) noexcept nogil
    cdef void put_back(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void read(self) noexcept nogil
    cdef void solve(self) noexcept nogil
    cdef void add_up(self) noexcept nogil
    cdef Py_ssize_t look(self) noexcept nogil
    cdef void find_mean(self) noexcept nogil
    cdef double find_strength(self) noexcept nogil
    cdef bint is_inside(self, Py_ssize_t i) noexcept nogil
    cdef double theta(self, Py_ssize_t i) noexcept nogil
    cdef double weight_of(self, double theta) noexcept nogil
    cdef void score(self, Tasks tasks, Py_ssize_t begin, Py_ssize_t end, double own, double[:, ::1] scores, Py_ssize_t t) noexcept nogil
