"""Every byte of a CSV file, looked at once: how quotes, delimiters and line ends stand, and which bytes there are.

Where there is no quote, bytes are counted many at a time; the quotes of the other blocks are followed byte by byte.
"""

from libc.stdint cimport uint8_t


cdef extern from "reading/byte_count.h" nogil:
    ctypedef struct sr_byte_counts:
        Py_ssize_t delimiters
        Py_ssize_t newlines
        Py_ssize_t returns
        Py_ssize_t pairs
        bint quotes
        bint odd_numbers
        bint other
        bint beyond_ascii

    sr_byte_counts sr_count_bytes(const uint8_t* bytes, Py_ssize_t n, uint8_t delimiter) noexcept

cdef enum:
    QUOTE = 34
    NEWLINE = 10
    RETURN = 13

    BLOCK = 1 << 14         # bytes that are counted together


# Where the quotes of the bytes so far have led.
cdef struct Quoting:
    bint inside             # a quoted field
    bint closed             # by the last byte, so that the next one ends the field or doubles the quote
    bint regular            # each quote so far opened or closed a whole field, or was doubled


cdef inline void _follow(Quoting* quoting, uint8_t before, uint8_t byte, uint8_t delimiter) noexcept nogil:
    if quoting.closed:
        quoting.regular &= (byte == delimiter) | (byte == NEWLINE) | (byte == RETURN) | (byte == QUOTE)
        quoting.closed = False
    if byte == QUOTE:
        if quoting.inside:
            quoting.closed = True
        else:
            quoting.regular &= (before == delimiter) | (before == NEWLINE) | (before == QUOTE)
        quoting.inside = not quoting.inside


cdef class ByteScan:
    """What the bytes that were fed so far tell; `shallowrules.sources.text.Scan` says what each thing means.

    Parameters
    ----------
    delimiter : int
        The byte between fields.
    single : bool
        Look for blank lines.
    """

    cdef uint8_t delimiter, last, last_but_one
    cdef bint single, in_header
    cdef Quoting quoting
    cdef Py_ssize_t newlines, returns, pairs, ended_lines
    cdef readonly Py_ssize_t delimiters
    cdef readonly bint quoted, blank_lines, odd_numbers, whole_numbers, is_ascii

    def __cinit__(self, uint8_t delimiter, bint single):
        self.delimiter = delimiter
        self.single = single
        self.last = NEWLINE
        self.in_header = self.whole_numbers = self.is_ascii = self.quoting.regular = True

    @property
    def regular(self):
        """Whether every quote opens or closes a whole field, none is open, and lines end in one way."""
        one_end = not self.returns or self.returns == self.newlines == self.pairs
        return bool(self.quoting.regular and not self.quoting.inside and one_end)

    @property
    def lines(self):
        """The number of lines outside of quotes, the last one too where it has no end."""
        return self.ended_lines + (self.last != NEWLINE)

    def feed(self, const uint8_t[::1] chunk):
        """Look at the next bytes of the file."""
        cdef Py_ssize_t n = chunk.shape[0], start = 0, size
        cdef uint8_t pair[2]
        if not n:
            return
        with nogil:
            pair[0], pair[1] = self.last, chunk[0]
            self._take(&pair[1], 1)
            start = 1
            while self.in_header and start < n:
                self._take(&chunk[start], 1)
                start += 1
            while start < n:
                size = min(n - start, <Py_ssize_t> BLOCK)
                self._take(&chunk[start], size)
                start += size

    cdef void _take(self, const uint8_t* bytes, Py_ssize_t n) noexcept nogil:
        """Look at the next bytes; the one before them can be read."""
        cdef sr_byte_counts counts = sr_count_bytes(bytes, n, self.delimiter)
        self.newlines += counts.newlines
        self.returns += counts.returns
        self.pairs += counts.pairs
        self.quoted |= counts.quotes
        self.odd_numbers |= counts.odd_numbers
        self.is_ascii &= not counts.beyond_ascii
        self.whole_numbers &= self.in_header or not counts.other
        if counts.quotes or self.quoting.inside or self.quoting.closed:
            self._take_quoted(bytes, n)
        else:
            self.delimiters += counts.delimiters
            self.ended_lines += counts.newlines
        if self.single:
            self._find_blank_lines(bytes, n)
        if self.in_header:  # byte by byte
            self.in_header = bytes[0] != NEWLINE
        self.last = bytes[n - 1]

    cdef void _take_quoted(self, const uint8_t* bytes, Py_ssize_t n) noexcept nogil:
        cdef Quoting quoting = self.quoting
        cdef uint8_t delimiter = self.delimiter
        cdef Py_ssize_t i, delimiters = 0, lines = 0
        for i in range(n):
            _follow(&quoting, bytes[i - 1], bytes[i], delimiter)
            delimiters += (bytes[i] == delimiter) & (not quoting.inside)
            lines += (bytes[i] == NEWLINE) & (not quoting.inside)
        self.quoting = quoting
        self.delimiters += delimiters
        self.ended_lines += lines

    cdef void _find_blank_lines(self, const uint8_t* bytes, Py_ssize_t n) noexcept nogil:
        cdef uint8_t before = self.last, before_that = self.last_but_one
        cdef Py_ssize_t i
        for i in range(n):
            if bytes[i] == NEWLINE:
                self.blank_lines |= before == NEWLINE or (before == RETURN and before_that == NEWLINE)
            before_that = before
            before = bytes[i]
        self.last_but_one = before_that
