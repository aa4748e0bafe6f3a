"""Adam for R runs at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuraltrees.training.training_spec import TrainingSpec


class RunOptimiser:
    """Adam or AdamW over weights whose first dimension is the run.

    A run without a training item in a batch keeps its weights and moments: neither weight decay nor momentum changes
    them. The number of steps, which corrects the bias of the moments, is the same for all runs and counts the batch.

    Args:
        network: the R networks.
        training: learning rate, regularisation and clipping.
        device: the device of the weights.
    """

    def __init__(self, network: nn.Module, training: TrainingSpec, device: torch.device) -> None:
        self.names = dict(network.named_parameters())
        self.clip = training.clip
        self.lr = torch.tensor(training.lr, device=device)
        kind = torch.optim.Adam if training.optimiser == "adam" else torch.optim.AdamW
        self.adam = kind(
            self.names.values(),
            lr=self.lr,
            weight_decay=training.weight_decay,
            fused=True,
            capturable=device.type == "cuda",
        )
        for parameter in self.names.values():  # Adam would create its state in the first step; here it exists before
            step = torch.zeros((), dtype=torch.float32, device=device)
            zero = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            self.adam.state[parameter] = {"step": step, "exp_avg": zero, "exp_avg_sq": zero.clone()}

    def set_rate(self, rate: float) -> None:
        """Sets the learning rate."""
        self.lr.fill_(rate)

    def zero_grad(self) -> None:
        """Clears the gradients."""
        self.adam.zero_grad()

    def step(self, idle: Tensor | None = None) -> None:
        """Updates the weights by their gradients.

        Args:
            idle: a mask of the runs that are not updated; None for none.

        Shapes: idle :math:`(R)`
        """
        if self.clip is not None:
            self._clip_gradients(self.clip)
        if idle is None:
            self.adam.step()
            return
        before = [value.detach().clone() for value in self._moving()]
        self.adam.step()
        with torch.no_grad():
            for old, new in zip(before, self._moving(), strict=True):
                new.copy_(torch.where(idle.view(-1, *[1] * (new.dim() - 1)), old, new))

    def state(self) -> dict[str, Tensor]:
        """Moments and numbers of steps, by name."""
        return {
            f"{part}.{name}": value
            for name, parameter in self.names.items()
            for part, value in self.adam.state[parameter].items()
        }

    def _moving(self) -> list[Tensor]:
        moments = [self.adam.state[each][part] for each in self.names.values() for part in ("exp_avg", "exp_avg_sq")]
        return [*self.names.values(), *moments]

    def _clip_gradients(self, most: float) -> None:
        gradients = [each.grad for each in self.names.values() if each.grad is not None]
        norm = torch.stack([each.flatten(1).square().sum(1) for each in gradients]).sum(0).sqrt()
        scale = (most / (norm + 1e-6)).clamp(max=1)
        for each in gradients:
            each.mul_(scale.view(-1, *[1] * (each.dim() - 1)))
