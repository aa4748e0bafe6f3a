"""Run with TRITON_INTERPRET=1: kernels of batch norm and ReLU, interpreted on a CPU, give what `RunBatchNorm` gives."""

from __future__ import annotations

import torch

from neuraltrees.nn.ensemble import fused_norm
from tests.nn.ensemble.fused_norms import CASES, compare


def main() -> None:
    fused_norm.CHANNELS, fused_norm.ROWS, fused_norm.MOST_SHARES = 4, 8, 3  # several blocks, shares and rows of a share
    for name, case in CASES.items():
        for relu in (True, False):
            compare(case, relu, torch.device("cpu"))
            for dropped in (0.0, 0.4) if case.runs is not None else ():
                compare(case, relu, torch.device("cpu"), dropped)
        print(name)


if __name__ == "__main__":
    main()
