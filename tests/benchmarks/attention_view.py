"""The attention view beside BertViz: the same random model of 12 layers and 12 heads, sentence, browser and clock.

    PYTHONPATH=. python tests/benchmarks/attention_view.py [TOKENS …]        # 16 64 128 512 where none are named

Bytes: of BertViz its HTML; of a page of the app all that comes over the websocket, and over HTTP without Streamlit's
own static files; of our file its HTML. Seconds to a picture run, for BertViz and for our file, over the pass, the HTML
and the browser from opening it; for the app from an empty browser's going to the address, the start of Streamlit's page
and the pass within. Interactions run from the event to its frame, see painted.js. BertViz's scripts come from npm in
place of a CDN; what does not end within `LIMIT_S` is told: of 512 tokens its model view. A ratio is BertViz's over
ours in the same round. Takes half an hour, and at 512 tokens 12 GB of memory. Wants npm, and `pip install
bertviz==1.4.1` beside the tests' packages.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from memory import make_base
from playwright.sync_api import Error, Page, Playwright, Response, sync_playwright

import bertviz_lite

sys.path.insert(0, str(Path(__file__).parent.parent / "browser"))
from browser_tools import FLAGS, SHELL, Server, settle

HERE = Path(__file__).parent
TOKENS = (16, 64, 128, 512)
ROUNDS = 2
LIMIT_S = 300
WORDS = "the old woman who lived in the little house near the river gave the children bread and milk "
PACKAGES = ("requirejs@2.3.6", "d3@5.7.0", "jquery@2")
SCRIPTS = {  # what npm has for the addresses of the CDN
    "require.min": "requirejs/require.js",
    "d3.min": "d3/dist/d3.min.js",
    "jquery.min": "jquery/dist/jquery.min.js",
}

# What is printed of a round: a label, and the names of BertViz's figure and of ours.
ROWS = (
    ("all heads: MB", "model MB", "app MB"),
    ("all heads: MB, our file", "model MB", "file MB"),
    ("all heads: s", "model s", "app s"),
    ("all heads: s in the browser, our file", "model browser s", "file browser s"),
    ("all heads: s, our file", "model s", "file s"),
    ("all heads: s, a further sentence in an open page", "model s", "app next s"),
    ("one head from nothing: MB", "head MB", "app MB"),
    ("one head from nothing: s", "head s", "app head s"),
    ("a further head beside all: ms until painted", "model open ms", "app open ms"),
    ("… ms until its exact numbers are painted", "model open ms", "app exact ms"),
    ("a further head alone: ms until exact", "head open ms", "app exact ms"),
    ("a further head: kB", None, "app open kB"),
    ("hover a token: ms", "head hover ms", "app hover ms"),
)
BUNDLED = "| tokens | ms until painted | ms until exact | load |\n|---:|---:|---:|---:|"

Figures = dict[str, float]


def main() -> None:
    lengths = [int(n) for n in sys.argv[1:]] or TOKENS
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        base = folder / "models" / "base"
        base.mkdir(parents=True)
        make_base(base)
        subprocess.run(["npm", "install", "--silent", "--prefix", folder, *PACKAGES], check=True)
        checkpoint = bertviz_lite.load(base)
        server = Server(BERTVIZ_MODELS_DIR=str(base.parent))
        try:
            for model in ("", "@base"):
                app(playwright, server, sentence(17), model)  # opens it
            for n_tokens in lengths:
                for number in range(ROUNDS):
                    text = sentence(n_tokens, number)
                    theirs = bertviz(playwright, folder, text, "model") | bertviz(playwright, folder, text, "head")
                    ours = app(playwright, server, text, "@base") | our_file(playwright, folder, text, checkpoint)
                    print(f"\n{n_tokens} tokens, round {number + 1}, load {load()}\n")
                    tell(theirs | ours)
            print(f"\nThe bundled model, median of {len(heads(6))} heads\n\n{BUNDLED}", flush=True)
            for n_tokens in lengths:
                rounds = [app(playwright, server, sentence(n_tokens, number), "") for number in range(ROUNDS)]
                columns = [" · ".join(short(one[name]) for one in rounds) for name in ("app open ms", "app exact ms")]
                print(f"| {n_tokens} | {' | '.join(columns)} | {load()} |", flush=True)
        finally:
            server.stop()


def sentence(n_tokens: int, number: int = 0) -> str:
    """Words of one piece each, between [CLS] and [SEP]; another text for each number, or the app would know it."""
    text = " ".join((WORDS * 40).split()[2 * number :][: n_tokens - 2])
    assert len(bertviz_lite.load().tokenizer.encode(text)) == n_tokens
    return text


def heads(n_layers: int) -> list[tuple[int, int]]:
    """Twenty of n × 12 heads, no two of one layer in a row, none twice, and not the first of all."""
    return [(5 * i % n_layers, (7 * i + i // 12) % 12) for i in range(1, 21)]


def bertviz(playwright: Playwright, folder: Path, text: str, view: str) -> Figures:
    """BertViz's `model` view (all heads) or `head` view (a layer's); what took too long is missing, and told."""
    out, found = folder / f"{view}.html", Figures()
    command = [sys.executable, HERE / "bertviz_page.py", folder / "models" / "base", text, view, out]
    paths = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parent.parent), *filter(None, sys.path)])}
    try:
        made = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=LIMIT_S, env=paths)
        found[f"{view} MB"] = out.stat().st_size / 1e6
        with opened(playwright) as page:
            page.route("https://cdnjs.cloudflare.com/**", lambda r: r.fulfill(path=script(folder, r.request.url)))
            page.goto(out.as_uri(), wait_until="commit", timeout=LIMIT_S * 1000)
            found[f"{view} browser s"] = picture_s(page, "bertviz")
            found[f"{view} s"] = float(made.stdout) + found[f"{view} browser s"]
            act = {"model": "openThumbnail", "head": "openAlone"}[view]
            [found[f"{view} open ms"]] = medians_ms(page, act, heads(12)[:5])
            if view == "head":
                [found["head hover ms"]] = medians_ms(page, "hoverToken", range(1, 11))
    except (Error, subprocess.SubprocessError) as error:
        print(f"BertViz's {view} view does not stand: {str(error).splitlines()[0][-200:]}", flush=True)
    out.unlink(missing_ok=True)
    return found


def script(folder: Path, url: str) -> Path:
    """The file that answers an address of the CDN."""
    return next(folder / "node_modules" / path for name, path in SCRIPTS.items() if name in url)


def app(playwright: Playwright, server: Server, text: str, model: str) -> Figures:
    """A page of the app in a browser that has never seen it."""
    frames: list[int] = []
    responses: list[Response] = []
    with opened(playwright) as page:
        page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(len(frame))))
        page.on("response", lambda response: responses.append(response))  # noqa: PLW0108 - Playwright marks its handlers
        page.goto(f"{server.url}/attention?layer=0&head=0&model={model}&text={quote(text)}", wait_until="commit")
        found = {"app s": picture_s(page, "overview"), "app head s": picture_s(page, "map")}
        settle(page)
        found["app MB"] = (sum(frames) + body_bytes(responses, server)) / 1e6
        frames.clear()
        responses.clear()
        opening = heads(12 if model else 6)
        found["app open ms"], found["app exact ms"] = medians_ms(page, "openHead", opening)
        settle(page)
        found["app open kB"] = (sum(frames) + body_bytes(responses, server)) / len(opening) / 1e3
        [found["app hover ms"]] = medians_ms(page, "hoverRow", range(1, 11))
        page.locator("textarea").first.fill(text.partition(" ")[2])  # a word shorter: nothing of it is known
        page.evaluate("() => { globalThis.next = nextSentence(); }")
        page.keyboard.press("Control+Enter")
        found["app next s"] = page.evaluate("next")[0] / 1000
    return found


def body_bytes(responses: Sequence[Response], server: Server) -> int:
    """What the server sent over HTTP, without Streamlit's own files; a `blob:` came over the websocket."""
    own = (one for one in responses if one.url.startswith(server.url) and "/static/" not in one.url)
    return sum(len(one.body()) for one in own)


def our_file(playwright: Playwright, folder: Path, text: str, checkpoint: bertviz_lite.Checkpoint) -> Figures:
    """The page that a notebook shows and a shell writes."""
    out = folder / "ours.html"
    start = time.perf_counter()
    bertviz_lite.show_attention(checkpoint, text).save(out)
    made_s = time.perf_counter() - start
    with opened(playwright) as page:
        page.goto(out.as_uri(), wait_until="commit")
        shown_s = picture_s(page, "file")
    return {"file MB": out.stat().st_size / 1e6, "file browser s": shown_s, "file s": made_s + shown_s}


@contextmanager
def opened(playwright: Playwright) -> Iterator[Page]:
    """An empty page of a browser of its own: nothing is cached, and its memory is given back."""
    browser = playwright.chromium.launch(executable_path=SHELL, args=FLAGS)
    try:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(path=HERE / "painted.js")
        yield page
    finally:
        browser.close()


def picture_s(page: Page, name: str) -> float:
    """Seconds from the navigation until a picture of painted.js stands."""
    return float(page.wait_for_function("name => seen[name]", arg=name, timeout=LIMIT_S * 1000).json_value())


def medians_ms(page: Page, act: str, over: Sequence[object]) -> list[float]:
    """The median over some calls of each stage that a function of painted.js clocks."""
    times = [page.evaluate(f"one => {act}(one)", one) for one in over]
    return [statistics.median(stage) for stage in zip(*times, strict=True)]


def tell(found: Figures) -> None:
    print("| | BertViz | ours | ratio |\n|---|---:|---:|---:|")
    for label, their, our in ROWS:
        a, b = found.get(their or "", math.nan), found[our]
        print(f"| {label} | {short(a)} | {short(b)} | {short(a / b)} |", flush=True)


def short(number: float) -> str:
    """Three digits; a dash where there is no number."""
    return "–" if math.isnan(number) else f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def load() -> str:
    """The machine's, over 1 and 5 minutes."""
    return " ".join(f"{one:.1f}" for one in os.getloadavg()[:2])


if __name__ == "__main__":
    main()
