(function () {
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  function reveal() {
    const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = found && found.closest("details");
    for (let one = folded; one; one = one.parentElement.closest("details")) { one.open = true; }
    if (folded) { folded.scrollIntoView(); }
  }
  const links = all("nav a");
  let chosen = null, stopped = 0;  // the part that was chosen, and where the page stood then
  function follow() {  // the part of the page that one reads is marked in its contents
    if (chosen && Math.abs(scrollY - stopped) > 2) { chosen = null; }
    const at_end = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const read = links.filter((link) => at_end || document.querySelector(link.hash).getBoundingClientRect().top < innerHeight / 3);
    links.forEach((link) => { link === (chosen || read[read.length - 1] || links[0]) ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current"); });
  }
  window.addEventListener("scroll", follow, { passive: true });
  links.forEach((link) => { link.addEventListener("click", () => { setTimeout(() => { chosen = link; stopped = scrollY; follow(); }); }); });
  follow();
  if (matchMedia("(max-width: 640px)").matches) { all(".at-hand").forEach((one) => { one.open = false; }); }
  window.addEventListener("hashchange", reveal);
  reveal();
  finding();
  const number = (text) => { const found = text.replace(/\u2212/g, "-").replace(/[,\s%<>]/g, "").match(/^[+-]?[\d.]+/); return found ? Number(found[0]) : null; };
  all("table.sortable:not(.unheaded)").forEach(function (table) {
    const further = table.closest("#ranks") ? all("#ranks table.unheaded") : [];
    all("thead th", table).forEach(function (head, column) {
      if (!head.textContent.trim() || head.classList.contains("g")) { return; }
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", function () {
        const sample = number(table.tBodies[0].rows[0].cells[column].textContent.trim());
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : sample !== null && column > 0;
        further.splice(0).forEach(function (other) { table.tBodies[0].append(...other.tBodies[0].rows); other.remove(); });
        all("#ranks .cutline, #ranks .fold").forEach(function (one) { if (table.closest("#ranks")) { one.hidden = true; } });
        all("th[aria-sort]", table).forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        all(".middle", table).forEach((one) => one.remove());
        const body = table.tBodies[0], rows = Array.from(body.rows);
        const key = (row) => { const text = row.cells[column].textContent.trim(); const value = number(text); return value === null ? text.toLowerCase() : value; };
        rows.sort(function (one, other) {
          const first = key(one), second = key(other);
          const order = typeof first === typeof second ? (first > second) - (first < second) : typeof first === "number" ? -1 : 1;
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
  });
  window.addEventListener("beforeprint", function () {  // repeated heads of a table show no buttons
    all("th > button").forEach(function (button) { button.replaceWith(...button.childNodes); });
  });
  document.documentElement.classList.add("live");
}());
