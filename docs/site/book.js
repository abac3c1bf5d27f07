// What a page of the book needs besides its text: the theme's name where the figures look for it, plotly's figures,
// and the keyboard for whatever scrolls sideways.
(function () {
  "use strict";
  var root = document.documentElement;

  // Figures and reports ask, as in JupyterLab, whether the page is light.
  function tellTheme() {
    root.dataset.jpThemeLight = String(root.dataset.theme !== "dark");
  }
  new MutationObserver(tellTheme).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  tellTheme();

  function draw(box) {
    var spec = JSON.parse(box.parentNode.querySelector('script[type="application/json"]').textContent);
    window.Plotly.newPlot(box, spec.data, spec.layout, spec.config).then(function () {
      // The group has a name, and the figure stands below it as text: a screen reader need not read out each tick.
      box.querySelectorAll(".main-svg").forEach(function (svg) {
        svg.setAttribute("aria-hidden", "true");
      });
    });
  }

  // CircuitsVis gives each of its canvases the role of a picture, and no name; the box around them has both.
  function nameAttention() {
    document.querySelectorAll(".book-heads-box canvas[role]").forEach(function (canvas) {
      canvas.removeAttribute("role");
      canvas.setAttribute("aria-hidden", "true");
    });
  }

  // A figure is drawn when the reader comes near it: a chapter has up to thirty.
  function drawFigures() {
    var boxes = document.querySelectorAll(".book-plotly");
    if (!boxes.length) return;
    var library = document.createElement("script");
    library.src = document.querySelector('script[src*="book.js"]').src.replace(/book\.js.*/, "plotly.min.js");
    library.onload = function () {
      var seen = new IntersectionObserver(
        function (entries) {
          entries.forEach(function (entry) {
            if (!entry.isIntersecting) return;
            seen.unobserve(entry.target);
            draw(entry.target);
          });
        },
        { rootMargin: "600px" }
      );
      boxes.forEach(function (box) {
        seen.observe(box);
      });
    };
    document.head.appendChild(library);
  }

  // Whatever is wider than the page can be scrolled with the arrow keys.
  function reachable() {
    document.querySelectorAll("article :is(div, pre, figure, table)").forEach(function (box) {
      if (box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible") box.tabIndex = 0;
    });
  }

  document.addEventListener("DOMContentLoaded", function () {
    drawFigures();
    reachable();
    document.querySelectorAll(".book-heads-box").forEach(function (box) {
      new MutationObserver(nameAttention).observe(box, { childList: true, subtree: true });
    });
    nameAttention();
  });
  window.addEventListener("resize", reachable);
})();
