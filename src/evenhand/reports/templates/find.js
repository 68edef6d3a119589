"use strict";
// The field above a table that finds rows by name and status; begins again where a page is swapped for another.
function finding() {
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const find = document.querySelector(".find");
  if (!find || find.dataset.ready) { return; }
  find.dataset.ready = "1";
  const rows = all("#ranks tr[data-status]"), folds = all("#ranks .fold"), buttons = all("button", find), told = find.querySelector("[role=status]");
  let wanted = "";
  const show = function () {
    const text = find.querySelector("input").value.trim().toLowerCase();
    const is_all = !text && !wanted;
    let count = 0;
    rows.forEach(function (row) {
      row.hidden = !((!wanted || wanted === "all" || row.dataset.status === wanted) && (!text || row.textContent.toLowerCase().replace(/\s/g, " ").includes(text)));
      count += !row.hidden;
    });
    folds.forEach(function (fold) { fold.open = !is_all; });
    told.textContent = is_all ? "" : count ? told.dataset.shown.replace("#", count) : told.dataset.none;
    buttons.forEach(function (one) { one.setAttribute("aria-pressed", String(one.dataset.status === wanted)); });
  };
  find.addEventListener("input", show);
  buttons.forEach(function (one) { one.addEventListener("click", function () { wanted = one.dataset.status; show(); }); });
  show();
}
