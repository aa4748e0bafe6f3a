#!/bin/sh
# Several processes on one GPU: NCCL with one process, Gloo on CUDA tensors with two, and a training by both ways.
#   PYTHON=.venv/bin/python sh benchmarks/distributed_gpu.sh
set -e
here=$(dirname "$0")
python=${PYTHON:-python}
run="$python -m torch.distributed.run --standalone --nproc-per-node"
$run 1 "$here/distributed_gpu.py"
$run 2 "$here/distributed_gpu.py"
folder=$(mktemp -d)
train="-m neuraltrees train --dataset synthetic --scenes 100 --conv gin --runs 1 --epochs 20 --batches 2 --device cuda"
$run 1 $train --partition tree --out "$folder/nccl"
$run 2 $train --partition tree --out "$folder/gloo"
$python - "$folder" <<'PYTHON'
import json
import sys

nccl, gloo = (json.load(open(f"{sys.argv[1]}/{name}/result.json"))["curves"]["loss"][0] for name in ("nccl", "gloo"))
apart = max(abs(one - two) for one, two in zip(nccl, gloo, strict=True))
print(f"training losses of one process (NCCL) and two (Gloo) differ by at most {apart:.1e}")
sys.exit(apart > 1e-3)
PYTHON
rm -r "$folder"
