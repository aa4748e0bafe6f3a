"""Labels of many scenes at once: their Markov network, its exact samples and its exact posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neuraltrees.datasets.scene_model import SceneModel
from neuraltrees.graph import Graph
from neuraltrees.inference import Forest

ROOM, OBJECT = 0, 1


@dataclass(frozen=True, eq=False)
class SceneLabels:
    """The labels of the nodes of many scenes, as the variables of a `Forest`.

    Objects are summed out from the last to the first of a scene, then its room: no separator of a scene whose objects
    form a partial 2-tree in this order has more than two objects and the room.

    Shapes: node_type :math:`(n)`

    >>> model = SceneModel.default(coupling=0)
    >>> triangle = torch.tensor([[0, 0, 1], [1, 2, 2]])
    >>> labels = SceneLabels.of(model, triangle, torch.tensor([0, 1, 1]), torch.tensor([0, 0, 0]))
    >>> prior = labels.marginals(torch.zeros(3, 35, dtype=torch.float64))
    >>> bool(torch.allclose(prior[0, :15], model.log_room.exp()))
    True
    """

    model: SceneModel
    forest: Forest
    node_type: Tensor

    @classmethod
    def of(cls, model: SceneModel, edge_index: Tensor, node_type: Tensor, owner: Tensor) -> SceneLabels:
        """
        Args:
            model: tables of room and object labels.
            edge_index: the edges of all scenes, whose nodes follow one another, the room first.
            node_type: 0 for rooms, 1 for objects.
            owner: the scene of every node.

        Shapes: edge_index :math:`(2, m)`, node_type and owner :math:`(n)`
        """
        graph = Graph(edge_index, num_nodes=len(node_type))
        classes = torch.tensor(model.log_object.shape)
        first, _ = graph._upper_edges()
        forest = Forest.of(
            graph,
            classes[node_type],
            owner=owner,
            relation=node_type[torch.from_numpy(first)],
            order=np.arange(graph.num_nodes)[::-1],
        )
        return cls(model, forest, node_type)

    def marginals(self, log_likelihood: Tensor) -> Tensor:
        """Probability of every label of every node, given the likelihood of the evidence; -inf rules a label out.

        Shapes: :math:`(n, K)` → :math:`(n, K)`, where columns beyond the classes of a node's type are not read, and 0
        """
        return self.forest.run(*self.potentials(log_likelihood)).marginals

    def sample(self, uniform: Tensor) -> Tensor:
        """Labels drawn jointly, those of a scene from the room on, from a uniform number for each.

        Shapes: :math:`(*, n)` → :math:`(*, n)`
        """
        no_evidence = self.model.log_object.new_zeros(len(self.node_type), max(self.model.log_object.shape))
        return self.forest.sample(*self.potentials(no_evidence), uniform)

    def potentials(self, log_likelihood: Tensor) -> tuple[Tensor, Tensor]:
        """The potentials of the forest's variables, and the tables of a room with an object and of two objects.

        Shapes: :math:`(n, K)` → :math:`(n, K)` and :math:`(2, K, K)`
        """
        model = self.model
        rooms, objects = model.log_object.shape
        most = max(rooms, objects)
        prior = torch.nn.functional.pad(model.log_room, (0, most - rooms))
        unary = log_likelihood + torch.where(self.node_type.unsqueeze(1) == ROOM, prior, 0.0)
        pairwise = unary.new_zeros(2, most, most)
        pairwise[ROOM, :rooms, :objects] = model.log_object
        pairwise[OBJECT, :objects, :objects] = model.coupling * model.affinity
        return unary, pairwise
