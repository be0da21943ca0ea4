"""One thread of OpenMP in a forked child.

OpenMP's threads do not survive a fork, and the thread that forked would wait for them forever, in our kernel and in
scikit-learn's. Where no level of parallel regions is allowed, it runs them alone, whatever number of threads is asked
for; results do not depend on it. Other threads of the child start threads of their own, as usual.
"""

from __future__ import annotations

import os

from threadpoolctl import ThreadpoolController

from shallowrules.clustering import blas

__all__ = ["use_one_thread"]


def use_one_thread() -> None:
    """Let each OpenMP library in this process run parallel regions of the calling thread with that thread alone."""
    blas.forget_limit()
    for library in ThreadpoolController().select(user_api="openmp").lib_controllers:
        library.dynlib.omp_set_max_active_levels(0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=use_one_thread)
