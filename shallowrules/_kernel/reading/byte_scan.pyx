"""Every byte of a CSV file, read once: where quotes, delimiters and line ends are, and which bytes occur.

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

    sr_byte_counts sr_count_bytes(const uint8_t* bytes, Py_ssize_t n, uint8_t delimiter) noexcept

cdef enum:
    QUOTE = 34
    NEWLINE = 10
    RETURN = 13

    BLOCK = 1 << 14         # bytes that are counted together


# The state that the quotes among the bytes so far lead to.
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


cdef struct Seen:
    # The facts from the bytes so far.
    uint8_t delimiter
    bint single             # look for blank lines
    uint8_t last, last_but_one
    bint in_header
    Quoting quoting
    Py_ssize_t newlines, returns, pairs
    Py_ssize_t delimiters, ended_lines      # outside of quotes
    bint quoted, blank_lines, odd_numbers, whole_numbers


cdef void _take_quoted(Seen* seen, const uint8_t* bytes, Py_ssize_t n) noexcept nogil:
    cdef Quoting quoting = seen.quoting
    cdef uint8_t delimiter = seen.delimiter
    cdef Py_ssize_t i, delimiters = 0, lines = 0
    for i in range(n):
        _follow(&quoting, bytes[i - 1], bytes[i], delimiter)
        delimiters += (bytes[i] == delimiter) & (not quoting.inside)
        lines += (bytes[i] == NEWLINE) & (not quoting.inside)
    seen.quoting = quoting
    seen.delimiters += delimiters
    seen.ended_lines += lines


cdef void _find_blank_lines(Seen* seen, const uint8_t* bytes, Py_ssize_t n) noexcept nogil:
    cdef uint8_t before = seen.last, before_that = seen.last_but_one
    cdef Py_ssize_t i
    for i in range(n):
        if bytes[i] == NEWLINE:
            seen.blank_lines |= before == NEWLINE or (before == RETURN and before_that == NEWLINE)
        before_that = before
        before = bytes[i]
    seen.last_but_one = before_that


cdef void _take(Seen* seen, const uint8_t* bytes, Py_ssize_t n) noexcept nogil:
    """Examine the next bytes; the one before them can be read."""
    cdef sr_byte_counts counts = sr_count_bytes(bytes, n, seen.delimiter)
    seen.newlines += counts.newlines
    seen.returns += counts.returns
    seen.pairs += counts.pairs
    seen.quoted |= counts.quotes
    seen.odd_numbers |= counts.odd_numbers
    seen.whole_numbers &= seen.in_header or not counts.other
    if counts.quotes or seen.quoting.inside or seen.quoting.closed:
        _take_quoted(seen, bytes, n)
    else:
        seen.delimiters += counts.delimiters
        seen.ended_lines += counts.newlines
    if seen.single:
        _find_blank_lines(seen, bytes, n)
    if seen.in_header:  # byte by byte
        seen.in_header = bytes[0] != NEWLINE
    seen.last = bytes[n - 1]


cdef class ByteScan:
    """The facts from the bytes fed so far; `shallowrules.sources.text.Scan` explains each.

    Parameters
    ----------
    delimiter : int
        The byte between fields.
    single : bool
        Look for blank lines.
    """

    cdef Seen seen

    def __cinit__(self, uint8_t delimiter, bint single):
        self.seen.delimiter = delimiter
        self.seen.single = single
        self.seen.last = NEWLINE
        self.seen.in_header = self.seen.whole_numbers = self.seen.quoting.regular = True

    @property
    def delimiters(self):
        """The number of delimiters outside of quotes."""
        return self.seen.delimiters

    @property
    def quoted(self):
        return bool(self.seen.quoted)

    @property
    def blank_lines(self):
        return bool(self.seen.blank_lines)

    @property
    def odd_numbers(self):
        return bool(self.seen.odd_numbers)

    @property
    def whole_numbers(self):
        return bool(self.seen.whole_numbers)

    @property
    def regular(self):
        """Whether every quote opens or closes a whole field, none is open, and lines end in one way."""
        one_end = not self.seen.returns or self.seen.returns == self.seen.newlines == self.seen.pairs
        return bool(self.seen.quoting.regular and not self.seen.quoting.inside and one_end)

    @property
    def lines(self):
        """The number of lines outside of quotes, the last one too where it has no end."""
        return self.seen.ended_lines + (self.seen.last != NEWLINE)

    def feed(self, const uint8_t[::1] chunk):
        """Examine the next bytes of the file."""
        cdef Py_ssize_t n = chunk.shape[0], start = 1, size
        cdef Seen* seen = &self.seen
        cdef const uint8_t* bytes
        cdef uint8_t pair[2]
        if not n:
            return
        bytes = &chunk[0]
        with nogil:
            pair[0], pair[1] = seen.last, bytes[0]
            _take(seen, &pair[1], 1)
            while seen.in_header and start < n:
                _take(seen, bytes + start, 1)
                start += 1
            while start < n:
                size = min(n - start, <Py_ssize_t> BLOCK)
                _take(seen, bytes + start, size)
                start += size

    def begin_behind(self, const uint8_t[::1] before):
        """Examine bytes that follow others, whose last two are given, as if no quote were open there."""
        if before.shape[0] != 2:
            raise ValueError("begin_behind wants two bytes")
        self.seen.last_but_one, self.seen.last = before[0], before[1]
        self.seen.in_header = False

    def add(self, ByteScan following):
        """Add the facts from a scan that began after these bytes; return whether it began correctly, otherwise do
        nothing."""
        cdef Seen* seen = &self.seen
        cdef Seen* other = &following.seen
        if seen.quoted or seen.in_header:
            return False
        seen.newlines += other.newlines
        seen.returns += other.returns
        seen.pairs += other.pairs
        seen.delimiters += other.delimiters
        seen.ended_lines += other.ended_lines
        seen.quoted |= other.quoted
        seen.blank_lines |= other.blank_lines
        seen.odd_numbers |= other.odd_numbers
        seen.whole_numbers &= other.whole_numbers
        seen.quoting = other.quoting
        seen.last_but_one, seen.last = other.last_but_one, other.last
        return True
