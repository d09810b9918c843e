// The colours that figures/palette.py chose, in 256 steps, and those of the page.

const known = new WeakMap(); // a picture asks for its ramps at every move of the pointer

// [r, g, b] × 256 from colours at equal distances.
export function ramp(stops) {
  if (known.has(stops)) return known.get(stops);
  const channels = stops.map((stop) => [1, 3, 5].map((at) => parseInt(stop.slice(at, at + 2), 16)));
  const table = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (channels.length - 1);
    const low = Math.min(Math.floor(place), channels.length - 2);
    for (let c = 0; c < 3; c++) table[i * 3 + c] = channels[low][c] + (channels[low + 1][c] - channels[low][c]) * (place - low);
  }
  known.set(stops, table);
  return table;
}

// A canvas of a pixel a step, `width` to the row. Not an offscreen one: a saved SVG needs its data URL.
export function pixels(steps, width, table) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, steps.length / width];
  const ctx = canvas.getContext("2d");
  const image = ctx.createImageData(canvas.width, canvas.height);
  steps.forEach((step, i) => {
    for (let c = 0; c < 3; c++) image.data[i * 4 + c] = table[step * 3 + c];
    image.data[i * 4 + 3] = 255;
  });
  ctx.putImageData(image, 0, 0);
  return canvas;
}

// Step of a ramp for a value; a signed map has its zero in the middle.
export function level(value, most, signed) {
  const t = signed ? 0.5 + value / (2 * most) : value / most;
  return Math.min(Math.max(Math.round(t * 255), 0), 255);
}

export function css(table, step) {
  return `rgb(${table[step * 3]},${table[step * 3 + 1]},${table[step * 3 + 2]})`;
}

// Near-black or near-white, whichever has the higher contrast (WCAG 2) on a step of a ramp.
export function textOn(table, step) {
  const [r, g, b] = [0, 1, 2].map((c) => {
    const value = table[step * 3 + c] / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05) ** 2 > 1.05 * 0.05 ? "#000000" : "#ffffff";
}

// Colours of the page that an element lies on, and the ramps for it.
export function theme(element, ramps) {
  const style = getComputedStyle(element);
  const scheme = style.colorScheme; // of a page; a file follows the reader's system
  const dark = scheme === "dark" || (scheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches);
  const { attention, signed } = ramps[dark ? "dark" : "light"];
  return {
    dark,
    ink: dark ? "#e6e8ec" : "#1d2129",
    quiet: dark ? "#9aa2b1" : "#626b7a",
    page: style.getPropertyValue("--st-background-color").trim() || (dark ? "#15181d" : "#fdfdfb"),
    rule: dark ? "#343a45" : "#d9dce3",
    font: style.getPropertyValue("--st-font").trim() || "Source Sans, sans-serif",
    attention: ramp(attention),
    signed: ramp(signed),
  };
}
