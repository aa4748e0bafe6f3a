"""Molecules on the command line: what is learned from a table, and predictions for a list of SMILES."""

from __future__ import annotations

import csv
import io
import json as json_format
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraltrees.cli.terminal import notes, print_table, say, working
from neuraltrees.errors import InputError
from neuraltrees.files import write_whole
from neuraltrees.graph_files import is_graph_file
from neuraltrees.graph_files.read import ending_of

if TYPE_CHECKING:
    from neuraltrees.datasets import DataSpec
    from neuraltrees.datasets.smiles_table import SmilesList
    from neuraltrees.objectives import Prediction
    from neuraltrees.serving import Predictor
    from neuraltrees.training.problem import Problem

SMILES_ENDINGS = (".smi", ".smiles", ".ism")
BLOCK = 256  # molecules that are computed at once


def describe_molecules(spec: DataSpec, problem: Problem) -> None:
    """Prints what was inferred from a table: the target, the metric, and the number of molecules."""
    from neuraltrees.objectives import MultiLabel, Regression

    objective, counts = problem.task.objective, problem.runs[0].split.counts
    what = {
        Regression: ("numbers", "For classes: --task classification."),
        MultiLabel: ("yes or no", "For numbers: --task regression."),
    }.get(type(objective), ("classes", "For numbers: --task regression."))
    why = "as --task says" if spec.task != "auto" else "as the cells suggest"
    advice = "" if spec.task != "auto" else f" {what[1]}"
    how = f"by the column {spec.split_column}" if spec.split_column else f"by a {spec.split} split"
    notes.print(
        f"Learning {spec.target} as {what[0]}, {why}, measured by {objective.metric.name}.{advice}\n"
        f"{len(problem.task.graphs):,} molecules {how}: {counts[0]:,} to train, {counts[1]:,} to validate, "
        f"{counts[2]:,} to test.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def reads_smiles(predictor: Predictor, source: Path, has_nodes: bool) -> bool:
    """Whether a file holds SMILES for this network; `InputError` if it does and the network cannot read them."""
    from neuraltrees.datasets.molecule_features import ATOMS

    vocabulary = getattr(predictor.bundle.features, "vocabulary", None)
    if vocabulary == ATOMS.vocabulary:
        if has_nodes:
            return False
        return is_graph_file(source) or ending_of(source) in SMILES_ENDINGS or _is_itself(source)
    if ending_of(source) in SMILES_ENDINGS:
        own = "its own numbers" if vocabulary is None else f"the features {vocabulary}"
        raise InputError(
            f"Expected a model trained on molecules with the features {ATOMS.vocabulary}, to predict for SMILES; this "
            f"one has {own}. Train on a table of SMILES: neuraltrees train --dataset TABLE.csv --smiles COLUMN."
        )
    return False


def _is_itself(source: Path) -> bool:
    """Whether the argument is a SMILES rather than the path of a file."""
    return not _exists(source) and ending_of(source) not in (".json", ".graphml")


def _exists(source: Path) -> bool:
    return os.path.exists(source)  # noqa: PTH110  Path.exists raises an error for a SMILES that is too long for a file name


def given_smiles(source: str, column: str | None) -> SmilesList:
    """The SMILES of a file, or the argument itself as a SMILES."""
    from neuraltrees.datasets.smiles_table import SmilesList, read_smiles

    path = Path(source)
    if is_graph_file(path) or ending_of(path) in SMILES_ENDINGS:
        return read_smiles(path, column)
    return SmilesList(source, [source], [1], [""])


def predict_smiles(predictor: Predictor, given: SmilesList, out: Path | None, top: int, as_json: bool) -> None:
    """Predicts for every SMILES; those that do not parse are reported by their line and left out."""
    from neuraltrees.datasets.smiles import MoleculesFromSmiles
    from neuraltrees.datasets.smiles_table import report_skipped

    with working("reading molecules"):
        molecules = MoleculesFromSmiles(given.smiles)
    source = Path(given.source)
    if len(given.smiles) == 1 and not len(molecules) and not _exists(source):
        raise InputError(
            f"Expected a file or a SMILES; got {given.source!r}: there is no such file, and as a SMILES it does not "
            f"parse: {molecules.skipped[0].why}."
        )
    report_skipped(molecules.skipped, given.source, given.lines)
    if not len(molecules):
        raise InputError(
            f"{source}: expected SMILES; none of {len(given.smiles):,} parses. Check the file, or name its column: "
            f"smiles=COLUMN."
        )
    with working("predicting"):
        graphs, found = molecules.graphs(), list[Any]()
        for start in range(0, len(graphs), BLOCK):
            found += [answer[0] for answer in predictor.label(graphs[start : start + BLOCK], top)]
    about = [_about(given, place) for place in molecules.kept]
    skipped = [_about(given, each.place) | {"why": each.why} for each in molecules.skipped]
    listed = [each | _plain(prediction) for each, prediction in zip(about, found, strict=True)]
    content = json_format.dumps({"molecules": listed, "skipped": skipped}, indent=1)
    if out is not None:
        write_whole(out, (_as_csv(about, found) if ending_of(out) == ".csv" else content).encode())
    if as_json:
        print(content)
        return
    rows = [_shown(each) | prediction.row() for each, prediction in zip(about, found, strict=True)]
    header = [name for name in rows[0] if name not in ("type", "then" if top == 1 else "type")]
    print_table(source.name if _exists(source) else "", header, [[row[name] for name in header] for row in rows])
    if out is not None:
        say(f"Written to {out}")


def _about(given: SmilesList, place: int) -> dict[str, Any]:
    named = {"name": given.names[place]} if any(given.names) else {}
    return {"line": given.lines[place], **named, "smiles": given.smiles[place]}


def _shown(about: dict[str, Any]) -> dict[str, str]:
    text = about["smiles"]
    short = text if len(text) <= 40 else f"{text[:39]}…"
    return {name: str(value) for name, value in (about | {"smiles": short}).items()}


def _plain(prediction: Prediction) -> dict[str, Any]:
    return {name: value for name, value in prediction.as_dict().items() if name != "type"}


def _as_csv(about: list[dict[str, Any]], found: list[Prediction]) -> str:
    """A row per molecule; a column per target, or per label its probability."""
    rows = [each | _columns(prediction) for each, prediction in zip(about, found, strict=True)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _columns(prediction: Prediction) -> dict[str, Any]:
    from neuraltrees.objectives import LabelPrediction, MultiLabelPrediction

    if isinstance(prediction, LabelPrediction):
        return {"label": prediction.label, "probability": round(prediction.probability, 6)}
    values = prediction.probabilities if isinstance(prediction, MultiLabelPrediction) else prediction.values
    return {name: round(value, 6) for name, value in values}
