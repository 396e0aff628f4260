"""What was understood of a question: one typed request, each slot with the text it came from.

Slot names and vocabularies are a contract with the suites (see docs/architecture.md).
A slot that was not said is None: defaults are chosen by the calculator and reported as
assumptions, never written here.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent.answer import Correction, Intent, Language

Goal = Literal[
    "largest_batch", "longest_context", "most_concurrent", "fewest_cards", "smallest_card"
]
"""The number that an inverse question looks for."""
Period = Literal["minute", "day", "week", "year"]
"""A span of time that an amount of money is said for and not kept as."""


Opening = Literal["greeting", "unfinished", "machines_for_ai", "why"]
"""What a text without a subject begins with: a greeting, a question without what it asks of, or
the wish for a machine for artificial intelligence."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Money(_Record):
    """An amount that the reader names: a budget or a price seen."""

    amount: float
    currency: str | None = None
    per: Literal["hour", "month", "total"] | None = None
    period: Period | None = None
    """The span that was said, where another is kept: amounts a day are kept as amounts an hour."""


class Slots(_Record):
    """Every slot understood; None where the question is silent."""

    # what is run
    model: str | None = None
    """Registry name, or a family or network as written."""
    models: tuple[str, ...] | None = None
    """Every model named, where there are several."""
    params_b: float | None = None
    active_b: float | None = None
    """Active parameters of a mixture, billions, where they are written beside the size."""
    model_size_mb: float | None = None
    task: Literal["train", "infer", "both", "quantize"] | None = None
    method: str | None = None
    """full, lora, qlora; with dpo+, grpo+, ppo, cpt+ or pretrain in front or alone."""
    precision: str | None = None
    precision_mode: Literal["pure", "mixed"] | None = None
    """Whether 16-bit training keeps fp32 master weights (mixed) or nothing in fp32 (pure)."""
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    optimizer: str | None = None
    lora_rank: int | None = None
    lora_targets: tuple[str, ...] | None = None
    side_by_side: int | None = None
    """Copies of the model, or models of its size, that run beside each other."""
    served_loras: int | None = None
    """Adapters that a server holds beside its base model."""
    batch: int | None = None
    """Samples, or requests, that a card works on at a time."""
    global_batch: int | None = None
    """Samples of one update over all cards, accumulated ones too."""
    grad_accum: int | None = None
    gradient_checkpointing: Literal["none", "full", "selective"] | None = None
    attention: Literal["eager", "sdpa", "flash"] | None = None
    fused_ce: bool | None = None
    """Fused or chunked cross entropy: the logits are never whole in memory (Liger)."""
    prompts_per_step: int | None = None
    """Prompts that reinforcement learning samples answers for in one step."""
    num_generations: int | None = None
    """Answers that reinforcement learning samples for one prompt: the group."""
    seq_len: int | None = None
    input_len: int | None = None
    output_len: int | None = None
    img_size: int | None = None
    clip_s: float | None = None
    """Seconds of audio in one sample."""
    frames: int | None = None
    """Frames of a video that is made."""
    beams: int | None = None
    """Hypotheses that an encoder-decoder keeps while it decodes."""
    pipeline_offload: Literal["model", "sequential"] | None = None
    """Diffusion: one model, or one layer, of the pipeline on the card at a time."""
    documents: int | None = None
    """Contrastive training: documents that a query brings (train_group_size)."""
    blocks_to_swap: int | None = None
    """Training a diffusion transformer: blocks whose weights wait in host memory."""
    vae_slicing: bool | None = None
    vae_tiling: bool | None = None
    concurrency: int | None = None
    concurrency_is_cap: bool | None = None
    """Whether that is the most that a server lets in at a time: no demand, further ones wait."""
    context_is_shared: bool | None = None
    """Whether `seq_len` is what all requests share, as -c of llama-server is over its slots."""
    gpu_memory_utilization: float | None = None
    """Share of the card that a serving engine may take."""
    gpu_layers: int | None = None
    """llama.cpp: layers on the card; the rest stays in host memory."""
    request_rate_per_s: float | None = None
    rate_is_mean: bool | None = None
    """Whether that is the mean of a day or an hour, which has its peaks."""
    peak_factor: float | None = None
    """How many times that rate the busiest time has."""
    items_per_request: int | None = None
    """Texts that one request ranks or encodes."""
    framework: str | None = None
    library: str | None = None
    """Training or other program that is not one of the frameworks: unsloth, deepspeed ..."""
    # on what
    gpu: str | None = None
    gpus: tuple[str, ...] | None = None
    gpu_count: int | None = None
    gpu_mem_gb: float | None = None
    total_mem_gb: float | None = None
    need_gb: float | None = None
    gpu_mem_used_mib: int | None = None
    gpu_mem_total_mib: int | None = None
    host_ram_gb: float | None = None
    vcpu: int | None = None
    nodes: int | None = None
    tp: int | None = None
    pp: int | None = None
    zero_stage: int | None = None
    offload: bool | None = None
    strategy: str | None = None
    probe: bool | None = None
    # where and for how much
    provider: str | None = None
    providers: tuple[str, ...] | None = None
    instance: str | None = None
    instances: tuple[str, ...] | None = None
    instance_count: int | None = None
    region: str | None = None
    billing: Literal["spot", "payg", "subscription"] | None = None
    budget: Money | None = None
    price: Money | tuple[Money, ...] | None = None
    discount: float | None = None
    # how much work, how long
    epochs: float | None = None
    steps: int | None = None
    steps_done: int | None = None
    """Steps of `steps` that are behind."""
    runs: int | None = None
    """Trainings of one kind: a sweep's, one a seed or fold."""
    copies: int | None = None
    """Checkpoints that are kept."""
    samples: int | None = None
    tokens: int | None = None
    tokens_per_sample: int | None = None
    lengths_vary: bool | None = None
    """Whether `tokens_per_sample` is an average: the longest samples are longer."""
    rows: int | None = None
    columns: int | None = None
    hours: float | None = None
    card_hours: bool | None = None
    """Whether `hours` are of all cards together: gpu-hours, not the clock's."""
    hours_per_day: float | None = None
    days: float | None = None
    """Days of use, where hours are so many a day."""
    step_s: float | None = None
    steps_per_s: float | None = None
    ckpt_minutes: float | None = None
    ckpt_interval_minutes: float | None = None
    """Time between two saves; `ckpt_minutes` is how long one takes."""
    mtbf_hours: float | None = None
    latency_s: float | None = None
    # input, network, storage
    bandwidth_gbps: float | None = None
    bandwidths_gbps: tuple[float, ...] | None = None
    """Every speed of a link, where several are set against each other."""
    busbw_gb_s: tuple[float, ...] | None = None
    """GB/s that tests of collectives gave, in the order of the text."""
    throughput_mb_s: float | None = None
    img_kb: float | None = None
    gpu_img_s: float | None = None
    gpu_util_pct: float | None = None
    num_workers: int | None = None
    storage: str | None = None
    os: str | None = None
    dataset: str | None = None

    @property
    def has_model(self) -> bool:
        """Whether a model, or its size, is known."""
        return self.model is not None or self.params_b is not None

    @property
    def has_card(self) -> bool:
        """Whether a card is named; "none" says that there is none."""
        return self.gpu not in (None, "none")

    @property
    def context_of_one(self) -> int | None:
        """Tokens that one request may hold: its share where all share a context."""
        if self.seq_len is None or not self.context_is_shared:
            return self.seq_len
        return max(1, self.seq_len // (self.concurrency or 1))

    @property
    def sample_length(self) -> int | None:
        """Tokens of the longest sample, where all are said to have so many."""
        return None if self.lengths_vary else self.tokens_per_sample

    @property
    def first_price(self) -> Money | None:
        """The price that was said; of several the first."""
        if isinstance(self.price, tuple):
            return self.price[0] if self.price else None
        return self.price


class Span(_Record):
    """Where in the text a slot was read."""

    start: int
    end: int
    text: str


class InvalidValue(_Record):
    """A value that cannot be: what was given and what is allowed, in both languages."""

    field: str
    given: str
    allowed: str
    message_zh: str
    message_en: str


class Pasted(_Record):
    """Structured material found in the text: a log, a config, a command line."""

    kind: Literal[
        "cuda_oom", "host_kill", "nvidia_smi", "hf_config", "training_arguments", "yaml_config",
        "deepspeed_json", "accelerate_config", "serve_command", "torchrun_command", "vllm_log",
        "error_message",
    ]  # fmt: skip
    fields: dict[str, Any] = Field(default_factory=dict)
    """Numbers lifted from it; sizes in bytes under *_bytes names."""


class Route(_Record):
    """Ends of a copy: ids of clouds, or "outside" for a place that is none."""

    source: str
    target: str


class IdTable(_Record):
    """Embedding tables of ids that are spoken of: rows times width, where both are said."""

    rows: int | None = None
    width: int | None = None


class MachineNeed(_Record):
    """What is asked of a machine; None where the question is silent."""

    gpus: tuple[str, ...] = ()
    exclude_gpus: tuple[str, ...] = ()
    min_gpu_count: int | None = None
    exact_count: bool = False
    """The number of cards was said without "at least"."""
    min_gpu_memory_gb: float | None = None
    min_total_gpu_memory_gb: float | None = None
    slices: Literal["only", "none"] | None = None
    """vGPU slices of a card."""
    gpu_share: float | None = None
    """Share of a card: 0.5 of half a card, 1 of a whole one."""
    nvlink: bool | None = None
    rdma: bool | None = None
    min_rdma_gbps: float | None = None
    min_network_gbps: float | None = None
    bare_metal: bool | None = None
    bf16: bool | None = None
    fp8: bool | None = None
    min_vcpu: int | None = None
    min_memory_gib: float | None = None
    providers: tuple[str, ...] = ()
    exclude_providers: tuple[str, ...] = ()
    region: str | None = None
    max_price: Money | None = None
    """Of an hour or a month."""
    max_price_of_card: bool = False
    """It is the price of one card."""
    asks_cards: bool = False
    """Cards are asked for, not machines."""
    is_list: bool = False
    """The text has hardly a word beside its conditions."""


class Processor(_Record):
    """A host's processor and its memory, as far as they were said."""

    name: str | None = None
    sockets: int = 1
    channels: int | None = None
    """Of memory, of all sockets."""
    ddr: int | None = None
    """Generation of the memory: 4 or 5."""
    mt_s: int | None = None
    """Transfers a second of a channel, millions."""
    bandwidth_gb_s: float | None = None
    """Memory bandwidth, where it was said itself."""


class Request(_Record):
    """A question, understood."""

    language: Language
    intent: Intent
    slots: Slots
    goal: Goal | None = None
    """What is looked for, where the question is an inverse one: the largest batch that fits."""
    spans: dict[str, Span] = Field(default_factory=dict)
    inferred: tuple[str, ...] = ()
    """Slots that were not said and follow from what was: the task of a model that is to "run",
    one card where a card is named, the size of a named model, LoRA for fine-tuning."""
    inherited: tuple[str, ...] = ()
    """Slots taken over from earlier turns."""
    changed: tuple[str, ...] = ()
    """Slots that this turn changed against the turn before."""
    ambiguities: tuple[str, ...] = ()
    """Slot names that could be read in more than one way, most important first."""
    clarifying_question: str | None = None
    """At most one, and only when the answer would flip."""
    corrections: tuple[Correction, ...] = ()
    """False premises found in the text, put right in the question's language."""
    invalid: tuple[InvalidValue, ...] = ()
    absurd: tuple[str, ...] = ()
    """Slots whose value can be computed but is out of all proportion."""
    pasted: tuple[Pasted, ...] = ()
    ignored: tuple[Span, ...] = ()
    """Instructions found inside the text: data, not orders."""
    topics: tuple[str, ...] = ()
    """What a concept question is about: ids of guidance topics."""
    search_query: str = ""
    """The text to search guidance with, stripped of logs and noise."""
    id_table: IdTable | None = None
    """A recommender's embedding tables; None where none are spoken of."""
    route: Route | None = None
    """From where to where data are copied; None where not both ends are named."""
    data_set: str | None = None
    """A public data set that is named: imagenet-1k, coco ..."""
    processor: Processor | None = None
    """The processor of a host; None where none is spoken of."""
    stages: tuple[int, ...] = ()
    """ZeRO stages that are named, the least split first: DDP is 0, FSDP 3."""
    opening: Opening | None = None
    """What the text begins with, where it is no more than a beginning."""
    marks: tuple[str, ...] = ()
    """What else the words say: marks of understanding/data/marks, "room.name"."""
    amounts: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """Numbers that are no slot, by "room.name", in the order of the text."""
    cards_added: int | None = None
    """Cards of the count that are to come on top of those there are."""
    clouds: dict[str, str] = Field(default_factory=dict)
    """Clouds of the types named, where their names or the words beside them tell which."""
    need: MachineNeed | None = None
    """What a machine that is looked for must have."""

    def cloud_of(self, instance: str | None) -> str | None:
        """The cloud of a type that is named: its own, else the one cloud spoken of."""
        return self.clouds.get(instance or "") or self.slots.provider

    @property
    def cloud(self) -> str | None:
        """The cloud of the type that is named, else the one cloud spoken of."""
        return self.cloud_of(self.slots.instance)

    def looked_up_with(self, earlier: Request) -> Request:
        """The same request, whose guidance is looked up by the words of an earlier one as well."""
        query = f"{earlier.search_query} {self.search_query}"
        return self.model_copy(update={"search_query": query})

    def says(self, *marks: str) -> bool:
        """Whether any of these marks stands in the text."""
        return any(mark in self.marks for mark in marks)
