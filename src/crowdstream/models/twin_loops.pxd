# C types of these loops; what is here other compiled modules may use.

cdef unsigned long long whole(unsigned long long key) noexcept nogil
cdef double waiting(double chance, unsigned long long seed, double shortest) noexcept nogil
