from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from cosyvoice_web.web.factory import create_app
from tests.web.fakes import FakeService, Script, make_settings


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def client(script: Script) -> Iterator[FlaskClient]:
    with create_app(make_settings(), FakeService(script)).test_client() as client:
        yield client
