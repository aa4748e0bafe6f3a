"""Predictions of a trained network for a node or a graph, with the names of labels and targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LabelPrediction:
    """The type of a node, or "graph", and its most probable labels, each with its probability."""

    type: str
    top: tuple[tuple[str, float], ...]

    @property
    def label(self) -> str:
        return self.top[0][0]

    @property
    def probability(self) -> float:
        return self.top[0][1]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        top = [{"label": label, "probability": round(share, 6)} for label, share in self.top]
        return {"type": self.type, **top[0], "top": top}

    def row(self) -> dict[str, str]:
        """A row of a table, by column."""
        others = ", ".join(f"{label} {100 * share:.0f} %" for label, share in self.top[1:])
        return {
            "type": self.type,
            "label": self.label,
            "probability": f"{100 * self.probability:.1f} %",
            "then": others,
        }


@dataclass(frozen=True)
class MultiLabelPrediction:
    """The probability of each label, independent of the others; `labels` are those above one half."""

    type: str
    probabilities: tuple[tuple[str, float], ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for label, share in self.probabilities if share > 0.5)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        shares = {label: round(share, 6) for label, share in self.probabilities}
        return {"type": self.type, "labels": list(self.labels), "probabilities": shares}

    def row(self) -> dict[str, str]:
        """A line of a table, by column."""
        shown = ", ".join(f"{label} {100 * share:.0f} %" for label, share in self.probabilities)
        return {"type": self.type, "labels": ", ".join(self.labels) or "none", "probabilities": shown}


@dataclass(frozen=True)
class ValuePrediction:
    """A number for each target."""

    type: str
    values: tuple[tuple[str, float], ...]

    @property
    def value(self) -> float:
        """The first number."""
        return self.values[0][1]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"type": self.type, "values": dict(self.values)}

    def row(self) -> dict[str, str]:
        """A line of a table, by column."""
        return {"type": self.type, **{target: f"{value:.4g}" for target, value in self.values}}


Prediction = LabelPrediction | MultiLabelPrediction | ValuePrediction
