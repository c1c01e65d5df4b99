// Keys, copying, and closing what was opened. A page works without any of it.
"use strict";

const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
const opener = (row) => row.querySelector("[data-open]") || row.querySelector("a, button");
const isTyping = (at) => at.matches("input, textarea, select") || at.isContentEditable;

function move(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[Math.min(Math.max(at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step, 0), all.length - 1)];
  const link = opener(next);
  if (link) {
    link.focus();
  } else {
    next.tabIndex = -1;
    next.focus();
  }
  next.scrollIntoView({ block: "nearest" });
}

function say(words) {
  document.getElementById("live").textContent = words;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = document.getElementById("keys");
  if (event.key === "Escape" && isTyping(event.target)) {
    event.target.blur();
    return;
  }
  if (isTyping(event.target) || keys.open) return;
  if (event.key === "j" || event.key === "k") {
    event.preventDefault();
    move(event.key === "j" ? 1 : -1);
  } else if (event.key === "/") {
    const field = document.querySelector("[data-find]");
    if (field) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  } else if (event.key === "?") {
    event.preventDefault();
    keys.showModal();
  }
});

document.addEventListener("click", async (event) => {
  if (event.target.closest("[data-keys]")) {
    document.getElementById("keys").showModal();
    return;
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const text = copy.parentElement.querySelector("pre");
    const words = document.getElementById("live").dataset.copied;
    try {
      await navigator.clipboard.writeText(text.dataset.raw ?? text.textContent);
    } catch {
      getSelection().selectAllChildren(text);
      return;
    }
    const before = copy.textContent;
    copy.textContent = words;
    say(words);
    setTimeout(() => { copy.textContent = before; }, 1500);
    return;
  }
  const row = event.target.closest("tr[data-row]");
  const chosen = getSelection().isCollapsed;
  if (row && chosen && !event.target.closest("a, button, input, summary")) opener(row)?.click();
});

// A line that is open is closed by the same link.
document.addEventListener("htmx:beforeRequest", (event) => {
  const row = event.target.closest("tr[data-row]");
  const below = row?.nextElementSibling;
  if (below?.classList.contains("detail")) {
    event.preventDefault();
    below.remove();
  }
});

// Fields of a form that say nothing stay out of the address.
document.addEventListener("htmx:configRequest", (event) => {
  const { parameters } = event.detail;
  for (const name of [...parameters.keys?.() ?? Object.keys(parameters)]) {
    if (parameters[name] === "") delete parameters[name];
  }
});

document.addEventListener("submit", (event) => {
  if (event.target.method !== "get") return;
  for (const field of event.target.elements) {
    if (field.name && field.value === "") field.disabled = true;
  }
});
