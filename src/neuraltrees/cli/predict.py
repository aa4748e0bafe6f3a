"""neuraltrees predict: a trained network and graphs in JSON → labels with probabilities."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from neuraltrees.cli.terminal import output, working
from neuraltrees.files import write_whole

if TYPE_CHECKING:
    from neuraltrees.training.bundle import Guess


def predict(
    bundle: Annotated[Path, typer.Argument(help="A model.safetensors of `neuraltrees train`.")],
    input: Annotated[Path, typer.Argument(help="Graphs as JSON; see below.")],
    out: Annotated[Path | None, typer.Option(help="Write the labels as JSON.", show_default=False)] = None,
    top: Annotated[int, typer.Option(min=1, help="List so many labels of each node.")] = 3,
    json: Annotated[bool, typer.Option("--json", help="Print the labels as JSON.")] = False,
) -> None:
    """Label the nodes of graphs with a trained network.

    A graph is {"nodes": [{"x": [0.1, …], "type": "room", "name": "optional"}, …], "edges": [[0, 1], …]}, where "type"
    may be left out if there is one node type. The file holds one graph, or {"graphs": [graph, …]}.

    Example: neuraltrees predict neuraltrees-runs/synthetic-neural-tree-sage/model.safetensors scene.json
    """
    with working("loading"):
        from neuraltrees.data.json_graphs import read_graphs
        from neuraltrees.training.bundle import Bundle

        network = Bundle.load(bundle)
        graphs, names = read_graphs(input, list(network.labels))
    with working("predicting"):
        answers = [
            {"nodes": [_answer(guess, name) for guess, name in zip(guesses, each, strict=True)]}
            for guesses, each in zip(network.label(graphs, top), names, strict=True)
        ]
    content = json_format.dumps({"graphs": answers}, indent=1)
    if out is not None:
        write_whole(out, content.encode())
    if json:
        print(content)
    else:
        _show(answers, input, out)


def _answer(guess: Guess, name: str) -> dict[str, Any]:
    top = [{"label": label, "probability": round(probability, 6)} for label, probability in guess.top]
    return {"name": name, "type": guess.type, **top[0], "top": top}


def _show(answers: list[dict[str, list[dict[str, Any]]]], source: Path, out: Path | None) -> None:
    for number, answer in enumerate(answers):
        title = f"Graph {number} of {source.name}" if len(answers) > 1 else f"{source.name}"
        output.print(title, style="bold", highlight=False, markup=False)
        table = Table(box=None, pad_edge=False)
        for column in ("node", "type", "label", "probability", "then"):
            table.add_column(column, justify="right" if column == "probability" else "left")
        for node in answer["nodes"]:
            others = ", ".join(f"{each['label']} {100 * each['probability']:.0f} %" for each in node["top"][1:])
            probability = f"{100 * node['probability']:.1f} %"
            row = (node["name"], node["type"], node["label"], probability, others)
            table.add_row(*map(escape, row))
        output.print(table)
    if out is not None:
        output.print(f"Written to {out}", highlight=False, markup=False, soft_wrap=True)
