"""Conditional random fields on any graph of small treewidth."""

from neuraltrees.inference.crf.crf import CRF as CRF
from neuraltrees.inference.crf.remainder import Limits as Limits
from neuraltrees.inference.crf.solver import CRFAnswer as CRFAnswer
from neuraltrees.inference.crf.solver import Evidence as Evidence
from neuraltrees.inference.crf.solver import Planned as Planned
from neuraltrees.inference.crf.solver import Solver as Solver
from neuraltrees.inference.crf.structure import Factors as Factors
from neuraltrees.inference.crf.structure import Structure as Structure
from neuraltrees.inference.crf.tables import FactorTables as FactorTables
from neuraltrees.inference.crf.tables import Tables as Tables
