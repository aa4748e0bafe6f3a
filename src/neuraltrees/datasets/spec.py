"""The options of the data: those of all datasets, and those of the built-in ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuraltrees.decomposition.decompose import Method
from neuraltrees.decomposition.sampling import Sampler
from neuraltrees.options import Spec, option

DATA_ROOT_HELP = "Folder of the datasets; by default $NEURALTREES_DATA, else ~/.cache/neuraltrees."


@dataclass(frozen=True)
class DataSpec(Spec):
    """Dataset, runs, seed, device and split."""

    dataset: str = option(
        "synthetic",
        "synthetic, buildings, stanford3dsg, cora, citeseer, pubmed, zinc, peptides-func, esol, freesolv, bace, tox21, "
        "hiv, tu:NAME, csl, exp, scenes:FOLDER (also scenes:stanford3dsg and scenes:buildings), a registered name, "
        "your own MODULE:FUNCTION, a graph file (.csv, .txt, .graphml or .gr), or with --smiles a table of molecules.",
    )
    runs: int = option(1, "Independent runs, trained at once.", ge=1)
    ensemble: int = option(
        1, "Networks per run, which differ in their first weights and dropout; their mean prediction counts.", ge=1
    )
    seed: int = option(0, "Run r has the seed SEED + r, for its split, weights and dropout.", ge=0)
    device: str = option("cpu", "cpu or cuda.")
    data_root: str | None = option(None, DATA_ROOT_HELP)
    standardise: bool = option(False, "Scale every feature to mean 0 and standard deviation 1.")
    log_sizes: bool = option(False, "Scene graphs: take the logarithm of the sizes of bounding boxes.")
    geometry: bool = option(False, "Scene graphs: standardised features of boxes relative to the room, and of edges.")
    squares: bool = option(False, "Append the squares of the features, for models without a hidden layer.")
    train_share: float = option(
        0.7,
        "Share to train on: of the nodes, or for synthetic and buildings of the graphs; for molecules 0.8.",
        gt=0,
        lt=1,
    )
    scenes: int = option(500, "synthetic, buildings: number of scenes or buildings.", ge=10)
    coupling: float = option(
        1.0,
        "synthetic, buildings: label coupling: how strongly labels of neighbours depend on each other.",
        ge=0,
        le=10,
    )
    edges: Literal["symmetric", "stored"] = option(
        "symmetric", "stanford3dsg, GNN: both directions of every edge, or as stored in the file."
    )
    max_treewidth: int | None = option(None, "Treewidth bound k: keep a subgraph of treewidth at most k.", ge=1)
    max_tree_nodes: int | None = option(
        None, "Use the largest treewidth bound whose H-trees have at most this many nodes in all.", ge=1
    )
    sampler: Sampler = option(
        "elimination", "How the treewidth is bounded: elimination, or paper for the method of the paper."
    )
    method: Method = option(
        "min_fill", "How graphs are decomposed; canonical does not depend on the numbering of the nodes."
    )
    terminal: Literal["clique", "bag"] = option(
        "clique", "clique: leaves under complete bags only, as in the paper; bag: leaves under every bag."
    )
    walks: int = option(0, "Number of return probabilities of random walks to append to the node features.", ge=0)
    laplacian: int = option(0, "Number of eigenvectors of the Laplacian to append to the node features.", ge=0)
    nodes: str | None = option(None, "Graph file: a CSV file with a row per node, its name, features and label.")
    label: str = option("label", "Graph file: the column of the labels; a node with an empty cell has no label.")
    split_column: str | None = option(
        None, "Graph file or molecules: a column with train, val or test; by default a random split by the seed."
    )
    ignore: str | None = option(None, "Graph file: columns that are not features, separated by commas.")
    smiles: str | None = option(None, "Molecules: the column of the SMILES; the dataset is then a table with a header.")
    target: str | None = option(
        None, "Molecules: the column of what to learn, or several separated by commas. Scenes: room, object or all."
    )
    task: Literal["auto", "regression", "classification"] = option(
        "auto", "Molecules: learn numbers or classes; by default what the cells suggest."
    )
    split: Literal["random", "scaffold"] = option(
        "random", "Molecules: a random split by the seed, or by Bemis-Murcko scaffolds."
    )
    label_spaces: str | None = option(
        None, "Scenes: files of label spaces, as room=rooms.csv,object=objects.yaml; by default those in the scenes."
    )
    houses: str | None = option(
        None, "Scenes: a CSV file with the columns scene and house; by default, houses follow from file names."
    )
    shared_houses: bool = option(False, "Scenes: allow scenes of a house in several parts of the split.")
    train_per_class: int | None = option(
        None, "Citation networks: training nodes per class; by default all that remain.", ge=1
    )
