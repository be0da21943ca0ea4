"""A finished tree: its leaves, their explanations and means, and the rows that they have.

Recutting a node and moving a leaf both change where rows go. `route_to_leaves` finds the leaves of rows,
`gather_leaves` puts the rows in the order of their leaves and measures these anew.
"""

from cython.parallel cimport prange, threadid
from libc.string cimport memcpy

from shallowrules._kernel.refinement.leaf_cost cimport leaf_cost
from shallowrules._kernel.refinement.state cimport (
    Buffers, Effort, Rows, Stale, Tree, Walk, descend, point_of, prefetch_row, squared_distance, weight_of
)
from shallowrules._kernel.shared.interrupts cimport is_poll_due, poll_interrupts
from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.shared.threads cimport threads_for_values


cdef int list_leaves(const Tree* tree, Walk* walk, int node) noexcept nogil:
    """List the leaves below a node from left to right, to walk.leaves; return how many."""
    cdef int n_stacked = 1, n_found = 0
    walk.stack[0] = node
    while n_stacked:
        n_stacked -= 1
        node = walk.stack[n_stacked]
        if tree.feature[node] >= 0:
            walk.stack[n_stacked] = tree.right[node]
            walk.stack[n_stacked + 1] = tree.left[node]
            n_stacked += 2
        else:
            walk.leaves[n_found] = node
            n_found += 1
    return n_found


cdef int mark_path(const Tree* tree, unsigned char* is_seen, int leaf, int without) noexcept nogil:
    """Mark the (feature, direction) of a leaf's path in is_seen, the edge of one node left out; return how many."""
    cdef int node = leaf, above = tree.parent[leaf], size = 0
    cdef Py_ssize_t pair
    while above >= 0:
        if above != without:
            pair = 2 * tree.feature[above] + (tree.left[above] == node)
            size += not is_seen[pair]
            is_seen[pair] = 1
        node = above
        above = tree.parent[node]
    return size


cdef void forget_path(const Tree* tree, unsigned char* is_seen, int leaf) noexcept nogil:
    while tree.parent[leaf] >= 0:
        leaf = tree.parent[leaf]
        is_seen[2 * tree.feature[leaf]] = is_seen[2 * tree.feature[leaf] + 1] = 0


cdef int count_conditions(const Tree* tree, unsigned char* is_seen, int leaf, int without) noexcept nogil:
    """Return the number of conditions that explain a leaf, the edge of one node not counted."""
    cdef int size = mark_path(tree, is_seen, leaf, without)
    forget_path(tree, is_seen, leaf)
    return size


cdef int threads_for_node(const Rows* rows, const Tree* tree, int n_threads, int node) noexcept nogil:
    """Return how many threads work on a node: its rows are gone over column by column."""
    return threads_for_values((tree.last[node] - tree.first[node]) * rows.n_features, n_threads)


cdef void _measure_leaf(const Rows* rows, Tree* tree, int leaf, double* buffer) noexcept nogil:
    """Find the mean of a leaf's rows, their weight, and their squared distances to it."""
    cdef Py_ssize_t m = rows.n_columns, i, j
    cdef double* mean = tree.mean + leaf * m
    cdef double mass = 0.0, w, sum = 0.0
    cdef int slot, origin = rows.row[tree.order[tree.first[leaf]]]
    cdef const double* point
    # Differences from a row of the leaf keep the digits that an offset would take.
    for j in range(m):
        mean[j] = 0.0
    for i in range(tree.first[leaf], tree.last[leaf]):
        prefetch_row(rows, tree, i, tree.last[leaf])
        slot = tree.order[i]
        point = point_of(rows, slot, buffer)
        w = weight_of(rows, slot)
        mass += w
        for j in range(m):
            mean[j] += w * (point[j] - entry(&rows.X_cluster, origin, j))
    for j in range(m):
        mean[j] = entry(&rows.X_cluster, origin, j) + mean[j] / mass
    for i in range(tree.first[leaf], tree.last[leaf]):
        prefetch_row(rows, tree, i, tree.last[leaf])
        slot = tree.order[i]
        tree.own_distance[slot] = squared_distance(point_of(rows, slot, buffer), mean, m)
        sum += weight_of(rows, slot) * tree.own_distance[slot]
    tree.mass[leaf] = mass
    tree.sum_of_squares[leaf] = sum


cdef void enter(Tree* tree, int slot, int leaf) noexcept nogil:
    """Enter a row at another leaf than its own."""
    tree.is_measured[tree.leaf[slot]] = tree.is_measured[leaf] = 0
    tree.leaf[slot] = leaf


cdef void route_to_leaves(
    const Rows* rows, Tree* tree, int node, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Find the leaves of some of a node's rows."""
    cdef Py_ssize_t i
    cdef int slot, leaf
    for i in range(begin, end):
        slot = tree.order[i]
        leaf = descend(rows, tree, node, slot)
        if leaf != tree.leaf[slot]:
            enter(tree, slot, leaf)


cdef void mark_changed(Tree* tree, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Note that the order, the leaves and the distances of rows at some places may have changed."""
    tree.changed_first, tree.changed_last = min(tree.changed_first, first), max(tree.changed_last, last)


cdef void mark_unchanged(Tree* tree) noexcept nogil:
    tree.changed_first, tree.changed_last = tree.last[0], 0


cdef void _set_ranges(Tree* tree, int* stack, int node) noexcept nogil:
    """Set the rows of the inner nodes below a node, which lie from its leftmost to its rightmost leaf."""
    cdef int n_stacked = 1, i
    stack[0] = node
    while n_stacked:
        n_stacked -= 1
        node = stack[n_stacked]
        if tree.feature[node] >= 0:
            i = tree.left[node]
            while tree.feature[i] >= 0:
                i = tree.left[i]
            tree.first[node] = tree.first[i]
            i = tree.right[node]
            while tree.feature[i] >= 0:
                i = tree.right[i]
            tree.last[node] = tree.last[i]
            stack[n_stacked] = tree.right[node]
            stack[n_stacked + 1] = tree.left[node]
            n_stacked += 2


cdef void gather_leaves(
    const Rows* rows, Tree* tree, Stale* stale, Walk* walk, Buffers* buffers, int n_threads, int node
) noexcept nogil:
    """Order a node's rows by their leaves, and find the mean and the sum of squares of leaves whose rows changed."""
    cdef int n_leaves = list_leaves(tree, walk, node), i, slot
    cdef Py_ssize_t first = tree.first[node], last = tree.last[node], place = first, at
    mark_changed(tree, first, last)
    for i in range(n_leaves):
        buffers.count[walk.leaves[i]] = 0
    for at in range(first, last):
        buffers.count[tree.leaf[tree.order[at]]] += 1
    for i in range(n_leaves):
        tree.first[walk.leaves[i]] = tree.last[walk.leaves[i]] = place
        place += buffers.count[walk.leaves[i]]
    for at in range(first, last):
        slot = tree.order[at]
        buffers.swap[tree.last[tree.leaf[slot]]] = slot
        tree.last[tree.leaf[slot]] += 1
    memcpy(tree.order + first, buffers.swap + first, (last - first) * sizeof(int))
    n_threads = threads_for_node(rows, tree, n_threads, node)
    for i in prange(n_leaves, num_threads=n_threads, schedule="dynamic", chunksize=1):
        if not tree.is_measured[walk.leaves[i]]:
            _measure_leaf(rows, tree, walk.leaves[i], buffers.point + threadid() * rows.n_columns)
            tree.is_measured[walk.leaves[i]] = 1
            stale.split[walk.leaves[i]] = 1
    _set_ranges(tree, walk.stack, node)


cdef double objective_below(const Tree* tree, Walk* walk, double condition_penalty, int node) noexcept nogil:
    """Return what the leaves below a node add to the objective."""
    cdef int i, leaf, n_leaves = list_leaves(tree, walk, node)
    cdef double sum = 0.0
    for i in range(n_leaves):
        leaf = walk.leaves[i]
        sum += leaf_cost(
            tree.sum_of_squares[leaf], tree.mass[leaf], count_conditions(tree, walk.is_seen, leaf, -1),
            condition_penalty,
        )
    return sum


cdef void count_visit(Effort* effort, Py_ssize_t n_rows, Py_ssize_t n_features) noexcept nogil:
    """Count rows as visited; now and then poll interrupts."""
    effort.rows_visited += <double>n_rows
    if is_poll_due(&effort.unpolled, <double>n_rows * n_features):
        poll_interrupts(&effort.progress, min(effort.rows_visited / effort.max_rows, 1.0))


cdef void mark_stale(const Tree* tree, Stale* stale, Walk* walk, int node, bint paths_changed) noexcept nogil:
    """Mark what a change of a node's cut made stale: below it what leads to leaves whose rows or paths changed, and all
    above it.
    """
    cdef int n_leaves = list_leaves(tree, walk, node), i, below
    for i in range(n_leaves):
        below = walk.leaves[i]
        if paths_changed:
            stale.split[below] = 1
        if not stale.split[below]:
            continue
        while below != node:
            below = tree.parent[below]
            stale.cut[below] = 1
            stale.removal[tree.left[below]] = stale.removal[tree.right[below]] = 1
    below = node
    stale.cut[node] = 1
    while tree.parent[below] >= 0:
        below = tree.parent[below]
        stale.cut[below] = 1
        stale.removal[tree.left[below]] = stale.removal[tree.right[below]] = 1
