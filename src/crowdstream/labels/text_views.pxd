# Views of text, as Arrow lays them out: two words each, long texts in buffers beside them.

cdef enum:
    BUFFER_BITS = 30  # a buffer begins every 2**30 bytes: places in one have 31 bits
