# What C knows and Cython does not: to fetch memory before it is needed, and
# where fields and rows of CSV end, 64 bytes at a time. SSE2 is part of every x86-64 processor, so
# nothing is asked of the machine at run time; others take eight bytes at a time.

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    static uint64_t crowdstream_marks(const unsigned char *place, unsigned char separator) {
        const __m128i fields = _mm_set1_epi8((char)separator), rows = _mm_set1_epi8(10);
        uint64_t found = 0;
        for (int k = 0; k < 4; k++) {
            __m128i text = _mm_loadu_si128((const __m128i *)(place + 16 * k));
            __m128i hits = _mm_or_si128(_mm_cmpeq_epi8(text, fields), _mm_cmpeq_epi8(text, rows));
            found |= (uint64_t)(uint32_t)_mm_movemask_epi8(hits) << (16 * k);
        }
        return found;
    }
    #else
    static uint64_t crowdstream_zeros(uint64_t word) {
        const uint64_t low = 0x7F7F7F7F7F7F7F7FULL;
        return ~(((word & low) + low) | word | low);  /* the high bit of every byte that is zero */
    }
    static uint64_t crowdstream_marks(const unsigned char *place, unsigned char separator) {
        const uint64_t ones = 0x0101010101010101ULL;
        uint64_t found = 0, word;
        for (int k = 0; k < 8; k++) {
            memcpy(&word, place + 8 * k, 8);
            word = crowdstream_zeros(word ^ (ones * separator)) | crowdstream_zeros(word ^ (ones * 10));
            found |= (((word >> 7) * 0x0102040810204080ULL) >> 56) << (8 * k);  /* a bit per byte */
        }
        return found;
    }
    #endif
    #if defined(__GNUC__) || defined(__clang__)
    #define crowdstream_lowest(bits) __builtin_ctzll(bits)
    #define crowdstream_fetch(place) __builtin_prefetch(place)
    #elif defined(_M_X64) || defined(_M_ARM64)
    #include <intrin.h>
    static int crowdstream_lowest(uint64_t bits) {
        unsigned long found;
        _BitScanForward64(&found, bits);
        return (int)found;
    }
    #define crowdstream_fetch(place) ((void)(place))
    #else
    #define crowdstream_fetch(place) ((void)(place))
    static int crowdstream_lowest(uint64_t bits) {
        int found = 0;
        while (!(bits & 1)) { bits >>= 1; found++; }
        return found;
    }
    #endif
    """
    unsigned long long find_marks "crowdstream_marks"(
        const unsigned char *place, unsigned char separator
    ) noexcept nogil
    void fetch "crowdstream_fetch"(const void *place) noexcept nogil
    int lowest_mark "crowdstream_lowest"(unsigned long long bits) noexcept nogil
