"use strict";
// Comfort alone: every page works without it.
(function () {
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  function dropping() {
    const form = document.getElementById("upload");
    if (!form || form.dataset.ready) { return; }
    form.dataset.ready = "1";
    const file = form.querySelector("input[type=file]"), sending = form.querySelector(".sending");
    ["dragover", "dragleave", "drop"].forEach(function (name) {
      form.addEventListener(name, function (event) {
        event.preventDefault();
        form.classList.toggle("is-over", name === "dragover");
        if (name === "drop" && event.dataTransfer.files.length) {
          file.files = event.dataTransfer.files;
          form.requestSubmit();
        }
      });
    });
    form.addEventListener("htmx:xhr:progress", function (event) {
      sending.hidden = false;
      if (event.detail.total) { document.getElementById("sent").value = event.detail.loaded / event.detail.total; }
    });
    document.getElementById("cancel").addEventListener("click", function () {
      htmx.trigger(form, "htmx:abort");
      sending.hidden = true;
    });
  }
  function settling() {
    all("form[data-live]").forEach(function (form) {
      if (form.dataset.ready) { return; }
      form.dataset.ready = "1";
      form.addEventListener("change", function () { form.requestSubmit(); });
    });
  }
  function finding() {
    const find = document.querySelector(".find");
    if (!find || find.dataset.ready) { return; }
    find.dataset.ready = "1";
    const rows = all("#ranks tr[data-status]"), folds = all("#ranks .fold"), buttons = all("button", find);
    let wanted = "";
    const show = function () {
      const text = find.querySelector("input").value.trim().toLowerCase();
      const is_all = !text && !wanted;
      let count = 0;
      rows.forEach(function (row) {
        row.hidden = !((!wanted || wanted === "all" || row.dataset.status === wanted) && (!text || row.textContent.toLowerCase().includes(text)));
        count += !row.hidden;
      });
      folds.forEach(function (fold) { fold.open = !is_all; });
      find.querySelector("[role=status]").textContent = is_all ? "" : String(count);
      buttons.forEach(function (one) { one.setAttribute("aria-pressed", String(one.dataset.status === wanted)); });
    };
    find.addEventListener("input", show);
    buttons.forEach(function (one) { one.addEventListener("click", function () { wanted = one.dataset.status; show(); }); });
    show();
  }
  function begin() {
    document.documentElement.classList.add("live");
    dropping();
    settling();
    finding();
  }
  document.addEventListener("htmx:afterSettle", begin);
  begin();
}());
