"""What answers for a model: by its kind."""

from __future__ import annotations

from collections.abc import Sequence

from neuraltrees.files import PathLike
from neuraltrees.serving.predictor import Predictor
from neuraltrees.serving.server.graphs import GraphService
from neuraltrees.serving.server.limits import Limits
from neuraltrees.serving.server.service import Service
from neuraltrees.training.bundle import Bundle


def open_service(path: PathLike, limits: Limits, device: str = "cpu", allow: Sequence[str] = ()) -> Service:
    """The service of a model that `neuraltrees train` wrote; see `Bundle.load`."""
    bundle = Bundle.load(path, allow)
    return GraphService(Predictor(bundle, device), limits)
