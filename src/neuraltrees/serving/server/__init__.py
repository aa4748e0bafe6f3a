"""A server for trained networks: it answers by HTTP and ZMQ, and computes requests that wait together as one batch."""

from neuraltrees.serving.server.graphs import GraphService
from neuraltrees.serving.server.limits import Limits, Refusal
from neuraltrees.serving.server.scenes import Labeller, SceneService
from neuraltrees.serving.server.server import Server, wait_for_signal
from neuraltrees.serving.server.service import Reply, Service, Wants

__all__ = [
    "GraphService",
    "Labeller",
    "Limits",
    "Refusal",
    "Reply",
    "SceneService",
    "Server",
    "Service",
    "Wants",
    "wait_for_signal",
]
