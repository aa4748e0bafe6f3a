"""All experiments of `neuraltrees reproduce`, by name."""

from __future__ import annotations

from neuraltrees.experiments import (
    citation_bounds,
    citation_start,
    citations,
    dataset_statistics,
    expressivity,
    expressivity_graphs,
    hyperparameters,
    iterations,
    molecules,
    posterior_gap,
    scenes_buildings,
    scenes_stanford,
    structured_citations,
    structured_scenes,
    structured_stanford,
    table1,
    times,
    training_data,
)
from neuraltrees.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        table1.EXPERIMENT,
        training_data.EXPERIMENT,
        iterations.EXPERIMENT,
        hyperparameters.EXPERIMENT,
        citations.DATA,
        citations.TREEWIDTH,
        citation_bounds.EXPERIMENT,
        citation_start.EXPERIMENT,
        dataset_statistics.EXPERIMENT,
        times.TRAINING,
        times.PREPARING,
        expressivity.EXPERIMENT,
        expressivity_graphs.EXPERIMENT,
        structured_citations.EXPERIMENT,
        *posterior_gap.EXPERIMENTS,
        structured_scenes.EXPERIMENT,
        structured_stanford.EXPERIMENT,
        scenes_stanford.EXPERIMENT,
        scenes_buildings.EXPERIMENT,
        *molecules.EXPERIMENTS,
    )
}
