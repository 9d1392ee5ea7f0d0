"""The settings: every value an operator may choose, with its default."""

import tomllib
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, ValidationError, create_model
from pydantic.dataclasses import dataclass
from typing_extensions import override

from shiyi.errors import SettingError

_KNOWN_KEYS: Final = ConfigDict(extra="forbid")


def _refuse_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("is a number, not true or false")  # noqa: TRY004 - pydantic reports these
    return value


def _end_with_slash(address: str) -> str:
    if not address.startswith(("https://", "http://")):
        raise ValueError("is an address that begins with https:// or http://")
    return f"{address.rstrip('/')}/"


Int = Annotated[int, BeforeValidator(_refuse_boolean)]
Float = Annotated[float, BeforeValidator(_refuse_boolean)]


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class ConfidenceSettings:
    """How strongly one piece of evidence counts where its source states no number."""

    regulation: Float = 0.98
    pharmacopoeia: Float = 0.95
    standard: Float = 0.95
    textbook: Float = 0.9
    monograph: Float = 0.85
    review: Float = 0.8
    trial: Float = 0.8
    paper: Float = 0.7
    classic: Float = 0.7
    case_report: Float = 0.5
    webpage: Float = 0.5
    model: Float = 0.4
    inferred: Float = 0.45  # by an editor's rule
    recalled: Float = 0.45  # common knowledge: below everything opened
    row: Float = 0.97  # factor: taken from an open table that restates a work


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class PageRankSettings:
    """How the importance of an entity is computed."""

    damping: Float = 0.8  # Yaoshi-RAG; swept there from 0.1 to 0.9
    tolerance: Float = 1e-10
    max_iterations: Int = 200
    scale_by_n: bool = True  # so that the mean importance is 1
    scope: Literal["global", "query_subgraph"] = "global"  # or among the paths a question finds


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class ReasoningSettings:
    """How an embedding of the uncertain graph is trained."""

    embedding: str = "ukge_logi"  # or ukge_rect, passleaf_complex, passleaf_rotate
    embedding_dim: Int = 64  # unKR takes 128 and more (here smaller)
    learning_rate: Float = 0.01
    batch: Int = 1024
    epochs: Int = 60  # at most; the steps shrink to nothing over them
    patience: Int = 10  # epochs without a better validation before training stops
    negatives: Int = 4  # corrupted triples for each observed one; UKGE takes 10
    negative_weight: Float = 0.1  # of a corrupted triple in the loss
    regularisation: Float = 0.0005  # UKGE
    soft_after: Int = 5  # epochs; then half of the corrupted keep the model's belief (PASSLEAF)
    threads: Int = 1  # more is slower on small graphs (measured)


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class CompletionSettings:
    """Which missing claims are predicted."""

    min_confidence: Float = 0.85  # Yaoshi-RAG; strictly above
    tails_per_head: Int = 100  # best-scored tails looked at for each head and relation
    write: bool = False  # to graph:derived; measured, predictions are too often wrong


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class PathSettings:
    """Which reasoning paths reach the answer."""

    top_k: Int = 10  # Yaoshi-RAG; swept there over 1, 3, 5, 10, 20, 30
    scorer: str = "specific"  # Shiyi default; Yaoshi-RAG: mean_entities
    max_hops: Int = 3  # the paper's example has 2
    relation_paths: Int = 10  # Yaoshi-RAG: "multiple"
    allow_inverse: bool = True
    limit: Int = 20000  # rows of a path before ranking; the answer says when it was reached
    engine: str = "sparql"  # or "adjacency": the same paths, sooner from hubs
    sparql_hops: Int = 60  # of a question, by estimate; of more the adjacency is walked


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class RecallSettings:
    """How many texts ``spot`` recalls, and how two recalls are merged."""

    keyword_k: Int = 5  # TOSRR
    vector_k: Int = 10  # TOSRR
    merged_k: Int = 15  # TOSRR
    merge: Literal["reciprocal_rank", "union"] = "reciprocal_rank"  # TOSRR: union
    reranker: str = ""  # orders what was recalled: cosine, cosine:MODEL, a cross-encoder by name
    unit: Literal["spo_t", "spo"] = "spo_t"  # TOSRR; spo leaves passages and definitions out
    chunking: Literal["macro_micro", "macro", "micro"] = "macro_micro"  # TCM-DiffRAG
    documents_k: Int = 20  # TCM-DiffRAG


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class ReflectionSettings:
    """How many rounds of reflection ``spot`` makes."""

    max_rounds: Int = 3  # TOSRR gives no stop rule


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class TermsSettings:
    """How ``layers`` and ``therapy`` go down to terms."""

    top_k: Int = 10  # MLKG-RAG gives no K
    beam: Int = 3  # MLKG-RAG: 1, which cannot go back
    levels: Int = 2  # MLKG-RAG: of GB/T 16751.1; here of GB/T 15657
    cases: Int = 5  # shown at most
    class_distance: Float = 0.6  # mean distance of words above which no class is assigned


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class ChainSettings:
    """How ``chain`` matches triples."""

    triples_k: Int = 20  # TCM-DiffRAG gives no k for triples
    school: str = ""  # laid over the base where a question names no school
    overlay: Literal["general", "school", "both"] = "both"  # what `chain` matches with a school


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class BaselineSettings:
    """Limits of the baselines."""

    triples: Int = 30  # Yaoshi-RAG
    hops: Int = 2  # Yaoshi-RAG: TransE and RotatE; BM25 has 1


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class LinkingSettings:
    """How mentions become concepts."""

    embedder: str = ""  # a sentence-transformers model by name or folder; empty: the shipped one
    candidates: Int = 10  # Yaoshi-RAG
    min_cosine: Float = 0.75  # iDISK2.0-RAG
    max_mentions: Int = 40
    pick_from: Float = 0.5  # likeness from which a model may choose a candidate
    layer_distance: Float = 0.25  # 1 - cosine from a case to its term, swept 0.05 to 0.60
    layer_direction: Literal["case_to_term", "term_to_case", "mutual"] = "case_to_term"


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class UnderstandingSettings:
    """How a question is read."""

    alarm_from: Float = 0.4  # probability of an emergency or self-harm that raises the alarm
    avoid_from: Float = 0.5  # probability of a question of what to avoid that ends all offers
    advice_from: Float = 0.3  # probability of advice or a list without which nothing is offered
    sure_from: Float = 0.35  # probability of an ask below which the record is shown instead


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class AnswerSettings:
    """Limits and thresholds of an answer."""

    max_question_chars: Int = 2000
    recommend_from: Float = 0.42  # a benefit needs at least this confidence on every hop
    evidence: Literal["any", "opened"] = "any"  # opened: from works and tables that were opened
    recommendations: Int = 4
    country: str = ""  # country of the emergency numbers, such as GB; empty: by the language
    triples_per_node: Int = 50  # of one concept in `neighbourhood`; iDISK2.0-RAG has no limit


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class ModelSettings:
    """The language model; none is needed, and none is the default."""

    answer: str = ""  # a model's name; the papers used GPT-4 and DeepSeek-R1
    answer_url: str = ""  # address of its endpoint; empty: OPENAI_BASE_URL
    extract: str = ""  # a model's name for `ingest --extractor llm`; else the one that answers
    extract_url: str = ""  # address of its endpoint; empty: OPENAI_BASE_URL
    headers: str = field(default="", repr=False)  # sent besides: name: value; name: $VARIABLE
    query: str = ""  # of every address, such as api-version=2024-10-21
    temperature: Float = 0.0
    reasoning_effort: str = ""  # of a reasoning model, such as low; empty: not sent
    quirks: str = ""  # what the endpoint wants otherwise; `shiyi doctor --model` finds out
    timeout: Float = 30.0  # seconds for the whole call
    retries: Int = 1  # with back-off, inside the timeout
    max_tokens: Int = 2000
    concurrency: Int = 4  # calls under way at a time while ingesting
    attempts: Int = 4  # of one call while ingesting, malformed replies included
    wait: Float = 1.0  # seconds before the second attempt, doubled before each further
    wait_most: Float = 60.0  # seconds; an endpoint that asks for longer is left alone
    breaker: Int = 10  # failures in a row after which calls are refused for wait_most
    max_reply_bytes: Int = 4_000_000
    price_prompt: Float = 0.0  # of a million tokens, in any currency; 0 leaves the cost out
    price_completion: Float = 0.0


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class QuerySettings:
    """Limits of a free SPARQL query; each runs in a killable worker."""

    timeout: Float = 30.0  # seconds
    timeout_cap: Float = 60.0  # seconds
    memory_mib: Int = 1024
    rows: Int = 1_000_000
    bytes: Int = 500_000_000  # above 1 MB a result waits on disk, so memory stays the same
    max_query_bytes: Int = 65_536
    workers: Int = 3  # one fewer run long queries; an address, half of those
    cache_bytes: Int = 16_000_000  # of short results, cached until the base changes; 0: none
    snapshot_seconds: Float = 1.0  # a write is seen by new queries after at most this long
    log: bool = True  # queries.jsonl in the base: shapes of queries, without the asker
    services: str = ""  # addresses that SERVICE may ask, with spaces between; none: it is refused


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class RemoteSettings:
    """The remote store, where store names one."""

    update: str = ""  # address of SPARQL Update; empty: the same as store
    graph_store: str = ""  # address of the Graph Store Protocol, for loading; empty: by updates
    graph_parameter: str = "graph"  # of that protocol; graph-uri for Virtuoso
    profile: str = "rdf12"  # rdf11 for engines without triple terms
    default_graph: str = ""  # IRI that stands for the default graph where the engine has none
    user: str = ""
    password: str = field(default="", repr=False)  # better as SHIYI_REMOTE_PASSWORD
    token: str = field(default="", repr=False)  # a Bearer token; better as SHIYI_REMOTE_TOKEN
    auth: str = "basic"  # or digest
    timeout: Float = 60.0  # seconds for each request
    retries: Int = 3  # with back-off, where the store is not reached or busy
    page: Int = 0  # rows asked for at a time; 0: all at once
    batch: Int = 5000  # quads in one update
    shared: bool = True  # whether others write to it, so that claims are counted at each opening


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class ServerSettings:
    """Where and how the server listens."""

    host: str = "127.0.0.1"
    port: Int = 8000  # 0: a free one, which the log says
    threads: Int = 8
    queue: Int = 64  # requests that may wait for a thread; more get 503 and Retry-After
    max_body_bytes: Int = 1_000_000
    proxies: Int = 0  # reverse proxies in front with trusted X-Forwarded headers
    url: str = ""  # address that readers use, as https://shiyi.example.org; empty: the base
    log: str = "text"  # form of the log on standard error; json: an object a line
    slow: Float = 2.0  # seconds from which a request or query is logged as slow; 0: never
    releases: str = ""  # folder of the releases served; empty: releases/ in the knowledge base
    restricted: bool = False  # whether clients other than this machine may read restricted sources


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class CurationSettings:
    """Sign-in through OpenID Connect; the client's secret is SHIYI_CURATION_OIDC_SECRET."""

    oidc_issuer: str = ""  # an OpenID Connect issuer, as https://login.example.org; empty: none
    oidc_client: str = ""  # the client's name there
    oidc_name: str = ""  # text of the button; empty: the issuer
    oidc_role: str = ""  # role of a new account; empty: only known accounts
    second_reviewer: Literal["safety", "all"] = "safety"  # which claims wait for one; TOSRR: all


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class IngestSettings:
    """How texts become passages and candidate claims."""

    passage_least: Int = 200  # TOSRR: characters in Chinese, words in English
    passage_most: Int = 300  # TOSRR; a longer sentence or table stays whole
    batch: Int = 400  # passages that are validated and written as one change
    table_batch: Int = 10_000  # the same for rows of a table (measured)
    rules: Float = 0.9  # factor: read by pattern rules, not by a person
    model: Float = 0.6  # factor: read by a language model, not by a person
    repair_rounds: Int = 2  # times a model may repair what the gate refuses
    chain_triples: Int = 20  # claims of the general graph that a school's chain recalls: DiffRAG k
    chain_passages: Int = 5  # passages that a reasoning text is written from
    max_text_bytes: Int = 67_108_864  # of one text file, or of one line of a collection
    privacy: str = ""  # spaCy models by which Presidio reads cases again for identifiers; or none


@dataclass(frozen=True, slots=True, config=_KNOWN_KEYS)
class Settings:
    """All settings; nothing below ``cli`` and ``server`` reads a file or the environment.

    >>> Settings.read("paths.top_k = 5", {}).paths.top_k
    5
    >>> Settings.read("", {"SHIYI_PATHS_TOP_K": "7"}).paths.top_k
    7
    >>> Settings.read("paths.top = 5", {})
    Traceback (most recent call last):
        ...
    shiyi.errors.SettingError: setting paths.top in shiyi.toml: is not known; paths has top_k, \
scorer, max_hops, relation_paths, allow_inverse, limit, engine, sparql_hops
    """

    kb: Path = Path("kb")
    base: Annotated[str, AfterValidator(_end_with_slash)] = "https://w3id.org/shiyi/"
    store: str = ""  # address of a remote SPARQL store; empty: the store is in the folder kb
    confidence: ConfidenceSettings = ConfidenceSettings()
    pagerank: PageRankSettings = PageRankSettings()
    reasoning: ReasoningSettings = ReasoningSettings()
    completion: CompletionSettings = CompletionSettings()
    paths: PathSettings = PathSettings()
    recall: RecallSettings = RecallSettings()
    reflection: ReflectionSettings = ReflectionSettings()
    terms: TermsSettings = TermsSettings()
    chain: ChainSettings = ChainSettings()
    baselines: BaselineSettings = BaselineSettings()
    linking: LinkingSettings = LinkingSettings()
    ingest: IngestSettings = IngestSettings()
    understanding: UnderstandingSettings = UnderstandingSettings()
    answer: AnswerSettings = AnswerSettings()
    models: ModelSettings = ModelSettings()
    query: QuerySettings = QuerySettings()
    remote: RemoteSettings = RemoteSettings()
    server: ServerSettings = ServerSettings()
    curation: CurationSettings = CurationSettings()

    @classmethod
    def read(cls, toml: str, env: Mapping[str, str], file: str = "shiyi.toml") -> Self:
        """Parse the text of a ``file``, then ``SHIYI_<SECTION>_<KEY>`` and the places.

        The places are ``SHIYI_KB`` and ``SHIYI_BASE``; ``store`` stands before the sections, or in
        ``SHIYI_STORE``. Raise :class:`SettingError` with the key and the file, or the variable.
        """
        from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

        try:
            tables = tomllib.loads(toml)
        except (tomllib.TOMLDecodeError, RecursionError) as fault:
            raise SettingError(file, f"is not TOML: {fault}") from fault
        sections = {each.name: (each.type, each.default) for each in fields(cls)}
        for name in tables.keys() - (sections.keys() - {"kb", "base"}):
            raise SettingError(f"{name} in {file}", "is not a section of the settings")
        names = _variables(cls)

        class Environment(EnvSettingsSource):
            """The variables of known keys; others that begin with SHIYI_ serve other parts."""

            @override
            def _load_env_vars(self) -> Mapping[str, str | None]:
                return {name.lower(): env[name] for name in names if name in env}

        class Layers(BaseSettings):
            """The environment over the file over the defaults."""

            model_config = SettingsConfigDict(
                env_prefix="SHIYI_", env_nested_delimiter="_", env_nested_max_split=1
            )

            @classmethod
            @override
            def settings_customise_sources(
                cls, settings_cls: type[BaseSettings], init_settings: Any, *_: Any, **__: Any
            ) -> tuple[Any, ...]:
                return Environment(settings_cls), init_settings

        shape: dict[str, Any] = sections
        try:
            layers = create_model("Layers", __base__=Layers, **shape)(**tables)
        except ValidationError as fault:
            raise _setting_error(fault, env, file) from fault
        return cls(**{name: getattr(layers, name) for name in sections})


def _variables(settings: type[Settings]) -> list[str]:
    """Return the environment variable of each key."""
    names = []
    for each in fields(settings):
        keys = (
            [f"_{key.name}" for key in fields(each.default)] if is_dataclass(each.default) else [""]
        )
        names += [f"SHIYI_{each.name}{key}".upper() for key in keys]
    return names


def _setting_error(fault: ValidationError, env: Mapping[str, str], file: str) -> SettingError:
    """Return the first of the errors, with the key and the file, or the variable."""
    error = fault.errors(include_input=False)[0]
    section, *keys = map(str, error["loc"])
    variable = "_".join(("SHIYI", section, *keys)).upper()
    name = variable if variable in env else f"{'.'.join((section, *keys))} in {file}"
    if error["type"] == "unexpected_keyword_argument":
        known = ", ".join(each.name for each in fields(getattr(Settings(), section)))
        return SettingError(name, f"is not known; {section} has {known}")
    if error["type"] == "dataclass_type":
        return SettingError(name, f"is a section, written [{section}]")
    return SettingError(name, error["msg"].removeprefix("Value error, ").removeprefix("Input "))
