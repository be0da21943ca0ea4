"""A finished tree: its leaves, their explanations and means, and the rows that they have.

Recutting a node and moving a leaf both change where rows go. `route_to_leaves` finds the leaves of rows,
`gather_leaves` puts the rows in the order of their leaves and measures these again.
"""

from cython.parallel cimport prange, threadid
from libc.string cimport memcpy, memset

from shallowrules._kernel.refinement.leaf_cost cimport leaf_cost
from shallowrules._kernel.refinement.state cimport (
    Buffers, Effort, Rows, Stale, Tree, Walk, Work, descend, point_of, squared_distance, weight_of
)
from shallowrules._kernel.shared.interrupts cimport is_poll_due, poll_interrupts
from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.shared.threads cimport CHUNK, threads_for


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
    return threads_for((tree.last[node] - tree.first[node]) * rows.n_features, n_threads)


cdef void _measure_cluster(
    const Rows* rows, Tree* tree, Stale* stale, const int* leaves, int n_leaves, int center, double* buffer
) noexcept nogil:
    """Find a cluster's mean from the means of the leaves that have its center, and their weight and cost around it."""
    cdef Py_ssize_t m = rows.n_columns, i, j
    cdef double* mean = NULL
    cdef double total = 0.0, mass, w, sum
    cdef int slot, leaf, n, origin = 0
    cdef const double* point
    # Differences from a row of the cluster keep the digits that an offset would take.
    for n in range(n_leaves):
        leaf = leaves[n]
        if tree.center[leaf] != center:
            continue
        if mean == NULL:
            mean = tree.mean + leaf * m
            origin = rows.row[tree.order[tree.first[leaf]]]
            for j in range(m):
                mean[j] = 0.0
        mass = 0.0
        for i in range(tree.first[leaf], tree.last[leaf]):
            slot = tree.order[i]
            point = point_of(rows, slot, buffer)
            w = weight_of(rows, slot)
            mass += w
            for j in range(m):
                mean[j] += w * (point[j] - entry(&rows.X_cluster, origin, j))
        tree.mass[leaf] = mass
        total += mass
    for j in range(m):
        mean[j] = entry(&rows.X_cluster, origin, j) + mean[j] / total
    for n in range(n_leaves):
        leaf = leaves[n]
        if tree.center[leaf] != center:
            continue
        sum = 0.0
        for i in range(tree.first[leaf], tree.last[leaf]):
            slot = tree.order[i]
            tree.own_distance[slot] = squared_distance(point_of(rows, slot, buffer), mean, m)
            sum += weight_of(rows, slot) * tree.own_distance[slot]
        tree.sum_of_squares[leaf] = sum
        if tree.mean + leaf * m != mean:
            memcpy(tree.mean + leaf * m, mean, m * sizeof(double))
        tree.is_measured[leaf] = 1
        stale.split[leaf] = 1


cdef void enter(Tree* tree, int slot, int leaf) noexcept nogil:
    """Enter a row at a leaf other than its own."""
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
    """Order a node's rows by their leaves, and measure the clusters whose rows changed."""
    cdef int n_leaves = list_leaves(tree, walk, node), i, slot, leaf
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
    if tree.n_clusters:
        mark_changed(tree, 0, tree.last[0])  # a cluster may have leaves anywhere
        n_leaves = list_leaves(tree, walk, 0)
        for i in range(n_leaves):
            leaf = walk.leaves[i]
            if not tree.is_measured[leaf]:
                _measure_cluster(rows, tree, stale, walk.leaves, n_leaves, tree.center[leaf], buffers.point)
    else:
        n_threads = threads_for_node(rows, tree, n_threads, node)
        for i in prange(n_leaves, num_threads=n_threads, schedule="dynamic", chunksize=1):
            if not tree.is_measured[walk.leaves[i]]:
                _measure_cluster(
                    rows, tree, stale, &walk.leaves[i], 1, tree.center[walk.leaves[i]],
                    buffers.point + threadid() * rows.n_columns,
                )
    _set_ranges(tree, walk.stack, node)


cdef double objective_below(const Tree* tree, Walk* walk, double condition_penalty, int node) noexcept nogil:
    """Return the amount that the leaves below a node add to the objective."""
    cdef int i, leaf, n_leaves = list_leaves(tree, walk, node)
    cdef double sum = 0.0
    for i in range(n_leaves):
        leaf = walk.leaves[i]
        sum += leaf_cost(
            tree.sum_of_squares[leaf], tree.mass[leaf], count_conditions(tree, walk.is_seen, leaf, -1),
            condition_penalty,
        )
    return sum


cdef (double, double) figures_of(const Tree* tree, Walk* walk) noexcept nogil:
    """Return the weighted sums of the squared distances of rows to the mean of their leaf, and of their conditions."""
    cdef int i, leaf, n_leaves = list_leaves(tree, walk, 0)
    cdef double squares = 0.0, conditions = 0.0
    for i in range(n_leaves):
        leaf = walk.leaves[i]
        squares += tree.sum_of_squares[leaf]
        conditions += tree.mass[leaf] * count_conditions(tree, walk.is_seen, leaf, -1)
    return squares, conditions


cdef bint is_over(const Effort* effort) noexcept nogil:
    return effort.rows_visited >= effort.max_rows or effort.progress.stopped


cdef void count_visit(Effort* effort, Py_ssize_t n_rows, Py_ssize_t n_features) noexcept nogil:
    """Count rows as visited; poll interrupts from time to time."""
    effort.rows_visited += <double>n_rows
    if is_poll_due(&effort.unpolled, <double>n_rows * n_features):
        poll_interrupts(&effort.progress, min(effort.rows_visited / effort.max_rows, 1.0))


cdef void mark_stale(const Tree* tree, Stale* stale, Walk* walk, int node, bint paths_changed) noexcept nogil:
    """Mark what a change of a node's cut made stale: below it the nodes that lead to leaves whose rows or paths
    changed, and all above it.
    """
    cdef int n_leaves, i, below
    if tree.n_clusters:  # the mean of leaves anywhere may have changed
        n_leaves = list_leaves(tree, walk, 0)
        for i in range(n_leaves):
            below = walk.leaves[i]
            if stale.split[below]:
                stale.split[below] = 0
                while tree.parent[below] >= 0:
                    below = tree.parent[below]
                    stale.cut[below] = 1
    n_leaves = list_leaves(tree, walk, node)
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


cdef void _place_some(const Rows* rows, Tree* tree, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(begin, end):
        tree.leaf[tree.order[i]] = descend(rows, tree, 0, tree.order[i])


cdef void place_rows(Work* work) noexcept nogil:
    """Send all rows to their leaves, and measure these."""
    cdef Py_ssize_t r = work.tree.last[0], i
    cdef int n_threads = threads_for_node(&work.rows, &work.tree, work.n_threads, 0)
    for i in prange((r + CHUNK - 1) // CHUNK, num_threads=n_threads, schedule="static"):
        _place_some(&work.rows, &work.tree, i * CHUNK, min((i + 1) * CHUNK, r))
    memset(work.tree.is_measured, 0, work.tree.n_nodes)
    gather_leaves(&work.rows, &work.tree, &work.stale, &work.walk, &work.buffers, work.n_threads, 0)
