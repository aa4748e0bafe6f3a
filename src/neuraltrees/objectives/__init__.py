"""Objectives: what a label is, the loss, the metric and a prediction."""

from neuraltrees.objectives.calibration import Calibration
from neuraltrees.objectives.classification import Classification
from neuraltrees.objectives.confusion import Confusion
from neuraltrees.objectives.metric import Metric
from neuraltrees.objectives.multilabel import MultiLabel
from neuraltrees.objectives.objective import Objective, find_objective, register_objective
from neuraltrees.objectives.prediction import LabelPrediction, MultiLabelPrediction, Prediction, ValuePrediction
from neuraltrees.objectives.regression import Regression

__all__ = [
    "Calibration",
    "Classification",
    "Confusion",
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
