"""Trained networks as programs that run without this library: torch.export, ONNX and AOTInductor."""

from neuraltrees.serving.export.formats import FORMATS, Format, export, program_of
from neuraltrees.serving.export.program import Program

__all__ = ["FORMATS", "Format", "Program", "export", "program_of"]
