"""GET /: the page.

It is rendered at any time, also while the voices load or when they could not be loaded: the page then says so itself
and asks `readyz` until it can speak. All its addresses are relative, so it works below any path prefix.
"""

from flask import Blueprint, Response, make_response, render_template, request

from cosyvoice_web import __version__
from cosyvoice_web.speech import SPEED_MAX, SPEED_MIN, AudioFormat
from cosyvoice_web.web.strings import EXAMPLES, LANGUAGES, choose_language, strings_in
from cosyvoice_web.web.wiring import settings

pages = Blueprint("pages", __name__)

PAGE_HEADERS = {"Cache-Control": "no-cache", "Vary": "Accept-Language"}


@pages.get("/")
def index() -> Response:
    """The page in the language of `?lang=`, else of the browser."""
    language = choose_language(request.args.get("lang"), request.accept_languages)
    strings = strings_in(language)
    html = render_template(
        "index.html",
        language=language,
        languages=LANGUAGES,
        strings=strings,
        examples=EXAMPLES,
        formats=[audio_format.suffix for audio_format in AudioFormat],
        speed_min=SPEED_MIN,
        speed_max=SPEED_MAX,
        max_text_chars=settings().max_text_chars,
        max_upload_bytes=settings().max_upload_bytes,
        version=__version__,
    )
    response = make_response(html)
    response.headers.update(PAGE_HEADERS)
    response.headers["Content-Language"] = language
    return response
