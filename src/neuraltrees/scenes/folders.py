"""Folders of scenes: which scenes there are, of which house each is, and which part of a split it belongs to."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import torch

from neuraltrees.data.splits import Split
from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, as_path
from neuraltrees.scenes.concept_graphs import objects_file
from neuraltrees.scenes.dssg import is_dssg, scans_of
from neuraltrees.scenes.hov_sg import is_hov_sg
from neuraltrees.scenes.json_files import load_json, read_text
from neuraltrees.scenes.read import read_scene
from neuraltrees.scenes.scene import Scene

PARTS = ("train", "val", "test")
ENDINGS = (".json", ".json.gz", ".json.xz")
BESIDE = ("edge_json", "relationships.json")  # files that belong to others
VAL, TEST = 0.1, 0.2  # shares of the houses


@dataclass(frozen=True, eq=False)
class FolderScene:
    """A scene of a folder.

    Args:
        name: its path in the folder; of 3DSSG with the scan behind a colon.
        scene: what was read.
        house: the building that it is a map of.
        part: train, val or test, if the folder or the table of houses says so; else None.

    >>> FolderScene("x8F5_0.json", Scene.of([], []), "x8F5").part is None
    True
    """

    name: str
    scene: Scene
    house: str
    part: str | None = None


def read_folder(folder: PathLike, houses: PathLike | None = None) -> list[FolderScene]:
    """All scenes of a folder and its folders, in any format that `read_scene` knows.

    The house of a scene is the folder that it lies in, the outermost one within `folder`; for a file that lies in
    `folder` itself, its name up to the first underscore: two maps `x8F5_0.json` and `x8F5_1.json` are of one house.
    Folders `train`, `val` and `test` are a split; within them the same holds.

    Args:
        folder: where scenes are.
        houses: a table (.csv) with the columns `scene`, the path of a scene in the folder, and `house`; and `split`
            (train, val or test), if it says how to split. What it says counts more than names.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("x8F5_0", "x8F5_1", "p2Ag_0"):
    ...         _ = (Path(folder) / f"{name}.json").write_text('{"nodes": [{"id": 1, "type": "room"}]}')
    ...     [(each.name, each.house) for each in read_folder(folder)]
    [('p2Ag_0.json', 'p2Ag'), ('x8F5_0.json', 'x8F5'), ('x8F5_1.json', 'x8F5')]
    """
    folder = as_path(folder)
    if not folder.is_dir():
        raise InputError(f"Expected a folder of scenes; got {folder}, which is none.")
    table = {} if houses is None else _read_houses(as_path(houses))
    found = []
    for name, scene in _scenes(folder, folder):
        path = PurePosixPath(name)
        part = path.parts[0] if path.parts[0] in PARTS and len(path.parts) > 1 else None
        inner = path.parts[1:] if part else path.parts
        house = inner[0] if len(inner) > 1 else _stem(inner[0]).partition("_")[0]
        if houses is not None:
            if name not in table:
                raise InputError(f"Expected a house for every scene; {houses} has none for {name}.")
            house, given = table[name]
            part = given or part
        found.append(FolderScene(name, scene, house, part))
    if not found:
        raise InputError(f"Expected scenes in {folder}: {', '.join(ENDINGS)} files or folders of HOV-SG; got none.")
    if len({each.part is None for each in found}) > 1:
        outside = next(each.name for each in found if each.part is None)
        raise InputError(f"Expected every scene in one of {', '.join(PARTS)}, as others are; {outside} is in none.")
    return found


def house_split(scenes: Sequence[FolderScene], train_share: float, shared: bool, seed: int) -> Split:
    """The split of the nodes of scenes: that of the folder, or houses at random by the seed.

    Args:
        scenes: those of a folder, each with as many nodes as `sizes` says.
        train_share: share of the houses that train; a tenth validates, a fifth tests.
        shared: whether a house may be in two parts; then scenes are drawn at random, not houses.
        seed: of the draw.
    """
    parts = [each.part for each in scenes]
    if parts[0] is not None:
        _check_apart(scenes, shared)
        missing = [part for part in PARTS if part not in parts]
        if missing:
            raise InputError(f"Expected scenes in each of {', '.join(PARTS)}; got none in {', '.join(missing)}.")
        masks = (torch.tensor([part == each for part in parts]) for each in PARTS)
        return Split(*masks)
    group = [each.name if shared else each.house for each in scenes]
    names = sorted(set(group))
    what = "scenes" if shared else "houses"
    if len(names) < len(PARTS):
        advice = "" if shared or len(scenes) < len(PARTS) else " To let a house be in several parts: --shared-houses."
        raise InputError(
            f"Expected scenes of at least 3 {what}, to train, validate and test; got {len(names)}: "
            f"{', '.join(names)}.{advice}"
        )
    order = torch.randperm(len(names), generator=torch.Generator().manual_seed(seed)).tolist()
    val, test = (max(1, round(share * len(names))) for share in (VAL, TEST))
    most = len(names) - val - test
    train = max(1, min(most, round(train_share * len(names))))
    drawn = {names[i]: place for place, i in enumerate(order)}
    place = torch.tensor([drawn[each] for each in group])
    return Split(place >= len(names) - train, place < val, (place >= val) & (place < val + test))


def _check_apart(scenes: Sequence[FolderScene], shared: bool) -> None:
    parts: dict[str, str | None] = {}
    for each in scenes:
        if not shared and parts.setdefault(each.house, each.part) != each.part:
            raise InputError(
                f"Expected every house in one part, so that tests are on houses that are new; got house {each.house} "
                f"in {parts[each.house]} and in {each.part}. If that is meant: --shared-houses."
            )


def _scenes(folder: Path, root: Path) -> Iterator[tuple[str, Scene]]:
    """The scenes of a folder by name, sorted."""
    if is_hov_sg(folder):
        yield (folder.name if folder == root else _name(folder, root)), read_scene(folder)
        return
    concept = objects_file(folder)
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", *BESIDE)):
            continue
        if path.is_dir():
            yield from _scenes(path, root)
        elif path == concept or path.name.lower().endswith(ENDINGS):
            content = load_json(path) if path.name == "objects.json" else None
            if is_dssg(content):
                for scan in scans_of(content):
                    yield f"{_name(path, root)}:{scan}", read_scene(path, scan=scan)
            else:
                yield _name(path, root), read_scene(path)


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _stem(name: str) -> str:
    scan = name.partition(":")[2]
    return scan or name.split(".")[0]


def _read_houses(path: Path) -> Mapping[str, tuple[str, str | None]]:
    try:
        rows = list(csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff"))))
    except csv.Error as error:
        raise ParseError(f"{path}: expected a table; got: {error}.") from None
    found: dict[str, tuple[str, str | None]] = {}
    for line, row in enumerate(rows, start=2):
        name, house, part = ((row.get(key) or "").strip() for key in ("scene", "house", "split"))
        if not name or not house:
            raise ParseError(f"{path}, row {line}: expected the columns scene and house; got {dict(row)!r:.80}.")
        if part and part not in PARTS:
            raise ParseError(f"{path}, row {line}: expected a split out of {', '.join(PARTS)}; got {part!r}.")
        if name in found:
            raise ParseError(f"{path}, row {line}: expected every scene once; got {name} again.")
        found[name] = (house, part or None)
    if not found:
        raise ParseError(f"{path}: expected a table with the columns scene and house; got no rows.")
    return found
