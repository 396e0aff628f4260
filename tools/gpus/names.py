"""From a written name, or from free text, to cards of the table.

`find_gpu` answers one name; `scan_gpus` finds every card in a text, with its count. A size that
a card does not have is questioned (`GpuMatch.conflict`), never computed with silently.
"""

from __future__ import annotations

import dataclasses
import re

from tools.errors import AmbiguousGpuError, UnknownGpuError
from tools.folding import fold, touches
from tools.gpus.index import closest_gpus, gpu_index
from tools.gpus.reading import Reading, read_card, read_front, read_tail
from tools.gpus.registry import all_gpus, get_gpu, gpus_by_name, memory_class
from tools.gpus.spec import GpuMatch, GpuMention, GpuSpec
from tools.gpus.vocabulary import vocabulary

_MAX_NAME = 200
_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
_GLUED_FRONT = re.compile(r"(?:\d{1,4}x)?(?:\d{1,3}gb?)?(?=[a-z0-9])")
_BARE = re.compile(r"\d{3,4}")
_CLASS = re.compile(
    r"(?P<size>\d{1,4}(?:\.\d+)?)[ \-]?g(?:i?b)?[ \-]?"
    r"(?:的)?(?:class|显存|显卡|卡|vram|gpu|card|的卡)"
    r"(?: ?\((?P<total>\d{1,3}(?:\.\d+)?) ?gib)?"
)
_FILLERS = frozenset({"a", "an", "one", "single", "the", "my", "with", "on", "of", "class"})
_MIG_ALONE = re.compile(r"(?:mig[ \-_]?)?(?P<mig>(\d)g\.(\d{1,3})gb)(?![a-z0-9])")
_WORD_BEFORE = re.compile(r"[a-z0-9_.]")
_MIG_SLICES = {"NVIDIA A30": 4}
_DEFAULT_MIG_SLICES = 7
_READING_TOLERANCE_GB = 0.7
"""A size this near to the GiB that nvidia-smi or torch shows is a reading, not a contradiction."""
_LARGE_UNIFIED_GB = 64


def find_gpu(text: str) -> GpuMatch:
    """The card that a written name stands for.

    Args:
        text: Any spelling, zh or en, with or without maker, size, form factor or slice.

    Returns:
        The row, the slice or log total where one is named, other cards that the bare name may
        mean, and what is contradictory.

    Raises:
        AmbiguousGpuError: If the name stands for different cards (RTX 6000) or two are named.
        UnknownGpuError: If no row is found; the closest names are its candidates.
    """
    name = text[:_MAX_NAME]
    mentions = _scan(fold(name), name, strict=False)
    if len(mentions) > 1:
        names = list(dict.fromkeys(mention.match.spec.name for mention in mentions))
        if len(names) > 1:
            raise AmbiguousGpuError(text, names)
    if mentions:
        match = mentions[0].match
        asked = vocabulary().ask.get(_key_at(fold(name), mentions[0]))
        if asked and match.given_memory_gb is None:
            raise AmbiguousGpuError(text, asked)
        return match
    found = _CLASS.search(fold(name))
    if found is not None and _names_no_card(fold(name), found):
        total = found["total"]
        spec = memory_class(
            float(found["size"]), total_mib=int(float(total) * 1024) if total else None
        )
        return GpuMatch(spec, notes=(spec.notes,), given_memory_gb=spec.memory_label_gb)
    if fold(name).strip() in vocabulary().apple_silicon:
        raise AmbiguousGpuError(text, [row.name for row in all_gpus() if row.vendor == "Apple"])
    raise UnknownGpuError(text, closest_gpus(name))


def _names_no_card(folded: str, found: re.Match[str]) -> bool:
    """Whether nothing but filler stands around a memory class: `GTX 980 4GB card` is a name."""
    behind = folded[found.end() :]
    behind = behind.partition(")")[2] if found["total"] else behind
    rest = f"{folded[: found.start()]} {behind}"
    words = re.findall(r"[a-z0-9]+", re.sub(r"\([^)]*\)?", " ", rest))
    return all(word in vocabulary().ignored | _FILLERS for word in words)


def _key_at(folded: str, mention: GpuMention) -> str:
    for start in range(mention.start, mention.end):
        reading = read_card(folded, start)
        if reading is not None:
            return reading.key
    return ""


def scan_gpus(text: str) -> list[GpuMention]:
    """Every card named in free text, in order, with its count where one is said.

    A bare number such as 4090 is a card only in the place of a card. Names inside longer names
    (A10 in A100, T4 in an instance type) do not count.
    """
    return _scan(fold(text), text, strict=True)


def _scan(folded: str, original: str, *, strict: bool) -> list[GpuMention]:
    mentions: list[GpuMention] = []
    first = gpu_index().trie.first
    floor = 0
    for word in _WORD.finditer(folded):
        if word.start() < floor:
            continue
        for start in _starts(folded, word, first):
            mention = _mention_at(folded, original, start, floor=floor, strict=strict)
            if mention is not None:
                mentions.append(mention)
                floor = mention.end
                break
    return mentions


def _starts(folded: str, word: re.Match[str], first: frozenset[str]) -> tuple[int, ...]:
    start = word.start()
    character = folded[start]
    if character.isdigit():
        glued = _GLUED_FRONT.match(folded, start)
        if glued is not None and glued.end() > start:
            return (start, glued.end())
        return (start,)
    if character == "m" and folded.startswith("mig", start):
        return (start,)
    return (start,) if character in first else ()


def _mention_at(
    folded: str, original: str, start: int, *, floor: int, strict: bool
) -> GpuMention | None:
    reading = read_card(folded, start)
    if reading is None:
        return _mig_alone(folded, original, start)
    key_start, key_length = start, reading.end
    if strict and (not _is_in_place(folded, reading) or _is_measure(folded, start)):
        return None
    read_front(folded, reading, floor=floor)
    is_bare = _BARE.fullmatch(reading.key) is not None
    _take_super(folded, original, reading)
    if strict and is_bare and _BARE.fullmatch(reading.key):
        if not _is_bare_card(folded, reading, key_start, key_length):
            return None
    elif strict and is_bare and _unit_precedes(folded, key_start):
        return None
    match = resolve(reading)
    span = original[reading.start : reading.end]
    return GpuMention(match, reading.count, reading.start, reading.end, span)


def _take_super(folded: str, original: str, reading: Reading) -> None:
    """`4070TiS` and `4080S` are SUPER cards; `two 4080s` is a plural."""
    end = reading.end
    longer = f"{reading.key}super"
    if folded[end : end + 1] != "s" or not gpu_index().knows(longer) or touches(folded, end + 1):
        return
    behind = folded[end + 1 : end + 2]
    is_chinese = _CHINESE.search(folded) is not None and not behind.isalnum()
    is_chinese = is_chinese or (behind != "" and not behind.isascii())
    if original[end] == "S" or is_chinese:
        reading.key, reading.end = longer, end + 1
        read_tail(folded, reading)


def _mig_alone(folded: str, original: str, start: int) -> GpuMention | None:
    found = _MIG_ALONE.match(folded, start)
    if found is None or (start > 0 and _WORD_BEFORE.match(folded, start - 1)):
        return None
    hosts = vocabulary().mig_hosts.get(found["mig"])
    if hosts is None:
        return None
    rows = [get_gpu(name) for name in hosts]
    match = GpuMatch(
        rows[0],
        slice_memory_gb=float(found[3]),
        notes=(f"the card of the slice was not named: {rows[0].name} taken",),
        also=tuple(rows[1:]),
        slice_name=found["mig"],
    )
    return GpuMention(match, None, start, found.end(), original[start : found.end()])


_ARTICLE = re.compile(r"a \d{1,4}(?:\.\d+)?")
_MEASURED = re.compile(
    r"[ -]?(?:[kmgt]?i?b(?:it|yte)?(?:s|ps|/s)?|[kmgt]|ms|s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?"
    r"|hours?|days?|weeks?|months?|years?|%|percent|x|px|tokens?|cards|gpus|nodes?|users?"
    r"|layers?|person|people)(?![a-z0-9])"
)


def _is_measure(folded: str, start: int) -> bool:
    """`a 10 Gbps link`, `a 40 GB card`: an article and a measure, no A10 and no A40."""
    found = _ARTICLE.match(folded, start)
    return found is not None and _MEASURED.match(folded, found.end()) is not None


def _is_in_place(folded: str, reading: Reading) -> bool:
    """Short names joined by a dash to another word are part of that word (`bge-m3`)."""
    if len(reading.key) > 3 or reading.start == 0 or folded[reading.start - 1] not in "-_.":
        return True
    before = re.search(r"([a-z0-9]+)[\-_.]$", folded[max(0, reading.start - 24) : reading.start])
    if before is None:
        return True
    word = before[1]
    return word in vocabulary().ignored or re.fullmatch(r"\d{1,3}x?|\d+gb?", word) is not None


_MOST_BARE = 512
"""More cards than this in front of a bare number are pixels: 1920x1080."""
_NEXT_NUMBER = re.compile(r" [a-z\u4e00-\u9fff]{1,8}[ :=为]{0,2}\d")
"""A noun that counts the number behind it: `4090 图片 1024x1024`, `3090 steps 500`."""
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
"""Chinese has no plural: the s of `4080s 16g` is SUPER there."""
_STRONG_NUMBERS = re.compile(r"[345]0[5-9]0")
"""Numbers that hardly ever mean anything but a card."""


_RATE = re.compile(r" ?(?:tokens?|tok) ?(?:/|per|每|a) ?(?:s|秒)")
_REACHED = re.compile(
    r"(?<![a-z])(?:get|gets|got|getting|see|seeing|reach|reaches|about|around|only|at|is|are|~)\s?\Z"
    r"|(?:约|大概|达到|能到|到|有|跑出|只有|是|才)\s?\Z"
)
"""In front of a rate: a speed that was measured, not a card of which a speed is asked."""


def _is_bare_card(folded: str, reading: Reading, key_start: int, key_end: int) -> bool:
    """Whether a number without GTX or RTX stands in the place of a card."""
    if reading.count is not None and reading.count > _MOST_BARE:
        return False
    if reading.count is not None or reading.size_gb is not None:
        return not _unit_follows(folded, key_end)
    is_rate = _RATE.match(folded, key_end) and _STRONG_NUMBERS.fullmatch(reading.key)
    if is_rate and not _REACHED.search(folded[max(0, key_start - 16) : key_start]):
        return True
    if _unit_follows(folded, key_end) or _unit_precedes(folded, key_start):
        return False
    if _STRONG_NUMBERS.fullmatch(reading.key):
        return True
    after = folded[key_end : key_end + 8].lstrip(" ")
    in_place_after = not after or after.startswith(vocabulary().place_after)
    return in_place_after and (key_start == 0 or _place_precedes(folded, key_start))


_SUM_BEFORE = re.compile(
    r"(?:costs?|paid|pays?|price[ds]?|spent|花了?|要价|价格|售价)(?: is| of| about)?\s?\d+,\Z"
)
"""A sum of money whose digits are parted by four, as in Chinese: "costs 1,3090"."""
_FOUR_DIGITS = re.compile(r"(?<!\d)\d{4}\Z")
"""A number that no comma divides in thousands: "batch 8,4090" is a list."""


def _place_precedes(folded: str, start: int) -> bool:
    before = folded[max(0, start - 12) : start].rstrip(" (")
    word = re.search(r"[a-z]+$|.$", before)
    return word is not None and word[0] in vocabulary().place_before


def _unit_follows(folded: str, end: int) -> bool:
    rest = folded[end : end + 16].lstrip(" -")
    if rest.startswith(vocabulary().not_a_card_after) and not rest.startswith(("个人", "步骤")):
        return _NEXT_NUMBER.match(folded, end) is None
    if _FOUR_DIGITS.search(folded, max(0, end - 5), end) and rest.startswith(","):
        return False
    return re.match(r"x ?\d{3,}|[.:]\d|,\d{3}|=", rest) is not None


def _unit_precedes(folded: str, start: int) -> bool:
    before = folded[max(0, start - 20) : start]
    if re.search(r"[$¥￥=#]\s*$|(?<![a-z0-9.])\d+[.x*×]\s*$|\d[:：]$", before):
        return True
    if re.search(r"(?<![a-z0-9.])\d+,$", before):
        is_of_thousands = re.match(r"\d{3}(?!\d)", folded[start:]) is not None
        return is_of_thousands or _SUM_BEFORE.search(before) is not None
    bare = re.sub(r"[\s:：=_\-为是到]+$", "", before)
    noun = next((n for n in vocabulary().not_a_card_before if bare.endswith(n)), None)
    return noun is not None and not re.search(r"\d ?[k万]?$", bare.removesuffix(noun))


def resolve(reading: Reading) -> GpuMatch:
    """The row of a reading, and what is contradictory about it."""
    known = vocabulary()
    index = gpu_index()
    if reading.key in known.ask:
        match = _ask(reading)
    else:
        match = _by_size(reading)
    if reading.unknown_form is not None:
        conflict = (
            f"{match.spec.name} {reading.unknown_form.upper()} is not a known card; "
            f"read as {match.spec.name}"
        )
        match = match._replace(conflict=conflict)
    if reading.size_gb is None and not match.conflict:
        also = known.also.get(reading.key) or known.also.get(reading.key.removeprefix("rtx"), [])
        match = match._replace(also=match.also or tuple(get_gpu(name) for name in also))
    if index.default.get(reading.key) is None and reading.key not in known.ask:
        sizes = tuple(index.sizes(reading.key).values())
        match = match._replace(also=match.also or sizes[1:])
    match = _with_slice(match, reading)
    return match._replace(total_mib=reading.total_mib, given_memory_gb=reading.size_gb)


def _ask(reading: Reading) -> GpuMatch:
    """RTX 6000, RTX 5000, RTX 4000: three cards each, told apart by their memory."""
    rows = [get_gpu(name) for name in vocabulary().ask[reading.key]]
    sized = gpu_index().sized.get(reading.key, {})
    for row in rows:
        if reading.size_gb is not None and row.memory_label_gb == reading.size_gb:
            return GpuMatch(row)
    if reading.size_gb in sized:
        return GpuMatch(sized[reading.size_gb])
    listed = ", ".join(f"{row.name} ({row.memory_label_gb:g} GB)" for row in rows)
    number = reading.key.removeprefix("rtx")
    return GpuMatch(
        rows[0],
        also=tuple(rows[1:]),
        conflict=f"RTX {number} names several cards: {listed}",
    )


def _by_size(reading: Reading) -> GpuMatch:
    index = gpu_index()
    default = index.default.get(reading.key)
    sizes = index.sizes(reading.key)
    size = reading.size_gb
    if size is None:
        return _bare(default or next(iter(sizes.values())))
    if size in sizes:
        return GpuMatch(sizes[size])
    if default is not None and default.memory_label_gb is None:
        return _sized_row(default, size)
    for row in sizes.values():
        if _is_reading_of(row, size):
            return GpuMatch(row, notes=(f"{size:g} GB is what tools show of it",))
    nearest = min(sizes, key=lambda label: abs(label - size))
    row = sizes[nearest]
    listed = " or ".join(f"{label:g}" for label in sizes)
    return GpuMatch(
        row,
        conflict=(
            f"{row.name} has {listed} GB, not {size:g} GB: a MIG or vGPU slice, another card, or "
            f"memory in use may be meant"
        ),
    )


def _bare(row: GpuSpec) -> GpuMatch:
    if row.vendor == "Apple" and row.memory_label_gb is None:
        return GpuMatch(row, notes=("unified memory: its size is a purchase option and is needed",))
    return GpuMatch(row)


def unified_share(size_gb: float) -> float:
    """Share of a Mac's memory that macOS lets the GPU have by default.

    Metal's recommended working set: 10.7 GiB of 16, 16 of 24, 48 of 64 (logs of llama.cpp).

    >>> unified_share(16) < 0.67 < unified_share(64) == 0.75
    True
    """
    return 0.75 if size_gb >= _LARGE_UNIFIED_GB else 2 / 3


def _sized_row(row: GpuSpec, size_gb: float) -> GpuMatch:
    """A row whose memory is a purchase option, with the size that was written."""
    if row.vendor != "Apple":
        return GpuMatch(row, notes=(f"{size_gb:g} GB as written",))
    share = unified_share(size_gb)
    sized = dataclasses.replace(
        row,
        memory_label_gb=size_gb,
        memory_usable_mib=int(size_gb * 1024 * share),
        usable_basis="derived",
    )
    note = f"unified memory: macOS gives the GPU about {share:.0%} of {size_gb:g} GB by default"
    return GpuMatch(sized, notes=(note,))


def _is_reading_of(row: GpuSpec, size_gb: float) -> bool:
    shown = (row.memory_smi_mib, row.memory_usable_mib)
    return any(
        mib is not None and abs(mib / 1024 - size_gb) <= _READING_TOLERANCE_GB for mib in shown
    )


def _with_slice(match: GpuMatch, reading: Reading) -> GpuMatch:
    if reading.vgpu is not None:
        suffix, memory_gb = reading.vgpu
        return match._replace(
            slice_memory_gb=float(memory_gb), slice_name=f"{reading.key.upper()}-{suffix}"
        )
    if reading.mig is None:
        return match
    profile, slices, memory_gb = reading.mig
    most = _MIG_SLICES.get(match.spec.name, _DEFAULT_MIG_SLICES)
    conflict = match.conflict
    if match.spec.mig is False:
        conflict = f"{match.spec.name} has no MIG, so no {profile} instance exists on it"
    elif slices > most:
        conflict = f"{match.spec.name} has {most} compute slices, not {slices}"
    spec = _mig_host(match.spec, profile, has_size=reading.size_gb is not None)
    return match._replace(
        spec=spec, slice_memory_gb=float(memory_gb), slice_name=profile, conflict=conflict
    )


def _mig_host(spec: GpuSpec, profile: str, *, has_size: bool) -> GpuSpec:
    """The variant of a card that has the profile: 1g.5gb is of the 40 GB A100."""
    if has_size or not spec.mig:
        return spec
    hosts = [gpus_by_name()[name] for name in vocabulary().mig_hosts.get(profile, [])]
    same = [host for host in hosts if _family_key(host) == _family_key(spec)]
    return same[0] if same and spec not in same else spec


def slices_of(name: str) -> tuple[tuple[str, float], ...]:
    """MIG profiles of a row with their memory in GB, the smallest first.

    >>> slices_of("NVIDIA A30")
    (('1g.6gb', 6.0), ('2g.12gb', 12.0), ('4g.24gb', 24.0))
    """
    profiles = (p for p, hosts in vocabulary().mig_hosts.items() if name in hosts)
    sized = ((p, float(p.partition(".")[2].removesuffix("gb"))) for p in profiles)
    return tuple(sorted(sized, key=lambda pair: pair[1]))


def _family_key(spec: GpuSpec) -> str:
    return next((word.lower() for word in spec.name.split() if any(map(str.isdigit, word))), "")
