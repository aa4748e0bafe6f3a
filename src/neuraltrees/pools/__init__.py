"""Many tasks at a time: in processes of this machine, or on Ray."""

from neuraltrees.pools.execution import Execution, ExecutorName
from neuraltrees.pools.pool import RESUMABLE, Job, Pool

__all__ = ["RESUMABLE", "Execution", "ExecutorName", "Job", "Pool"]
