"""The memory of one growth: the state, a scratch for each thread, and the arrays that they point to.

All memory is allocated before any thread starts. Each part is declared in a table, a row for each pointer with its
shape and dtype, and allocated in one loop (`allocate`). A mode takes the tables that it needs: every mode takes
those of the slots and of the scanning of features; ExShallow (`sweeps`) also takes the buffers of sweeps.
"""

import numpy as np

from libc.math cimport frexp, ldexp
from libc.stdint cimport int64_t, uint16_t

from shallowrules._kernel.growth.bounding cimport MAX_BLOCK_UNITS
from shallowrules._kernel.growth.state cimport (
    BLOCK, DENSE_BLOCK, LANES, NOT_CUT_YET, UNUSED_PLACE, Item, Node, Prefix, Scratch, State, Tally
)
from shallowrules._kernel.shared.allocation cimport address_of, allocate
from shallowrules._kernel.shared.matrix cimport matrix_of
from shallowrules._kernel.shared.threads cimport CHUNK, HAS_OPENMP, MIN_SHARED_ROWS

from shallowrules._kernel.shared.binning import encode

cdef enum:
    MIN_KEPT_WIDTH = 256    # bytes of a row from which on its distances are kept


def openmp_enabled():
    """Return whether the kernel was built with OpenMP, and so uses more than one thread."""
    return bool(HAS_OPENMP)


def keeps_all_distances(X_cluster, Py_ssize_t k):
    """Return whether a growth keeps the distances of each row to all of its centers.

    If so, it takes them over from its `GrowthInput`, where they are known.

    Parameters
    ----------
    X_cluster : ndarray of float32 or float64, shape (n, m)
    k : int
        Number of centers.
    """
    return k <= _n_kept(X_cluster)


cdef Py_ssize_t _n_kept(X_cluster) except -1:
    """Return how many distances of a row are kept: in half of its memory.

    Rows of a few cache lines are read again sooner than distances are written.
    """
    cdef Py_ssize_t width = X_cluster.shape[1] * X_cluster.itemsize
    return width // (2 * <Py_ssize_t>sizeof(double)) if width >= MIN_KEPT_WIDTH else 0


cdef class Workspace:
    """The memory of one growth.

    Parameters
    ----------
    inputs : GrowthInput
    n_places : int
        Nodes that there may be.
    n_threads, progress
        As for `grow_tree`.
    assigned : ndarray of int32, shape (r,), optional
        IMM's: the center of each row.
    ranks : int
        See `encode`.
    """

    def __init__(
        self, inputs, Py_ssize_t n_places, *, int n_threads, progress, assigned=None, int ranks=0
    ):
        if not HAS_OPENMP or len(inputs.rows) < MIN_SHARED_ROWS:
            n_threads = 1
        self.n_threads, self.n_places = n_threads, n_places
        self.failures = []
        self._keep = [inputs, assigned, progress]
        self.state.progress.callback = <void*>progress
        self.state.progress.failures = <void*>self.failures
        self._set_table(inputs, ranks)
        self._set_slots(inputs, assigned)
        self._set_nodes()

    cdef void keep(self, list arrays):
        """Keep arrays alive as long as the workspace."""
        self._keep.extend(arrays)

    cdef _set_table(self, inputs, int ranks):
        """Code the table, and say where its arrays are."""
        cdef State* state = &self.state
        codes, center_codes, n_codes, single_valued, largest_bin = encode(
            inputs.X_explain, inputs.rows, inputs.explain_centers, self.n_threads, ranks=ranks, ranges=inputs.ranges,
            sample=inputs.sample,
        )
        order = np.argsort(center_codes, axis=1, kind="stable").astype(np.int32)
        sorted_centers = order.copy()
        self.codes, self.single_valued, self.largest_bin = codes, single_valued, largest_bin
        self.keep([center_codes, order, sorted_centers])
        state.table.X_explain, state.table.X_cluster = matrix_of(inputs.X_explain), matrix_of(inputs.X_cluster)
        state.table.n_rows, state.table.n_features = len(inputs.rows), inputs.X_explain.shape[1]
        state.table.n_centers, state.table.n_codes = len(inputs.cluster_centers), n_codes
        state.table.cluster_centers = <const double*><size_t>address_of(inputs.cluster_centers)
        state.table.explain_centers = <const double*><size_t>address_of(inputs.explain_centers)
        state.table.center_codes = <const int*><size_t>address_of(center_codes)
        state.table.single_valued = <const unsigned char*><size_t>address_of(single_valued)
        state.centers.sorted = <const int*><size_t>address_of(sorted_centers)
        state.centers.order = <int*><size_t>address_of(order)
        if inputs.path_sides is not None:
            state.table.path_sides = <const unsigned char*><size_t>address_of(inputs.path_sides)
        state.slots.codes = <uint16_t*><size_t>address_of(codes)

    cdef _set_slots(self, inputs, assigned):
        """Point to the arrays of the rows, which are the caller's, and allocate the arrays that go with them."""
        cdef State* state = &self.state
        cdef Py_ssize_t r = state.table.n_rows, k = state.table.n_centers
        cdef int exponent
        cdef int[::1] rows = inputs.rows
        state.slots.row = &rows[0]
        state.slots.assigned = NULL if assigned is None else <int*><size_t>address_of(assigned)
        state.table.weighted = inputs.weight is not None
        state.slots.weight = <double*><size_t>address_of(inputs.weight) if state.table.weighted else NULL
        state.table.total_weight = float(np.sum(inputs.weight)) if state.table.weighted else <double>r
        frexp(state.table.total_weight, &exponent)
        state.table.weight_scale = ldexp(1.0, min(max(60 - exponent, -1000), 1000))
        self.keep(allocate([
            (<size_t>&state.slots.side, r, np.uint8),
            (<size_t>&state.slots.swap_left, r // 2 + 1, np.int32),
            (<size_t>&state.slots.swap_right, r // 2 + 1, np.int32),
            (<size_t>&state.centers.side, k, np.uint8),
        ]))

    cdef _set_nodes(self):
        """Allocate the nodes; the root has all rows and centers."""
        cdef State* state = &self.state
        cdef Py_ssize_t i
        self.keep(allocate([(<size_t>&state.nodes, self.n_places, <Py_ssize_t>sizeof(Node))]))
        for i in range(self.n_places):
            state.nodes[i].feature = UNUSED_PLACE
        state.nodes[0].parent = -1
        state.nodes[0].feature = NOT_CUT_YET
        state.nodes[0].last = state.nodes[0].last_counted = state.table.n_rows
        state.nodes[0].last_center = state.table.n_centers

    cdef allocate_scratches(self, bint sweeps, bint opens_all=False):
        """Allocate a scratch for each thread.

        Parameters
        ----------
        sweeps : whether distances to centers are swept: not by IMM, nor by ExKMC
        opens_all : whether a bin may hold every row
        """
        cdef State* state = &self.state
        cdef Py_ssize_t r = state.table.n_rows, k = state.table.n_centers
        cdef int t
        scratches = np.zeros((self.n_threads, sizeof(Scratch)), dtype=np.uint8)
        self.scratches = <Scratch*><size_t>address_of(scratches)
        self.keep([scratches])
        for t in range(self.n_threads):
            self.scratches[t].scan.capacity = r if opens_all else max(2 * CHUNK, self.largest_bin, r // 16)
            self.keep(allocate(self._scan_fields(&self.scratches[t])))
            if sweeps:
                self.keep(allocate(self._dense_fields(&self.scratches[t])))
        if sweeps:
            self.keep(allocate([(<size_t>&state.chunk_cost, r // CHUNK + k + 1, np.float64)]))

    cdef keep_distances(self, inputs, wanted):
        """Let nodes write down the distances that they take, or the root have those that are known.

        Parameters
        ----------
        inputs : GrowthInput
        wanted : int or None
            Distances of a row, in place of what the memory of the rows says.
        """
        cdef State* state = &self.state
        cdef Py_ssize_t k = state.table.n_centers
        if wanted is None:
            wanted = _n_kept(inputs.X_cluster)
        state.slots.n_distances = <int>min(k, wanted)
        known = inputs.distances
        if known is None or state.slots.n_distances < k:
            known = np.empty((state.slots.n_distances, state.table.n_rows))
        elif known.shape != (k, state.table.n_rows) or known.dtype != np.float64:
            raise ValueError("distances must be doubles, a row for each center and a column for each of the rows")
        else:
            state.nodes[0].has_distances = True
        place = np.arange(k, dtype=np.int32)
        state.slots.distance = <double*><size_t>address_of(known)
        state.slots.distance_place = <int*><size_t>address_of(place)
        self.keep([known, place])

    cdef list _scan_fields(self, Scratch* scratch):
        """Return the arrays that every mode needs: histograms, and buffers to scan features and to partition nodes."""
        cdef Py_ssize_t d = self.state.table.n_features, k = self.state.table.n_centers
        cdef Py_ssize_t n_codes = self.state.table.n_codes, m = self.state.table.X_cluster.n_columns
        return [
            (<size_t>&scratch.histograms.tally, (d, n_codes), <Py_ssize_t>sizeof(Tally)),
            (<size_t>&scratch.histograms.weight, d * n_codes if self.state.table.weighted else 1, np.int64),
            (<size_t>&scratch.histograms.center_step, (d, k), np.int64),
            (<size_t>&scratch.rows.point, m, np.float64),
            (<size_t>&scratch.rows.lanes, (m, LANES), np.float64),
            (<size_t>&scratch.rows.lane_distance, (k, LANES), np.float64),
            (<size_t>&scratch.rows.members, k, np.int32),
            (<size_t>&scratch.scan.path_sides, d, np.uint8),
            (<size_t>&scratch.scan.items, scratch.scan.capacity, <Py_ssize_t>sizeof(Item)),
            (<size_t>&scratch.scan.bins, n_codes, <Py_ssize_t>sizeof(Prefix)),
            (<size_t>&scratch.scan.opened, n_codes, np.int32),
            (<size_t>&scratch.scan.plan.size, k, np.int32),
            (<size_t>&scratch.scan.plan.left_size, k, np.int32),
            (<size_t>&scratch.scan.plan.pending, k, np.int32),
            (<size_t>&scratch.scan.plan.value, k + 1, np.float64),
            (<size_t>&scratch.features.unit_scale, d, np.float64),
            (<size_t>&scratch.features.exact, d, np.uint8),
            (<size_t>&scratch.features.bound, d, np.float64),
            (<size_t>&scratch.features.searched, d, np.uint8),
            (<size_t>&scratch.features.best, d, np.float64),
            (<size_t>&scratch.worker.stack, self.n_places, np.int32),
        ]

    cdef list _dense_fields(self, Scratch* scratch):
        """Return the arrays that sweeps need."""
        cdef Py_ssize_t d = self.state.table.n_features, k = self.state.table.n_centers
        return [
            (<size_t>&scratch.dense.place, DENSE_BLOCK, np.int32),
            (<size_t>&scratch.dense.member_place, k, np.int32),
            (<size_t>&scratch.dense.at, (d, k), np.int32),
            (<size_t>&scratch.dense.edge, (d, k), np.int32),
            (<size_t>&scratch.dense.units, max(MAX_BLOCK_UNITS, BLOCK * k), np.int32),
            (<size_t>&scratch.dense.right, (k, LANES), np.int32),
            (<size_t>&scratch.dense.sums, (d, k, LANES), np.int32),
            (<size_t>&scratch.dense.own, DENSE_BLOCK, np.int32),
            (<size_t>&scratch.dense.exact_units, (k, LANES), np.int64),
            (<size_t>&scratch.dense.exact_right, (k, LANES), np.int64),
            (<size_t>&scratch.dense.exact_sums, (k, LANES), np.int64),
        ]

    cdef dict finish(self):
        """Raise the exception that ended the work, or return the nodes."""
        cdef Py_ssize_t i
        cdef Node* node
        if self.failures:
            raise self.failures[0]
        whole_array = np.empty((6, self.n_places), dtype=np.int64)
        real_array = np.empty((3, self.n_places))
        cdef int64_t[:, ::1] whole = whole_array
        cdef double[:, ::1] real = real_array
        for i in range(self.n_places):
            node = &self.state.nodes[i]
            whole[0, i], whole[1, i], whole[2, i] = node.feature, node.left, node.right
            whole[3, i], whole[4, i], whole[5, i] = node.center, node.first, node.last
            real[0, i], real[1, i], real[2, i] = node.cut, node.lower, node.upper
        names = "feature", "left", "right", "center", "first", "last", "cut", "lower", "upper"
        return dict(zip(names, (*whole_array, *real_array)))
