"""YOLO detectors (v5u, v8, 11) from their published layer tables, written anew.

Layer tables, width and depth multiples: docs.ultralytics.com model pages and the papers they
cite. Only shapes matter here; parameter counts equal the published ones (tests). The loss stands
in for the real one: mean of squares of the raw head outputs.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import torch
from torch import nn

from tools.errors import UnsupportedError
from tools.memory.simulate.kinds.common import weights_dtype
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

_CLASSES, _BINS = 80, 16


class Scale(NamedTuple):
    """Depth and width multiples, and the cap on channels."""

    depth: float
    width: float
    most: int


_SCALES = {
    "v8": {"n": Scale(0.33, 0.25, 1024), "s": Scale(0.33, 0.5, 1024), "m": Scale(0.67, 0.75, 768),
           "l": Scale(1, 1, 512), "x": Scale(1, 1.25, 512)},
    "v5": {"n": Scale(0.33, 0.25, 1024), "s": Scale(0.33, 0.5, 1024), "m": Scale(0.67, 0.75, 1024),
           "l": Scale(1, 1, 1024), "x": Scale(1.33, 1.25, 1024)},
    "11": {"n": Scale(0.5, 0.25, 1024), "s": Scale(0.5, 0.5, 1024), "m": Scale(0.5, 1, 512),
           "l": Scale(1, 1, 512), "x": Scale(1, 1.5, 512)},
}  # fmt: skip


class ConvUnit(nn.Sequential):
    """Convolution without bias, batch norm, SiLU."""

    def __init__(self, c1: int, c2: int, k: int = 1, s: int = 1, *, g: int = 1, act: bool = True,
                 pad: int | None = None) -> None:  # fmt: skip
        conv = nn.Conv2d(c1, c2, k, s, k // 2 if pad is None else pad, groups=g, bias=False)
        super().__init__(conv, nn.BatchNorm2d(c2), nn.SiLU() if act else nn.Identity())


class Bottleneck(nn.Module):
    """Two convolutions with a shortcut where the widths agree."""

    def __init__(self, c1: int, c2: int, *, add: bool, kernels: tuple[int, int] = (3, 3),
                 share: float = 1.0) -> None:  # fmt: skip
        super().__init__()
        inner = int(c2 * share)
        self.first = ConvUnit(c1, inner, kernels[0])
        self.second = ConvUnit(inner, c2, kernels[1])
        self.add = add and c1 == c2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Same height and width."""
        out = self.second(self.first(x))
        return x + out if self.add else out


class SplitStage(nn.Module):
    """C2f and C3k2: half of the channels pass through a chain whose every output is joined."""

    def __init__(self, c1: int, c2: int, inner: int, chain: list[nn.Module]) -> None:
        super().__init__()
        self.enter = ConvUnit(c1, 2 * inner)
        self.leave = ConvUnit((2 + len(chain)) * inner, c2)
        self.chain = nn.ModuleList(chain)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Joins the two halves with each link's output."""
        parts = list(self.enter(x).chunk(2, 1))
        for link in self.chain:
            parts.append(link(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class CrossStage(nn.Module):
    """C3: two branches, one through bottlenecks."""

    def __init__(
        self, c1: int, c2: int, count: int, *, add: bool, kernels: tuple[int, int]
    ) -> None:
        super().__init__()
        inner = c2 // 2
        self.left, self.right = ConvUnit(c1, inner), ConvUnit(c1, inner)
        links = [Bottleneck(inner, inner, add=add, kernels=kernels) for _ in range(count)]
        self.chain = nn.Sequential(*links)
        self.leave = ConvUnit(2 * inner, c2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Joins both branches."""
        return self.leave(torch.cat((self.chain(self.left(x)), self.right(x)), 1))


class Pooling(nn.Module):
    """SPPF: three max pools in a row, joined."""

    def __init__(self, c1: int, c2: int) -> None:
        super().__init__()
        self.enter, self.leave = ConvUnit(c1, c1 // 2), ConvUnit(c1 // 2 * 4, c2)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Joins the input and three pooled copies."""
        parts = [self.enter(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class AttentionBlock(nn.Module):
    """Attention over positions with a depthwise position term, then two convolutions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = max(width // 64, 1)
        self.head, self.key = width // self.heads, width // self.heads // 2
        self.qkv = ConvUnit(width, width + 2 * self.key * self.heads, act=False)
        self.proj = ConvUnit(width, width, act=False)
        self.place = ConvUnit(width, width, 3, g=width, act=False)
        self.grow, self.shrink = ConvUnit(width, 2 * width), ConvUnit(2 * width, width, act=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Same shape; keeps the score matrix as the original does."""
        b, c, h, w = x.shape
        mixed = self.qkv(x).view(b, self.heads, 2 * self.key + self.head, h * w)
        q, k, v = mixed.split([self.key, self.key, self.head], dim=2)
        scores = ((q.transpose(-2, -1) @ k) * self.key**-0.5).softmax(dim=-1)
        out = (v @ scores.transpose(-2, -1)).view(b, c, h, w) + self.place(v.reshape(b, c, h, w))
        x = x + self.proj(out)
        return x + self.shrink(self.grow(x))


class AttentionStage(nn.Module):
    """C2PSA: half of the channels pass through attention blocks."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.enter, self.leave = ConvUnit(width, width), ConvUnit(width, width)
        self.chain = nn.Sequential(*(AttentionBlock(width // 2) for _ in range(count)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Same shape."""
        left, right = self.enter(x).chunk(2, 1)
        return self.leave(torch.cat((left, self.chain(right)), 1))


class Head(nn.Module):
    """Boxes (16 bins a side) and classes at three strides."""

    def __init__(self, widths: list[int], *, light: bool) -> None:
        super().__init__()
        box = max(16, widths[0] // 4, 4 * _BINS)
        cls = max(widths[0], min(_CLASSES, 100))
        self.boxes = nn.ModuleList(
            nn.Sequential(ConvUnit(c, box, 3), ConvUnit(box, box, 3), nn.Conv2d(box, 4 * _BINS, 1))
            for c in widths
        )
        self.classes = nn.ModuleList(self._classes(c, cls, light=light) for c in widths)

    @staticmethod
    def _classes(c: int, width: int, *, light: bool) -> nn.Module:
        last = nn.Conv2d(width, _CLASSES, 1)
        if not light:
            return nn.Sequential(ConvUnit(c, width, 3), ConvUnit(width, width, 3), last)
        return nn.Sequential(
            ConvUnit(c, c, 3, g=c), ConvUnit(c, width), ConvUnit(width, width, 3, g=width),
            ConvUnit(width, width), last,
        )  # fmt: skip

    def forward(self, levels: list[torch.Tensor]) -> list[torch.Tensor]:
        """Raw outputs of each stride, boxes and classes joined."""
        pairs = zip(levels, self.boxes, self.classes, strict=True)
        return [torch.cat((box(x), cls(x)), 1) for x, box, cls in pairs]


class Yolo(nn.Module):
    """Backbone, neck and head of one version and size."""

    def __init__(self, version: str, size: str) -> None:
        super().__init__()
        self.version, self.size, self.scale = version, size, _SCALES[version][size]
        width = {n: self._width(n) for n in (64, 128, 256, 512, 1024)}
        self.stem = nn.Sequential(self._stem(width[64]), ConvUnit(width[64], width[128], 3, 2))
        early = (256, 512) if version == "11" else (128, 256)
        a, b = width[early[0]], width[early[1]]
        counts = {"v8": (3, 6, 6, 3), "v5": (3, 6, 9, 3), "11": (2, 2, 2, 2)}[version]
        self.stage2 = self._stage(width[128], a, counts[0], deep=False, share=0.25)
        self.down3 = ConvUnit(a, width[256], 3, 2)
        self.stage3 = self._stage(width[256], b, counts[1], deep=False, share=0.25)
        self.down4 = ConvUnit(b, width[512], 3, 2)
        self.stage4 = self._stage(width[512], width[512], counts[2], deep=True)
        self.down5 = ConvUnit(width[512], width[1024], 3, 2)
        last = [self._stage(width[1024], width[1024], counts[3], deep=True)]
        last.append(Pooling(width[1024], width[1024]))
        if version == "11":
            last.append(AttentionStage(width[1024], self._count(2)))
        self.stage5 = nn.Sequential(*last)
        self._neck(width, b)
        self.head = Head([width[256], width[512], width[1024]], light=version == "11")
        self.bins = nn.Conv2d(_BINS, 1, 1, bias=False).requires_grad_(requires_grad=False)

    def _neck(self, width: dict[int, int], b: int) -> None:
        few = 2 if self.version == "11" else 3
        is_v5 = self.version == "v5"
        top, mid = width[1024], width[512]
        if is_v5:
            self.narrow5, self.narrow4 = ConvUnit(top, mid), ConvUnit(mid, width[256])
            top, narrow = mid, width[256]
        else:
            narrow = mid
        self.up4 = self._stage(top + width[512], width[512], few, deep=False, add=False)
        self.up3 = self._stage(narrow + b, width[256], few, deep=False, add=False)
        self.back4 = ConvUnit(width[256], width[256], 3, 2)
        self.out4 = self._stage(width[256] + narrow, width[512], few, deep=False, add=False)
        self.back5 = ConvUnit(width[512], width[512], 3, 2)
        self.out5 = self._stage(width[512] + top, width[1024], few, deep=True, add=False)

    def _width(self, channels: int) -> int:
        return -(-int(min(channels, self.scale.most) * self.scale.width) // 8) * 8

    def _count(self, repeats: int) -> int:
        return max(round(repeats * self.scale.depth), 1)

    def _stem(self, width: int) -> nn.Module:
        return ConvUnit(3, width, 6, 2, pad=2) if self.version == "v5" else ConvUnit(3, width, 3, 2)

    def _stage(
        self, c1: int, c2: int, repeats: int, *, deep: bool, share: float = 0.5, add: bool = True
    ) -> nn.Module:
        count = self._count(repeats)
        if self.version == "v5":
            return CrossStage(c1, c2, count, add=add, kernels=(1, 3))
        if self.version == "v8":
            inner = c2 // 2
            return SplitStage(
                c1, c2, inner, [Bottleneck(inner, inner, add=add) for _ in range(count)]
            )
        inner = int(c2 * share)
        links: list[nn.Module] = []
        for _ in range(count):  # yolo 11 keeps its shortcuts in the neck
            if deep or self.size in "mlx":
                links.append(CrossStage(inner, inner, 2, add=True, kernels=(3, 3)))
            else:
                links.append(Bottleneck(inner, inner, add=True, share=0.5))
        return SplitStage(c1, c2, inner, links)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Raw head outputs at strides 8, 16 and 32."""
        p3 = self.stage3(self.down3(self.stage2(self.stem(x))))
        p4 = self.stage4(self.down4(p3))
        p5 = self.stage5(self.down5(p4))
        if self.version == "v5":
            p5 = self.narrow5(p5)
        n4 = self.up4(torch.cat((self._bigger(p5), p4), 1))
        if self.version == "v5":
            n4 = self.narrow4(n4)
        n3 = self.up3(torch.cat((self._bigger(n4), p3), 1))
        o4 = self.out4(torch.cat((self.back4(n3), n4), 1))
        o5 = self.out5(torch.cat((self.back5(o4), p5), 1))
        outputs: list[torch.Tensor] = self.head([n3, o4, o5])
        return outputs

    @staticmethod
    def _bigger(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")


def build(request: SimulationRequest) -> nn.Module:
    """The detector that the request's model names.

    Raises:
        UnsupportedError: For versions whose layer table is not here.
    """
    found = re.search(r"yolo(v8|v5|11)([nsmlx])u?$", request.model)
    if found is None:
        raise UnsupportedError(
            f"simulating {request.model}", reason="only YOLOv5u, YOLOv8 and YOLO11 are written here"
        )
    return Yolo(found[1], found[2]).to(weights_dtype(request))


def feed(request: SimulationRequest) -> LossOf:
    """Images in the weights' dtype; mean of squares of the raw outputs."""
    px = request.image_px or 640
    images = torch.empty((request.batch, 3, px, px), dtype=weights_dtype(request))

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(images)
        squares = [out.float().pow(2).mean() for out in outputs]
        return torch.stack(squares).sum(), outputs

    return forward
