"""Takes the README's pictures of a running app.

python tests/screenshots/take.py http://localhost:8501 [NAME …]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "browser"))

from browser_tools import FLAGS, SHELL, settle  # noqa: E402 - the browser tests know how to start Chromium
from playwright.sync_api import sync_playwright  # noqa: E402

PICTURES = {
    "fill": "/",
    "together": "/?ask=together&text=The+president+of+the+United+States+spoke.&mask=4,5",
    "loss": "/token_loss",
    "attention": "/attention?text=The+keys+to+the+old+cabinet+were+on+the+table.&layer=2&head=3",
    "query_key": "/attention?text=The+keys+to+the+old+cabinet+were+on+the+table.&layer=2&head=3&pin=2.7",
    "training": "/masking",
    "learning": "/learning?moment=5",
    "train": "/training",
    "decoder": "/decoder",
    "compare": "/compare",
    "checkpoint": "/checkpoint?view=tensors",
}


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=SHELL, args=FLAGS)
        for name in sys.argv[2:] or PICTURES:
            path = PICTURES[name]
            page = browser.new_page(viewport={"width": 1440, "height": 860})
            page.goto(sys.argv[1] + path)
            settle(page)
            page.wait_for_timeout(1000)
            if (part := page.locator(".attention .panel")).count() and name == "query_key":
                part.scroll_into_view_if_needed()
            if name == "train":  # while it learns
                page.get_by_role("button", name="Start", exact=True).click()
                page.get_by_text(re.compile(r"[45]\d of 60 s")).wait_for(timeout=300_000)
            page.screenshot(path=HERE / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
