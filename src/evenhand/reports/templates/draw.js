window.addEventListener("load", function () {
  const figures = Array.from(document.querySelectorAll("[data-chart]"));
  Promise.all(figures.map(function (place) {
    const spec = JSON.parse(document.getElementById("spec-" + place.dataset.chart).textContent);
    const fresh = document.createElement("div");
    return window.vegaEmbed(fresh, spec, {renderer: "svg", actions: false, ast: true}).then(function () {
      fresh.querySelectorAll("svg [role], svg [aria-label]").forEach(function (part) {
        ["role", "aria-label", "aria-roledescription"].forEach(function (name) { part.removeAttribute(name); });
      });
      fresh.querySelectorAll("svg").forEach(function (svg) {
        svg.setAttribute("role", "img");
        svg.setAttribute("aria-label", place.dataset.words);
      });
      place.replaceChildren(fresh);
      place.dataset.drawn = "yes";
    });
  })).then(function () { document.documentElement.dataset.drawn = "yes"; });
});
