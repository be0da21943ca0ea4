"""Growing the tree: ExShallow, the paper's Algorithm 3, node by node, with an explicit stack.

A node is a range of row slots, a range of centers and a place in an array that is large enough for
every tree: a subtree of K centers fills 2 K - 1 places from its root on, so that subtrees can be grown
side by side and the numbering (parents first, left before right) does not depend on who grew what.
Large nodes are worked on by all threads, one after the other; then the small subtrees that are left
are handed out whole.
"""

import numpy as np

from shallowrules._kernel.shared.binning import encode

from cython.parallel cimport prange, threadid
from libc.math cimport frexp, ldexp
from libc.stdint cimport int64_t, uint16_t, uint64_t

from shallowrules._kernel.growth.cut_scan cimport Offer
from shallowrules._kernel.growth.dense_sweep cimport MOST, default_dense_limit, instructions_of_machine
from shallowrules._kernel.growth.forest cimport grow_forest
from shallowrules._kernel.refinement.lookahead cimport Ahead, look_ahead
from shallowrules._kernel.shared.matrix cimport address_of, matrix_of
from shallowrules._kernel.growth.nodes cimport look_up, make_children, make_leaf, work_of
from shallowrules._kernel.growth.partition cimport drop_mistakes, part_rows, split_centers, take_sides
from shallowrules._kernel.growth.cut_search cimport choose, prepare
from shallowrules._kernel.growth.state cimport (
    BLOCK, LANES, LIST, TO_DO, UNUSED, Bin, Cut, Item, Node, Scratch, State, Tally
)
from shallowrules._kernel.exkmc.surrogate cimport cheapest_cost, price_leaf
from shallowrules._kernel.shared.threads cimport CHUNK, HAS_OPENMP, MIN_SHARED_ROWS, POLL_INTERVAL

cdef enum:
    MOST_BINS = 256         # of ExKMC
    BIN_MEMORY = 64000000     # bytes that they may take
    RANKS = 256             # bins between which cuts are tried when looking ahead


cdef bint _split(State* state, int index, Scratch* scratches, int n_threads) noexcept nogil:
    """Cut a node, or make it a leaf; return whether it has children."""
    cdef Node* node = &state.nodes[index]
    cdef int n_left, child, wanted = 0
    cdef Py_ssize_t n_rows_left
    cdef Cut cut
    if node.last_center - node.first_center == 1 or not choose(
        state, index, scratches, n_threads, state.tradeoffs, &wanted, 1, &cut, &node.feature
    ):
        make_leaf(state, node, scratches)
        return False
    n_rows_left = take_sides(state, node, &cut)
    n_left = split_centers(state, node, &cut, scratches)
    part_rows(state, node.first, node.last, n_rows_left, n_threads)
    make_children(state, index, n_rows_left, n_left, index + 1, index + 2 * n_left)
    for child in range(2):
        if state.assigned != NULL:
            drop_mistakes(state, &state.nodes[node.right if child else node.left], n_threads)
        else:
            prepare(state, &state.nodes[node.right if child else node.left], scratches, n_threads, False)
    return True


cdef void _watch(State* state, int index, Scratch* scratches, int n_threads, bint is_main) noexcept nogil:
    """Count a node as done; now and then let Python have a look, on the thread that called."""
    cdef Node* node = &state.nodes[index]
    cdef double done = 0.0
    cdef int t
    scratches.done += work_of(node)
    if node.feature >= 0:
        scratches.done -= work_of(&state.nodes[node.left]) + work_of(&state.nodes[node.right])
    scratches.unreported += <double>(node.last - node.first) * state.n_features
    if is_main and scratches.unreported > POLL_INTERVAL:
        scratches.unreported = 0.0
        for t in range(n_threads):  # other threads may be adding: a number for a progress bar
            done += scratches[t].done
        look_up(state, done / work_of(&state.nodes[0]))


cdef void _grow_subtree(State* state, int root, Scratch* scratches, int n_threads, int thread) noexcept nogil:
    """Grow everything below a node with one thread."""
    cdef Scratch* scratch = &scratches[thread]
    cdef int n_stacked = 1, index
    cdef bint is_split
    scratch.stack[0] = root
    while n_stacked and not state.stopped:
        n_stacked -= 1
        index = scratch.stack[n_stacked]
        is_split = _split(state, index, scratch, 1)
        _watch(state, index, scratch, n_threads if thread == 0 else 1, thread == 0)
        if is_split:
            scratch.stack[n_stacked] = state.nodes[index].right
            scratch.stack[n_stacked + 1] = state.nodes[index].left
            n_stacked += 2


cdef int _grow(State* state, Scratch* scratches, int n_threads, int* stack, int* tasks) noexcept nogil:
    """Cut the large nodes with all threads; return how many subtrees are left, each a task for one of them."""
    cdef int n_stacked = 1, n_tasks = 0, index, i, child
    cdef bint is_split
    cdef Node* node
    if state.assigned == NULL:
        prepare(state, &state.nodes[0], scratches, n_threads, True)
    stack[0] = 0
    while n_stacked and not state.stopped:
        n_stacked -= 1
        index = stack[n_stacked]
        node = &state.nodes[index]
        if n_threads == 1 or node.last - node.first < MIN_SHARED_ROWS or node.last_center - node.first_center == 1:
            tasks[n_tasks] = index
            n_tasks += 1
            continue
        is_split = _split(state, index, scratches, n_threads)
        _watch(state, index, scratches, n_threads, True)
        if is_split:
            stack[n_stacked] = node.left
            stack[n_stacked + 1] = node.right
            n_stacked += 2
    # The largest first, so that threads finish together.
    for i in range(1, n_tasks):
        index = tasks[i]
        child = i
        while child > 0 and (
            state.nodes[tasks[child - 1]].last - state.nodes[tasks[child - 1]].first
            < state.nodes[index].last - state.nodes[index].first
        ):
            tasks[child] = tasks[child - 1]
            child -= 1
        tasks[child] = index
    return n_tasks


cdef void _expand(State* state, Scratch* scratches, int n_threads, int n_leaves, int* leaves) noexcept nogil:
    """Cut the leaf whose best cut lowers the surrogate cost most until there are n_leaves, or none does (ExKMC)."""
    cdef int n_found = 0, n_places = 2 * state.n_centers - 1, i, best, index, side, t, n_stacked = 1
    cdef Py_ssize_t n_rows_left
    cdef Node* node
    cdef double cost
    scratches.stack[0] = 0
    while n_stacked:  # the leaves there are, left before right
        n_stacked -= 1
        index = scratches.stack[n_stacked]
        node = &state.nodes[index]
        if node.feature >= 0:
            scratches.stack[n_stacked] = node.right
            scratches.stack[n_stacked + 1] = node.left
            n_stacked += 2
            continue
        leaves[n_found] = index
        n_found += 1
    for i in range(n_found):
        node = &state.nodes[leaves[i]]
        cost = cheapest_cost(state, node, scratches)
        t = n_threads if node.last - node.first >= MIN_SHARED_ROWS else 1
        price_leaf(state, node, scratches, t, cost, n_found > 1)
    while n_found < n_leaves and not state.stopped:
        best = 0
        for i in range(1, n_found):
            if state.nodes[leaves[i]].gain > state.nodes[leaves[best]].gain:
                best = i
        index = leaves[best]
        node = &state.nodes[index]
        if not node.gain > 0.0:
            return
        for i in range(best, n_found - 1):
            leaves[i] = leaves[i + 1]
        node.feature = node.offered
        n_rows_left = take_sides(state, node, &node.offer)
        node.cut = node.lower
        t = n_threads if node.last - node.first >= MIN_SHARED_ROWS else 1
        part_rows(state, node.first, node.last, n_rows_left, t)
        make_children(state, index, n_rows_left, 0, n_places, n_places + 1)
        cost = node.offer.objective  # of both children together: what either costs at most
        if n_threads > 1 and node.last - node.first < MIN_SHARED_ROWS:
            for side in prange(2, num_threads=2, schedule="static", chunksize=1):
                _price_child(state, n_places + side, &scratches[side], 1, cost)
        else:
            for side in range(2):
                _price_child(state, n_places + side, scratches, n_threads, cost)
        leaves[n_found - 1] = n_places
        leaves[n_found] = n_places + 1
        n_places += 2
        n_found += 1
        scratches.unreported += <double>(node.last - node.first) * state.n_features
        if scratches.unreported > POLL_INTERVAL:
            scratches.unreported = 0.0
            look_up(state, <double>n_found / n_leaves)


cdef void _price_child(State* state, int place, Scratch* scratches, int n_threads, double cost) noexcept nogil:
    cdef Node* child = &state.nodes[place]
    child.feature = -1
    price_leaf(state, child, scratches, n_threads if child.last - child.first >= MIN_SHARED_ROWS else 1, cost, False)


def _coarse_bins(codes, single, n_codes, n_bins):
    """Return the bin of every code, shape (d, n_codes), and which bins hold a single value, shape (d, n_bins)."""
    bin_of = np.empty((len(codes), n_codes), dtype=np.int32)
    single_bin = np.zeros((len(codes), n_bins), dtype=np.uint8)
    for f in range(len(codes)):
        used = np.bincount(codes[f], minlength=n_codes) > 0
        n_used = int(used.sum())
        rank = np.maximum(np.cumsum(used) - 1, 0)
        if n_used > n_bins:
            bin_of[f] = rank * n_bins // n_used
        else:
            bin_of[f] = rank
            single_bin[f, :n_used] = single[f][used]
    return bin_of, single_bin


def openmp_enabled():
    """Return whether the kernel was built with OpenMP, and so uses more than one thread."""
    return bool(HAS_OPENMP)


def _grow_nodes(
    inputs, tradeoffs, int n_threads, progress, int instructions, dense_limit, assigned=None, int n_leaves=0,
    ahead=None,
):
    """Grow a tree in one of the modes of the entries below."""
    explained, clustered, rows_array, weight, explained_centers, centers = inputs
    cdef int[::1] rows = rows_array
    cdef State state
    cdef Py_ssize_t r = rows.shape[0], d = explained.shape[1], m = clustered.shape[1], k = centers.shape[0]
    cdef Py_ssize_t t, i
    cdef int n_tradeoffs = <int>len(tradeoffs)
    cdef Py_ssize_t n_places = 2 * k * n_tradeoffs + 2 * n_leaves
    if not HAS_OPENMP or r < MIN_SHARED_ROWS:  # waking threads takes longer than a small table does
        n_threads = 1
    codes, center_codes, n_codes, single, largest = encode(
        explained, rows, explained_centers, n_threads, ranks=RANKS if ahead is not None else 0
    )
    # A place for every array of the state, so that all memory is had before any thread starts.
    keep = []
    failures = []

    def room(shape, dtype, fill=None):
        array = np.empty(shape, dtype=dtype) if fill is None else np.full(shape, fill, dtype=dtype)
        keep.append(array)
        return array.__array_interface__["data"][0]

    state.explained = matrix_of(explained)
    state.clustered = matrix_of(clustered)
    state.n_rows, state.n_features, state.n_centers, state.n_codes = r, d, k, n_codes
    state.centers = <const double*><size_t>address_of(centers)
    state.explained_centers = <const double*><size_t>address_of(explained_centers)
    state.center_codes = <const int*><size_t>address_of(center_codes)
    state.single = <const unsigned char*><size_t>address_of(single)
    state.codes = <int*><size_t>address_of(codes)
    state.row = &rows[0]
    state.assigned = NULL if assigned is None else <int*><size_t>address_of(assigned)
    state.weighted = weight is not None
    state.weight = <double*><size_t>address_of(weight) if state.weighted else NULL
    state.total_weight = float(np.sum(weight)) if state.weighted else <double>r
    cdef int exponent
    frexp(state.total_weight, &exponent)
    state.weight_scale = ldexp(1.0, min(max(60 - exponent, -1000), 1000))
    state.tradeoffs = <const double*><size_t>address_of(tradeoffs)
    state.instructions = min(instructions_of_machine(), max(0, instructions))
    state.report = <void*>progress
    state.failures = <void*>failures
    state.stopped = False
    if dense_limit is None:
        dense_limit = MOST if ahead is not None else default_dense_limit(state.instructions)
    state.dense_limit = min(dense_limit, MOST)
    state.near = NULL
    if assigned is None and k > state.dense_limit:
        state.near = <uint16_t*><size_t>room((r, LIST), np.uint16)
        state.distance = <double*><size_t>room((r, LIST), np.float64)
        state.length = <unsigned char*><size_t>room(r, np.uint8)
    state.side = <unsigned char*><size_t>room(r, np.uint8)
    state.chunk_cost = <double*><size_t>room(r // CHUNK + k + 1, np.float64)
    state.swap_left = <int*><size_t>room(r // 2 + 1, np.int32)
    state.swap_right = <int*><size_t>room(r // 2 + 1, np.int32)
    state.center_side = <unsigned char*><size_t>room(k, np.uint8)
    order = np.argsort(center_codes, axis=1, kind="stable").astype(np.int32)
    state.order = <int*><size_t>address_of(order)
    sorted_centers = order.copy()
    state.sorted_centers = <const int*><size_t>address_of(sorted_centers)
    nodes = np.zeros((n_places, sizeof(Node)), dtype=np.uint8)
    state.nodes = <Node*><size_t>address_of(nodes)
    for i in range(n_places):
        state.nodes[i].feature = UNUSED
        state.nodes[i].tradeoffs = ~<uint64_t>0
        state.nodes[i].sibling = -1
    state.nodes[0].parent = -1
    state.nodes[0].feature = TO_DO
    state.nodes[0].last = r
    state.nodes[0].counted = r
    state.nodes[0].last_center = <int>k

    cdef int n_bins = 0
    cdef const int[:, ::1] bin_of
    cdef const unsigned char[:, ::1] single_bin
    if n_leaves > 0:
        n_bins = <int>max(16, min(MOST_BINS, BIN_MEMORY // (8 * d * k)))
        bin_of, single_bin = _coarse_bins(codes, single, n_codes, n_bins)
        largest = r  # a coarse bin may hold every row
        state.n_bins, state.bin_of, state.single_bin = n_bins, &bin_of[0, 0], &single_bin[0, 0]
    scratches_array = np.zeros((n_threads, sizeof(Scratch)), dtype=np.uint8)
    cdef Scratch* scratches = <Scratch*><size_t>address_of(scratches_array)
    cdef Py_ssize_t capacity = max(2 * CHUNK, largest, r // 16), dense = min(k, state.dense_limit)
    for t in range(n_threads):
        scratches[t].tally = <Tally*><size_t>room((d, n_codes, sizeof(Tally)), np.uint8)
        scratches[t].weight = <int64_t*><size_t>room((d, n_codes) if state.weighted else 1, np.int64)
        scratches[t].event = <int64_t*><size_t>room((d, k), np.int64)
        scratches[t].value = <int64_t*><size_t>room((BLOCK, LIST), np.int64)
        scratches[t].place = <int*><size_t>room(BLOCK, np.int32)
        scratches[t].sides = <unsigned char*><size_t>room(BLOCK, np.uint8)
        scratches[t].rest = <int*><size_t>room(BLOCK, np.int32)
        scratches[t].point = <double*><size_t>room(m, np.float64)
        scratches[t].points = <double*><size_t>room((BLOCK, m), np.float64)
        scratches[t].lanes = <double*><size_t>room((m, LANES), np.float64)
        scratches[t].lane_distance = <double*><size_t>room((k, LANES), np.float64)
        scratches[t].members = <int*><size_t>room(k, np.int32)
        scratches[t].pending = <int*><size_t>room(LANES, np.int32)
        scratches[t].killer = <unsigned char*><size_t>room(d, np.uint8, 0)
        scratches[t].unit_scale = <double*><size_t>room(d, np.float64)
        scratches[t].exact = <unsigned char*><size_t>room(d, np.uint8)
        scratches[t].bound = <double*><size_t>room(d, np.float64)
        scratches[t].searched = <unsigned char*><size_t>room(d, np.uint8)
        scratches[t].best = <double*><size_t>room(d, np.float64)
        scratches[t].items = <Item*><size_t>room((capacity, sizeof(Item)), np.uint8)
        scratches[t].capacity = capacity
        scratches[t].bins = <Bin*><size_t>room((n_codes, sizeof(Bin)), np.uint8)
        scratches[t].opened = <int*><size_t>room(n_codes, np.int32, 0)
        scratches[t].stack = <int*><size_t>room(n_places, np.int32)
        scratches[t].member_place = <int*><size_t>room(k, np.int32)
        scratches[t].at = <int*><size_t>room(dense, np.int32)
        scratches[t].edge = <int*><size_t>room(dense, np.int32)
        scratches[t].units = <int*><size_t>room((BLOCK, dense), np.int32)
        scratches[t].sums = <int*><size_t>room((d, dense, LANES), np.int32)
        scratches[t].own = <int*><size_t>room(BLOCK, np.int32)
        scratches[t].exact_units = <int64_t*><size_t>room((dense, LANES), np.int64)
        scratches[t].exact_sums = <int64_t*><size_t>room((dense, LANES), np.int64)
        if n_leaves > 0:
            scratches[t].bin_costs = <int64_t*><size_t>room((d, n_bins, k), np.int64)
            scratches[t].bin_rows = <int*><size_t>room((d, n_bins), np.int32)
            scratches[t].center_costs = <int64_t*><size_t>room((LANES, k), np.int64)
            scratches[t].left_costs = <int64_t*><size_t>room(k, np.int64)
            scratches[t].inside_costs = <int64_t*><size_t>room(k, np.int64)
            scratches[t].all_costs = <int64_t*><size_t>room(k, np.int64)
            scratches[t].cost_of = <double*><size_t>room(k, np.float64)
        scratches[t].plan.n_centers = 0
        scratches[t].plan.size = <int*><size_t>room(k, np.int32)
        scratches[t].plan.left_size = <int*><size_t>room(k, np.int32)
        scratches[t].plan.pending = <int*><size_t>room(k, np.int32)
        scratches[t].plan.value = <double*><size_t>room(k + 1, np.float64)
    cdef int* stack = <int*><size_t>room(2 * k, np.int32)
    cdef int* tasks = <int*><size_t>room(2 * k, np.int32)
    cdef int n_tasks, task
    cdef int* wanted = <int*><size_t>room(n_tradeoffs, np.int32)
    cdef int* features = <int*><size_t>room(n_tradeoffs, np.int32)
    cdef Cut* cuts = <Cut*><size_t>room((n_tradeoffs, sizeof(Cut)), np.uint8)
    cdef int* leaves = <int*><size_t>room(max(n_leaves, k) + 1, np.int32)
    cdef Ahead looking
    if ahead is not None:
        looking.levels, looking.width, looking.price, looking.most = ahead
        looking.spent = 0.0
        looking.offers = <Offer*><size_t>room((looking.levels * looking.width, sizeof(Offer)), np.uint8)
        looking.saved = <Node*><size_t>room((2 * k * looking.levels, sizeof(Node)), np.uint8)
        state.tradeoff = state.tradeoffs[0]
    cdef bint looks_ahead = ahead is not None
    with nogil:
        if looks_ahead:
            prepare(&state, &state.nodes[0], scratches, n_threads, True)
            look_ahead(&state, 0, scratches, n_threads, &looking, 0)
            n_tasks = 0
        elif n_tradeoffs > 1:
            grow_forest(&state, scratches, n_threads, n_tradeoffs, wanted, cuts, features)
            n_tasks = 0
        elif n_leaves > 0 and state.assigned == NULL:
            state.nodes[0].feature = -1
            n_tasks = 0
        else:
            n_tasks = _grow(&state, scratches, n_threads, stack, tasks)
        for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1):
            _grow_subtree(&state, tasks[task], scratches, n_threads, threadid())
        if n_leaves > 0:
            _expand(&state, scratches, n_threads, n_leaves, leaves)
    if failures:
        raise failures[0]

    whole = np.empty((8, n_places), dtype=np.int64)
    real = np.empty((3, n_places))
    for i in range(n_places):
        node = state.nodes[i]
        whole[0, i], whole[1, i], whole[2, i] = node.feature, node.left, node.right
        whole[3, i], whole[4, i], whole[5, i] = node.center, node.first, node.last
        whole[6, i], whole[7, i] = node.sibling, <int64_t>node.tradeoffs
        real[0, i], real[1, i], real[2, i] = node.cut, node.lower, node.upper
    names = "feature", "left", "right", "center", "first", "last", "sibling", "tradeoffs", "cut", "lower", "upper"
    return dict(zip(names, (*whole, *real)))


def grow_tree(inputs, double tradeoff, *, int n_threads=1, progress=None, int instructions=2, dense_limit=None):
    """Grow ExShallow's tree.

    Parameters
    ----------
    inputs : GrowthInput
        Its rows are distinct and have positive weight. `rows` and `weight` are reordered.
    tradeoff : float
        The paper's lambda; 0 is ExGreedy.
    n_threads : int
        Threads to use; the tree does not depend on it.
    progress : callable, optional
        Called now and then with the share of the work that is done, on the calling thread. If it raises, or on an
        interrupt, the work ends and the exception is raised.
    instructions : int
        For tests. The widest vectors to use where the machine has them: 0 portable code, 1 AVX2, 2 AVX-512. The tree
        does not depend on it.
    dense_limit : int, optional
        For tests. Nodes of more centers keep lists of nearest centers. The tree does not depend on it.

    Returns
    -------
    dict of ndarray, shape (n_places,)
        The nodes, the root at place 0: feature (-1 leaf, -2 unused place), left, right, center, first, last (a node's
        rows are rows[first:last]), sibling (-1), tradeoffs (1), cut, lower, upper (float64).
    """
    return _grow_nodes(inputs, np.array([tradeoff]), n_threads, progress, instructions, dense_limit)


def grow_path(inputs, tradeoffs, *, int n_threads=1, progress=None, int instructions=2, dense_limit=None):
    """Grow ExShallow's trees of several trade-offs, the nodes that they share only once.

    Parameters
    ----------
    tradeoffs : ndarray of float64, shape (t,)
        At most 64.
    inputs, n_threads, progress, instructions, dense_limit
        As for `grow_tree`.

    Returns
    -------
    dict of ndarray, shape (n_places,)
        As `grow_tree` returns it, but for the rows: `first` and `last` tell only how many they are. If bit t of
        `tradeoffs` is set, the tree of trade-off t has this node; if not, it has `sibling`, or one of its siblings.
    """
    return _grow_nodes(inputs, tradeoffs, n_threads, progress, instructions, dense_limit)


def grow_imm(inputs, assigned, *, int n_threads=1, progress=None, int instructions=2, dense_limit=None):
    """Grow IMM's tree: each cut separates the least weight from its assigned center.

    Parameters
    ----------
    assigned : ndarray of int32, shape (r,)
        The center of each row. It is reordered like the rows, and -1 where a cut separated a row from its center.
    inputs, n_threads, progress, instructions, dense_limit
        As for `grow_tree`, which also tells what is returned.
    """
    return _grow_nodes(inputs, np.array([0.0]), n_threads, progress, instructions, dense_limit, assigned=assigned)


def grow_exkmc(
    inputs, int n_leaves, *, assigned=None, int n_threads=1, progress=None, int instructions=2, dense_limit=None
):
    """Grow ExKMC's tree: split the leaf whose best cut lowers the surrogate cost most.

    Parameters
    ----------
    n_leaves : int
        Stop at this number of leaves, at least 1, or where no cut lowers the cost.
    assigned : ndarray of int32, shape (r,), optional
        If given, start from IMM's tree, see `grow_imm`; else from one leaf.
    inputs, n_threads, progress, instructions, dense_limit
        As for `grow_tree`, which also tells what is returned.
    """
    return _grow_nodes(inputs, np.array([0.0]), n_threads, progress, instructions, dense_limit, assigned, n_leaves)


def grow_ahead(
    inputs, double tradeoff, lookahead, *, int n_threads=1, progress=None, int instructions=2, dense_limit=None
):
    """Grow a tree whose first levels try several cuts, and keep the one whose finished subtree is best.

    Parameters
    ----------
    lookahead : tuple
        (levels, width, condition_penalty, max_work): on at most `levels` levels of the tree at most `width` cuts of
        each node are tried. `condition_penalty` is what a condition costs for a unit of weight, in squared units of
        `X_cluster`. No further cut is tried once nodes of `max_work` rows x features were cut.
    dense_limit : int, optional
        As for `grow_tree`, but cuts are compared by rounded sums here: of nearly equal ones it may decide. The default
        is the same on every machine.
    inputs, tradeoff, n_threads, progress, instructions
        As for `grow_tree`.

    Returns
    -------
    dict of ndarray, shape (n_places,)
        As `grow_tree` returns it, but for the rows: `first` and `last` tell only how many they are. Cuts lie at ends
        of bins that depend on the ranks of values.
    """
    return _grow_nodes(
        inputs, np.array([tradeoff]), n_threads, progress, instructions, dense_limit, ahead=lookahead
    )
