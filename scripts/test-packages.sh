#!/bin/sh
# Makes sure that Debian's packages for the browser tests are here: installs them as root, names them otherwise.
set -eu
packages="chromium chromium-driver fonts-noto-cjk"
command -v chromium >/dev/null && command -v chromedriver >/dev/null && fc-list :lang=zh | grep -q . && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing $packages for the browser tests ..."
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
else
    echo "The browser tests need a few system packages. Please run: sudo apt-get install $packages" >&2
    exit 1
fi
