"""What was left out when a scene was read, and which values are unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SceneReport:
    """What was unusual in a file, with counts; an empty report means that everything was read.

    Args:
        format: the format of the file.
        version: its version, where the format has one.
        dropped: how many nodes and edges are not in the scene, by reason: malformed nodes, duplicate ids, malformed
            edges, dangling edges, self-loops, duplicate edges.
        noted: how many values of nodes are unknown, by reason and node type: no label, invalid box, invalid position,
            invalid embedding, invalid name, unknown layer.
        examples: the first few ids of every reason.
        remarks: sentences about the file as a whole.

    >>> print(SceneReport("Spark-DSG", "1.0.0", dropped={"dangling edges": 6}))
    Spark-DSG 1.0.0: dropped 6 dangling edges.
    """

    format: str = "made by hand"
    version: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
    noted: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def num_dropped(self) -> int:
        """How many nodes and edges of the file are not in the scene."""
        return sum(self.dropped.values())

    def __str__(self) -> str:
        parts = []
        if self.dropped:
            parts.append("dropped " + ", ".join(f"{count} {reason}" for reason, count in self.dropped.items()))
        for reason, by_type in self.noted.items():
            parts.append(f"{reason}: " + ", ".join(f"{count} {kind}" for kind, count in by_type.items()))
        parts.extend(remark.rstrip(".") for remark in self.remarks)
        return f"{' '.join(filter(None, (self.format, self.version)))}: {'; '.join(parts) or 'nothing unusual'}."


EXAMPLES = 5  # ids kept per reason


class Findings:
    """Collects what a `SceneReport` says while a file is read."""

    def __init__(self) -> None:
        self._dropped: Counter[str] = Counter()
        self._noted: dict[str, Counter[str]] = {}
        self._examples: dict[str, list[str]] = {}
        self._remarks: list[str] = []

    def drop(self, reason: str, example: object) -> None:
        self._dropped[reason] += 1
        self._keep_example(reason, example)

    def note(self, reason: str, node_type: str, example: object) -> None:
        self._noted.setdefault(reason, Counter())[node_type] += 1
        self._keep_example(reason, example)

    def note_all(self, reason: str, by_type: Mapping[str, int], examples: Iterable[object]) -> None:
        """Notes several values of the same reason: their numbers by node type, and the first of them."""
        self._noted.setdefault(reason, Counter()).update(by_type)
        for example in examples:
            self._keep_example(reason, example)

    def remark(self, sentence: str) -> None:
        self._remarks.append(sentence)

    def report(self, format: str, version: str = "") -> SceneReport:
        return SceneReport(
            format,
            version,
            dict(self._dropped),
            {reason: dict(counts) for reason, counts in self._noted.items()},
            {reason: tuple(examples) for reason, examples in self._examples.items()},
            tuple(self._remarks),
        )

    def _keep_example(self, reason: str, example: object) -> None:
        kept = self._examples.setdefault(reason, [])
        if len(kept) < EXAMPLES:
            text = str(example)
            kept.append(text if len(text) <= 60 else text[:57] + "...")
