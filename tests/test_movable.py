"""Values with tensors, moved to another device as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from neuraltrees.movable import moved

META = torch.device("meta")


@dataclass(frozen=True, eq=False)
class Value:
    content: Any


def test_all_tensors_are_moved() -> None:
    value = Value({"a": [torch.zeros(1), "text"], "b": (torch.zeros(2),)})
    found = moved(value, META).content
    assert found["a"][0].device == found["b"][0].device == META and found["a"][1] == "text"


def test_what_holds_no_tensor_stays_the_same_object() -> None:
    for content in ({"a": 1}, [1, "text"], (), torch.nn.Linear, Value, {"a": [torch.nn.Linear]}):
        value = Value(content)
        assert moved(value, META) is value
