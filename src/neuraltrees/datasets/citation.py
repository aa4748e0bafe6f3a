"""The citation networks Cora, CiteSeer and PubMed (Yang et al., ICML 2016), as PyG's `Planetoid` has them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import Planetoid
from torch_geometric.io import read_planetoid_data

from neuraltrees.datasets.inventory import PLACES
from neuraltrees.datasets.root import PublicFile
from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.files import PathLike

Name: TypeAlias = Literal["Cora", "CiteSeer", "PubMed"]

# SHA-256 of the raw files. They are pickles, which PyG loads without restrictions, so files that differ are rejected.
CHECKSUMS: dict[str, dict[str, str]] = {
    "Cora": {
        "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "CiteSeer": {
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
    "PubMed": {
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
}


class CitationNetwork(InMemoryDataset):  # type: ignore[misc]  # PyG has no types
    """A citation network as a dataset of one graph: `CitationNetwork("Cora")[0]`.

    The `Data` is that of PyG's `Planetoid`, with the public split in its masks, except that the features are
    row-normalised and sparse: most of their 500 to 3,703 columns are zero. Nothing is written into the data root,
    unless a raw file is missing and has to be downloaded.

    Shapes: x :math:`(n, F)` as a sparse CSR tensor, y :math:`(n)`, edge_index :math:`(2, m)`

    Args:
        name: `Cora`, `CiteSeer` or `PubMed`, in any case.
        root: the data root; see `find_data_root`.
        transform: applied on every access to the graph. To build the H-tree once: `attach_htree(dataset[0])`.

    >>> CitationNetwork.names
    ('Cora', 'CiteSeer', 'PubMed')
    """

    names: tuple[str, ...] = tuple(CHECKSUMS)

    def __init__(
        self,
        name: Name | str,
        root: PathLike | None = None,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        super().__init__(transform=transform)
        known = {each.lower(): each for each in self.names}
        if str(name).lower() not in known:
            hint = did_you_mean(name, self.names)
            raise InputError(f"Expected a citation network out of {', '.join(self.names)}; got {name!r}.{hint}")
        self.name = known[str(name).lower()]
        files = raw_files(self.name)
        paths = [file.find(root) for file in files]
        for file, path in zip(files, paths, strict=True):
            file.check(path)
        with warnings.catch_warnings():  # PyG changes the warning filters, and loading old pickles warns
            warnings.simplefilter("ignore")
            data = read_planetoid_data(str(paths[0].parent), self.name)
        data.x = row_normalised(data.x)
        self.data, self.slices = self.collate([data])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def raw_files(name: Name | str) -> list[PublicFile]:
    """The eight published files of a citation network, in one folder."""
    return [
        PublicFile(f"{PLACES[name.lower()][0]}/{file}", f"{Planetoid.url}/{file}", checksum)
        for part, checksum in CHECKSUMS[name].items()
        for file in [f"ind.{name.lower()}.{part}"]
    ]


def row_normalised(x: Tensor) -> Tensor:
    """Features divided by the sum of their row, as a sparse CSR tensor; rows of zeros stay zero.

    Shapes: x :math:`(n, F)`, not negative → :math:`(n, F)`, sparse

    >>> row_normalised(torch.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]])).values().tolist()
    [0.25, 0.75]
    """
    total = x.sum(1, keepdim=True)
    scaled = x / torch.where(total > 0, total, 1)
    with warnings.catch_warnings():  # "CSR support is in beta state", once per process
        warnings.simplefilter("ignore", UserWarning)
        return scaled.to_sparse_csr()
