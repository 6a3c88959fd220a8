"""Recordings as the voice, and styles: shown when the model can use them, and sent as the server wants them."""

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder

from tests.browser import answers
from tests.browser.conftest import OpenPage, Watch

VOICE: dict[str, Any] = {"id": "中文女", "name": "中文女", "language": "zh", "gender": "female", "default": True}
ALL_MODES = ["sft", "zero_shot", "cross_lingual", "instruct", "voice_conversion"]


def open_with(
    open_page: OpenPage, modes: list[str], *, voices: list[Any] | None = None, **options: Any
) -> tuple[Page, Watch]:
    """The page of a server whose model has these modes."""
    page, watch = open_page(go=False, **options)
    body = {"voices": [VOICE] if voices is None else voices, "modes": modes, "languages": ["zh"]}
    page.route("**/voices", lambda route: route.fulfill(json=body))
    answers.speaks(page, speaker="")
    with page.expect_response("**/voices"):
        page.goto("./")
    expect(page.locator("#voice-hint")).not_to_have_text("The voices appear here when loaded.")
    page.fill("#text", "你好")
    return page, watch


def form_of(watch: Watch) -> dict[str, bytes]:
    """The multipart body of the last request for speech."""
    request = watch.sent("tts")[-1]
    decoder = MultipartDecoder(request.headers["content-type"].split("boundary=")[1].encode())
    decoder.receive_data(request.post_data_buffer)
    decoder.receive_data(None)
    found: dict[str, bytes] = {}
    name = ""
    while not isinstance(event := decoder.next_event(), Epilogue):
        if isinstance(event, Field | File):
            name = event.name
        elif isinstance(event, Data):
            found[name] = found.get(name, b"") + event.data
    return found


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "我.wav"
    path.write_bytes(answers.tone(3.0))
    return path


def test_the_embedded_voice_shows_neither(open_page: OpenPage) -> None:
    page, _ = open_page()
    for part in ("#recording", "#style-field"):
        expect(page.locator(part)).to_be_hidden()


@pytest.mark.parametrize(
    ("modes", "shown"),
    [
        (["sft"], set()),
        (["sft", "instruct"], {"#style-field"}),
        (["sft", "cross_lingual"], {"#recording"}),
        (ALL_MODES, {"#recording", "#style-field", "#recording-text-field"}),
    ],
)
def test_what_the_model_can_do_is_shown(open_page: OpenPage, modes: list[str], shown: set[str]) -> None:
    page, _ = open_with(open_page, modes)
    if "#recording" in shown:
        page.click("#recording summary")
    parts = {"#recording", "#style-field", "#recording-text-field"}
    assert {part for part in parts if page.is_visible(part)} == shown


def test_a_recording_is_sent_with_its_text_and_nothing_that_contradicts_it(
    open_page: OpenPage, recording: Path
) -> None:
    page, watch = open_with(open_page, ALL_MODES)
    page.select_option("#speaker", VOICE["id"])
    page.fill("#style", "Softly.")
    page.click("#recording summary")
    page.set_input_files("#recording-file", recording)
    expect(page.locator("#speaker")).to_be_disabled()
    expect(page.locator("#style")).to_be_disabled()
    page.fill("#recording-text", " 是我。 ")
    page.check("#recording-consent")
    page.click("#speak")
    expect(page.locator("#fact-voice")).to_have_text("Your recording")
    form = form_of(watch)
    assert form == {
        "text": "你好".encode(),
        "language": b"auto",
        "speed": b"1",
        "format": b"wav",
        "prompt_audio": b"",  # the browser does not show what is in files
        "prompt_text": "是我。".encode(),
    }


def test_a_recording_may_come_without_text_and_may_be_removed(open_page: OpenPage, recording: Path) -> None:
    page, watch = open_with(open_page, ALL_MODES)
    page.click("#recording summary")
    page.set_input_files("#recording-file", recording)
    page.check("#recording-consent")
    page.click("#speak")
    expect(page.locator(".player")).to_be_visible()
    assert "prompt_text" not in form_of(watch)
    page.click("#recording-remove")
    expect(page.locator("#recording-file")).to_be_focused()
    expect(page.locator("#recording-remove")).to_be_hidden()
    page.select_option("#speaker", VOICE["id"])
    page.fill("#style", " Softly. ")
    page.click("#speak")
    page.wait_for_function("() => !document.getElementById('speak').classList.contains('busy')")
    sent = watch.sent("tts")[-1].post_data_json
    assert sent is not None
    assert (sent["speaker"], sent["instruct_text"]) == ("中文女", "Softly.")
    assert "prompt_audio" not in sent


def test_without_consent_nothing_is_sent(open_page: OpenPage, recording: Path) -> None:
    page, watch = open_with(open_page, ALL_MODES)
    page.click("#recording summary")
    page.set_input_files("#recording-file", recording)
    page.click("#speak")
    expect(page.locator("#message")).to_contain_text("agrees")
    expect(page.locator("#recording-consent")).to_be_focused()
    assert watch.sent("tts") == []


def test_a_recording_over_the_limit_is_not_sent(open_page: OpenPage, tmp_path: Path) -> None:
    page, watch = open_with(open_page, ALL_MODES)
    large = tmp_path / "large.wav"
    large.write_bytes(bytes(17_000_000))
    page.click("#recording summary")
    page.set_input_files("#recording-file", large)
    page.click("#speak")
    expect(page.locator("#message")).to_contain_text("too large: 16 MB")
    assert watch.sent("tts") == []


def test_a_model_without_voices_asks_for_a_recording(open_page: OpenPage, recording: Path) -> None:
    page, watch = open_with(open_page, ["zero_shot", "cross_lingual", "voice_conversion"], voices=[])
    expect(page.locator("#voice-hint")).to_have_text("This model speaks with recordings only.")
    expect(page.locator("#recording-file")).to_be_visible()
    page.click("#speak")
    expect(page.locator("#message")).to_contain_text("choose a recording")
    assert watch.sent("tts") == []
    page.set_input_files("#recording-file", recording)
    page.check("#recording-consent")
    page.click("#speak")
    expect(page.locator(".player")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme", "language"), [(390, "dark", "zh"), (1280, "light", "en")])
def test_accessible_and_inside_the_screen(
    open_page: OpenPage, recording: Path, width: int, scheme: str, language: str
) -> None:
    locale = {"zh": "zh-CN", "en": "en-US"}[language]
    page, _ = open_page(go=False, width=width, color_scheme=scheme, locale=locale)
    body = {"voices": [VOICE], "modes": ALL_MODES, "languages": ["zh"]}
    page.route("**/voices", lambda route: route.fulfill(json=body))
    page.goto("./")
    page.click("#recording summary")
    page.set_input_files("#recording-file", recording)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
