"""Who the client is, when reverse proxies stand in front."""

import ipaddress
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.middleware.proxy_fix import ProxyFix

UNKNOWN_CLIENT = "unknown"
IPV6_BUCKET_BITS = 64  # the smallest block that one customer gets: any address in it is free to choose


class TrustedProxies:
    """WSGI middleware: the client's address, scheme and path prefix as `hops` proxies reported them.

    Each proxy appends to X-Forwarded-For, so the client is the entry `hops` from its end. X-Forwarded-Proto and
    X-Forwarded-Prefix are usually set by one proxy, and their last entry counts. Quotes and backslashes are removed
    first: an unbalanced quote that a client put at the front would swallow the entries that the proxies added.
    """

    def __init__(self, app: WSGIApplication, hops: int) -> None:
        self._fixed = ProxyFix(app, x_for=hops, x_proto=1, x_prefix=1)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        for name in ("FOR", "PROTO", "PREFIX"):
            key = f"HTTP_X_FORWARDED_{name}"
            if key in environ:
                environ[key] = environ[key].replace('"', "").replace("\\", "")
        return self._fixed(environ, start_response)


def client_bucket(address: str | None) -> str:
    """The name under which a client's requests are counted.

    An IPv4 address as it is; an IPv6 address by its /64, an IPv4-mapped one as IPv4; a port that a proxy appended is
    cut, because every connection has another one. Everything else is one shared bucket.
    """
    text = (address or "").strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        ip = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return UNKNOWN_CLIENT
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, IPV6_BUCKET_BITS), strict=False))
