import json
import re
from html.parser import HTMLParser

import pytest
from flask.testing import FlaskClient

from cosyvoice_web.service.lifecycle import EngineState
from cosyvoice_web.speech import AudioFormat
from cosyvoice_web.web.factory import ROOT, create_app
from cosyvoice_web.web.strings import LANGUAGES, strings_in
from tests.web.fakes import FakeService, Script, make_settings


class Markup(HTMLParser):
    """Every start tag with its attributes, and the text of the data block."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data_block = ""
        self._inside_script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._inside_script = False

    def handle_data(self, data: str) -> None:
        if self._inside_script:
            self.data_block += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def body(client: FlaskClient, path: str) -> bytes:
    with client.get(path) as answer:  # static files are closed with their answer
        assert answer.status_code == 200
        return bytes(answer.data)


@pytest.fixture
def markup(client: FlaskClient) -> Markup:
    return Markup(client.get("/").text)


@pytest.mark.parametrize("state", EngineState)
def test_the_page_comes_in_every_state_of_the_engine(client: FlaskClient, script: Script, state: EngineState) -> None:
    script.state = state
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.content_type == "text/html; charset=utf-8"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_reaches_the_modules(client: FlaskClient, language: str) -> None:
    answer = client.get(f"/?lang={language}")
    data = json.loads(Markup(answer.text).data_block)
    limits = {"max_text_chars": 3000, "max_upload_bytes": 16_777_216}
    assert data == {"language": language, "strings": strings_in(language)} | limits
    assert f'<html lang="{language}">' in answer.text
    assert answer.headers["Content-Language"] == language


def test_caches_know_that_the_page_depends_on_the_reader(client: FlaskClient) -> None:
    english = client.get("/", headers={"Accept-Language": "en"})
    chinese = client.get("/", headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    assert english.text != chinese.text
    assert english.headers["Vary"] == "Accept-Language"
    assert english.headers["Cache-Control"] == "no-cache"


def test_nothing_is_inline_and_the_policy_allows_nothing_inline(client: FlaskClient, markup: Markup) -> None:
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none';")
    for script in markup.all("script"):
        assert script.get("src") or script["type"] == "application/json"
    assert markup.all("style") == []
    for tag, attributes in markup.tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag


def test_every_address_is_relative_and_answers(client: FlaskClient, markup: Markup) -> None:
    addresses = {
        attributes[name] for _, attributes in markup.tags for name in ("src", "href", "action") if attributes.get(name)
    }
    assert {"static/js/main.js", "static/css/page.css", "static/icon.svg", "tts", "?lang=zh"} <= addresses
    for address in addresses:
        assert address is not None
        assert not re.match(r"/|[a-z]+:", address), address
        if address.startswith("static/"):
            assert body(client, f"/{address}")


def test_the_form_works_without_scripts(client: FlaskClient, markup: Markup, script: Script) -> None:
    (form,) = markup.all("form")
    assert (form["action"], form["method"]) == ("tts", "post")
    fields = [*markup.all("input"), *markup.all("select"), *markup.all("textarea")]
    assert {each["name"] for each in fields if each.get("name")} == {"text", "speaker", "speed", "format"}
    formats = [each["value"] for each in markup.all("input") if each.get("name") == "format"]
    assert formats == [audio_format.suffix for audio_format in AudioFormat]
    answer = client.post("/tts", data={"text": "hello", "speaker": "", "speed": "1", "format": formats[1]})
    assert answer.status_code == 200
    (call,) = script.calls
    assert (call.request.voice_id, call.output.format) == (None, AudioFormat.FLAC)


def test_every_control_has_a_label(markup: Markup) -> None:
    labelled = {each["for"] for each in markup.all("label") if each.get("for")}
    for tag in ("textarea", "select", "input"):
        for control in markup.all(tag):
            assert control.get("id") in labelled or control.get("aria-label") or control.get("type") == "radio", control


def test_the_limits_are_the_configured_ones() -> None:
    app = create_app(make_settings(max_text_chars=123, max_upload_bytes=4567), FakeService())
    data = json.loads(Markup(app.test_client().get("/").text).data_block)
    assert (data["max_text_chars"], data["max_upload_bytes"]) == (123, 4567)


def test_a_hostile_language_is_not_repeated(client: FlaskClient) -> None:
    assert "alert(1)" not in client.get("/?lang=%3Cscript%3Ealert(1)%3C/script%3E").text


def test_the_first_page_is_light(client: FlaskClient, markup: Markup) -> None:
    """Below 100 kB for all that is loaded before the voices, uncompressed."""
    addresses = ["", *(str(each["href"]) for each in markup.all("link"))]
    addresses += [f"static/js/{path.name}" for path in (ROOT / "static" / "js").glob("*.js")]
    assert len(addresses) > 15
    assert sum(len(body(client, f"/{address}")) for address in addresses) < 100_000
