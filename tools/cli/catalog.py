"""`python -m tools catalog`: instance types, families, cards, needs; refresh of the data."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.catalog import Family, InstanceLookup, InstanceOffer, Need


ACTIONS = ("summary", "lookup", "family", "card", "need", "billing", "refresh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's flags."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--provider", help="alibaba, tencent, aws, ... in any spelling")
    shared.add_argument("--json", action="store_true", help="machine-readable output")
    priced = argparse.ArgumentParser(add_help=False)
    priced.add_argument("--region", help="region, city or group (cn = mainland China)")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    summary = actions.add_parser("summary", parents=[shared], help="what the catalog holds")
    summary.set_defaults(name=None)
    for action, text in (
        ("lookup", "one type or family by any spelling"),
        ("family", "all types of a family"),
        ("card", "types with a card"),
    ):
        one = actions.add_parser(action, parents=[shared, priced], help=text)
        one.add_argument("name")
        one.add_argument("--time", action="store_true", help="print what a lookup takes, warm")
    need = actions.add_parser("need", parents=[shared, priced], help="types that meet a need")
    need.add_argument("--gpus", type=int, help="at least this many GPUs")
    need.add_argument("--gpu-memory", type=float, metavar="GB", help="label memory of one GPU")
    need.add_argument("--nvlink", action="store_true", help="NVLink between the GPUs")
    need.add_argument("--rdma", action="store_true", help="RDMA between machines")
    need.add_argument("--rdma-gbps", type=float)
    need.add_argument("--network-gbps", type=float)
    need.add_argument("--vcpus", type=int)
    need.add_argument("--memory-gib", type=float)
    need.add_argument("--cpu", action="store_true", help="CPU types")
    billing = actions.add_parser(
        "billing", parents=[shared, priced], help="on demand, spot and subscription of a type"
    )
    billing.add_argument("name")
    billing.add_argument("--hours", type=float, default=730, help="hours of use a month")
    refresh = actions.add_parser("refresh", help="new rows through a vendor's SDK")
    refresh.add_argument("--provider", required=True, help="alibaba, tencent or aws")
    refresh.add_argument("--region", help="region to ask; the vendor's default otherwise")
    refresh.add_argument("--dry-run", action="store_true", help="show the difference only")
    refresh.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Runs the command; exit 1 when nothing was found."""
    if args.action is None or args.action == "summary":
        return _summary(as_json=getattr(args, "json", False))
    if args.action == "refresh":
        from tools.catalog.refresh import run_refresh

        report = run_refresh(args.provider, region=args.region, dry_run=args.dry_run)
        print(json.dumps(report.view(), ensure_ascii=False) if args.json else report.text())
        return 0
    if args.action == "need":
        return _need(args)
    if args.action == "card":
        return _card(args)
    if args.action == "billing":
        from tools.cli.billing import run_billing

        return run_billing(args)
    return _lookup(args)


def _summary(*, as_json: bool) -> int:
    from tools.catalog import catalog

    counts = Counter((o.provider, o.category) for o in catalog().offers)
    if as_json:
        rows = [{"provider": p, "category": c, "types": n} for (p, c), n in sorted(counts.items())]
        print(json.dumps(rows))
    else:
        for (provider, category), number in sorted(counts.items()):
            print(f"{provider:<9} {category:<12} {number:>4} types")
    return 0


def _lookup(args: argparse.Namespace) -> int:
    from tools.catalog import find_instance

    found = find_instance(args.name, args.provider)
    if args.time:
        wall, cpu = _lookup_us(args.name, args.provider)
        print(f"lookup_us: {wall:.0f} (CPU {cpu:.0f}; mean of 200, nothing cached)")
    if args.json:
        from tools.catalog.views import lookup_view

        print(json.dumps(lookup_view(found), ensure_ascii=False))
    else:
        _print_lookup(found, args.region)
    return 0 if found.exists else 1


def _lookup_us(name: str, provider: str | None) -> tuple[float, float]:
    """Microseconds of one lookup, passed and of CPU, each of a spelling not seen before."""
    import time

    from tools.catalog import find_instance

    runs = 200
    spellings = [name[:1] + "\u200b" * number + name[1:] for number in range(1, runs + 1)]
    start, busy = time.perf_counter(), time.process_time()
    for written in spellings:
        find_instance(written, provider)
    passed = time.perf_counter() - start
    return passed / runs * 1e6, (time.process_time() - busy) / runs * 1e6


def _print_lookup(found: InstanceLookup, region: str | None) -> None:
    if found.kind == "type":
        for offer in found.offers:
            print("\n".join(_details(offer, region)))
    elif found.families:
        if not found.exists:
            print(f"{found.given} is not in the catalog; what its name says:")
        for one in found.families:
            print("\n".join(_family_lines(one, region)))
    else:
        print(f"No instance type or family {found.given!r} is known.")
    if found.nearest:
        print("Nearest real types: " + ", ".join(o.instance_type for o in found.nearest))
    if found.elsewhere:
        print(f"The same name means something else at: {', '.join(found.elsewhere)}")


def _family_lines(found: Family, region: str | None) -> Iterable[str]:
    what = ", ".join(found.gpu_labels) or found.purpose_en or "no GPU named"
    kind = "CPU family" if found.category == "cpu" else f"{found.category} family"
    yield f"{found.provider} {found.name}: {kind}; {what}"
    yield from (f"  {_line(offer, region)}" for offer in found.offers)


def _line(offer: InstanceOffer, region: str | None) -> str:
    gpus = ""
    if offer.gpu_count is not None:
        share = "" if offer.gpu_fraction in (1, None) else f" ({offer.gpu_fraction} card)"
        label = f" {offer.gpu_memory_gb:g} GB" if offer.gpu_memory_gb else ""
        gpus = f"{offer.gpu_count} x {offer.gpu_label or 'GPU not named'}{label}{share}, "
    vcpu = offer.vcpu_count or "?"
    memory = "?" if offer.memory_gib is None else f"{offer.memory_gib:g}"
    size = f"{gpus}{vcpu} vCPU, {memory} GiB"
    return f"{offer.provider:<8} {offer.instance_type:<28} {size}; {_price(offer, region)}"


def _price(offer: InstanceOffer, region: str | None) -> str:
    """Cheapest dated price, else an undated list price said to be so."""
    from tools.catalog import cheapest, prices_of
    from tools.units import format_significant

    price = cheapest(offer, region=region)
    when = "undated list price, not ranked"
    if price is None:
        undated = prices_of(offer, billing="on_demand") if region is None else ()
        price = min(undated, key=lambda p: p.per_hour, default=None)
    else:
        when = f"{price.region or 'region not stated'}, {price.priced_on}"
    if price is None:
        return "no price"
    amount = format_significant(float(price.amount), 5)
    return f"{amount} {price.currency}/{price.per} on demand ({when})"


def _details(offer: InstanceOffer, region: str | None) -> Iterable[str]:
    from tools.catalog import offer_source, usable_memory
    from tools.units import format_gib

    yield _line(offer, region)
    memory = usable_memory(offer) if offer.is_gpu else None
    if memory is not None:
        derived = " (derived)" if memory.is_derived else ""
        yield f"  usable per GPU: {format_gib(memory.bytes)}{derived}"
    links = (("NVLink", offer.nvlink, offer.nvlink_gbs, "GB/s"), ("RDMA", offer.rdma,
             offer.rdma_gbps, "Gbit/s"))  # fmt: skip
    for name, has, speed, unit in links:
        text = "unknown" if has is None else "yes" if has else "no"
        yield f"  {name}: {text}" + (f", {speed:g} {unit}" if speed else "")
    network = "unknown" if offer.network_gbps is None else f"{offer.network_gbps:g} Gbit/s"
    yield f"  network: {network}; status: {offer.status}"
    if offer.note:
        yield f"  note: {offer.note}"
    yield f"  source: {offer_source(offer).locator}"


def _card(args: argparse.Namespace) -> int:
    from tools.catalog import offers_for
    from tools.gpus import find_gpu

    match = find_gpu(args.name)
    found = offers_for(match.spec.name, provider=args.provider)
    return _print_offers(found.offers, args, heading=match.spec.name)


def _need(args: argparse.Namespace) -> int:
    from tools.catalog import offers_for

    found = offers_for(_asked(args), provider=args.provider)
    status = _print_offers(found.offers, args, heading="meets the need")
    if found.uncertain and not args.json:
        print(f"Unknown on a point asked for ({len(found.uncertain)} types):")
        for one in found.uncertain[:10]:
            print(f"  {_line(one.offer, args.region)}; unknown: {', '.join(one.unknown)}")
    return status


def _asked(args: argparse.Namespace) -> Need:
    from tools.catalog import Need

    return Need(
        min_gpu_count=args.gpus,
        min_gpu_memory_gb=args.gpu_memory,
        nvlink=True if args.nvlink else None,
        rdma=True if args.rdma else None,
        min_rdma_gbps=args.rdma_gbps,
        min_network_gbps=args.network_gbps,
        min_vcpu_count=args.vcpus,
        min_memory_gib=args.memory_gib,
        is_cpu=args.cpu,
    )


def _print_offers(
    offers: Iterable[InstanceOffer], args: argparse.Namespace, *, heading: str
) -> int:
    found = list(offers)
    if args.json:
        from tools.catalog.views import offer_view

        rows: list[dict[str, Any]] = [offer_view(o, region=args.region) for o in found]
        print(json.dumps(rows, ensure_ascii=False))
    else:
        print(f"{heading}: {len(found)} types")
        for offer in found:
            print(f"  {_line(offer, args.region)}")
    return 0 if found else 1
