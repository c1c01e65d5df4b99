# The server as an image: docs/guide/deploying.md tells how it is run, docs/decisions/0044 why it is made so.
#
#   docker build -t backscroll .
#
# Any base with this Python does; pin it by its digest where builds must not change.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# The processors that compiled kernels run on: any of x86-64 since 2009. On ARM: generic.
ARG KERNELS_CPU=x86-64-v2
ARG SOURCE_DATE_EPOCH=1700000000
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# What it needs, by hash, and before our sources: a change of ours leaves this layer as it is.
COPY deploy/image/requirements.txt deploy/image/build-requirements.txt ./
RUN python -m venv /opt/backscroll \
    && /opt/backscroll/bin/pip install --no-compile --only-binary :all: --require-hashes -r requirements.txt \
    && python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes -r build-requirements.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY bench/backscroll_bench bench/backscroll_bench
COPY clients/python clients/python
COPY scoring scoring
COPY sidecar sidecar
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/wheel . \
    && /opt/backscroll/bin/pip install --no-compile --no-deps /tmp/wheel/*.whl \
    && /opt/backscroll/bin/pip uninstall --yes pip setuptools
# Layers keep whole seconds. Kernels are known by the times of their sources, so those are set before they are compiled.
RUN find /opt/backscroll -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} + \
    && /opt/backscroll/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/backscroll/lib \
    && NUMBA_CACHE_DIR=/opt/backscroll/kernels NUMBA_CPU_NAME="${KERNELS_CPU}" NUMBA_CPU_FEATURES="" \
       NUMBA_NUM_THREADS=1 /opt/backscroll/bin/python -c "import backscroll_scoring"

FROM ${PYTHON_IMAGE}
ARG KERNELS_CPU=x86-64-v2
LABEL org.opencontainers.image.title="Backscroll" \
      org.opencontainers.image.description="Context sidecar for chat bots, over gRPC" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --system --gid 10001 backscroll \
    && useradd --system --uid 10001 --gid backscroll --no-create-home --home-dir /var/lib/backscroll backscroll \
    && install --directory --owner=backscroll --group=backscroll --mode=0700 /var/lib/backscroll /run/backscroll
COPY --from=build /opt/backscroll /opt/backscroll
# numba looks for kernels only where it could write some.
COPY --from=build --chown=backscroll:backscroll /opt/backscroll/kernels /opt/backscroll/kernels
ENV PATH=/opt/backscroll/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/opt/backscroll/kernels \
    NUMBA_CPU_NAME=${KERNELS_CPU} \
    NUMBA_CPU_FEATURES="" \
    BACKSCROLL_STATE_DIR=/var/lib/backscroll \
    BACKSCROLL_LISTEN=127.0.0.1:7171,unix:/run/backscroll/backscroll.sock \
    BACKSCROLL_SERVER=unix:/run/backscroll/backscroll.sock \
    BACKSCROLL_LOG_FORMAT=json
USER 10001:10001
WORKDIR /var/lib/backscroll
VOLUME ["/var/lib/backscroll"]
EXPOSE 7171
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s --retries=3 CMD ["backscroll", "health"]
ENTRYPOINT ["backscroll"]
CMD ["serve"]
