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
      htmx.trigger(document.body, "htmx:abort");
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
  function marking() {
    all("[data-chosen]").forEach(function (words) {
      const form = words.closest("form"), left = words.dataset.chosen;
      if (form.dataset.ready) { return; }
      form.dataset.ready = "1";
      const count = function () {
        const marked = all("[name=objects]:checked", form).length;
        words.textContent = left.replace("#", marked);
        words.classList.toggle("over", marked > Number(words.dataset.left));
      };
      form.addEventListener("change", count);
      count();
    });
  }
  function meaning() {
    all("select[data-means]").forEach(function (menu) {
      menu.onchange = function () { menu.nextElementSibling.textContent = menu.selectedOptions[0].dataset.means; };
    });
  }
  function fetching() {
    all("a[data-fetch]").forEach(function (link) {
      const again = link.dataset.fetch === "again";
      delete link.dataset.fetch;
      if (again) { window.location.reload(); } else { window.location.href = link.href; }
    });
  }
  function once(event) {
    if (event.target.matches("form.htmx-request:not([data-live])")) { event.preventDefault(); }
  }
  function asking(event) {
    if (event.target.matches("details.stands[open]")) { event.target.querySelector("[name=reason]").focus(); }
  }
  function begin() {
    document.documentElement.classList.add("live");
    dropping();
    settling();
    marking();
    meaning();
    fetching();
    finding();
  }
  document.addEventListener("htmx:confirm", once);
  document.addEventListener("toggle", asking, true);
  document.addEventListener("htmx:afterSettle", begin);
  begin();
}());
