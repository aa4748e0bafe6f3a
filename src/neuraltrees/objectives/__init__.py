"""Objectives: what a label is, the loss, the metric and a prediction."""

from neuraltrees.objectives.classification import Classification
from neuraltrees.objectives.metric import Metric
from neuraltrees.objectives.multilabel import MultiLabel
from neuraltrees.objectives.objective import Objective, find_objective, register_objective
from neuraltrees.objectives.prediction import LabelPrediction, MultiLabelPrediction, Prediction, ValuePrediction
from neuraltrees.objectives.regression import Regression

__all__ = [
    "Classification",
    "LabelPrediction",
    "Metric",
    "MultiLabel",
    "MultiLabelPrediction",
    "Objective",
    "Prediction",
    "Regression",
    "ValuePrediction",
    "find_objective",
    "register_objective",
]
