// The page's behaviour in the browser: one conversation per tab, history, chips, copies, tables.
// Loaded before Gradio starts, so that the chosen language is in force from the first paint.
"use strict";
(() => {
  const KEY = "xk.c.";
  const MAX_STORED = 3_500_000;
  const SILENT_MS = 75_000;
  const params = new URLSearchParams(location.search);

  // ---- language and theme -------------------------------------------------------------------
  const asked = params.get("lang");
  if (asked === "zh" || asked === "en") localStorage.setItem("xk.lang", asked);
  const browserZh = (navigator.language || "").toLowerCase().startsWith("zh");
  const lang = localStorage.getItem("xk.lang") || (browserZh ? "zh" : "en");
  const tag = lang === "zh" ? "zh-CN" : "en";
  Object.defineProperty(navigator, "language", { get: () => tag });
  Object.defineProperty(navigator, "languages", { get: () => [tag] });
  const root = document.documentElement;
  root.lang = tag;
  root.dataset.lang = lang;
  document.title = lang === "zh" ? "选卡" : "Xuanka";

  const WORDS = {
    copied: ["Copied", "已复制"],
    copy_failed: ["The browser did not allow copying. Use a download instead.",
      "浏览器不允许复制,请用下载。"],
    shared: ["Link copied", "链接已复制"],
    stopped: ["Stopped. What had arrived is above.", "已停止,已收到的内容在上面。"],
    interrupted: ["The connection was lost before the answer was complete. The conversation is kept.",
      "回答还没写完连接就断了,对话内容都还在。"],
    retry: ["Try again", "再试一次"],
    working: ["Working", "正在计算"],
    ready: ["Answer ready", "回答已完成"],
    busy: ["An answer is still being worked out", "上一个回答还在计算"],
    empty: ["Nothing yet.", "还没有对话。"],
    remove: ["Delete", "删除"],
    you: ["You asked", "你问"],
    close: ["Close", "关闭"],
    no_passage: ["This source has no passage here. It is named as:", "这条依据没有可打开的段落,它的出处是:"],
    offline: ["The service does not answer. Trying again …", "服务没有应答,正在重试……"],
    online: ["The service is back.", "服务已恢复。"],
  };
  const say = (key) => WORDS[key][lang === "zh" ? 1 : 0];

  function applyTheme() {
    const forced = localStorage.getItem("xk.theme");
    if (!forced || !document.body) return;
    document.body.classList.toggle("dark", forced === "dark");
  }
  function watchTheme() {
    applyTheme();
    new MutationObserver(() => {
      const forced = localStorage.getItem("xk.theme");
      if (forced && document.body.classList.contains("dark") !== (forced === "dark")) applyTheme();
    }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  }

  // ---- small helpers ------------------------------------------------------------------------
  const find = (selector, from = document) => from.querySelector(selector);
  function make(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }
  function announce(message) {
    const status = find("#xk-status");
    if (status) status.textContent = message;
  }
  function toast(message) {
    let box = find("#xk-toast");
    if (!box) document.body.append((box = make("div", { id: "xk-toast", role: "status" })));
    box.textContent = message;
    box.classList.add("xk-shown");
    clearTimeout(toast.timer);
    toast.timer = setTimeout(() => box.classList.remove("xk-shown"), 2600);
  }
  const setText = (element, value) => {
    const setter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), "value").set;
    setter.call(element, value);
    element.dispatchEvent(new Event("input", { bubbles: true }));
  };

  // ---- conversations: one per tab, kept in this browser ---------------------------------------
  const newId = () => (crypto.randomUUID ? crypto.randomUUID()
    : Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join(""));
  let thread = sessionStorage.getItem("xk.thread") || newId();
  sessionStorage.setItem("xk.thread", thread);
  const tab = newId();
  // A duplicated tab inherits the id of its twin: the twin objects, and the newcomer starts anew.
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("xk") : null;
  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data.hello === thread && data.tab !== tab) channel.postMessage({ taken: thread, by: tab });
      if (data.taken === thread && data.by !== tab && !busy) open(newId());
      if (data.changed) drawHistory();
    };
    channel.postMessage({ hello: thread, tab });
  }

  const read = (id) => {
    try { return JSON.parse(localStorage.getItem(KEY + id)); } catch { return null; }
  };
  function all() {
    const found = [];
    for (let i = 0; i < localStorage.length; i++) {
      const key = localStorage.key(i);
      if (key.startsWith(KEY)) {
        const value = read(key.slice(KEY.length));
        if (value) found.push({ id: key.slice(KEY.length), ...value });
      }
    }
    return found.sort((a, b) => b.updated - a.updated);
  }
  function keep(question, html) {
    const stored = read(thread) || { title: question.slice(0, 80), turns: [] };
    stored.turns.push({ q: question, html });
    stored.updated = Date.now();
    const value = JSON.stringify(stored);
    const others = all().filter((c) => c.id !== thread);
    let room = MAX_STORED - value.length;
    for (const other of others) {
      room -= JSON.stringify(other).length;
      if (room < 0) localStorage.removeItem(KEY + other.id);
    }
    try { localStorage.setItem(KEY + thread, value); } catch { /* private mode: nothing is kept */ }
    channel?.postMessage({ changed: true });
    drawHistory();
  }
  function drawHistory() {
    const list = find("#xk-history");
    if (!list) return;
    list.replaceChildren(...all().map((c) => {
      const openIt = make("button", { type: "button", "data-open": c.id }, c.title);
      if (c.id === thread) openIt.setAttribute("aria-current", "true");
      const remove = make("button",
        { type: "button", "data-remove": c.id, "aria-label": `${say("remove")}: ${c.title}` }, "×");
      return make("li", {}, openIt, remove);
    }));
    if (!list.children.length) list.append(make("li", { class: "xk-dim" }, say("empty")));
  }
  function bubble(question) {
    const label = make("span", { class: "xk-hidden" }, say("you") + ": ");
    return make("div", { class: "xk-question" }, label, question);
  }
  function drawLog() {
    const log = find("#xk-log");
    if (!log) return;
    const turns = read(thread)?.turns || [];
    log.replaceChildren();
    for (const turn of turns) {
      log.append(bubble(turn.q));
      log.append(make("div", { class: "xk-turn" }));
      log.lastChild.innerHTML = turn.html; // written by this page from the service's own answer
    }
    root.classList.toggle("xk-started", turns.length > 0);
    find("#xk-live")?.classList.add("xk-idle");
  }
  function open(id) {
    thread = id;
    sessionStorage.setItem("xk.thread", id);
    drawLog();
    drawHistory();
    find("#xk-box textarea")?.focus();
  }

  // ---- one turn -------------------------------------------------------------------------------
  let busy = false, claimed = 0, question = "", turn = "", pending = null, silence = 0, misses = 0;
  function setBusy(value) {
    busy = value;
    root.classList.toggle("xk-busy", value);
    find("#xk-live")?.setAttribute("aria-busy", String(value));
    clearTimeout(silence);
    if (value) silence = setTimeout(() => busy && interrupted(), SILENT_MS);
  }
  function begin(typed) {
    const text = (pending ?? typed ?? "").trim();
    pending = null;
    claimed = 0;
    if (busy || !text) return ["", thread, lang, ""];
    question = text;
    turn = newId();
    sessionStorage.setItem("xk.open", text);
    find("#xk-log").append(bubble(text));
    root.classList.add("xk-started");
    const live = find("#xk-live");
    live.classList.add("xk-idle");
    watch.disconnect();
    watch.observe(live, { childList: true, subtree: true, characterData: true });
    const area = find("#xk-box textarea");
    if (area) setText(area, "");
    setBusy(true);
    announce(say("working"));
    scrollDown(true);
    return [text, thread, lang, turn];
  }
  const watch = new MutationObserver(() => {
    const mine = busy && find(`#xk-live [data-turn="${turn}"]`);
    if (!mine) return; // what a stopped or lost turn still sends is not shown
    find("#xk-live").classList.remove("xk-idle");
    setBusy(true);
    if (find("[data-final]", mine)) finish();
    else scrollDown(false);
  });
  function settle(extra) {
    watch.disconnect();
    const live = find("#xk-live");
    const content = live && find(`[data-turn="${turn}"]`, live);
    const drawn = make("div", { class: "xk-turn" });
    if (content) {
      drawn.append(...[...content.children].map((node) => node.cloneNode(true)));
      for (const node of content.children) node.replaceChildren();
    }
    for (const node of drawn.querySelectorAll(".xk-running, .xk-working")) node.remove();
    if (extra) drawn.append(extra);
    find("#xk-log").append(drawn);
    live?.classList.add("xk-idle");
    sessionStorage.removeItem("xk.open");
    keep(question, drawn.innerHTML);
    setBusy(false);
    return drawn;
  }
  function note(key) {
    return make("div", { class: "xk-answer xk-error", role: "alert" }, make("p", {}, say(key)),
      make("button", { type: "button", "data-ask": question }, say("retry")));
  }
  function finish() {
    const drawn = settle(null);
    announce(say("ready"));
    drawn.previousElementSibling?.scrollIntoView({ block: "start", behavior: "smooth" });
    find("#xk-box textarea")?.focus({ preventScroll: true });
  }
  function stopped() {
    if (busy) { settle(note("stopped")); announce(say("stopped")); }
  }
  function interrupted() {
    settle(note("interrupted"));
    announce(say("interrupted"));
  }
  // While an answer is on its way the service is asked whether it is alive.
  const alive = async () => {
    try { return (await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(4000) })).ok; }
    catch { return false; }
  };
  setInterval(async () => {
    if (!busy) { misses = 0; return; }
    misses = (await alive()) ? 0 : misses + 1;
    if (misses >= 2 && busy) lost();
  }, 2000);
  async function lost() {
    interrupted();
    toast(say("offline"));
    while (!(await alive())) await new Promise((later) => setTimeout(later, 1500));
    location.reload(); // the conversation is kept; the page's session on the service is new
  }
  function ask(text) {
    if (busy) return toast(say("busy"));
    showTab("chat");
    pending = text;
    find("#xk-send").click();
  }
  function scrollDown(force) {
    const end = find("#xk-status");
    const near = innerHeight + scrollY > document.body.scrollHeight - 240;
    if (end && (force || near)) end.scrollIntoView({ block: "end" });
  }

  // ---- taking an answer along -------------------------------------------------------------------
  async function copy(text, message) {
    try { await navigator.clipboard.writeText(text); toast(message); } catch { toast(say("copy_failed")); }
  }
  function save(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = make("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 5000);
  }
  const shareLink = (text) => `${location.origin}${location.pathname}?q=${encodeURIComponent(text)}`;
  function take(button) {
    const data = JSON.parse(button.closest("[data-payload]").dataset.payload);
    const action = button.dataset.take;
    if (action === "copy") copy(data.markdown, say("copied"));
    if (action === "share") copy(shareLink(data.question), say("shared"));
    if (action === "retry") ask(data.question);
    if (action === "download_md") save("xuanka.md", "text/markdown;charset=utf-8", data.markdown);
    if (action === "download_json") save("xuanka.json", "application/json", JSON.stringify(data.answer, null, 2));
    if (action === "download_csv") save("xuanka-offers.csv", "text/csv;charset=utf-8", "\ufeff" + data.csv);
  }

  // ---- sources ------------------------------------------------------------------------------------
  async function openPassage(button) {
    const { passage, locator } = button.dataset;
    const dialog = passageDialog();
    find("h2", dialog).textContent = button.textContent;
    const body = find(".xk-passage", dialog);
    body.textContent = "…";
    dialog.showModal();
    try {
      const reply = await fetch(`/page/passage?id=${encodeURIComponent(passage)}`);
      if (!reply.ok) throw new Error(String(reply.status));
      body.innerHTML = await reply.text();
    } catch {
      body.textContent = `${say("no_passage")} ${locator || passage}`;
    }
  }
  function passageDialog() {
    let dialog = find("#xk-dialog");
    if (dialog) return dialog;
    const close = make("button", { type: "button", "data-do": "close" }, say("close"));
    dialog = make("dialog", { id: "xk-dialog", "aria-labelledby": "xk-dialog-title" },
      make("h2", { id: "xk-dialog-title" }), make("div", { class: "xk-passage", tabindex: "0" }), close);
    document.body.append(dialog);
    return dialog;
  }

  // ---- tables ---------------------------------------------------------------------------------------
  function sort(button) {
    const head = button.closest("th");
    const table = head.closest("table");
    const column = [...head.parentNode.children].indexOf(head);
    const numeric = head.dataset.sort === "n";
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.children[column];
      const raw = cell.dataset.key ?? cell.textContent;
      return numeric ? (raw === "" ? NaN : Number(raw)) : raw;
    };
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      const [ex, ey] = numeric ? [Number.isNaN(x), Number.isNaN(y)] : [x === "", y === ""];
      if (ex || ey) return ex - ey; // the unknown stays last either way
      const order = numeric ? x - y : x.localeCompare(y, tag, { numeric: true });
      return down ? -order : order;
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(compare));
  }

  // ---- tabs and the address bar -----------------------------------------------------------------------
  const TABS = ["chat", "calculator", "catalog", "machine", "accuracy"];
  function showTab(name) {
    const buttons = document.querySelectorAll("#xk-tabs button[role=tab]");
    buttons[TABS.indexOf(name)]?.click();
  }
  const FIELDS = {
    calculator: ["task", "model", "gpu", "gpu_count", "batch", "seq_len", "method", "precision",
      "optimizer", "checkpointing", "parallel", "engine", "weights"],
    catalog: ["providers", "gpus", "min_memory_gb", "min_count", "max_price", "currency", "flags", "name"],
  };
  // A tab's part is fetched as HTML; only the newest request of a part is drawn.
  const asking = {};
  async function draw(name, values) {
    const query = new URLSearchParams(values ? {} : location.search);
    (FIELDS[name] || []).forEach((field, i) => {
      const value = values?.[i];
      if (value !== null && value !== undefined && value !== "") query.set(field, value);
    });
    if (values && name === "calculator") remember({ tab: name, ...Object.fromEntries(query) });
    query.set("lang", lang);
    asking[name]?.abort();
    const mine = (asking[name] = new AbortController());
    try {
      const reply = await fetch(`/page/${name}?${query}`, { signal: mine.signal });
      const html = await reply.text();
      const place = find(`[data-fragment=${name}]`);
      if (place && asking[name] === mine) place.innerHTML = html; // escaped by the service
    } catch (error) {
      if (error.name !== "AbortError") toast(say("offline"));
    }
  }
  function shown(name) {
    const place = find(`[data-fragment=${name}]`);
    if (place && (name === "machine" || find(".xk-loading", place))) draw(name);
  }
  function remember(values) {
    const now = new URLSearchParams(location.search);
    for (const key of [...now.keys()]) if (key !== "lang") now.delete(key);
    for (const [key, value] of Object.entries(values)) {
      if (value !== null && value !== undefined && value !== "") now.set(key, value);
    }
    history.replaceState(null, "", `${location.pathname}${now.size ? "?" + now : ""}`);
  }

  // ---- hover notes -------------------------------------------------------------------------------------
  function tip(event) {
    const on = event.target.closest?.("[data-tip]");
    let box = find("#xk-tip");
    if (!on) { if (box) box.hidden = true; return; }
    if (!box) document.body.append((box = make("div", { id: "xk-tip", "aria-hidden": "true" })));
    box.textContent = on.dataset.tip;
    box.hidden = false;
    const place = on.getBoundingClientRect();
    box.style.left = `${Math.min(place.left + place.width / 2, innerWidth - 20 - box.offsetWidth / 2)}px`;
    box.style.top = `${place.top - 8}px`;
  }

  // ---- wiring --------------------------------------------------------------------------------------------
  const DO = {
    language() { localStorage.setItem("xk.lang", lang === "zh" ? "en" : "zh");
      const now = new URLSearchParams(location.search); now.delete("lang");
      location.search = now.toString() || ""; if (!now.size) location.reload(); },
    theme() { const dark = document.body.classList.contains("dark");
      localStorage.setItem("xk.theme", dark ? "light" : "dark"); applyTheme(); },
    new() { if (busy) return toast(say("busy")); open(newId()); },
    clear() { all().forEach((c) => localStorage.removeItem(KEY + c.id)); open(newId()); channel?.postMessage({ changed: true }); },
    close() { find("#xk-dialog").close(); },
    probe() { draw("machine"); },
    history() { root.classList.toggle("xk-side-open"); },
  };
  // One question at a time: further clicks and Enters do not reach the library.
  function refused() {
    const text = pending ?? find("#xk-box textarea")?.value ?? "";
    if (busy || !text.trim() || Date.now() - claimed < 1500) return true;
    claimed = Date.now();
    return false;
  }
  function guard(event) {
    const isSend = event.type === "click" ? event.target.closest?.("#xk-send")
      : event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.closest?.("#xk-box");
    if (isSend && refused()) { event.stopImmediatePropagation(); event.preventDefault(); }
  }
  document.addEventListener("click", guard, true);
  document.addEventListener("keydown", guard, true);
  document.addEventListener("click", (event) => {
    const on = event.target.closest?.("button, a");
    if (!on) return;
    const data = on.dataset;
    if (data.do && DO[data.do]) DO[data.do]();
    else if (data.ask) ask(data.ask);
    else if (data.take) take(on);
    else if (data.passage) openPassage(on);
    else if (data.open) { if (busy) toast(say("busy")); else { root.classList.remove("xk-side-open"); open(data.open); } }
    else if (data.remove) { localStorage.removeItem(KEY + data.remove); data.remove === thread ? open(newId()) : drawHistory(); }
    else if (data.copyLink) copy(location.href, say("shared"));
    else if (on.closest(".xk-sortable th")) sort(on);
    else if (on.matches(".xk-skip")) { event.preventDefault(); showTab("chat"); find("#xk-box textarea")?.focus(); }
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("form.xk-reask");
    if (!form) return;
    event.preventDefault();
    ask(form.dataset.ask.replace("{value}", new FormData(form).get("value")));
  });
  document.addEventListener("pointerover", tip);
  document.addEventListener("focusin", tip);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, textarea, select, [contenteditable]")) {
      event.preventDefault(); find("#xk-box textarea")?.focus();
    }
    if (event.key === "Escape" && busy && !find("#xk-dialog[open]")) find("#xk-stop")?.click();
  });

  // The library adds its styles while it starts; ours must stand behind them.
  const stylesLast = () => document.head.append(find('link[href$="xuanka.css"]'));
  function started() {
    stylesLast();
    drawHistory();
    drawLog();
    const open_ = sessionStorage.getItem("xk.open");
    if (open_) { // the page was reloaded while an answer was on its way
      sessionStorage.removeItem("xk.open");
      question = open_;
      root.classList.add("xk-started");
      find("#xk-log").append(bubble(open_), note("interrupted"));
    }
    document.querySelector("#xk-tabs")?.addEventListener("click", (event) => {
      const tabs = [...document.querySelectorAll("#xk-tabs button[role=tab]")];
      const at = tabs.indexOf(event.target.closest("button[role=tab]"));
      if (at < 0) return;
      setTimeout(() => { stylesLast(); shown(TABS[at]); }, 0);
      if (TABS[at] !== "calculator") remember(at > 0 ? { tab: TABS[at] } : {});
    });
    if (TABS.includes(params.get("tab"))) showTab(params.get("tab"));
    const shared = params.get("q");
    if (shared && !open_) { remember({}); if (read(thread)) open(newId()); ask(shared); }
  }
  function ready() {
    watchTheme();
    const parts = ["#xk-live", "#xk-log", "#xk-send", "#xk-history", "#xk-status"];
    const waiting = setInterval(() => {
      if (!parts.every((part) => find(part))) return;
      clearInterval(waiting);
      started();
    }, 50);
  }
  // The library adds its head to the page either as it is sent or later.
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready);
  else ready();
  window.xuanka = { begin, stopped, ask, draw, lang: () => lang, address: () => `?${params}` };
})();
