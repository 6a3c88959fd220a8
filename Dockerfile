# CPU-only image. Build: docker build -t cosyvoice-web .    Run: see docs/operations.md
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

# --- build: the same install script as `make setup`; compilers and pip's cache stay behind in this stage
FROM ${PYTHON_IMAGE} AS build
WORKDIR /srv
COPY requirements-cpu.txt requirements-voice.txt ./
COPY scripts/install.sh scripts/
ENV PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv && scripts/install.sh /opt/venv && /opt/venv/bin/python -m pip uninstall --yes --quiet pip
COPY app.py gunicorn.conf.py ./
COPY cosyvoice_web cosyvoice_web
COPY templates templates
COPY static static
# byte code is made now: at run time the root is read-only and every start would compile again
RUN /opt/venv/bin/python -m compileall -q cosyvoice_web app.py gunicorn.conf.py

# --- run
FROM ${PYTHON_IMAGE}
COPY --from=build /opt/venv /opt/venv
COPY --from=build /srv /srv
WORKDIR /srv
# Threads follow the container's CPU quota (gunicorn.conf.py sets OMP_NUM_THREADS from it). Blocking waits: an OpenMP team that spins beside
# a busy neighbour is ten times slower. Fewer malloc arenas: eight a core are opened otherwise, and each keeps its own freed memory.
ENV PATH=/opt/venv/bin:$PATH \
    HOST=0.0.0.0 \
    PORT=8080 \
    HOME=/cache \
    TMPDIR=/cache \
    ORT_DISABLE_TELEMETRY=1 \
    OMP_WAIT_POLICY=PASSIVE \
    MALLOC_ARENA_MAX=2 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# The one writable folder. Group 0 and mode 770: an arbitrary uid of group 0 (as OpenShift gives) can write to it, a volume may replace it.
RUN mkdir /cache && chgrp 0 /cache && chmod 770 /cache
VOLUME /cache
USER 10001:0
EXPOSE 8080
# gunicorn finishes what is being spoken after SIGTERM; give `docker stop` more than COSYVOICE_REQUEST_TIMEOUT_SECONDS (300): --stop-timeout 330
STOPSIGNAL SIGTERM
# ready after about 4 s on two cores, 20 s on a tenth of that; until start-period ends a failing probe does not count
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --start-interval=2s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/readyz', timeout=4)"]
CMD ["gunicorn", "--config", "gunicorn.conf.py", "app:app"]
