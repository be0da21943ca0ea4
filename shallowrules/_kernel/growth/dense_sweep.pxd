"""What each cut would cost at a node: distances of its rows, and exact sums of one feature or of all."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.fixed_point cimport ExactCost, FixedPoint
from shallowrules._kernel.growth.state cimport (
    CenterOrder, DenseBuffers, Histograms, Node, RowBuffers, Slots, Table
)
from shallowrules._kernel.shared.threads cimport Share

cdef struct AllFeatures:
    # Further buffers of `sum_all_features`: K is the number of the node's centers.
    int64_t* units              # [BLOCK / LANES, K, LANES] added cost of each center
    int64_t* sums               # [d, K, LANES] zeros
    int64_t* own                # [BLOCK] a row's own step


cdef double distance_to(const Table* table, const double* point, int center) noexcept nogil
cdef void list_members(const CenterOrder* centers, const Node* node, int* members) noexcept nogil
cdef void measure_slots(
    const Table* table, const Slots* slots, const Node* node, Py_ssize_t first, Py_ssize_t last, Py_ssize_t end,
    RowBuffers* rows,
) noexcept nogil
cdef void keep_measured(
    const Table* table, const Slots* slots, const RowBuffers* rows, int n_members, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef const double* weights_of(const Slots* slots, Py_ssize_t first, Py_ssize_t last, double* buffer) noexcept nogil
cdef void line_up(
    const Table* table, const CenterOrder* centers, const Node* node, DenseBuffers* dense, Py_ssize_t feature
) noexcept nogil
cdef void place_members(
    const CenterOrder* centers, const Node* node, int* members, DenseBuffers* dense
) noexcept nogil
cdef void sum_rows(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, const FixedPoint* fixed, int feature, Share share,
) noexcept nogil
cdef void sum_all_features(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, const FixedPoint* fixed, const AllFeatures* all_features, ExactCost* cost,
) noexcept nogil
cdef void to_differences(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms, Py_ssize_t f
) noexcept nogil
cdef void dense_steps(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, const FixedPoint* fixed,
    int feature, const Py_ssize_t* picked, int count, RowBuffers* rows, int64_t* steps,
) noexcept nogil
