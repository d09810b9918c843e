"""Several processes that train one model: torchrun starts them, gloo carries their gradients.

Every process draws the same batches and takes its own rows, so no text is read twice and one process or many learn
the same. Alone, everything here does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from bertviz_lite.errors import TrainingError

_PATIENCE = timedelta(hours=12)  # the others wait while the first one tokenises the corpus


class Workers:
    """This process among its peers.

    Attributes:
        rank: number of this process; 0 leads: it alone writes files.
        n: how many there are.
    """

    def __init__(self) -> None:
        """Join the processes that torchrun started, if it did.

        Raises:
            TrainingError: the others cannot be reached.
        """
        self.n = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        if self.n > 1 and not dist.is_initialized():
            try:
                dist.init_process_group("gloo", timeout=_PATIENCE)
            except (RuntimeError, ValueError) as error:
                raise TrainingError(f"The other processes cannot be reached ({error}).") from error

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes files."""
        return self.rank == 0

    def rows(self, n_rows: int) -> slice:
        """The rows of a batch that this process computes."""
        return slice(self.rank, n_rows, self.n)

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.n == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        self._ask(lambda: dist.all_reduce(flat))
        for tensor, total in zip(tensors, torch.split(flat, [t.numel() for t in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def agree(self, values: Iterable[float]) -> list[float]:
        """The leader's values, in every process."""
        told = torch.tensor(list(values), dtype=torch.float64)
        if self.n > 1:
            self._ask(lambda: dist.broadcast(told, 0))
        return told.tolist()

    def meet(self) -> None:
        """Wait for the others: who leaves before they have done with it can end in an abort of gloo's threads."""
        if self.n > 1:
            self._ask(dist.barrier)

    def leave(self) -> None:
        """Part from the others, at the end."""
        if self.n > 1 and dist.is_initialized():
            dist.destroy_process_group()

    @staticmethod
    def _ask(question: Callable[[], object]) -> None:
        try:
            question()
        except RuntimeError as error:  # gloo's word for a peer that is gone
            raise TrainingError("Another process of this run has ended; the last saved state is kept.") from error


__all__ = ["Workers"]
