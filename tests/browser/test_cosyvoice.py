"""The page above a CosyVoice model directory, with recipe weights that speak noise."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from cosyvoice_web.engines.cosyvoice.make_checkpoint import SIZES, make_checkpoint
from cosyvoice_web.engines.cosyvoice.weights.files import ModelKind
from tests.browser.conftest import OpenPage, served
from tests.engines.cosyvoice.recordings import speech_file

IS_PLAYING = "() => document.getElementById('audio').currentTime > 0.1"


@pytest.fixture(scope="module", params=["tiny", pytest.param("full", marks=pytest.mark.slow)])
def model_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cosyvoice")
    make_checkpoint(SIZES[request.param], folder / "model", ModelKind.SFT)
    try:
        with served(folder, model_dir=folder / "model", request_timeout_seconds=900) as url:
            yield url
    finally:
        shutil.rmtree(folder / "model")  # the full one has 1.7 GB


def test_the_seven_voices_are_in_the_menu_and_one_speaks(open_page: OpenPage, model_server: str) -> None:
    page, watch = open_page(base_url=model_server)
    names = page.locator("#speaker optgroup option").all_inner_texts()
    assert [name.split(" ")[0] for name in names] == [
        "中文女",
        "中文男",
        "日语男",
        "粤语女",
        "英文女",
        "英文男",
        "韩语女",
    ]
    expect(page.locator("#style-field")).to_be_hidden()
    page.select_option("#speaker", "英文女")
    page.fill("#text", "你好。Good morning. 안녕하세요.")
    page.click("#speak")
    page.wait_for_function(IS_PLAYING)
    expect(page.locator("#fact-voice")).to_have_text("英文女")
    assert watch.spoken()[0]["speaker"] == "英文女"


def test_an_uploaded_recording_is_the_voice(open_page: OpenPage, model_server: str, tmp_path: Path) -> None:
    page, _ = open_page(base_url=model_server)
    recording = tmp_path / "我的录音.wav"
    recording.write_bytes(speech_file(2.0))
    page.fill("#text", "你好。")
    page.click("#recording summary")
    page.set_input_files("#recording-file", recording)
    page.fill("#recording-text", "是我。")
    page.check("#recording-consent")
    with page.expect_response("**/tts") as answer:
        page.click("#speak")
    assert answer.value.status == 200
    page.wait_for_function(IS_PLAYING)
    expect(page.locator("#fact-voice")).to_have_text("Your recording")
    assert "x-speaker" not in answer.value.headers


def test_a_recording_that_cannot_be_used_is_refused_in_words(
    open_page: OpenPage, model_server: str, tmp_path: Path
) -> None:
    page, _ = open_page(base_url=model_server)
    recording = tmp_path / "short.wav"
    recording.write_bytes(speech_file(0.2))
    page.fill("#text", "你好。")
    page.click("#recording summary")
    page.set_input_files("#recording-file", recording)
    page.check("#recording-consent")
    page.click("#speak")
    expect(page.locator("#message")).to_contain_text("The recording lasts 0.20 s")
    assert page.input_value("#text") == "你好。"


def test_a_file_that_was_streamed_plays_to_its_end(open_page: OpenPage, model_server: str) -> None:
    """Its header says no length, and the player does not mind."""
    page, _ = open_page(base_url=model_server)
    seconds = page.evaluate(
        """async () => {
            const body = JSON.stringify({ text: "你好，很高兴认识你。再见。", stream: true });
            const headers = { "Content-Type": "application/json" };
            const answer = await fetch("tts", { method: "POST", headers, body });
            const audio = new Audio(URL.createObjectURL(await answer.blob()));
            await audio.play();
            await new Promise((resolve) => audio.addEventListener("ended", resolve));
            return audio.currentTime;
        }"""
    )
    assert seconds > 0.5
