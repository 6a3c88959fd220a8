"""The page's main job, with real speech from the real server."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage

TEXT = "你好，欢迎使用。Hello, and welcome. こんにちは。"
SPEECH_SECONDS = "() => document.getElementById('audio').duration"
IS_PLAYING = "() => document.getElementById('audio').currentTime > 0.3"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_typed_text_is_spoken_and_plays(open_page: OpenPage, width: int) -> None:
    page, watch = open_page(width=width)
    page.locator("#text").press_sequentially(TEXT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".player")
    page.wait_for_function(IS_PLAYING)
    assert page.evaluate(SPEECH_SECONDS) > 1
    for fact in ("voice", "length", "made", "factor", "seed"):
        assert page.inner_text(f"#fact-{fact}").strip("–"), fact
    (body,) = watch.spoken()
    assert body["text"] == TEXT
    assert all("welcome" not in each.url and "%E4%BD%A0" not in each.url for each in watch.requests)


def test_the_download_is_the_sound_under_its_own_name(open_page: OpenPage, tmp_path: Path) -> None:
    page, _ = open_page()
    page.fill("#text", "Good morning, everybody.")
    page.click("#speak")
    page.wait_for_selector(".player")
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == "Good-morning-everybody.wav"
    target = tmp_path / "speech.wav"
    download.value.save_as(target)
    data = target.read_bytes()
    assert data[:4] == b"RIFF"
    assert len(data) > 24_000


@pytest.mark.parametrize("suffix", ["flac", "ogg", "mp3"])
def test_every_format_plays(open_page: OpenPage, suffix: str) -> None:
    page, watch = open_page()
    page.fill("#text", "Good morning, everybody.")
    page.check(f"input[name=format][value={suffix}]", force=True)
    page.click("#speak")
    page.wait_for_function(IS_PLAYING)
    assert page.inner_text("#download") == f"Download {suffix.upper()}"
    assert page.get_attribute("#download", "download") == f"Good-morning-everybody.{suffix}"
    assert page.is_hidden("#message")
    assert watch.spoken()[0]["format"] == suffix


def test_the_chosen_voice_and_speed_are_used(open_page: OpenPage) -> None:
    page, watch = open_page()
    groups = page.locator("#speaker optgroup").evaluate_all("groups => groups.map((group) => group.label)")
    assert {"Chinese", "English", "Japanese"} <= set(groups)
    voice = page.locator("#speaker optgroup option").last
    voice_id = voice.get_attribute("value")
    assert voice_id
    page.select_option("#speaker", voice_id)
    page.fill("#speed", "1.5")
    assert page.inner_text("#speed-value") == "1.50×"
    page.fill("#text", "こんにちは。")
    page.click("#speak")
    page.wait_for_selector(".player")
    sent = watch.spoken()[0]
    assert (sent["speaker"], sent["speed"]) == (voice_id, 1.5)
    assert voice.inner_text().startswith(page.inner_text("#fact-voice"))


@pytest.mark.parametrize(
    "text", ["今天天气很好，我们一起去公园散步吧。", "The train leaves at eight.", "電車は朝八時に出発します。"]
)
def test_the_automatic_entry_names_the_voice_that_the_server_takes(open_page: OpenPage, text: str) -> None:
    page, _ = open_page()
    page.fill("#text", text)
    named = page.locator("#speaker option").first.inner_text()
    page.click("#speak")
    page.wait_for_selector(".player")
    assert named == f"Automatic: {page.inner_text('#fact-voice')}"


def test_without_scripts_the_form_downloads_the_sound(open_page: OpenPage, tmp_path: Path) -> None:
    page, _ = open_page(go=False, java_script_enabled=False)
    page.goto("./")
    assert page.is_visible("noscript")
    page.fill("#text", "Good morning, everybody.")
    with page.expect_download() as download:
        page.click("#speak")
    assert download.value.suggested_filename == "Good-morning-everybody.wav"
    target = tmp_path / "speech.wav"
    download.value.save_as(target)
    assert target.read_bytes()[:4] == b"RIFF"


def test_punctuation_alone_is_refused_in_words(open_page: OpenPage) -> None:
    page, _ = open_page()
    page.fill("#text", "…!?")
    page.click("#speak")
    page.wait_for_selector("#message")
    assert "nothing to speak" in page.inner_text("#message-text")
    assert page.input_value("#text") == "…!?"


@pytest.mark.parametrize(
    "text",
    [
        "<script>window.hacked = 1</script> hello",
        "<img src=x onerror='window.hacked = 1'> hello \u202e olleh",
        '"></textarea><script>window.hacked = 1</script> hello',
    ],
)
def test_hostile_text_is_only_text(open_page: OpenPage, text: str) -> None:
    page, _ = open_page()
    page.fill("#text", text)
    page.click("#speak")
    page.wait_for_selector(".player")
    page.reload()
    page.wait_for_selector("#state[data-state=ready]")
    expect(page.locator("#text")).to_have_value(text)
    assert page.evaluate("window.hacked") is None
