"""Trained networks as programs that need no Python of ours: torch.export, ONNX and AOTInductor."""

from neuraltrees.serving.export.formats import FORMATS, Format, export
from neuraltrees.serving.export.program import Program, program_of

__all__ = ["FORMATS", "Format", "Program", "export", "program_of"]
