"""What the page says while the server loads, refuses, is gone, or has failed."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import answers
from tests.browser.conftest import OpenPage


def speak(page: Page, text: str = "hello") -> None:
    page.fill("#text", text)
    page.keyboard.press("Control+Enter")


def test_loading_is_shown_and_resolves_by_itself(open_page: OpenPage) -> None:
    page, watch = open_page(go=False)
    answers.readiness(page, "loading")
    page.goto("./")
    expect(page.locator("#state")).to_have_attribute("data-state", "loading")
    expect(page.locator("#state-why")).to_contain_text("being loaded")
    expect(page.locator("#speak")).to_have_attribute("aria-disabled", "true")
    speak(page)
    assert watch.sent("tts") == []

    answers.readiness(page, "warming")
    expect(page.locator("#state")).to_have_attribute("data-state", "warming")
    page.unroute("**/readyz")
    expect(page.locator("#state")).to_have_attribute("data-state", "ready")
    expect(page.locator("#state-why")).to_be_hidden()
    expect(page.locator("#speak")).to_have_attribute("aria-disabled", "false")
    expect(page.locator("#speaker optgroup").first).to_be_attached()
    assert page.input_value("#text") == "hello"


def test_a_failed_engine_says_why_as_text(open_page: OpenPage) -> None:
    page, _ = open_page(go=False)
    answers.readiness(page, "failed", "<b>/models/llm.pt</b>: file is missing")
    page.goto("./")
    expect(page.locator("#state")).to_have_text("Failed")
    expect(page.locator("#state-why")).to_have_text(
        "The voices could not be loaded: <b>/models/llm.pt</b>: file is missing"
    )


def test_polling_slows_down(open_page: OpenPage) -> None:
    page, watch = open_page(go=False)
    page.clock.install()
    answers.readiness(page, "loading")
    page.goto("./")
    expect(page.locator("#state")).to_have_attribute("data-state", "loading")
    for _ in range(60):
        page.clock.run_for(1_000)
    asked = len(watch.sent("readyz"))
    assert 8 <= asked <= 16, f"{asked} requests in a minute"


def test_a_server_that_is_gone_is_noticed_and_found_again(open_page: OpenPage) -> None:
    page, _ = open_page()
    page.route(re.compile("tts$|readyz$"), lambda route: route.abort("connectionrefused"))
    speak(page)
    expect(page.locator("#message")).to_contain_text("cannot be reached")
    expect(page.locator("#state")).to_have_attribute("data-state", "unreachable")
    assert page.input_value("#text") == "hello"
    page.unroute_all()
    expect(page.locator("#state")).to_have_attribute("data-state", "ready")
    expect(page.locator("#speak")).to_have_attribute("aria-disabled", "false")


@pytest.mark.parametrize(
    ("status", "code", "words"), [(429, "rate_limited", "limit of requests"), (503, "busy", "Many people")]
)
def test_a_refusal_counts_down_and_then_speaks_again(open_page: OpenPage, status: int, code: str, words: str) -> None:
    page, watch = open_page()
    answers.refuses(page, status, code, retry_after=3)
    speak(page)
    expect(page.locator("#message")).to_contain_text(words)
    expect(page.locator("#message")).to_have_attribute("aria-live", "off")  # said once, not each second
    expect(page.locator("#speak")).to_have_text("Again in 3 s")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#message")).to_contain_text("2 s")
    expect(page.locator("#speak")).to_have_attribute("aria-disabled", "false")
    expect(page.locator("#message")).to_be_hidden()
    assert len(watch.sent("tts")) == 1
    page.unroute("**/tts")
    answers.speaks(page)
    page.click("#speak")
    expect(page.locator(".player")).to_be_visible()


def test_an_engine_that_went_away_is_waited_for(open_page: OpenPage) -> None:
    page, _ = open_page()
    answers.refuses(page, 503, "not_ready", retry_after=5)
    answers.readiness(page, "loading")
    speak(page)
    expect(page.locator("#message")).to_contain_text("still being loaded")
    expect(page.locator("#state")).to_have_attribute("data-state", "loading")
    page.unroute_all()
    expect(page.locator("#state")).to_have_attribute("data-state", "ready")


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (500, "internal", "an error: <i>No.</i>"),
        (400, "unsupported_language", "no voice for this language"),
        (500, "no_speech_produced", "No sound came out"),
    ],
)
def test_an_error_is_told_in_words_and_as_text(open_page: OpenPage, status: int, code: str, words: str) -> None:
    page, _ = open_page()
    answers.refuses(page, status, code, message="<i>No.</i>")
    speak(page)
    expect(page.locator("#message-text")).to_contain_text(words)
    if status == 500:
        expect(page.locator("#message")).to_contain_text("request-17")
    expect(page.locator("#speak")).to_have_attribute("aria-disabled", "false")


def test_an_error_page_of_a_proxy_is_survived(open_page: OpenPage) -> None:
    page, _ = open_page()
    page.route("**/tts", lambda route: route.fulfill(status=502, content_type="text/html", body="<h1>Bad gateway</h1>"))
    speak(page)
    expect(page.locator("#message-text")).to_contain_text("HTTP 502")


@pytest.mark.parametrize("blank", ["", "   ", "\n\u3000\n"])
def test_blank_text_is_refused_without_asking_the_server(open_page: OpenPage, blank: str) -> None:
    page, watch = open_page()
    speak(page, blank)
    expect(page.locator("#message")).to_contain_text("Type a text first")
    expect(page.locator("#text")).to_be_focused()
    assert watch.sent("tts") == []


def test_a_text_over_the_limit_is_kept_counted_and_refused(open_page: OpenPage) -> None:
    page, watch = open_page()
    page.fill("#text", "😀" * 3_000)
    expect(page.locator("#text-count")).to_have_text("3000 of 3000 characters")
    page.fill("#text", "字" * 100_000)
    expect(page.locator("#text-count")).to_have_text("97000 characters over the limit of 3000")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#message")).to_contain_text("too long")
    assert watch.sent("tts") == []
    assert len(page.input_value("#text")) == 100_000


@pytest.mark.parametrize("way", ["button", "key"])
def test_cancel_ends_the_request_and_keeps_everything(open_page: OpenPage, way: str) -> None:
    page, watch = open_page()
    answers.hangs(page)
    speak(page)
    expect(page.locator(".panel.progress")).to_be_visible()
    expect(page.locator("#progress-time")).to_have_text(re.compile(r"^[1-9]\d*\.\d s$"))
    with page.expect_event("requestfailed") as failed:
        if way == "button":
            page.focus("#cancel")
            page.keyboard.press("Enter")
        else:
            page.keyboard.press("Escape")
    assert failed.value == watch.sent("tts")[0]
    expect(page.locator(".panel.empty")).to_be_visible()
    expect(page.locator("#announcement")).to_contain_text("Cancelled")
    expect(page.locator("#message")).to_be_hidden()
    assert page.input_value("#text") == "hello"
    if way == "button":
        expect(page.locator("#speak")).to_be_focused()


def test_the_expected_time_comes_from_what_was_measured(open_page: OpenPage) -> None:
    page, _ = open_page()
    answers.speaks(page)
    speak(page)
    expect(page.locator(".player")).to_be_visible()
    page.unroute("**/tts")
    answers.hangs(page)
    speak(page, "hello " * 10)  # 60 characters instead of 5: 12 times 0.8 s of work
    expect(page.locator("#progress-time")).to_contain_text("of about 10 s")
    share = page.locator("#progress-bar").evaluate("bar => bar.position")
    assert 0 <= share < 0.5
