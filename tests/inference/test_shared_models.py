"""Real networks: the references of the UAI competition, and pyAgrum on Bayesian networks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from neuraltrees.inference import JunctionTree, infer, read_bif, read_evidence, read_uai
from neuraltrees.inference.uai import format_marginals
from tests.oracle.agrum import bayesian_network, gum

UAI = [
    *("Alchemy_11", "CSP_11", "CSP_13", "DBN_11", "DBN_13", "DBN_15", "Grids_11", "Grids_13", "ObjectDetection_46"),
    *("ObjectDetection_61", "Pedigree_11", "Pedigree_13", *(f"Promedus_{i}" for i in range(11, 39, 2))),
    *("Segmentation_11", "Segmentation_13", "Segmentation_15"),
]
BIF = [
    *("alarm", "andes", "asia", "cancer", "child", "diabetes", "earthquake", "hailfinder", "insurance", "pigs"),
    *("sachs", "water", "win95pts"),
]


def test_all_shared_models_are_listed(data_root: Path) -> None:
    assert sorted(path.stem for path in (data_root / "pgm" / "uai").glob("*.uai")) == sorted(UAI)
    assert sorted(path.name.split(".")[0] for path in (data_root / "pgm" / "bif").glob("*.bif.gz")) == BIF


@pytest.mark.parametrize("name", UAI)
def test_agrees_with_the_references_of_the_competition(name: str, data_root: Path) -> None:
    path = data_root / "pgm" / "uai" / f"{name}.uai"
    model, evidence = read_uai(path), read_evidence(f"{path}.evid")
    answer = infer(model, evidence)
    reference = float(Path(f"{path}.PR").read_text().split()[1])
    assert answer.log_partition.item() / math.log(10) == pytest.approx(reference, rel=1e-4)
    expected = Path(f"{path}.MAR").read_text().split()
    written = format_marginals(answer.marginals).split()
    assert written[:2] == expected[:2] == ["MAR", str(model.num_variables)]
    np.testing.assert_allclose(np.array(written[2:], float), np.array(expected[2:], float), rtol=0, atol=1e-5)


@pytest.mark.parametrize("observed", [0, 4])
@pytest.mark.parametrize("name", BIF)
def test_agrees_with_pyagrum(name: str, observed: int, data_root: Path) -> None:
    network = read_bif(data_root / "pgm" / "bif" / f"{name}.bif.gz")
    markov = network.to_markov()
    tree = JunctionTree.of(markov)
    generator = torch.Generator().manual_seed(7)
    sample = tree.sample(markov.log_potentials, 1, generator=generator)[0].tolist()
    chosen = torch.randperm(network.num_variables, generator=generator)[:observed].tolist()
    evidence = {v: sample[v] for v in chosen}
    answer = JunctionTree.of(markov, evidence).run(markov.log_potentials)
    engine = gum.LazyPropagation(bayesian_network(network))
    engine.setEvidence(evidence)
    engine.makeInference()
    for v, marginal in enumerate(answer.marginals):
        np.testing.assert_allclose(marginal.numpy(), engine.posterior(v).toarray(), rtol=0, atol=1e-8)
    if not observed:
        assert answer.log_partition.item() == pytest.approx(0.0, abs=0.05)  # some tables are rounded
    assert math.exp(answer.log_partition.item()) == pytest.approx(engine.evidenceProbability(), rel=1e-6)
