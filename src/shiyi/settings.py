"""Everything an operator may choose, read once at the door."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from shiyi.errors import SettingError


@dataclass(frozen=True, slots=True)
class ConfidenceSettings:
    """How strongly one piece of evidence counts where its source states no number (ours)."""

    regulation: float = 0.98
    pharmacopoeia: float = 0.95
    standard: float = 0.95
    textbook: float = 0.9
    monograph: float = 0.85
    review: float = 0.8
    trial: float = 0.8
    paper: float = 0.7
    classic: float = 0.7
    case_report: float = 0.5
    webpage: float = 0.5
    model: float = 0.4
    secondary: float = 0.97  # factor: read in an open table that restates the source
    unchecked: float = 0.9  # factor: professional common knowledge, not yet looked up


@dataclass(frozen=True, slots=True)
class PageRankSettings:
    """How the importance of an entity is computed."""

    damping: float = 0.8  # Yaoshi-RAG; swept there from 0.1 to 0.9
    tolerance: float = 1e-10
    max_iterations: int = 200
    scale_by_n: bool = True  # so that the mean importance is 1
    scope: str = "global"  # or "query_subgraph": among the claims on the paths a question finds


@dataclass(frozen=True, slots=True)
class ReasoningSettings:
    """How an embedding of the uncertain graph is trained."""

    embedding: str = "ukge_logi"  # or ukge_rect, passleaf_complex, passleaf_rotate
    embedding_dim: int = 64  # unKR takes 128 and more (ours: smaller)
    learning_rate: float = 0.01
    batch: int = 1024
    epochs: int = 60  # at most; the steps shrink to nothing over them
    patience: int = 10  # epochs without a better validation before training stops
    negatives: int = 4  # corrupted triples for each observed one; UKGE takes 10
    negative_weight: float = 0.1  # of a corrupted triple in the loss (ours)
    regularisation: float = 0.0005  # UKGE
    soft_after: int = 5  # epochs; then half of the corrupted keep the model's belief (PASSLEAF)
    threads: int = 1  # more is slower on small graphs (measured)


@dataclass(frozen=True, slots=True)
class CompletionSettings:
    """Which missing claims are predicted."""

    min_confidence: float = 0.85  # Yaoshi-RAG; strictly above
    tails_per_head: int = 100  # best-scored tails looked at for each head and relation (ours)


@dataclass(frozen=True, slots=True)
class PathSettings:
    """Which reasoning paths reach the answer."""

    top_k: int = 10  # Yaoshi-RAG; swept there over 1, 3, 5, 10, 20, 30
    scorer: str = "mean_entities"  # Yaoshi-RAG: (1/n) sum of confidence times PageRank
    max_hops: int = 3  # the paper's example has 2
    relation_paths: int = 10  # Yaoshi-RAG says "multiple"
    allow_inverse: bool = True
    limit: int = 20000  # rows of a path before ranking; the answer says when it was reached
    engine: str = "projection"  # or "sparql": the same paths, slower from hubs (ours)


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """How many texts ``spot`` recalls, and how two recalls are merged."""

    keyword_k: int = 5  # TOSRR
    vector_k: int = 10  # TOSRR
    merged_k: int = 15  # TOSRR
    merge: str = "reciprocal_rank"  # ours; TOSRR: union
    unit: str = "spo_t"  # TOSRR; spo leaves passages and definitions out
    chunking: str = "macro_micro"  # TCM-DiffRAG; macro, micro
    documents_k: int = 20  # TCM-DiffRAG


@dataclass(frozen=True, slots=True)
class ReflectionSettings:
    """When ``spot`` stops asking itself."""

    max_rounds: int = 3  # TOSRR gives no stop rule


@dataclass(frozen=True, slots=True)
class TermsSettings:
    """How ``layers`` and ``therapy`` go down to terms."""

    top_k: int = 10  # MLKG-RAG does not say K
    beam: int = 3  # MLKG-RAG: 1, which cannot go back
    levels: int = 2  # MLKG-RAG: GB/T 16751.1, ours 15657
    cases: int = 5  # shown at most (ours)


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """How ``chain`` matches triples."""

    triples_k: int = 20  # TCM-DiffRAG does not say k for triples
    school: str = ""  # TCM-DiffRAG's personal graph: a school's name, whose claims are added


@dataclass(frozen=True, slots=True)
class BaselineSettings:
    """What the baselines keep."""

    triples: int = 30  # Yaoshi-RAG
    hops: int = 2  # Yaoshi-RAG: TransE and RotatE; BM25 has 1


@dataclass(frozen=True, slots=True)
class LinkingSettings:
    """How mentions become concepts."""

    candidates: int = 10  # Yaoshi-RAG
    min_cosine: float = 0.75  # iDISK2.0-RAG
    max_mentions: int = 40
    pick_from: float = 0.5  # likeness from which a model may choose a candidate (ours)
    layer_distance: float = 0.25  # 1 - cosine from a case to its term, swept 0.05 to 0.60 (ours)
    layer_direction: str = "case_to_term"  # ours; MLKG-RAG: term_to_case; or mutual


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """What an answer may take in and say."""

    max_question_chars: int = 2000
    warn_from: float = 0.0  # a harm is shown at any confidence, with its tier
    recommend_from: float = 0.6  # a benefit needs at least this confidence on every hop
    recommendations: int = 4  # as many as a person takes in (ours)
    triples_per_node: int = 50  # of one concept in ``neighbourhood``; iDISK2.0-RAG has no limit


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which language model writes answers; none is needed, and none is the default."""

    answer: str = ""  # a model's name at OPENAI_BASE_URL; the papers used GPT-4 and DeepSeek-R1
    timeout: float = 30.0  # seconds for the whole call (ours)
    retries: int = 1  # with back-off, inside the timeout (ours)
    max_tokens: int = 2000  # (ours)
    extract: str = ""  # a model's name for `ingest --extractor llm`; else the one that answers
    concurrency: int = 4  # calls under way at a time while ingesting (ours)
    attempts: int = 4  # of one call while ingesting, malformed replies included (ours)
    wait: float = 1.0  # seconds before the second attempt, doubled before each further (ours)
    wait_most: float = 60.0  # seconds; an endpoint that asks for longer is left alone (ours)
    breaker: int = 10  # failures in a row after which calls are refused for ``wait_most`` (ours)
    max_reply_bytes: int = 4_000_000  # (ours)
    price_prompt: float = 0.0  # of a million tokens, in any currency; 0 leaves the cost out
    price_completion: float = 0.0


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """What a free SPARQL query may use; each runs in a killable worker."""

    timeout: float = 30.0  # seconds
    timeout_cap: float = 60.0  # seconds
    memory_mib: int = 1024
    rows: int = 1_000_000
    bytes: int = 500_000_000  # beyond 1 MB a result waits on disk, so memory stays the same
    max_query_bytes: int = 65_536
    workers: int = 3  # one fewer run long queries; an address, half of those (ours)
    cache_bytes: int = 16_000_000  # of short results, kept until the base changes; 0 keeps none
    snapshot_seconds: float = 1.0  # a write is seen by new queries after at most this long
    log: bool = True  # queries.jsonl in the base: shapes of queries, and not who asked
    services: str = ""  # addresses that SERVICE may ask, with spaces between; none: it is refused


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """How the remote store is spoken with, where ``store`` names one."""

    update: str = ""  # address of SPARQL Update; nothing: the same as store
    graph_store: str = ""  # address of the Graph Store Protocol, for loading; nothing: by updates
    graph_parameter: str = "graph"  # of that protocol; graph-uri for Virtuoso
    profile: str = "rdf12"  # rdf11 for engines without triple terms
    default_graph: str = ""  # IRI that stands for the default graph where the engine has none
    user: str = ""
    password: str = field(default="", repr=False)  # better as SHIYI_REMOTE_PASSWORD
    token: str = field(default="", repr=False)  # a Bearer token; better as SHIYI_REMOTE_TOKEN
    auth: str = "basic"  # or digest
    timeout: float = 60.0  # seconds for each request
    retries: int = 3  # with back-off, where the store is not reached or busy
    page: int = 0  # rows asked for at a time; 0: all at once
    batch: int = 5000  # quads in one update


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where and how the server listens."""

    host: str = "127.0.0.1"
    port: int = 8000  # 0: a free one, which the log says
    threads: int = 8
    queue: int = 64  # requests that may wait for a thread; more are told to come again (ours)
    max_body_bytes: int = 1_000_000
    proxies: int = 0  # reverse proxies before the server; what they say of the asker is believed
    log: str = "text"  # what the server says on standard error; json: an object a line
    slow: float = 2.0  # seconds from which a request and a query are noted as slow; 0: none
    releases: str = ""  # folder of the releases served; empty: releases/ in the knowledge base
    restricted: bool = False  # whether others than this machine may read restricted sources


@dataclass(frozen=True, slots=True)
class CurationSettings:
    """How curators sign in from elsewhere; the client's secret is SHIYI_CURATION_OIDC_SECRET."""

    oidc_issuer: str = (
        ""  # an OpenID Connect issuer, such as https://login.example.org; empty: none
    )
    oidc_client: str = ""  # the client's name there
    oidc_name: str = ""  # what the button says; empty: the issuer
    oidc_role: str = ""  # role of those who come for the first time; empty: only known accounts


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How texts become passages and candidate claims."""

    passage_least: int = 200  # TOSRR: characters in Chinese, words in English
    passage_most: int = 300  # TOSRR; a longer sentence or table stays whole
    batch: int = 400  # passages that are validated and written as one change (ours)
    table_batch: int = 10_000  # the same for rows of a table (measured)
    rules: float = 0.9  # factor: read by pattern rules, not by a person (ours)
    model: float = 0.6  # factor: read by a language model, not by a person (ours)
    repair_rounds: int = 2  # times a model may mend what the gate refuses (ours)
    chain_triples: int = 20  # claims of the general graph that a school's chain recalls: DiffRAG k
    chain_passages: int = 5  # passages that a reasoning text is written from (ours)
    max_text_bytes: int = 67_108_864  # of one text file, or of one line of a collection


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's choices; nothing below ``cli`` and ``server`` reads a file or the environment.

    >>> Settings.read("paths.top_k = 5", {}).paths.top_k
    5
    >>> Settings.read("", {"SHIYI_PATHS_TOP_K": "7"}).paths.top_k
    7
    >>> Settings.read("paths.top = 5", {})
    Traceback (most recent call last):
        ...
    shiyi.errors.SettingError: setting paths.top: is not known; paths has top_k, scorer, max_hops, \
relation_paths, allow_inverse, limit, engine
    """

    kb: Path = Path("kb")
    base: str = "https://w3id.org/shiyi/"
    store: str = ""  # address of a remote SPARQL store; nothing: the store lies in the folder kb
    confidence: ConfidenceSettings = field(default_factory=ConfidenceSettings)
    pagerank: PageRankSettings = field(default_factory=PageRankSettings)
    reasoning: ReasoningSettings = field(default_factory=ReasoningSettings)
    completion: CompletionSettings = field(default_factory=CompletionSettings)
    paths: PathSettings = field(default_factory=PathSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    reflection: ReflectionSettings = field(default_factory=ReflectionSettings)
    terms: TermsSettings = field(default_factory=TermsSettings)
    chain: ChainSettings = field(default_factory=ChainSettings)
    baselines: BaselineSettings = field(default_factory=BaselineSettings)
    linking: LinkingSettings = field(default_factory=LinkingSettings)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    answer: AnswerSettings = field(default_factory=AnswerSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    query: QuerySettings = field(default_factory=QuerySettings)
    remote: RemoteSettings = field(default_factory=RemoteSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    curation: CurationSettings = field(default_factory=CurationSettings)

    @classmethod
    def read(cls, toml: str, env: Mapping[str, str]) -> Self:
        """Take ``shiyi.toml``, then ``SHIYI_<SECTION>_<KEY>``, ``SHIYI_KB`` and ``SHIYI_BASE``.

        ``store`` stands before the sections, or in ``SHIYI_STORE``.
        """
        try:
            tables = tomllib.loads(toml)
        except (tomllib.TOMLDecodeError, RecursionError) as fault:
            raise SettingError("shiyi.toml", f"is not TOML: {fault}") from fault
        sections = {each.name: getattr(cls(), each.name) for each in fields(cls)}
        places: dict[str, Any] = {
            "kb": Path(env.get("SHIYI_KB", "kb")),
            "base": env.get("SHIYI_BASE", cls().base),
        }
        for name in tables.keys() - sections.keys() | tables.keys() & places.keys():
            raise SettingError(name, "is not a section of shiyi.toml")
        places["store"] = env.get("SHIYI_STORE", tables.get("store", ""))
        if not isinstance(places["store"], str):
            raise SettingError("store", "is the address of a SPARQL endpoint, or nothing")
        chosen: dict[str, Any] = {
            name: _chosen(name, default, tables.get(name, {}), env)
            for name, default in sections.items()
            if name not in places
        }
        return cls(**places, **chosen)


def _chosen(section: str, default: Any, given: object, env: Mapping[str, str]) -> Any:
    if not isinstance(given, dict):
        raise SettingError(section, "is a section, written [" + section + "]")
    types = {each.name: type(getattr(default, each.name)) for each in fields(default)}
    for key, value in given.items():
        if key not in types:
            raise SettingError(
                f"{section}.{key}", f"is not known; {section} has {', '.join(types)}"
            )
        if type(value) is not types[key] and not (types[key] is float and type(value) is int):
            raise SettingError(f"{section}.{key}", f"is not of type {types[key].__name__}")
    overridden = {
        key: _parsed(name, env[name], kind)
        for key, kind in types.items()
        if (name := f"SHIYI_{section}_{key}".upper()) in env
    }
    return replace(default, **given | overridden)


def _parsed(name: str, value: str, kind: type) -> Any:
    if kind is bool:
        if value.lower() not in {"true", "false"}:
            raise SettingError(name, "is true or false")
        return value.lower() == "true"
    try:
        return kind(value)
    except ValueError as fault:
        raise SettingError(name, f"{value!r} is not of type {kind.__name__}") from fault
