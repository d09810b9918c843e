"""What every token costs the model: of a sentence, of two side by side, of a file."""

from bertviz_lite.ui import shell
from bertviz_lite.ui.loss import file as file_view
from bertviz_lite.ui.loss import pair as pair_view
from bertviz_lite.ui.loss import sentence as loss_view
from bertviz_lite.ui.switch import switch

LEAD = (
    "Each token is coloured by its **loss**, −ln of the probability the model gave it: the more it stands out, the "
    "more surprised it was. Hover a token for its probability, its rank and what the model would say."
)
MORE = (
    "A loss of 0 nats means certainty, 0.69 nats (1 bit) a coin toss, 10.3 nats a blind guess among 30,522 pieces. "
    "The sum over a sentence, each position masked in turn, is the negative pseudo-log-likelihood (Salazar et al. "
    "2020); exp of the mean is the pseudo-perplexity, of a file exp of the mean over all its tokens. Models with "
    "different vocabularies compare per word only. [CLS], [SEP] and masks that you typed are not scored; words that "
    "you masked on another page are scored as they were typed."
)
VIEWS = {"sentence": loss_view.draw, "pair": pair_view.draw, "file": file_view.draw}
NAMES = {"sentence": "A sentence", "pair": "Minimal pairs", "file": "A file"}


def main() -> None:
    """Choose what is scored, then draw it."""
    with shell.page("pages/token_loss.py", "Token loss", LEAD, MORE) as checkpoint:
        VIEWS[switch("What is scored", NAMES, "scored")](checkpoint)


main()
