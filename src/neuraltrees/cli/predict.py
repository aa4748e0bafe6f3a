"""neuraltrees predict: apply a trained network to graphs in a JSON file, a graph file or a list of SMILES."""

from __future__ import annotations

import json as json_format
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraltrees.cli.molecules import given_smiles, predict_smiles, reads_smiles
from neuraltrees.cli.options import Allow, AsJson, Device
from neuraltrees.cli.scenes import predict_scene
from neuraltrees.cli.terminal import print_table, say, working
from neuraltrees.errors import InputError
from neuraltrees.files import check_folder, write_whole
from neuraltrees.graph_files import is_graph_file

if TYPE_CHECKING:
    from neuraltrees.objectives import Prediction

Named = list[tuple[str, "Prediction"]]


def predict(
    bundle: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model.safetensors written by `neuraltrees train`, or one that comes with the package: scenes or "
            "solubility.",
        ),
    ],
    input: Annotated[
        str,
        typer.Argument(
            metavar="GRAPHS",
            help="JSON file of graphs, in the format described above; or a graph file with --nodes, a list of SMILES, "
            "a single SMILES, or a scene.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the predictions, as JSON; for SMILES also .csv; for a scene, the scene with its labels.",
            show_default=False,
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="JSON file of known labels, in the format described above.", show_default=False),
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with a row per node, if GRAPHS is a list of edges; as --nodes of train.", show_default=False
        ),
    ] = None,
    ignore: Annotated[
        str | None,
        typer.Option(
            help="Columns of nodes that are not features, separated by commas. A model that was trained on files finds "
            "its columns by name.",
            show_default=False,
        ),
    ] = None,
    smiles: Annotated[
        str | None,
        typer.Option(help="Column of the SMILES, if GRAPHS is a table of molecules.", show_default=False),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of most probable labels to list.")] = 3,
    device: Device = "cpu",
    allow: Allow = None,
    json: AsJson = False,
) -> None:
    """Predict labels or numbers of graphs, or of their nodes, with a trained network.

    GRAPHS is a JSON file with one graph, or with {"graphs": \\[graph, …]}. A graph is {"nodes": \\[{"x": \\[0.1, …],
    "type": "room", "name": "optional"}, …], "edges": \\[\\[0, 1], …]}. "type" is optional if there is only one node
    type. If the network reads edge features, "edge_attr" is a list with one list of numbers per edge.

    With a model trained with --head crf, known labels improve the predictions for the other nodes: --known is a file
    {"name or number of a node": "label", …}; for several graphs {"graphs": \\[…]} with one such object per graph.

    With a model trained on molecules, GRAPHS may be a list of SMILES: .smi or .txt with a SMILES and a name per line,
    or .csv with a column SMILES. SMILES that do not parse are reported by line and left out.

    With a model trained on scenes, GRAPHS is a scene: a Spark-DSG file, or any other that `neuraltrees train` reads.
    --out is then a copy of the Spark-DSG file in which name, semantic_label and semantic_class_probabilities are set.

    Example: neuraltrees predict solubility "CC(=O)Oc1ccccc1C(=O)O"

    Example: neuraltrees predict scenes scene.json --known confirmed.json --out labelled.json

    Example: neuraltrees predict neuraltrees-runs/synthetic-neural-tree-sage/model.safetensors scene.json
    """
    if out is not None:
        check_folder(out)
    if not input:
        raise InputError("Expected GRAPHS as a file or a SMILES; got an empty text.")
    with working("loading"):
        from neuraltrees.data.json_graphs import read_graphs
        from neuraltrees.data.known_labels import read_known
        from neuraltrees.data.task import TableColumns
        from neuraltrees.scenes.format import SceneFormat
        from neuraltrees.serving import Predictor
        from neuraltrees.serving.shipped import find_model
        from neuraltrees.training.bundle import Bundle

        model, source = Bundle.load(find_model(bundle), allow or ()), Path(input)
    if isinstance(model.inputs, SceneFormat):
        if (nodes, ignore, smiles) != (None, None, None):
            raise InputError("Expected no --nodes, --ignore and --smiles with a scene; got one. Leave them out.")
        predict_scene(model, source, out, known, top, device, json)
        return
    with working("loading"):
        predictor = Predictor(model, device)
        trained = predictor.bundle
        of_smiles = reads_smiles(predictor, source, nodes is not None)
    if of_smiles:
        if known is not None:
            raise InputError("Expected no --known with SMILES, whose atoms have no labels; got one. Leave it out.")
        predict_smiles(predictor, given_smiles(input, smiles), out, top, json)
        return
    with working("loading"):
        if is_graph_file(source):
            from neuraltrees.datasets.tables import read_unlabelled

            columns = model.inputs.names if isinstance(model.inputs, TableColumns) else None
            graphs, names = read_unlabelled(input, None if nodes is None else str(nodes), ignore, columns)
        else:
            graphs, names = read_graphs(
                source,
                trained.types,
                trained.given_edge_features is not None,
                ragged=isinstance(trained.given_features, Mapping),
            )
        labels = None if known is None else read_known(known, graphs, names, trained.labels)
    with working("predicting"):
        per_node = trained.objective.level == "node"
        answers = [
            list(zip(of_nodes if per_node else ["graph"], found, strict=True))
            for found, of_nodes in zip(predictor.label(graphs, top, labels), names, strict=True)
        ]
    listed = [[{"name": name, **prediction.as_dict()} for name, prediction in answer] for answer in answers]
    content = json_format.dumps({"graphs": [_as_json(each, per_node) for each in listed]}, indent=1)
    if out is not None:
        write_whole(out, content.encode())
    if json:
        print(content)
    else:
        _show(answers, source, out)


def _as_json(predictions: list[dict[str, Any]], per_node: bool) -> dict[str, Any]:
    return {"nodes": predictions} if per_node else predictions[0]


def _show(answers: list[Named], source: Path, out: Path | None) -> None:
    for number, answer in enumerate(answers):
        title = f"Graph {number} of {source.name}" if len(answers) > 1 else f"{source.name}"
        rows = [{"node": name, **prediction.row()} for name, prediction in answer]
        print_table(title, tuple(rows[0]) if rows else (), [tuple(row.values()) for row in rows])
    if out is not None:
        say(f"Written to {out}")
