// What is wrong with the page: a list of sentences.
(() => {
  const wrong = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`the page is ${root.scrollWidth} wide`);
  const verdict = document.querySelector(".verdict");
  const chart = document.querySelector("svg.chart, svg.forest, .bars svg");
  if (!verdict || verdict.getBoundingClientRect().bottom > innerHeight) wrong.push("the verdict is not on the first screen");
  if (chart && chart.getBoundingClientRect().top > innerHeight - 100) {
    wrong.push(`the first chart begins at ${Math.round(chart.getBoundingClientRect().top)}`);
  }
  // Every piece of text that is seen, with its place.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.data.trim() || !parent.checkVisibility({ visibilityProperty: true }) || parent.closest("title, desc, script, style")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) if (box.width > 1 && box.height > 1) texts.push({ node, parent, box });
  }
  const said = (text) => JSON.stringify(text.node.data.trim().slice(0, 40));
  // Within its page, and within what scrolls.
  for (const text of texts) {
    const scroll = text.parent.closest(".scroll");
    if (!scroll && (text.box.right > innerWidth + 1 || text.box.left < -1)) wrong.push(`${said(text)} is cut by the page`);
  }
  // None on another.
  const fixed = texts.filter((text) => !text.parent.closest(".scroll"));
  fixed.sort((one, other) => one.box.top - other.box.top);
  fixed.forEach((one, index) => {
    for (const other of fixed.slice(index + 1)) {
      if (other.box.top > one.box.bottom) break;
      const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      if (one.node !== other.node && across > 2 && down > 0.4 * Math.min(one.box.height, other.box.height)) {
        wrong.push(`${said(one)} lies on ${said(other)}`);
      }
    }
  });
  // Contrast as WCAG 2.2 has it, level AA.
  const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = (colour) => {
    const [red, green, blue] = channels(colour).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (!(channels(colour)[3] === 0)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const told = new Set();
  for (const { node, parent } of texts) {
    const style = getComputedStyle(parent);
    const colour = parent.closest("svg") ? style.fill : style.color;
    const [one, other] = [light(colour), light(behind(parent))].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < least && !told.has(colour)) {
      told.add(colour);
      wrong.push(`${JSON.stringify(node.data.trim().slice(0, 40))} has a contrast of ${ratio.toFixed(2)}`);
    }
  }
  return wrong;
})();
