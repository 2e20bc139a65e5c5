# Types of difficulty_loops.py.

from crowdstream.labels.batch_loops cimport Tasks

cdef double LARGE

cpdef void fill_likelihoods(Tasks tasks, double[::1] skills, double[::1] grid, double[:, ::1] like, double[:, ::1] out)
cpdef void fill_strengths(Tasks tasks, double[::1] skills, double[::1] grid, double[::1] frequency, double[:, ::1] like, double[::1] out)
cdef void judge_task(Tasks tasks, Py_ssize_t t, double[::1] skills, double[::1] grid, double[:, ::1] like) noexcept nogil
