"""neuraltrees view: scene files → an HTML page, or a recording for Rerun."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from neuraltrees.cli.options import Allow, AsJson
from neuraltrees.cli.scenes import read_known
from neuraltrees.cli.terminal import Value, say, show, working
from neuraltrees.errors import InputError
from neuraltrees.files import check_folder

FORMATS = ("html", "rrd")


def view(
    scenes: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCENE", help="Scene files or folders; several are one map at different times, in order."
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(help="JSON file of labels, in the format described above.", show_default=False),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Label the scenes with a network that was trained on scenes.", show_default=False),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            help="With --model: JSON file of confirmed labels, to see how they change the others.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; by default named after the first scene, in this folder.", show_default=False),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            help="html, or rrd for the viewer Rerun; by default the ending of --out.",
            metavar="html|rrd",
            show_default=False,
        ),
    ] = None,
    tree: Annotated[bool, typer.Option(help="Whether to show the typed H-tree beside the scene.")] = True,
    label_spaces: Annotated[
        str | None,
        typer.Option(
            help="Files with the names of labels that are numbers in the scenes: room=rooms.csv,object=objects.yaml.",
            show_default=False,
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="Node types to show, separated by commas; by default all.", show_default=False),
    ] = None,
    scan: Annotated[str | None, typer.Option(help="Which scan of a 3DSSG file.", show_default=False)] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the page; by default the name of the file.", show_default=False)
    ] = None,
    allow: Allow = None,
    open: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    json: AsJson = False,
) -> None:
    """Show a scene on one HTML page: its layers in 3D, its typed H-tree, and its labels with probabilities.

    The page needs no network and no other file: it can be sent, kept and opened anywhere. Hovering over a node
    highlights its leaves and bags in the tree, and hovering over a bag its nodes. Several scenes get a time slider.

    Labels are those of the scene (semantic_class_probabilities, label space, names), or those of --labels: {"id of a
    node": "label", …}, or {"id": {"name": "label", "probabilities": {"label": 0.9, …}, "confirmed": true}, …}. With
    {"states": \\[{"name": "before", "labels": …}, …]} the page shows what changed from one state to the next.

    With --model a trained network labels the scenes. With --known, a file {"id or name of a node": "label", …}, the
    page shows the labels before and after these were confirmed; that needs a network with --head crf.

    Example: neuraltrees view scene.json --open

    Example: neuraltrees view map-1.json map-2.json map-3.json --out growing.html

    Example: neuraltrees view scene.json --labels states.json --layers room,object

    Example: neuraltrees view scene.json --model model.safetensors --known confirmed.json
    """
    kind = _format(format, out)
    target = Path(f"{_stem(scenes[0])}.{kind}") if out is None else out
    check_folder(target)
    if open and kind != "html":
        raise InputError(f"Expected --open with a page; got --format {kind}. Open it with: rerun {target}")
    if known is not None and model is None:
        raise InputError("Expected --known with --model, whose labels it changes; got no --model.")
    start = time.perf_counter()
    with working("loading"):
        from neuraltrees.scenes import read_scene
        from neuraltrees.scenes.label_files import read_label_spaces
        from neuraltrees.scenes.label_states import read_label_states
        from neuraltrees.viewing import SceneFrame, predicted_frames, write_scene_page, write_scene_recording

    with working("reading the scenes"):
        states = () if labels is None else read_label_states(labels)
        spaces = read_label_spaces(label_spaces or "")
        frames = [SceneFrame(read_scene(path, scan=scan), path.name, label_spaces=spaces) for path in scenes]
    if model is not None:
        from neuraltrees.serving import SceneLabeller

        with working("labelling"):
            labeller = SceneLabeller.load(model, allow=allow or ())
            confirmed = None if known is None else read_known(known, [frame.scene for frame in frames])
            frames = predicted_frames(frames, labeller, confirmed)
    write = write_scene_page if kind == "html" else write_scene_recording
    with working("writing"):
        write(
            frames,
            target,
            labels=states,
            tree=tree,
            spec=None if model is None else labeller.format.spec,
            layers=None if layers is None else [each.strip() for each in layers.split(",") if each.strip()],
            title=title if title is not None else _stem(scenes[0]),
        )
    last = frames[-1].scene
    facts: dict[str, Value] = {
        "scenes": len(frames),
        "nodes": last.num_nodes,
        "edges": last.num_edges,
        "states of labels": len(frames[-1].states) + len(states),
        "size": f"{target.stat().st_size / 1e6:.2f} MB",
        "seconds": round(time.perf_counter() - start, 2),
        "written to": str(target),
    }
    for frame in frames:
        facts |= {f"report of {frame.name}": str(frame.scene.report)} if str(frame.scene.report) else {}
    show(f"View of {scenes[0].name}" + (f" and {len(frames) - 1} more" if len(frames) > 1 else ""), facts, json)
    if open and not webbrowser.open(target.resolve().as_uri()):
        say(f"No browser was found; open {target} in one.")


def _format(given: str | None, out: Path | None) -> str:
    ending = "" if out is None else out.suffix.removeprefix(".")
    if given is not None and given not in FORMATS:
        raise InputError(f"Expected --format out of {', '.join(FORMATS)}; got {given!r}.")
    if given is not None and ending and ending != given:
        raise InputError(f"Expected --out with the ending .{given}; got {out}.")
    found = given or ending or "html"
    if found not in FORMATS:
        raise InputError(f"Expected --out with the ending .html or .rrd; got {out}.")
    return found


def _stem(path: Path) -> str:
    """The name of a file without its endings, `.json.gz` for example."""
    name = path.resolve().name
    return name.split(".")[0] or name
