"""Objectives: what a label is, the loss, the metric and a prediction."""

from neuraltrees.objectives.calibration import Calibration as Calibration
from neuraltrees.objectives.classification import Classification as Classification
from neuraltrees.objectives.confusion import Confusion as Confusion
from neuraltrees.objectives.metric import Metric as Metric
from neuraltrees.objectives.multilabel import MultiLabel as MultiLabel
from neuraltrees.objectives.objective import Objective as Objective
from neuraltrees.objectives.objective import find_objective as find_objective
from neuraltrees.objectives.objective import register_objective as register_objective
from neuraltrees.objectives.prediction import LabelPrediction as LabelPrediction
from neuraltrees.objectives.prediction import MultiLabelPrediction as MultiLabelPrediction
from neuraltrees.objectives.prediction import Prediction as Prediction
from neuraltrees.objectives.prediction import ValuePrediction as ValuePrediction
from neuraltrees.objectives.regression import Regression as Regression
