# What other compiled modules may use of these loops.

cdef Py_ssize_t reason_of(double met, double all_met, Py_ssize_t met_workers, double evidence, Py_ssize_t classes) noexcept nogil
