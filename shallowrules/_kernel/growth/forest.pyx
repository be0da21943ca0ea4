"""The trees of many trade-offs at once: a node that several of them have is swept once.

Price and DExp of a cut do not depend on the trade-off, so that trees share a node's sweep as long as they agree on the
cuts above it. A node at which they diverge has a sibling for each further cut, with the same rows and centers; its part
of the arrays is put in order again before the next sibling is cut. A path of 20 trade-offs takes the time of 4 single
growths on avila, 7.4 on letter, 9.1 on 100,000 x 20 with k = 20.
"""

import numpy as np

from libc.stdint cimport uint64_t

from shallowrules._kernel.growth.cut_search cimport choose_cuts, prepare_node, restore_node
from shallowrules._kernel.growth.nodes cimport cut_node, make_leaf, work_below
from shallowrules._kernel.growth.state cimport LEAF, Cut, Node, Scratch, State
from shallowrules._kernel.growth.workspace cimport Workspace
from shallowrules._kernel.shared.allocation cimport address_of, allocate
from shallowrules._kernel.shared.interrupts cimport is_poll_due, poll_interrupts
from shallowrules._kernel.shared.threads cimport threads_for


cdef struct Forest:
    int n_tradeoffs
    const double* tradeoffs
    int n_places                # that are taken
    # For the node being cut: the trade-offs whose trees have it, and their cuts.
    int* wanted
    Cut* cuts


cdef bint _is_same(const Cut* one, const Cut* two) noexcept nogil:
    return one.feature == two.feature and one.code == two.code and one.inside == two.inside and (
        not one.inside or one.value == two.value
    )


cdef void _plan_cuts(State* state, int index, Scratch* scratches, int n_threads, Forest* forest) noexcept nogil:
    """Choose a node's cuts, and enter a sibling for each different one."""
    cdef Node* node = &state.nodes[index]
    cdef Node* sibling
    cdef int i, n_wanted = 0
    for i in range(forest.n_tradeoffs):
        if node.tradeoffs >> i & 1:
            forest.wanted[n_wanted] = i
            n_wanted += 1
    if node.last_center - node.first_center == 1 or not choose_cuts(
        state, index, scratches, n_threads, forest.tradeoffs, forest.wanted, n_wanted, forest.cuts
    ):
        make_leaf(&state.table, &state.slots, &state.centers, node, &scratches.rows)
        return
    node.tradeoffs = 0
    node.planned_cut = forest.cuts[0]
    for i in range(n_wanted):
        sibling = node
        while not _is_same(&sibling.planned_cut, &forest.cuts[i]):
            if sibling.sibling < 0:
                sibling.sibling = forest.n_places
                state.nodes[forest.n_places] = node[0]
                sibling = &state.nodes[forest.n_places]
                sibling.tradeoffs = 0
                sibling.sibling = -1
                sibling.planned_cut = forest.cuts[i]
                forest.n_places += 1
            else:
                sibling = &state.nodes[sibling.sibling]
        sibling.tradeoffs |= <uint64_t>1 << forest.wanted[i]


cdef double _shared_work(const Node* node, int n_tradeoffs) noexcept nogil:
    """Return the work of a node, once for each tree that has its parent's cut."""
    cdef int shared = 0, i
    for i in range(n_tradeoffs):
        shared += <int>(node.tradeoffs >> i & 1)
    return shared * work_below(node)


cdef void _grow_forest(State* state, Scratch* scratches, int n_threads, Forest* forest) noexcept nogil:
    """Grow the trees of all trade-offs; the root is the node at place 0, or one of its siblings.

    scratches.worker.stack has a place for every node that there may be.
    """
    cdef int* stack = scratches.worker.stack
    cdef int n_stacked = 0, index, side, place
    cdef double done = 0.0
    cdef Node* node = &state.nodes[0]
    cdef Node* child
    prepare_node(state, node, scratches, threads_for(node.last, n_threads), True)
    node.tradeoffs = ~<uint64_t>0 if forest.n_tradeoffs == 64 else (<uint64_t>1 << forest.n_tradeoffs) - 1
    _plan_cuts(state, 0, scratches, n_threads, forest)
    if node.feature != LEAF:
        stack[0] = 0
        n_stacked = 1
    while n_stacked and not state.progress.stopped:
        n_stacked -= 1
        index = stack[n_stacked]
        if index < 0:  # a sibling was cut, and all below it
            index = ~index
            node = &state.nodes[index]
            restore_node(state, node, scratches, threads_for(node.last - node.first, n_threads))
        node = &state.nodes[index]
        if node.sibling >= 0:
            stack[n_stacked] = ~node.sibling
            n_stacked += 1
        cut_node(
            state, index, &node.planned_cut, scratches.rows.members,
            threads_for(node.last - node.first, n_threads), forest.n_places, forest.n_places + 1,
        )
        forest.n_places += 2
        done += _shared_work(node, forest.n_tradeoffs)
        for side in range(2):
            child = &state.nodes[node.left if side else node.right]
            child.tradeoffs = node.tradeoffs
            child.sibling = -1
            prepare_node(state, child, scratches, threads_for(child.last - child.first, n_threads), False)
            done -= _shared_work(child, forest.n_tradeoffs)
        for side in range(2):
            place = node.left if side else node.right
            child = &state.nodes[place]
            _plan_cuts(state, place, scratches, threads_for(child.last - child.first, n_threads), forest)
            if child.feature != LEAF:
                stack[n_stacked] = place
                n_stacked += 1
        if is_poll_due(&scratches.worker.unpolled, <double>(node.last - node.first) * state.table.n_features):
            poll_interrupts(&state.progress, done / (forest.n_tradeoffs * work_below(&state.nodes[0])))


def grow_path(
    inputs, tradeoffs, *, int n_threads=1, progress=None, dense_limit=None, kept_distances=None
):
    """Grow ExShallow's trees of several trade-offs, the nodes that they share only once.

    Parameters
    ----------
    tradeoffs : ndarray of float64, shape (t,)
        At most 64.
    inputs, n_threads, progress, dense_limit, kept_distances
        As for `grow_tree`.

    Returns
    -------
    dict of ndarray, shape (n_places,)
        As `grow_tree` returns it, except for the rows: `first` and `last` tell only their number. If bit t of
        `tradeoffs` is set, the tree of trade-off t has this node; if not, it has `sibling`, or one of its siblings.
    """
    cdef int n_tradeoffs = <int>len(tradeoffs)
    cdef Workspace workspace = Workspace(
        inputs, 2 * len(inputs.cluster_centers) * n_tradeoffs, n_threads=n_threads, progress=progress,
        dense_limit=dense_limit,
    )
    cdef State* state = &workspace.state
    cdef Scratch* scratches
    cdef Forest forest
    workspace.allocate_scratches(True)
    workspace.keep_distances(inputs, kept_distances)
    scratches = workspace.scratches
    forest.n_tradeoffs, forest.n_places = n_tradeoffs, 1
    forest.tradeoffs = <const double*><size_t>address_of(tradeoffs)
    workspace.keep(allocate([
        (<size_t>&forest.wanted, n_tradeoffs, np.int32),
        (<size_t>&forest.cuts, n_tradeoffs, <Py_ssize_t>sizeof(Cut)),
    ]))
    n_threads = workspace.n_threads
    with nogil:
        _grow_forest(state, scratches, n_threads, &forest)
    return workspace.finish()
