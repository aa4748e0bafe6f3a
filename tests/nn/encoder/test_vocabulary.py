"""What integers mean is kept with them, in files as well."""

from __future__ import annotations

import json

import pytest

import neuraltrees as nt
from neuraltrees.data.features import describe, from_description


@pytest.mark.parametrize("features", [nt.Categories((3, 2)), nt.Categories((3, 2), "ogb-atoms")])
def test_a_description_gives_the_same_back(features: nt.Categories) -> None:
    again = from_description(json.loads(json.dumps(describe(features))))
    assert again == features
    assert again.vocabulary == features.vocabulary
    assert from_description(describe({"room": features, "object": 3})) == {"room": features, "object": 3}


def test_the_vocabulary_is_part_of_what_it_is() -> None:
    assert nt.Categories((3,)) != nt.Categories((3,), "atoms")
    assert repr(nt.Categories((3,))) == "Categories(sizes=(3,))"
    assert repr(nt.Categories((3,), "atoms")) == "Categories(sizes=(3,), vocabulary='atoms')"
    with pytest.raises(nt.InputError, match="the name of a vocabulary; got 3"):
        nt.Categories((3,), 3)  # type: ignore[arg-type]


def test_a_file_written_before_there_were_vocabularies() -> None:
    assert from_description({"categories": [4, 5]}) == nt.Categories((4, 5))
