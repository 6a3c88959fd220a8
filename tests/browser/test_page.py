"""How the page looks, reads and is laid out, in both languages."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser import answers
from tests.browser.conftest import OpenPage

STATES = ["empty", "error", "progress", "player", "failed"]


def bring_into(page: Page, state: str) -> None:
    """Put an open page into one of its states, in the order of STATES."""
    page.unroute("**/tts")
    if state == "failed":
        answers.readiness(page, "failed", "/models/CosyVoice-300M/llm.pt: " + "file_is_missing" * 8)
        page.reload()
        expect(page.locator("#state")).to_have_attribute("data-state", "failed")
    elif state == "player":
        answers.speaks(page)
        page.fill("#text", "hello " * 200)
        page.click("#speak")
        page.wait_for_function("() => document.getElementById('audio').ended")
    elif state == "progress":
        answers.hangs(page)
        page.fill("#text", "hello" * 200)
        page.click("#speak")
        expect(page.locator(".panel.progress")).to_be_visible()
    elif state == "error":
        answers.refuses(page, 500, "internal", message="unbreakable" * 40)
        page.fill("#text", "hello")
        page.click("#speak")
        expect(page.locator("#message")).to_be_visible()


@pytest.mark.parametrize(
    ("width", "scheme", "language"),
    [(390, "dark", "en"), (1280, "light", "zh"), (390, "light", "zh"), (1280, "dark", "en")],
)
def test_accessible_and_inside_the_screen(open_page: OpenPage, width: int, scheme: str, language: str) -> None:
    page, _ = open_page(f"?lang={language}", width=width, color_scheme=scheme, reduced_motion="reduce")
    for state in STATES:
        bring_into(page, state)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{state}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, state
        page.keyboard.press("Escape")


def test_the_desktop_page_fits_one_screen(open_page: OpenPage) -> None:
    page, _ = open_page()
    bring_into(page, "player")
    assert page.evaluate("document.documentElement.scrollHeight") <= 800


@pytest.mark.parametrize(
    ("query", "locale", "language", "action"),
    [
        ("", "en-US", "en", "Speak"),
        ("", "zh-CN", "zh", "朗读"),
        ("", "zh-TW", "zh", "朗读"),
        ("", "fr-FR", "en", "Speak"),
        ("?lang=zh", "en-US", "zh", "朗读"),
        ("?lang=en", "zh-CN", "en", "Speak"),
        ("?lang=%3Cscript%3Ealert(1)%3C/script%3E", "en-US", "en", "Speak"),
    ],
)
def test_the_language_is_the_readers(open_page: OpenPage, query: str, locale: str, language: str, action: str) -> None:
    page, _ = open_page(query, locale=locale)
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator("#speak")).to_have_text(action)
    expect(page.locator("#state")).to_have_text({"en": "Ready", "zh": "就绪"}[language])


@pytest.mark.parametrize("width", [390, 1280])
def test_switching_the_language_keeps_the_text(open_page: OpenPage, width: int) -> None:
    page, _ = open_page(width=width)
    page.fill("#text", "hello")
    page.click(".languages a:has-text('中文')")
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    expect(page.locator("#text")).to_have_value("hello")
    page.click(".languages a:has-text('English')")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator("#text")).to_have_value("hello")


def test_the_automatic_entry_follows_what_is_typed(open_page: OpenPage) -> None:
    page, _ = open_page()
    automatic = page.locator("#speaker option").first
    expect(automatic).to_have_text("Automatic: fits the text")
    names = set()
    for text in ("你好", "hello", "こんにちは"):
        page.fill("#text", text)
        expect(automatic).to_have_text(re.compile(r"^Automatic: (?!fits the text)"))
        names.add(automatic.inner_text())
    assert len(names) == 3


def test_an_example_can_be_undone(open_page: OpenPage) -> None:
    page, _ = open_page()
    page.locator("#text").press_sequentially("my own words")
    for name in ("中文", "English", "日本語", "Mixed"):
        page.click(f".chip:has-text('{name}')")
        chip = page.locator(f".chip:has-text('{name}')").get_attribute("data-example")
        assert page.input_value("#text") == chip
    for _ in range(4):
        page.keyboard.press("Control+z")
    assert page.input_value("#text") == "my own words"


def test_everything_is_reached_with_the_keyboard_in_reading_order(open_page: OpenPage) -> None:
    page, _ = open_page()
    answers.speaks(page)
    page.fill("#text", "hello")
    page.focus("#text")
    seen = []
    for _ in range(8):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.className || 'format'"))
    assert seen == ["chip", "chip", "chip", "chip", "speaker", "speed", "format", "speak"]
    page.keyboard.press("Enter")
    expect(page.locator("#fact-seed")).to_have_text("17")
    for expected in ("play", "position", "download"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == expected
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert outline == "3px"


def test_play_pause_and_seek(open_page: OpenPage) -> None:
    page, _ = open_page()
    answers.speaks(page)
    page.fill("#text", "hello")
    page.click("#speak")
    page.wait_for_function("() => document.getElementById('audio').ended")
    expect(page.locator("#play")).to_have_accessible_name("Play")
    page.focus("#position")
    page.keyboard.press("Home")
    page.wait_for_function("() => document.getElementById('audio').currentTime === 0")
    page.click("#play")
    expect(page.locator("#play")).to_have_accessible_name("Pause")
    page.click("#play")
    assert page.evaluate("document.getElementById('audio').paused")
    expect(page.locator("#position")).to_have_attribute("aria-valuetext", re.compile("of 2 seconds"))


def test_old_recordings_are_given_back(open_page: OpenPage) -> None:
    page, _ = open_page(go=False)
    page.add_init_script(
        "window.revoked = []; const revoke = URL.revokeObjectURL;"
        "URL.revokeObjectURL = (address) => { window.revoked.push(address); revoke.call(URL, address); };"
    )
    page.goto("./")
    expect(page.locator("#state")).to_have_attribute("data-state", "ready")
    answers.speaks(page)
    page.fill("#text", "hello")
    page.click("#speak")
    expect(page.locator("#announcement")).to_contain_text("Done: 2.0 s")
    first = page.evaluate("document.getElementById('audio').src")
    page.click("#speak")
    page.wait_for_function("first => document.getElementById('audio').src !== first", arg=first)
    assert page.evaluate("window.revoked") == [first]


def test_hostile_voice_names_are_only_text(open_page: OpenPage) -> None:
    page, _ = open_page(go=False)
    name = "<img src=x onerror='window.hacked = 1'>"
    voice = {"id": "x", "name": name, "language": "zh", "gender": "female", "default": True}
    page.route("**/voices", lambda route: route.fulfill(json={"voices": [voice]}))
    page.goto("./")
    page.fill("#text", "你好")
    expect(page.locator("#speaker optgroup option")).to_have_text(f"{name} · female")
    expect(page.locator("#speaker option").first).to_have_text(f"Automatic: {name}")
    assert page.evaluate("window.hacked") is None


def test_it_works_below_a_path_prefix(server: str, browser: Browser) -> None:
    """A proxy that strips `/speech/`, and tells the server nothing of it."""
    context = browser.new_context(locale="en-US")
    page = context.new_page()

    def forward(route: Route) -> None:
        assert "/speech/" in route.request.url, "an address left the prefix"
        route.fulfill(response=route.fetch(url=route.request.url.replace("/speech/", "/", 1)))

    page.route("**/*", forward)
    page.goto(server + "speech/?lang=zh")
    expect(page.locator("#state")).to_have_text("就绪")
    expect(page.locator("#speaker optgroup").first).to_be_attached()
    page.fill("#text", "hello")
    page.click("#speak")
    expect(page.locator(".player")).to_be_visible()
    context.close()
