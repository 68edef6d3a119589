"use strict";
// The field above a table that finds rows by name and status; begins again where a page is swapped for another.
function finding() {
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const find = document.querySelector(".find");
  if (!find || find.dataset.ready) { return; }
  find.dataset.ready = "1";
  const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();
  const ranks = document.getElementById("ranks"), buttons = all("button", find), told = find.querySelector("[role=status]");
  const rows = all("tr[data-status]", ranks), folds = all(".fold", ranks), noun = plain(find.dataset.noun || "");
  const names = new Map(rows.map((row) => [row, plain(Array.from(row.querySelector(".o").childNodes, (one) => one.textContent).join(" "))]));
  const ids = new Map(rows.map((row) => [row, plain(row.querySelector(".o").firstElementChild.textContent)]));
  let wanted = "";
  const show = function () {
    const typed = plain(find.querySelector("input").value);
    const text = noun && (typed + " ").startsWith(noun + " ") ? typed.slice(noun.length).trim() : typed;
    const is_all = !typed && !wanted;
    const exact = rows.filter((row) => text && ids.get(row) === text);
    let count = 0;
    const fits = (row) => exact.length ? exact.includes(row) : names.get(row).includes(text) || names.get(row).includes(typed);
    if (typed && wanted && !rows.some((row) => row.dataset.status === wanted && fits(row))) { wanted = "all"; }
    rows.forEach(function (row) {
      row.hidden = !((!wanted || wanted === "all" || row.dataset.status === wanted) && fits(row));
      count += !row.hidden;
    });
    const shown = rows.filter((row) => !row.hidden);
    folds.forEach(function (fold) {
      fold.open = !is_all;
      fold.hidden = !shown.some((row) => fold.contains(row));
    });
    all(".of-group", ranks).forEach(function (head) {
      let next = head.nextElementSibling;
      while (next && next.hidden) { next = next.nextElementSibling; }
      head.hidden = !next || next.matches(".of-group");
    });
    all(".cutline", ranks).forEach(function (line) {
      line.hidden = new Set(shown.map((row) => line.compareDocumentPosition(row))).size < 2;
    });
    all("table.ranks", ranks).forEach(function (table) { table.hidden = !count; });
    ranks.classList.toggle("found", !is_all);
    told.classList.toggle("alone", !count);
    told.textContent = is_all ? "" : count ? told.dataset.shown.replace("#", count) : typed ? told.dataset.none : told.dataset.nobody;
    buttons.forEach(function (one) { one.setAttribute("aria-pressed", String(one.dataset.status === (wanted || (typed ? "all" : "")))); });
  };
  find.addEventListener("input", show);
  buttons.forEach(function (one) {
    one.addEventListener("click", function () {
      wanted = one.dataset.status;
      if (!wanted) { ranks.dispatchEvent(new Event("restore")); }
      show();
    });
  });
  ranks.addEventListener("sorted", function () {
    wanted = wanted || "all";
    show();
  });
  show();
}
