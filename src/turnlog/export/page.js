"use strict";
(() => {
  const root = document.documentElement;
  const field = document.getElementById("find");
  const told = document.getElementById("told");
  const pieces = [...document.querySelectorAll("[data-piece]")];
  const texts = new Map();
  const textOf = (piece) => {
    let text = texts.get(piece);
    if (text === undefined) texts.set(piece, (text = piece.textContent.toLowerCase()));
    return text;
  };
  const openUpTo = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };
  let waiting = 0;
  const search = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const piece of pieces) {
      const fits = words.every((word) => textOf(piece).includes(word));
      piece.hidden = !fits;
      if (fits) found += 1;
    }
    told.textContent = words.length ? `${found} of ${pieces.length}` : "";
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  document.getElementById("unfold").addEventListener("click", () => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  });
  document.getElementById("fold").addEventListener("click", () => {
    for (const fold of document.querySelectorAll("details")) fold.open = false;
  });
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape" && document.activeElement === field) {
      field.value = "";
      search();
      field.blur();
    }
  });
  const follow = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) {
      openUpTo(target);
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", follow);
  follow();
})();
