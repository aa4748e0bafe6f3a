"""The formats of exported programs; all of them take graphs of any size."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import torch
from torch.export import Dim, ExportedProgram

from neuraltrees.errors import InputError, NeuralTreesError
from neuraltrees.extras import require
from neuraltrees.files import PathLike, as_path, check_folder, write_whole
from neuraltrees.scenes.format import SceneFormat
from neuraltrees.serving.export.program import Program, graph_program
from neuraltrees.serving.export.scenes import scene_program
from neuraltrees.training.bundle import Bundle

Format: TypeAlias = Literal["torch", "onnx", "aoti"]
FORMATS: tuple[Format, ...] = get_args(Format)
ENDINGS: dict[str, str] = {"torch": ".pt2", "onnx": ".onnx", "aoti": ".pt2"}
ABOUT = "neuraltrees.json"  # the name of the description inside the file


def export(bundle: Bundle, path: PathLike, format: Format) -> Program:
    """Writes a trained network as a program that runs without this library, whole or not at all.

    Args:
        bundle: the trained network.
        path: the file: `.pt2` for torch and aoti, `.onnx` for onnx.
        format: `torch` for a program of `torch.export`, `onnx` for ONNX (onnxruntime and others run it), `aoti` for a
            package of AOTInductor, compiled for this kind of processor, which C++ runs with libtorch alone.
    """
    path = as_path(path)
    if format not in FORMATS:
        raise InputError(f"Expected a format out of {', '.join(FORMATS)}; got {format!r}.")
    if path.suffix != ENDINGS[format]:
        raise InputError(f"Expected a file {ENDINGS[format]} for the format {format}; got {path}. Rename it.")
    check_folder(path)
    if format == "onnx":
        for module in ("onnx", "onnxscript"):
            require(module, extra="onnx", what="programs in ONNX")
    program = program_of(bundle)
    with tempfile.TemporaryDirectory(prefix="neuraltrees-") as folder, quiet():
        draft = Path(folder) / f"program{path.suffix}"
        {"torch": _torch, "onnx": _onnx, "aoti": _aoti}[format](traced(program), program, draft)
        write_whole(path, draft.read_bytes())
    return program


@contextmanager
def quiet() -> Iterator[None]:
    """Suppresses the log and the warnings of torch during an export."""
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)


def program_of(bundle: Bundle) -> Program:
    """The program of a trained network; a network that reads more than plain tensors raises `InputError`."""
    return scene_program(bundle) if isinstance(bundle.inputs, SceneFormat) else graph_program(bundle)


def traced(program: Program) -> ExportedProgram:
    """The program traced by `torch.export`, with dynamic sizes."""
    tensors = program.tensors(program.example)
    free = tuple(
        {place: Dim.DYNAMIC for place, size in enumerate(shape) if isinstance(size, str)}
        for shape in program.shapes.values()
    )
    with torch.no_grad():
        return torch.export.export(program.module, tensors, dynamic_shapes=(free,), strict=False)


def _torch(traced: ExportedProgram, program: Program, path: Path) -> None:
    torch.export.save(traced, path, extra_files={ABOUT: json.dumps(program.about)})


def _onnx(traced: ExportedProgram, program: Program, path: Path) -> None:
    onnx: Any = require("onnx", extra="onnx", what="programs in ONNX")
    made = torch.onnx.export(
        traced,
        input_names=list(program.inputs),
        output_names=["answers"],
        opset_version=20,
        dynamo=True,
        verbose=False,
    )
    assert made is not None
    made.save(str(path), external_data=False)
    model = onnx.load(str(path))
    check_sums(model)
    entry = model.metadata_props.add()
    entry.key, entry.value = ABOUT, json.dumps(program.about)
    onnx.save(model, str(path))


def check_sums(model: Any) -> None:
    """Raises an error if an ONNX model sums by ScatterND, whose threads overwrite each other in onnxruntime."""
    parts = [model.graph, *(each for each in model.functions)]
    for part in parts:
        for node in part.node:
            added = any(each.name == "reduction" and each.s not in (b"", b"none") for each in node.attribute)
            if node.op_type == "ScatterND" and added:
                raise NeuralTreesError(
                    "Expected sums by ScatterElements; got ScatterND, which is wrong on several threads. Use sum_rows "
                    "instead of index_add in the network."
                )


def _aoti(traced: ExportedProgram, program: Program, path: Path) -> None:
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        raise InputError("Expected a C++ compiler, g++ or clang++, for the format aoti; got none. Install one.")
    from torch._inductor import aoti_compile_and_package

    configs = {
        "aot_inductor.metadata": {ABOUT: json.dumps(program.about)},
        "max_fusion_size": 1,  # where a sum is fused with what reads it, GAT reads sums that are not complete
    }
    aoti_compile_and_package(traced, package_path=str(path), inductor_configs=configs)
