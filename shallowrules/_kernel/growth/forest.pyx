"""The trees of many trade-offs at once.

Price and DExp of a cut do not depend on the trade-off, so that trees share a node's sweep for as long as they
agree on the cuts above it. A node on which they part has a sibling for each further cut, with the same rows and
centers; its part of the arrays is put in order again before the next sibling is cut.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from shallowrules._kernel.growth.nodes cimport look_up, make_children, make_leaf, work_of
from shallowrules._kernel.growth.partition cimport part_rows, split_centers, take_sides
from shallowrules._kernel.growth.cut_search cimport choose, prepare
from shallowrules._kernel.growth.state cimport Cut, Node, Scratch, State
from shallowrules._kernel.shared.threads cimport MIN_SHARED_ROWS, POLL_INTERVAL


cdef bint _same(const Cut* one, const Cut* two) noexcept nogil:
    return one.code == two.code and one.inside == two.inside and (not one.inside or one.value == two.value)


cdef void sort_centers(State* state, const Node* node) noexcept nogil:
    """Put the node's centers in every feature's order again."""
    cdef Py_ssize_t k = state.n_centers, f
    cdef int i, place
    memset(state.center_side, 0, k)
    for i in range(node.first_center, node.last_center):
        state.center_side[state.order[i]] = 1
    for f in range(state.n_features):
        place = node.first_center
        for i in range(state.n_centers):
            if state.center_side[state.sorted_centers[f * k + i]]:
                state.order[f * k + place] = state.sorted_centers[f * k + i]
                place += 1


cdef int _offer(
    State* state, int index, Scratch* scratches, int n_threads, int n_tradeoffs, int n_places,
    int* wanted, Cut* cuts, int* features,
) noexcept nogil:
    """Choose a node's cuts, one sibling for each different one; return how many places are taken now."""
    cdef Node* node = &state.nodes[index]
    cdef Node* sibling
    cdef int i, n_wanted = 0
    cdef uint64_t all_of_them = node.tradeoffs
    for i in range(n_tradeoffs):
        if all_of_them >> i & 1:
            wanted[n_wanted] = i
            n_wanted += 1
    if node.last_center - node.first_center == 1 or not choose(
        state, index, scratches, n_threads, state.tradeoffs, wanted, n_wanted, cuts, features
    ):
        make_leaf(state, node, scratches)
        return n_places
    node.tradeoffs = 0
    node.offer = cuts[0]
    node.offered = features[0]
    for i in range(n_wanted):
        sibling = node
        while not (sibling.offered == features[i] and _same(&sibling.offer, &cuts[i])):
            if sibling.sibling < 0:
                sibling.sibling = n_places
                state.nodes[n_places] = node[0]
                sibling = &state.nodes[n_places]
                sibling.tradeoffs = 0
                sibling.sibling = -1
                sibling.offer = cuts[i]
                sibling.offered = features[i]
                n_places += 1
            else:
                sibling = &state.nodes[sibling.sibling]
        sibling.tradeoffs |= <uint64_t>1 << wanted[i]
    return n_places


cdef int _threads_for(const Node* node, int n_threads) noexcept nogil:
    return n_threads if node.last - node.first >= MIN_SHARED_ROWS else 1


cdef void grow_forest(
    State* state, Scratch* scratches, int n_threads, int n_tradeoffs, int* wanted, Cut* cuts, int* features
) noexcept nogil:
    """Grow the trees of all trade-offs; the root is the node at place 0, or one of its siblings.

    `wanted`, `cuts` and `features` are room for `n_tradeoffs` of them. scratches.stack needs a place for every
    node that may be.
    """
    cdef int* stack = scratches.stack
    cdef int n_stacked = 0, n_places = 1, index, n_left, side, shared, i
    cdef Py_ssize_t n_rows_left
    cdef double done = 0.0
    cdef Node* node = &state.nodes[0]
    cdef Node* child
    prepare(state, node, scratches, _threads_for(node, n_threads), True)
    node.tradeoffs = ~<uint64_t>0 if n_tradeoffs == 64 else (<uint64_t>1 << n_tradeoffs) - 1
    node.sibling = -1
    n_places = _offer(state, 0, scratches, n_threads, n_tradeoffs, n_places, wanted, cuts, features)
    if node.feature != -1:
        stack[0] = 0
        n_stacked = 1
    while n_stacked and not state.stopped:
        n_stacked -= 1
        index = stack[n_stacked]
        if index < 0:  # a sibling was cut, and all below it
            index = ~index
            node = &state.nodes[index]
            sort_centers(state, node)
            prepare(state, node, scratches, _threads_for(node, n_threads), True)
        node = &state.nodes[index]
        if node.sibling >= 0:
            stack[n_stacked] = ~node.sibling
            n_stacked += 1
        node.feature = node.offered
        n_rows_left = take_sides(state, node, &node.offer)
        n_left = split_centers(state, node, &node.offer, scratches)
        part_rows(state, node.first, node.last, n_rows_left, _threads_for(node, n_threads))
        make_children(state, index, n_rows_left, n_left, n_places, n_places + 1)
        n_places += 2
        shared = 0
        for i in range(n_tradeoffs):
            shared += <int>(node.tradeoffs >> i & 1)
        done += shared * work_of(node)
        for side in range(2):
            child = &state.nodes[node.left if side else node.right]
            child.tradeoffs = node.tradeoffs
            child.sibling = -1
            prepare(state, child, scratches, _threads_for(child, n_threads), False)
            done -= shared * work_of(child)
        for side in range(2):
            child = &state.nodes[node.left if side else node.right]
            n_places = _offer(
                state, node.left if side else node.right, scratches, _threads_for(child, n_threads), n_tradeoffs,
                n_places, wanted, cuts, features,
            )
            if child.feature != -1:
                stack[n_stacked] = node.left if side else node.right
                n_stacked += 1
        scratches.unreported += <double>(node.last - node.first) * state.n_features
        if scratches.unreported > POLL_INTERVAL:
            scratches.unreported = 0.0
            look_up(state, done / (n_tradeoffs * work_of(&state.nodes[0])))
