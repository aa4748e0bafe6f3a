"""Labels of a scene at one or several moments, such as before and after a person confirmed one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike
from neuraltrees.scenes.json_files import load_json
from neuraltrees.scenes.scene import NodeId, Scene
from neuraltrees.scenes.write import NodeLabel

FORM = (
    '{"ID": "kitchen", ...}, {"ID": {"name": "kitchen", "probabilities": {"kitchen": 0.9}, "confirmed": true}, ...} '
    'or {"states": [{"name": "before", "labels": {...}}, ...]}'
)


@dataclass(frozen=True)
class LabelState:
    """The labels of some nodes at one moment.

    Args:
        name: the name of the moment, as a viewer shows it.
        labels: the label of each of these nodes, by id.
        confirmed: ids of nodes whose label a person has confirmed.

    >>> LabelState("sofa confirmed", {7: NodeLabel("sofa")}, confirmed={7}).labels[7].name
    'sofa'
    """

    name: str
    labels: Mapping[NodeId, NodeLabel]
    confirmed: Collection[NodeId] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"Expected the name of a state as text; got {self.name!r:.60}.")
        if not isinstance(self.labels, Mapping):
            raise InputError(f"Expected labels by the id of the node; got {type(self.labels).__name__}.")
        for node, label in self.labels.items():
            if not isinstance(label, NodeLabel):
                raise InputError(f"Expected labels as NodeLabel; got {type(label).__name__} for node {node!r}.")
        for node in self.confirmed:
            if node not in self.labels:
                raise InputError(f"Expected labels of all nodes that are confirmed; got none for {node!r}.")

    def of_ids(self, scenes: Sequence[Scene]) -> LabelState:
        """The state with the ids of the scenes as keys; keys of a JSON file are always text.

        A node may be given by its id, by the text of that, or by a name that no other node has; any other key, and two
        keys for one node, raise `InputError`.
        """
        ids: dict[NodeId, NodeId] = {}
        named: dict[NodeId, set[NodeId]] = {}
        for scene in scenes:
            ids |= {str(node): node for node in scene.ids}
            for node, name in zip(scene.ids, scene.names, strict=True):
                if name:
                    named.setdefault(name, set()).add(node)
        ids |= {node: node for scene in scenes for node in scene.ids}
        place: dict[NodeId, NodeId] = {}
        for key in self.labels:
            several = named.get(key, set())
            if key not in ids and len(several) != 1:
                why = f"; {len(several)} nodes have this name" if several else ""
                raise InputError(f"Expected nodes by id, or by a name that one node has; got {key!r}{why}.")
            place[key] = ids[key] if key in ids else next(iter(several))
        labels = {place[key]: label for key, label in self.labels.items()}
        if len(labels) < len(place):
            twice, _ = Counter(place.values()).most_common(1)[0]
            raise InputError(f"Expected one label per node; got two for node {twice!r}.")
        return LabelState(self.name, labels, frozenset(place[key] for key in self.confirmed))


def read_label_states(path: PathLike) -> tuple[LabelState, ...]:
    """The states of a JSON file, in any of these forms.

    - `{"ID": "kitchen", ...}`: the labels of some nodes;
    - `{"ID": {"name": "kitchen", "probabilities": {"kitchen": 0.9, "bath": 0.1}, "confirmed": true}, ...}`: the
      same with what else is known; without `name` the most probable label counts;
    - `{"states": [{"name": "before", "labels": ...}, ...]}`: several moments in order, labels in either form.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.json"
    ...     _ = path.write_text('{"7": {"probabilities": {"kitchen": 0.9, "bath": 0.1}}}')
    ...     read_label_states(path)[0].labels["7"].name
    'kitchen'
    """
    content = load_json(path)
    if not isinstance(content, dict):
        raise ParseError(f"{path}: expected labels as {FORM}; got {type(content).__name__}.")
    if isinstance(content.get("states"), list):
        states = content["states"]
        if not states:
            raise ParseError(f"{path}: expected at least one state; got none.")
        return tuple(_state(each, f"{path}, state {i + 1}") for i, each in enumerate(states))
    return (_state({"name": "labels", "labels": content.get("labels", content)}, str(path)),)


def _state(content: Any, where: str) -> LabelState:
    if not isinstance(content, dict) or not isinstance(content.get("labels"), dict):
        raise ParseError(f'{where}: expected a state as {{"name": ..., "labels": {{...}}}}; got {content!r:.60}.')
    name = content.get("name", "")
    if not isinstance(name, str):
        raise ParseError(f"{where}: expected the name of a state as text; got {name!r:.60}.")
    labels = {node: _label(node, each, where) for node, each in content["labels"].items()}
    confirmed = frozenset(
        node for node, each in content["labels"].items() if isinstance(each, dict) and each.get("confirmed") is True
    )
    return LabelState(name, labels, confirmed)


def _label(node: str, content: Any, where: str) -> NodeLabel:
    if isinstance(content, str):
        return NodeLabel(content)
    given = content if isinstance(content, dict) else {}
    probabilities = given.get("probabilities")
    if probabilities is not None and not isinstance(probabilities, dict):
        raise ParseError(f"{where}: expected probabilities of node {node!r:.60} by label; got {probabilities!r:.60}.")
    name = given.get("name")
    try:
        if name is None and probabilities:
            name = max(NodeLabel("", probabilities=probabilities).probabilities or {}, key=probabilities.__getitem__)
        if isinstance(name, str):
            return NodeLabel(name, given.get("label"), probabilities)
    except InputError as error:
        raise ParseError(f"{where}, node {node!r:.60}: {error}") from None
    raise ParseError(f"{where}: expected the label of node {node!r:.60} as in {FORM}; got {content!r:.60}.")
