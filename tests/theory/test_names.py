"""The public names of the theory, loaded when first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from neuraltrees import theory


def test_every_name_is_there() -> None:
    assert all(getattr(theory, name).__name__ == name for name in theory.__all__)
    with pytest.raises(AttributeError, match=r"module 'neuraltrees.theory' has no attribute 'magic'"):
        _ = theory.magic


def test_the_package_alone_imports_no_torch() -> None:
    script = "import sys, neuraltrees.theory; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=200)
    assert ran.stdout.strip() == "False"
