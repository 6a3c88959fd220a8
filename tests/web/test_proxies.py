import pytest

from cosyvoice_web.web.proxies import UNKNOWN_CLIENT, client_bucket


@pytest.mark.parametrize(
    ("address", "bucket"),
    [
        ("192.0.2.7", "192.0.2.7"),
        (" 192.0.2.7 ", "192.0.2.7"),
        ("192.0.2.7:51234", "192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::9", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::5]:443", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", UNKNOWN_CLIENT),
        (None, UNKNOWN_CLIENT),
        ("_hidden", UNKNOWN_CLIENT),
        ("999.1.1.1", UNKNOWN_CLIENT),
    ],
)
def test_the_bucket_of_an_address(address: str | None, bucket: str) -> None:
    assert client_bucket(address) == bucket
