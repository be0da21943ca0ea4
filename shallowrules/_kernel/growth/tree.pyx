"""Growing a tree node by node, with an explicit stack: ExShallow, the paper's Algorithm 3, and IMM.

A node is a range of slots, a range of centers and a place in an array that is large enough for every tree: a subtree of
K centers fills 2 K - 1 places from its root on, so that subtrees can be grown side by side and the numbering (parents
first, left before right) does not depend on who grew what. Large nodes are worked on by all threads, one node after the
other; then the small subtrees that are left are handed out whole, the largest first.
"""

import numpy as np

from cython.parallel cimport prange, threadid

from shallowrules._kernel.growth.cut_search cimport choose_cut
from shallowrules._kernel.growth.imm cimport set_aside_mistakes
from shallowrules._kernel.growth.nodes cimport cut_node, make_leaf, work_below
from shallowrules._kernel.growth.state cimport Cut, Node, Scratch, State, Table, is_imm
from shallowrules._kernel.growth.workspace cimport Workspace
from shallowrules._kernel.shared.allocation cimport allocate
from shallowrules._kernel.shared.interrupts cimport Progress, is_poll_due, poll_interrupts
from shallowrules._kernel.shared.threads cimport MIN_SHARED_ROWS


cdef bint _split(State* state, int index, Scratch* scratches, int n_threads, double tradeoff) noexcept nogil:
    """Cut a node, or make it a leaf; return whether it has children."""
    cdef Node* node = &state.nodes[index]
    cdef Node* child
    cdef int side
    cdef Cut cut
    if node.last_center - node.first_center == 1 or not choose_cut(
        state, index, scratches, n_threads, tradeoff, &cut
    ):
        make_leaf(&state.table, &state.slots, &state.centers, node, &scratches.rows)
        return False
    cut_node(state, index, &cut, scratches.rows.members, n_threads, index + 1, -1)
    for side in range(2):
        child = &state.nodes[node.right if side else node.left]
        if is_imm(&state.slots):
            set_aside_mistakes(&state.table, &state.slots, &state.centers, child, n_threads)
    return True


cdef void _count_node(
    const Table* table, const Node* nodes, Progress* progress, int index, Scratch* scratches, int n_threads,
    bint is_main,
) noexcept nogil:
    """Count a node as done; now and then poll interrupts, on the thread that called."""
    cdef const Node* node = &nodes[index]
    cdef double done = 0.0, all_work = work_below(&nodes[0])
    cdef int t
    scratches.worker.done += work_below(node)
    if node.feature >= 0:
        scratches.worker.done -= work_below(&nodes[node.left]) + work_below(&nodes[node.right])
    if is_main and is_poll_due(&scratches.worker.unpolled, <double>(node.last - node.first) * table.n_features):
        for t in range(n_threads):  # other threads may be adding: a number for a progress bar
            done += scratches[t].worker.done
        poll_interrupts(progress, done / all_work if all_work > 0.0 else 1.0)  # a single center needs no work


cdef void _grow_subtree(
    State* state, int root, Scratch* scratches, int n_threads, int thread, double tradeoff
) noexcept nogil:
    """Grow everything below a node with one thread."""
    cdef Scratch* scratch = &scratches[thread]
    cdef int* stack = scratch.worker.stack
    cdef int n_stacked = 1, index
    cdef bint is_split
    stack[0] = root
    while n_stacked and not state.progress.stopped:
        n_stacked -= 1
        index = stack[n_stacked]
        is_split = _split(state, index, scratch, 1, tradeoff)
        _count_node(
            &state.table, state.nodes, &state.progress, index, scratch, n_threads if thread == 0 else 1, thread == 0
        )
        if is_split:
            stack[n_stacked] = state.nodes[index].right
            stack[n_stacked + 1] = state.nodes[index].left
            n_stacked += 2


cdef int _grow_large_nodes(
    State* state, Scratch* scratches, int n_threads, double tradeoff, int* stack, int* tasks
) noexcept nogil:
    """Cut the large nodes with all threads; return how many subtrees are left, each a task for one thread."""
    cdef int n_stacked = 1, n_tasks = 0, index
    cdef bint is_split
    cdef Node* node
    stack[0] = 0
    while n_stacked and not state.progress.stopped:
        n_stacked -= 1
        index = stack[n_stacked]
        node = &state.nodes[index]
        if n_threads == 1 or node.last - node.first < MIN_SHARED_ROWS or node.last_center - node.first_center == 1:
            tasks[n_tasks] = index
            n_tasks += 1
            continue
        is_split = _split(state, index, scratches, n_threads, tradeoff)
        _count_node(&state.table, state.nodes, &state.progress, index, scratches, n_threads, True)
        if is_split:
            stack[n_stacked] = node.left
            stack[n_stacked + 1] = node.right
            n_stacked += 2
    return n_tasks


cdef void _sort_tasks(const Node* nodes, int* tasks, int n_tasks) noexcept nogil:
    """Put the subtrees with the most rows first, so that threads finish together."""
    cdef int i, place, index
    for i in range(1, n_tasks):
        index = tasks[i]
        place = i
        while place > 0 and (
            nodes[tasks[place - 1]].last - nodes[tasks[place - 1]].first < nodes[index].last - nodes[index].first
        ):
            tasks[place] = tasks[place - 1]
            place -= 1
        tasks[place] = index


cdef grow_nodes(Workspace workspace, double tradeoff):
    """Grow the tree below the root of a workspace."""
    cdef State* state = &workspace.state
    cdef Scratch* scratches = workspace.scratches
    cdef int n_threads = workspace.n_threads, n_tasks, task
    cdef int* stack
    cdef int* tasks
    arrays = allocate([
        (<size_t>&stack, 2 * state.table.n_centers, np.int32),
        (<size_t>&tasks, 2 * state.table.n_centers, np.int32),
    ])
    with nogil:
        n_tasks = _grow_large_nodes(state, scratches, n_threads, tradeoff, stack, tasks)
        _sort_tasks(state.nodes, tasks, n_tasks)
        for task in prange(n_tasks, num_threads=n_threads, schedule="dynamic", chunksize=1):
            _grow_subtree(state, tasks[task], scratches, n_threads, threadid(), tradeoff)
    del arrays


def grow_tree(
    inputs, double tradeoff, *, int n_threads=1, progress=None, kept_distances=None
):
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
        Called from time to time with the share of the work that is done, on the calling thread. If it raises, or on an
        interrupt, the work ends and the exception is raised.
    kept_distances : int, optional
        For tests. Nodes of more centers compute distances again. The tree does not depend on it.

    Returns
    -------
    dict of ndarray, shape (n_places,)
        The nodes, the root at place 0: feature (-1 leaf, -2 unused place), left, right, center, first, last (a node's
        rows are rows[first:last]), cut, lower, upper (float64).
    """
    cdef Workspace workspace = Workspace(
        inputs, 2 * len(inputs.cluster_centers), n_threads=n_threads, progress=progress
    )
    workspace.allocate_scratches(True)
    workspace.keep_distances(inputs, kept_distances)
    grow_nodes(workspace, tradeoff)
    return workspace.finish()


def grow_imm(inputs, assigned, *, int n_threads=1, progress=None):
    """Grow IMM's tree: each cut separates the least weight from its assigned center.

    Parameters
    ----------
    assigned : ndarray of int32, shape (r,)
        The center of each row. It is reordered like the rows, and -1 where a cut separated a row from its center.
    inputs, n_threads, progress
        As for `grow_tree`, which also describes the result.
    """
    cdef Workspace workspace = Workspace(
        inputs, 2 * len(inputs.cluster_centers), n_threads=n_threads, progress=progress, assigned=assigned
    )
    workspace.allocate_scratches(False)
    grow_nodes(workspace, 0.0)
    return workspace.finish()
