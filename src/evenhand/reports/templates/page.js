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
  const number = function (text) {  // more than 99 is more than 99, less than 1 is less than 1
    const found = text.replace(/\u2212/g, "-").replace(/[,\s%<>]/g, "").match(/^[+-]?[\d.]+/);
    return found ? Number(found[0]) + (text.startsWith(">") - text.startsWith("<")) / 2 : null;
  };
  all("table.sortable:not(.unheaded)").forEach(function (table) {
    const ranks = table.closest("#ranks"), body = table.tBodies[0];
    const homes = (ranks ? all("#ranks .ranks tbody tr") : Array.from(body.rows)).map((row) => [row, row.parentNode]);
    const laid = function (head, order) {  // rows in one table, or where they were
      all("th[aria-sort]", table).forEach((one) => one.removeAttribute("aria-sort"));
      if (head) { head.setAttribute("aria-sort", order); }
      if (!ranks) { return; }
      const is_sorted = homes.some(([row, home]) => row.parentNode !== home);
      all(".fold", ranks).forEach((one) => { one.hidden = is_sorted; });
      all(".cutline", ranks).forEach((one) => { one.hidden = is_sorted; });
      if (head) { ranks.dispatchEvent(new Event("sorted")); }
    };
    if (ranks) {
      ranks.addEventListener("restore", function () {
        homes.forEach(([row, home]) => home.append(row));
        laid();
      });
    }
    all("thead th", table).forEach(function (head, column) {
      if (!head.textContent.trim() || head.classList.contains("g")) { return; }
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", function () {
        const sample = number(body.rows[0].cells[column].textContent.trim());
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : sample !== null && column > 0;
        if (ranks && column === 0 && !down) {  // which is how they stood
          homes.forEach(([row, home]) => home.append(row));
          laid(head, "ascending");
          return;
        }
        all(".middle", table).forEach((one) => one.remove());  // which says how many a small screen folds
        const rows = homes.map(([row]) => row).filter((row) => row.isConnected);
        const key = (row) => { const text = row.cells[column].textContent.trim(); const value = number(text); return value === null ? text.toLowerCase() : value; };
        rows.sort(function (one, other) {
          const first = key(one), second = key(other);
          const order = typeof first === typeof second ? (first > second) - (first < second) : typeof first === "number" ? -1 : 1;
          return down ? -order : order;
        });
        body.append(...rows);
        laid(head, down ? "descending" : "ascending");
      });
    });
  });
  let printed = [];
  window.addEventListener("beforeprint", function () {  // repeated heads of a table show no buttons
    printed = printed.concat(all("th > button").map((button) => [button, Array.from(button.childNodes)]));
    printed.forEach(([button, words]) => { if (button.isConnected) { button.replaceWith(...words); } });
  });
  window.addEventListener("afterprint", function () {
    printed.splice(0).forEach(function ([button, words]) {
      words[0].replaceWith(button);
      button.append(...words);
    });
  });
  document.documentElement.classList.add("live");
}());
