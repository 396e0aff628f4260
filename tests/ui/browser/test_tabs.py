"""Calculator, catalog, machine and accuracy in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.sockets]
CALC = "#xk-calculator .xk-calc"
NAMESAKES = {
    "g6": ("Alibaba Cloud", "AWS", "Huawei Cloud"),
    "g7": ("Alibaba Cloud", "AWS"),
    "p3": ("AWS", "Huawei Cloud"),
}
"""Family names of several clouds, by their own lists of types."""


def tab(page: Any, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def need(page: Any) -> int:
    return int(page.locator(CALC).get_attribute("data-bytes"))


def changed(page: Any, before: int) -> int:
    page.wait_for_function(
        "old => Number(document.querySelector('#xk-calculator .xk-calc')?.dataset.bytes) !== old",
        arg=before,
    )
    return need(page)


@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_tabs_look_right_and_are_accessible(
    pages: Any, shoot: Any, accessible: Any, dark: bool, phone: bool
) -> None:
    page = pages.open(locale="zh-CN", dark=dark, phone=phone)
    style = f"{'dark' if dark else 'light'}-{'phone' if phone else 'wide'}"
    for name, label, mark in (
        ("calculator", "计算器", CALC),
        ("catalog", "实例目录", ".xk-catalog tbody tr"),
        ("machine", "本机", "#xk-machine p, #xk-machine section"),
        ("accuracy", "准确度", "#xk-accuracy p, #xk-accuracy section"),
    ):
        if phone and not page.get_by_role("tab", name=label).is_visible():
            page.locator("#xk-tabs .overflow-menu > button").click()
            page.locator("#xk-tabs .overflow-dropdown button", has_text=label).click()
        else:
            tab(page, label)
        page.wait_for_selector(mark)
        shoot(page, f"{name}-{style}")
        accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_calculator_follows_the_drag_and_the_address_restores_it(pages: Any) -> None:
    page = pages.open("?tab=calculator")
    page.wait_for_selector(CALC)
    first = need(page)
    slider = page.get_by_role("slider", name="Batch")
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=8)
    dragged = changed(page, first)
    page.mouse.up()
    page.wait_for_timeout(400)
    assert need(page) > first
    dragged = need(page)
    address = page.url
    assert "batch=" in address
    other = pages.open(address.removeprefix(pages.url))
    other.wait_for_selector(CALC)
    other.wait_for_function(
        "n => Number(document.querySelector('#xk-calculator .xk-calc').dataset.bytes) === n",
        arg=dragged,
    )


def test_calculator_redraws_within_200_ms(pages: Any) -> None:
    page = pages.open("?tab=calculator")
    page.wait_for_selector(CALC)
    page.wait_for_timeout(500)
    took = page.evaluate(
        """async () => {
          const input = [...document.querySelectorAll('input[type=range]')]
            .find((i) => i.getAttribute('aria-label')?.includes('Batch'));
          const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
          const bytes = () => document.querySelector('#xk-calculator .xk-calc').dataset.bytes;
          const times = [];
          for (const value of [3, 9, 4, 17, 6, 22, 8]) {
            const before = bytes(), started = performance.now();
            set.call(input, value);
            input.dispatchEvent(new Event('input', { bubbles: true }));
            while (bytes() === before) {
              await new Promise((later) => setTimeout(later, 4));
              if (performance.now() - started > 5000) throw new Error('no redraw');
            }
            times.push(performance.now() - started);
            await new Promise((later) => setTimeout(later, 150));
          }
          return times.sort((a, b) => a - b);
        }"""
    )
    shown = [round(t) for t in took]
    print(f"\ncalculator redraw ms: median {shown[len(shown) // 2]} of {shown}")
    assert took[len(took) // 2] <= 200


def test_ask_about_this_goes_to_the_chat(pages: Any, server: Any) -> None:
    page = pages.open("?tab=calculator&model=Qwen/Qwen2.5-7B&batch=4&seq_len=4096")
    page.wait_for_selector(CALC)
    page.locator("#xk-calculator [data-ask]").click()
    page.wait_for_selector("#xk-log .xk-answer[data-final]")
    assert "batch 4" in page.locator("#xk-log .xk-question").inner_text()


def test_wrong_model_name_is_said_with_the_closest(pages: Any) -> None:
    page = pages.open("?tab=calculator&model=Qwen9.5-7B")
    page.wait_for_selector("#xk-calculator .xk-error")
    assert "Qwen" in page.locator("#xk-calculator").inner_text()


def test_catalog_filters_sort_and_show_namesakes(pages: Any) -> None:
    page = pages.open("?tab=catalog")
    page.wait_for_selector(".xk-catalog tbody tr")
    every = page.locator(".xk-catalog tbody tr").count()
    page.get_by_label("NVLink", exact=True).check()
    page.wait_for_function(
        "n => document.querySelectorAll('.xk-catalog tbody tr').length < n", arg=every
    )
    nvlink = page.locator(".xk-catalog tbody tr")
    assert 0 < nvlink.count() < every
    page.get_by_label("NVLink", exact=True).uncheck()
    page.get_by_label("Instance type contains").fill("gn7")
    page.wait_for_selector(".xk-catalog .xk-clarify")
    assert "Tencent" in page.locator(".xk-catalog .xk-clarify").inner_text()
    for name, clouds in NAMESAKES.items():
        page.get_by_label("Instance type contains").fill(name)
        page.wait_for_function(
            "n => document.querySelector('.xk-catalog .xk-clarify')?.textContent.includes(n)",
            arg=f"{name} (",
        )
        said = page.locator(".xk-catalog .xk-clarify").inner_text()
        assert all(cloud in said for cloud in clouds), said
    page.get_by_label("Instance type contains").fill("gn7")
    page.wait_for_function("() => document.querySelectorAll('.xk-catalog tbody tr').length > 5")
    page.locator(".xk-catalog th button", has_text="vCPU").click()
    counts = page.locator(".xk-catalog tbody td:nth-child(9)").all_inner_texts()
    numbers = [float(c) for c in counts if c.replace(".", "").isdigit()]
    assert numbers == sorted(numbers)
