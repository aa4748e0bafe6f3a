"""The claims of the paper, checked against our runs: each with a verdict and its evidence.

Differences are tested by paired t-tests over runs with the same splits, at a significance level of 5 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from neuraltrees.experiments.cells import accuracies
from neuraltrees.experiments.citations import NETWORKS as CITATIONS
from neuraltrees.experiments.citations import best_k, bounds, groups
from neuraltrees.experiments.iterations import best_rounds, rounds_of
from neuraltrees.experiments.page import Table
from neuraltrees.experiments.statistics import Difference, mean_std
from neuraltrees.experiments.table1 import CONVS
from neuraltrees.experiments.times import NAMES, PRINTED, by_bound, devices
from neuraltrees.tuning.store import Results

All: TypeAlias = Mapping[str, Results]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim in a few words, and the evidence."""

    verdict: str
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the experiments it needs, and the function that judges it."""

    text: str
    needs: tuple[str, ...]
    judge: Callable[[All], Verdict]


def beats_its_gnn(results: All) -> Verdict:
    """Tree against GNN for each convolution, with stored and with symmetric edges."""
    parts, signs = [], []
    for edges, name in (("stored", "GNN, stored edges"), ("symmetric", "GNN")):
        differences = {}
        for conv, title in CONVS.items():
            tree, graph = (accuracies(results["table1"], conv=conv, network=each) for each in ("neural tree", name))
            differences[title] = Difference.of(tree, graph)
        signs.append([difference.sign() for difference in differences.values()])
        parts.append(
            f"{edges} edges: " + ", ".join(f"{title} {difference}" for title, difference in differences.items())
        )
    stored, symmetric = (all(sign > 0 for sign in each) for each in signs)
    without = [title for title, sign in zip(CONVS.values(), signs[1], strict=True) if sign <= 0]
    verdict = "confirmed" if stored and symmetric else "refuted"
    if stored and not symmetric:
        verdict = f"depends on the edges: confirmed on the stored ones; on symmetric ones not for {', '.join(without)}"
    return Verdict(verdict, "Tree − GNN, " + "; ".join(parts) + ".")


def rises_more_sharply(results: All) -> Verdict:
    """Increase of each run's accuracy from the smallest to the largest training share."""
    content = results["training-data"]
    shares = sorted({record["name"]["share"] for record in content.records})
    rises = {}
    for name in ("neural tree", "GNN, stored edges", "GNN"):
        first, last = (accuracies(content, network=name, share=share) for share in (shares[0], shares[-1]))
        rises[name] = [after - before for before, after in zip(first, last, strict=True)]
    differences = [Difference.of(rises["neural tree"], rises[name]) for name in ("GNN, stored edges", "GNN")]
    shown = ", ".join(f"{name} +{mean_std(rise)}" for name, rise in rises.items())
    tests = "; ".join(
        f"{difference} against {edges} edges" for difference, edges in zip(differences, EDGES, strict=True)
    )
    verdict = "confirmed" if all(difference.sign() > 0 for difference in differences) else "refuted"
    return Verdict(
        verdict, f"From {100 * shares[0]:.0f} to {100 * shares[-1]:.0f} % training nodes: {shown}. Tree: {tests}."
    )


def best_near_the_diameter(results: All) -> Verdict:
    """The number of rounds with the best validation accuracy, and those not significantly worse."""
    content = results["iterations"]
    rounds, best = rounds_of(content), best_rounds(content)
    tests = {t: accuracies(content, network="neural tree", rounds=t) for t in rounds}
    equal = [str(t) for t in rounds if t != best and Difference.of(tests[t], tests[best]).sign() == 0]
    diameters = content.one(data="scene graphs")["diameters"]
    mean = sum(diameters) / len(diameters)
    verdict = "confirmed" if abs(best - mean) <= 1 else "refuted"
    others = (
        f"; T = {', '.join(equal)} not significantly different" if equal else "; all others are significantly worse"
    )
    return Verdict(verdict, f"Best T = {best} ({mean_std(tests[best])} %){others}. Mean diameter {mean:.2f}.")


def crosses_on_pubmed_alone(results: All) -> Verdict:
    """Tree against GNN: with all remaining nodes on PubMed, with any number of training nodes on the other datasets.

    The treewidth bound k is chosen by validation accuracy.
    """
    content = results["citation-data"]
    parts, ends, crossings = [], {}, {}
    for dataset, conv, sizes, ks in groups(content):
        differences = {}
        for nodes in sizes:
            cell: dict[str, Any] = {"dataset": dataset, "conv": conv, "nodes": nodes}
            k = best_k(content, ks, **cell)
            tree, graph = (accuracies(content, k=each, **cell) for each in (k, None))
            differences[nodes] = Difference.of(tree, graph)
        name = f"{CITATIONS[dataset]}, {conv.upper()}"
        ends[dataset, conv] = differences[None].sign()
        crossings[dataset, conv] = any(difference.sign() > 0 for difference in differences.values())
        parts.append(f"{name} {differences[None]}")
    above = {conv.upper(): sign > 0 for (dataset, conv), sign in ends.items() if dataset == "pubmed"}
    crossed = [
        f"{CITATIONS[dataset]}, {conv.upper()}"
        for (dataset, conv), crosses in crossings.items()
        if dataset != "pubmed" and crosses
    ]
    if all(above.values()) and not crossed:
        verdict = "confirmed"
    elif crossed and not any(above.values()):
        verdict = "refuted"
    else:
        with_, without = ([conv for conv, holds in above.items() if holds == wanted] for wanted in (True, False))
        ends_above = "above on PubMed" if with_ else "not above on PubMed"
        if with_ and without:
            ends_above += f" with {', '.join(with_)}, not with {', '.join(without)}"
        elsewhere = f"crosses on {'; '.join(crossed)}" if crossed else "does not cross on CiteSeer and Cora"
        verdict = f"in part: {ends_above}; {elsewhere}"
    return Verdict(verdict, "Tree − GNN with all remaining nodes: " + "; ".join(parts) + ".")


def treewidth_matters_on_cora(results: All) -> Verdict:
    """Accuracy with each treewidth bound against the smallest; the verdict depends on the largest."""
    content = results["citation-treewidth"]
    least, *ks = bounds(content)
    gains = {
        dataset: {k: Difference.of(*(accuracies(content, dataset=dataset, k=each) for each in (k, least))) for k in ks}
        for dataset in dict.fromkeys(record["name"]["dataset"] for record in content.records)
    }
    flat = all(abs(gain[ks[-1]].points) < 1 for dataset, gain in gains.items() if dataset != "cora")
    grows = [k for k, gain in gains["cora"].items() if gain.sign() > 0 and 1 <= gain.points <= 3]
    if flat and ks[-1] in grows:
        verdict = "confirmed"
    elif not flat and not grows:
        verdict = "refuted"
    else:
        some = f"1 to 3 points on Cora with k = {', '.join(map(str, grows))}" if grows else "no such gain on Cora"
        missed = f", not significantly with k = {ks[-1]}" if grows and ks[-1] not in grows else ""
        flat_part = "flat on PubMed and CiteSeer" if flat else "k matters on PubMed or CiteSeer too"
        verdict = f"in part: {flat_part}; {some}{missed}"
    shown = "; ".join(
        f"{CITATIONS[dataset]} " + ", ".join(f"{gain} with k = {k}" for k, gain in each.items())
        for dataset, each in gains.items()
    )
    worst = min(accuracies(content, dataset="cora", k=ks[-1]))
    last = f"The worst run on Cora with k = {ks[-1]}: {100 * worst:.1f} %."
    return Verdict(verdict, f"Against k = {least}: {shown}. {last}")


def trains_slower(results: All) -> Verdict:
    """Ratios of the times of tree and GNN, compared with the paper's."""
    parts, ratios = [], {"train": list[float](), "test": list[float]()}
    times = results["train-time"]
    for device in devices(times):
        rows = {(conv, model): times.one(device=device, conv=conv, model=model) for conv in CONVS for model in NAMES}
        shown = []
        for kind, found in ratios.items():
            here = {t: rows[conv, "neural-tree"][kind] / rows[conv, "gnn"][kind] for conv, t in CONVS.items()}
            found += here.values()
            shown.append(f"{kind} " + ", ".join(f"{title} {ratio:.1f} ×" for title, ratio in here.items()))
        parts.append(f"{device}: {'; '.join(shown)}")
    slower = all(4 <= ratio <= 10 for ratio in ratios["train"])
    alike = max(ratios["test"]) <= max(tree / gnn for _, _, gnn, tree in PRINTED.values())
    said = (f"{min(found):.1f} to {max(found):.1f} times as long to {kind}" for kind, found in ratios.items())
    return Verdict(
        "confirmed" if slower and alike else f"depends on the implementation: here it takes {' and '.join(said)}",
        f"Tree over GNN. {'. '.join(parts)}. In the paper a tree is copied for every labelled node in training; here "
        "one tree serves all nodes of its graph.",
    )


def sampling_is_flat(results: All) -> Verdict:
    """Times with the largest treewidth bound against those with the smallest."""
    parts, flat, grows = [], True, True
    times = by_bound(results["compute-time"])
    for dataset, own in times.items():
        sampling, building = (own[-1][kind] / own[0][kind] for kind in ("sampling", "building"))
        flat, grows = flat and sampling < 2, grows and building > 2 * sampling
        parts.append(f"{dataset} sampling {sampling:.1f} ×, building {building:.1f} ×")
    least, most = own[0]["name"]["k"], own[-1]["name"]["k"]
    verdict = (
        "confirmed"
        if flat and grows
        else "in part: building grows; sampling grows too, but less"
        if grows
        else "refuted"
    )
    return Verdict(verdict, f"k = {most} against k = {least}: {'; '.join(parts)}.")


EDGES = ("stored", "symmetric")
CLAIMS = (
    Claim("The neural tree beats its GNN for every convolution", ("table1",), beats_its_gnn),
    Claim("Its accuracy rises more sharply with training data", ("training-data",), rises_more_sharply),
    Claim("The best T is near the mean diameter of the H-trees", ("iterations",), best_near_the_diameter),
    Claim(
        "On PubMed it ends above the GNN; on CiteSeer and Cora it does not cross",
        ("citation-data",),
        crosses_on_pubmed_alone,
    ),
    Claim(
        "k hardly matters on PubMed and CiteSeer; about 2 points from 1 to 6 on Cora",
        ("citation-treewidth",),
        treewidth_matters_on_cora,
    ),
    Claim("It trains 4 to 10 times slower than its GNN and tests about as fast", ("train-time",), trains_slower),
    Claim("Sampling time is flat in k while construction grows", ("compute-time",), sampling_is_flat),
)


def judged(results: All) -> Table:
    """The table of claims and verdicts; claims without results are not judged."""
    rows = []
    for number, claim in enumerate(CLAIMS, start=1):
        if all(name in results for name in claim.needs):
            found = claim.judge(results)
            rows.append([str(number), claim.text, f"**{found.verdict}**", found.evidence])
        else:
            rows.append([str(number), claim.text, "not judged", f"{', '.join(claim.needs)} was not run"])
    return Table(["", "claim", "verdict", "evidence"], rows)
