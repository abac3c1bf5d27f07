// Run in every page before its own scripts: once the page has loaded, goes to each figure as a reader does, waits until
// it is drawn, and gathers what is wrong. The test awaits `bookWalk`, a list of sentences.
window.bookWalk = new Promise((resolve) => {
  const PATIENCE = 120000;
  const size = (element) => {
    const box = element && element.getBoundingClientRect();
    return box ? Math.min(box.width, box.height) : 0;
  };

  function plotlyDrawn(box) {
    const marks = ".mlayer path, .mlayer image, .mlayer rect";
    return size(box.querySelector("svg.main-svg")) > 40 && box.querySelector(marks) !== null;
  }

  function attentionDrawn(box) {
    const canvas = [...box.querySelectorAll("canvas")].find((one) => size(one) > 40);
    if (!canvas || !canvas.width || !canvas.height) return false;
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const colors = new Set();
    for (let i = 0; i < pixels.length && colors.size < 3; i += 4) colors.add(pixels.slice(i, i + 4).join());
    return colors.size > 2;
  }

  const frame = () => new Promise((next) => setTimeout(next, 30));

  async function drawn(box, is, what, wrong) {
    if (wrong.length) return; // one that was waited for in vain is enough
    const until = performance.now() + PATIENCE;
    box.scrollIntoView({ block: "center", behavior: "instant" });
    while (!is(box)) {
      if (performance.now() > until) return wrong.push(`${what} is not drawn: ${box.outerHTML.slice(0, 200)}`);
      await frame();
    }
  }

  // What sticks out of the page although nothing around it scrolls.
  function sticksOut(element) {
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height || box.right <= document.documentElement.clientWidth + 1) return false;
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (around !== document.body && getComputedStyle(around).overflowX !== "visible") return false;
    }
    return true;
  }

  window.addEventListener("load", async () => {
    const wrong = [];
    for (const box of document.querySelectorAll(".book-plotly")) await drawn(box, plotlyDrawn, "a plotly figure", wrong);
    for (const box of document.querySelectorAll(".book-heads-box")) {
      await drawn(box, attentionDrawn, "an attention figure", wrong);
    }
    const page = document.documentElement;
    if (page.scrollWidth > page.clientWidth) wrong.push(`the page scrolls sideways, ${page.scrollWidth} pixels`);
    const out = [...document.querySelectorAll("article *")].filter(sticksOut);
    if (out.length) wrong.push(`sticks out of the page: ${out[0].outerHTML.slice(0, 200)}`);
    window.scrollTo(0, 0);
    resolve(wrong);
  });
});
