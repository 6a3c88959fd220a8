"""Takes docs/images/page.png: the page after it has spoken, at 1280 x 800, in light colours.

Start the server (`make run`) on a machine with nothing else to do, because the page shows how fast it was, then:
    .venv/bin/python scripts/screenshot.py http://127.0.0.1:8080/
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "page.png"
TEXT = (
    "你好，欢迎使用。清晨的阳光洒在湖面上，今天是个散步的好日子。\n"
    "Hello, and welcome! The train to the coast leaves at 9:30.\n"
    "おはようございます。公園を散歩しましょう。"
)
PATIENCE_MS = 300_000


def main(address: str) -> None:
    """Open the page at `address`, speak, and save the picture a few seconds into the playing."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--autoplay-policy=no-user-gesture-required"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="en-US", color_scheme="light")
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        page.wait_for_selector("#state[data-state=ready]")
        page.wait_for_selector("#speaker optgroup", state="attached")
        page.fill("#text", TEXT)
        page.click("#speak")
        page.wait_for_selector(".player:visible, #message:visible")
        if page.is_visible("#message"):
            sys.exit(page.inner_text("#message"))
        page.wait_for_function("() => document.getElementById('audio').currentTime > 4")
        page.click("#play")
        page.mouse.move(1, 1)
        page.wait_for_timeout(500)  # the hover colour fades
        page.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080/")
