"""The chat model and the embedder of the settings, and checks of their settings."""

from __future__ import annotations

import logging

from backscroll_sidecar.adapters.target import BASE_URLS
from backscroll_sidecar.concurrency.time_slicing import Pacer
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.errors import StartRefused
from backscroll_sidecar.models.bundled_model import BundledModel
from backscroll_sidecar.models.e5_model import E5Model, e5_problem
from backscroll_sidecar.models.echo import EchoModel
from backscroll_sidecar.models.local_embedder import LocalEmbedder
from backscroll_sidecar.models.openai import OpenAIModel
from backscroll_sidecar.models.openai_embedder import OpenAIEmbedder
from backscroll_sidecar.models.options import DEFAULT_BASE_URL, OpenAIOptions
from backscroll_sidecar.ports import ChatModel, Embedder, Upstream

log = logging.getLogger(__name__)


def configured_embedder(settings: Settings) -> Embedder | None:
    """The embedder of the settings; None when there shall be none.

    Raises `StartRefused` where the pair cannot be had: with another model in its place every vector would be made anew.
    """
    if settings.embedder == "local":
        return LocalEmbedder(BundledModel())
    if settings.embedder == "pair":
        if said := e5_problem():
            raise StartRefused("embedder", f"is pair: {said}")
        return LocalEmbedder(BundledModel(), E5Model())
    if settings.embedder == "none":
        return None
    try:
        options = _embedder_options(settings)
    except ValueError as error:
        log.warning("there is no semantic source: %s", _of_embedder(error))
        return None
    model, dims = settings.embedder_model, settings.embedder_dimensions
    return OpenAIEmbedder(options, model=model, dims=dims)


def embedder_problem(settings: Settings) -> str:
    """Why the configured embedder could never be called; empty when it could. Nothing is called."""
    if settings.embedder == "pair":
        return e5_problem()
    try:
        if settings.embedder == "openai":
            _embedder_options(settings)
    except ValueError as error:
        return _of_embedder(error)
    return ""


def _embedder_options(settings: Settings) -> OpenAIOptions:
    key = settings.embedder_api_key
    return OpenAIOptions(
        api_key=key.get_secret_value() if key else "",
        base_url=settings.embedder_base_url or DEFAULT_BASE_URL,
    )


def _of_embedder(error: ValueError) -> str:
    return str(error).replace("the model's", "the embedder's")


def chat_model(settings: Settings, pacer: Pacer | None = None) -> ChatModel:
    """The configured model; without key and address, or where it could never be called, an echo."""
    if not _has_model(settings):
        return EchoModel(settings.wordings())
    try:
        return OpenAIModel(_model_options(settings), pacer)
    except ValueError as error:
        log.warning("there is no model, an echo answers: %s", error)
        return EchoModel(settings.wordings(), is_refused=True)


def upstream_of(model: ChatModel, settings: Settings) -> Upstream | None:
    """The API that a model is behind, where requests of OpenAI's Chat Completions can be passed on to it."""
    is_theirs = settings.model_api == "openai_chat"
    return model if is_theirs and isinstance(model, OpenAIModel) else None


def model_problem(settings: Settings) -> str:
    """Why the configured model could never be called; empty when it could. Nothing is called."""
    try:
        if _has_model(settings):
            _model_options(settings)
    except ValueError as error:
        return str(error)
    return ""


def _has_model(settings: Settings) -> bool:
    return settings.model_base_url is not None or settings.model_api_key is not None


def _model_options(settings: Settings) -> OpenAIOptions:
    key = settings.model_api_key
    return OpenAIOptions(
        api_key=key.get_secret_value() if key else "",
        api=settings.model_api,
        base_url=settings.model_base_url or BASE_URLS[settings.model_api],
        headers={name: one.get_secret_value() for name, one in settings.model_headers.items()},
        query=settings.model_query,
        idle_s=settings.model_idle_seconds,
        include_usage=settings.model_stream_options,
        extra_body=settings.model_extra_body,
        thoughts=settings.model_thoughts,
        max_tokens_field=settings.model_max_tokens_field,
    )
