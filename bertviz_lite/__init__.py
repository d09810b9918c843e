"""See what a BERT masked language model predicts, what each token costs and where it attends."""

from bertviz_lite._version import __version__
from bertviz_lite.checkpoints import Checkpoint, load
from bertviz_lite.config import BERTConfig
from bertviz_lite.errors import BertvizError
from bertviz_lite.model import BERTForMaskedLM, BERTModel, MaskedLMOutput
from bertviz_lite.notebook import AttentionView, show_attention
from bertviz_lite.tokenizer import Encoding, Tokenizer

__all__ = [
    "AttentionView",
    "BERTConfig",
    "BERTForMaskedLM",
    "BERTModel",
    "BertvizError",
    "Checkpoint",
    "Encoding",
    "MaskedLMOutput",
    "Tokenizer",
    "__version__",
    "load",
    "show_attention",
]
