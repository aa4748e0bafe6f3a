"""What the tests of tuning share."""

from __future__ import annotations

import pytest

from neuraltrees.tuning.trials import Tuned
from tests.tuning.searches import tuned_in


@pytest.fixture(scope="session")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    """The small search, uninterrupted and in this process."""
    return tuned_in(tmp_path_factory.mktemp("unbroken") / "tuning")
