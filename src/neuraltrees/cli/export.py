"""neuraltrees export: a trained network as a program that runs without this library."""

from __future__ import annotations

import json as to_json
from pathlib import Path
from typing import Annotated, Literal

import typer

from neuraltrees.cli.options import Allow, AsJson
from neuraltrees.cli.terminal import say, working


def export(
    bundle: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model.safetensors written by `neuraltrees train`, or one that comes with the package: scenes or "
            "solubility.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="File to write: .pt2 for torch and aoti, .onnx for onnx.")],
    format: Annotated[
        Literal["torch", "onnx", "aoti"], typer.Option(help="Format of the program; see above.")
    ] = "torch",
    allow: Allow = None,
    json: AsJson = False,
) -> None:
    """Write a trained network as a program that runs without this library, for graphs of any size.

    The format torch is a program of torch.export, which Python runs with torch alone. onnx is ONNX, for onnxruntime and
    other runtimes. aoti is a library compiled by AOTInductor for this type of processor, which C++ runs with libtorch
    alone; see examples/cpp. The inputs are the features of the nodes and the edges of the graph or of its H-tree;
    docs/serving.md explains them, and the file lists their names.

    Networks with a CRF head, with --schedule bags or with positional encodings have other inputs and cannot be
    exported: use neuraltrees serve.

    Example: neuraltrees export model.safetensors --format onnx --out model.onnx
    """
    with working("loading"):
        from neuraltrees.serving.export import export as write
        from neuraltrees.serving.shipped import find_model
        from neuraltrees.training.bundle import Bundle

        loaded = Bundle.load(find_model(bundle), allow or ())
    with working("exporting"):
        program = write(loaded, out, format)
    if json:
        print(to_json.dumps({"file": str(out), "format": format, "inputs": [*program.inputs]}))
    else:
        say(f"Written to {out}: {', '.join(program.inputs)} → answers")
