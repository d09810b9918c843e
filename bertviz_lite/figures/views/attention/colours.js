// The colours that figures/palette.py chose, in 256 steps, and those of the page.

// [r, g, b] × 256 from colours at equal distances.
export function ramp(stops) {
  const channels = stops.map((stop) => [1, 3, 5].map((at) => parseInt(stop.slice(at, at + 2), 16)));
  const table = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (channels.length - 1);
    const low = Math.min(Math.floor(place), channels.length - 2);
    for (let c = 0; c < 3; c++) table[i * 3 + c] = channels[low][c] + (channels[low + 1][c] - channels[low][c]) * (place - low);
  }
  return table;
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
