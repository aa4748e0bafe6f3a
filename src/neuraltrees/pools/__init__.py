"""Runs many tasks: in processes of this machine, or on Ray."""

from neuraltrees.pools.execution import Execution, ExecutorName
from neuraltrees.pools.pool import Job, Pool

__all__ = ["Execution", "ExecutorName", "Job", "Pool"]
