"""`python -m tools copy`: how long data takes to move between a store and a machine."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from tools.arguments import amount, count, name
from tools.errors import UserInputError

if TYPE_CHECKING:
    from tools.catalog import TrafficCost
    from tools.speed import CopyTime


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("size", metavar="SIZE", help="with its unit: 20TB, 500GB, 3TiB")
    parser.add_argument("--source", type=name, help="s3, oss, gcs, nas, cpfs, essd-pl1, nvme, ...")
    parser.add_argument("--target", type=name, help="the same, for the other end")
    parser.add_argument("--link", type=amount, metavar="GBPS", help="Gbit/s of one machine")
    parser.add_argument("--instance", type=name, help="take the link of this instance type")
    parser.add_argument("--machines", type=count, default=1, help="machines that copy at once")
    parser.add_argument("--files", type=amount, help="how many files, where they are small")
    parser.add_argument("--streams", type=count, help="files under way at once")
    parser.add_argument("--abroad", action="store_true", help="outside mainland China")
    parser.add_argument("--way", default="internal", help="inbound, internal, internet, regions")
    parser.add_argument("--provider", type=name, help="cloud whose traffic price is meant")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Prints the time, what limits it, and the money where a price is known."""
    from tools.speed import CopyJob, copy_time
    from tools.units import parse_bytes

    size = parse_bytes(args.size)
    found = copy_time(
        CopyJob(
            size_bytes=size,
            source=args.source,
            target=args.target,
            link_gbps=_link(args),
            machines=args.machines,
            files=args.files,
            streams=args.streams,
            is_abroad=args.abroad,
        )
    )
    cost = _cost(args, size)
    if args.json:
        print(json.dumps(_view(found, cost), ensure_ascii=False))
    else:
        _print(found, cost, args)
    return 0


def _link(args: argparse.Namespace) -> float | None:
    """Gbit/s as given, or of the instance type."""
    if args.link is not None or args.instance is None:
        return None if args.link is None else float(args.link)
    from tools.catalog import find_instance

    found = find_instance(args.instance, args.provider)
    offers = found.offers or tuple(o for one in found.families for o in one.offers)
    speeds = [o.network_gbps for o in offers if o.network_gbps is not None]
    if not found.exists or not speeds:
        raise UserInputError(f"No network speed of {args.instance!r} is known; give --link GBPS.")
    return min(speeds)


def _cost(args: argparse.Namespace, size: int) -> TrafficCost | None:
    from tools.catalog import traffic_cost
    from tools.catalog.traffic import WAYS

    if args.way not in WAYS:
        raise UserInputError(f"Unknown way {args.way!r}. Allowed: {', '.join(WAYS)}.")
    provider = _provider(args)
    if provider is None:
        return None
    return traffic_cost(provider, way=args.way, size_bytes=size)


def _provider(args: argparse.Namespace) -> str | None:
    """The cloud that was named, or whose store an end is."""
    from tools.catalog import provider_id
    from tools.speed import object_store

    if args.provider is not None:
        return provider_id(args.provider)
    stores = [object_store(end) for end in (args.source, args.target) if end is not None]
    return next((store.provider for store in stores if store is not None), None)


def _print(found: CopyTime, cost: TrafficCost | None, args: argparse.Namespace) -> None:
    from tools.units import format_significant

    hours = found.seconds
    low, value, high = (
        format_significant(s / 3600, 3) for s in (hours.low, hours.value, hours.high)
    )
    print(f"{value} h ({low} - {high} h), {format_significant(found.mb_s, 3)} MB/s")
    for stage, rate in found.stages.items():
        mark = "  <- the slowest" if stage == found.slowest else ""
        print(f"  {stage}: {format_significant(rate, 3)} MB/s{mark}")
    if found.file_seconds is not None:
        mark = "  <- the slowest" if found.slowest == "files" else ""
        print(f"  opening files: {format_significant(found.file_seconds / 3600, 3)} h{mark}")
    print(f"  connections that carry it: {found.streams_needed}")
    if found.machines_useful is not None:
        print(f"  more machines help up to {found.machines_useful}")
    if cost is None:
        print(f"Traffic ({args.way}): no price in the catalog")
    else:
        day = cost.priced_on or "undated list price"
        money = f"{cost.low}" if cost.low == cost.high else f"{cost.low} - {cost.high}"
        bound = "at most " if cost.is_upper else ""
        print(f"Traffic ({args.way}, {cost.provider}): {bound}{money} {cost.currency} ({day})")
    for assumption in found.assumptions:
        print(f"Assumed: {assumption.name} = {assumption.value} ({assumption.why})")


def _view(found: CopyTime, cost: TrafficCost | None) -> dict[str, Any]:
    traffic = None
    if cost is not None:
        traffic = {
            "provider": cost.provider, "way": cost.way, "low": str(cost.low),
            "high": str(cost.high), "currency": cost.currency, "is_upper": cost.is_upper,
            "priced_on": None if cost.priced_on is None else cost.priced_on.isoformat(),
        }  # fmt: skip
    return {
        "seconds": found.seconds.value, "seconds_low": found.seconds.low,
        "seconds_high": found.seconds.high, "mb_s": found.mb_s, "stages_mb_s": found.stages,
        "slowest": found.slowest, "file_seconds": found.file_seconds,
        "connections": found.streams_needed, "machines_useful": found.machines_useful,
        "traffic": traffic,
    }  # fmt: skip
