// All heads at a glance: layers downwards, heads across, a small map each; pooled by the largest weight, so that no
// peak is lost, and each on its own scale.
import { css, pixels } from "./colours.js";

export class OverviewPainter {
  maps = null; // { nLayers, nHeads, side, levels, peaks, names }
  picked = null; // [layer, head] on show
  cursor = null; // [layer, head] below the pointer or the keyboard's mark
  large = false;
  printing = false;
  #small = null;

  ready() { return this.maps !== null; }

  show(maps) {
    this.maps = maps;
    this.#small = null;
  }

  layout(width) {
    const { nLayers, nHeads } = this.maps;
    const u = this.large ? 1.4 : 1;
    const left = 24 * u, top = 22 * u;
    const pitch = Math.max(Math.min((width - left) / nHeads, 74 * u, 4 + 560 / nLayers), 6);
    return { u, left, top, pitch, cell: pitch - (pitch > 16 ? 4 : 2), width, height: top + pitch * nLayers + (this.printing ? 18 : 0) };
  }

  draw(ctx, layout, theme) {
    const { left, top, pitch, cell, u } = layout;
    const { nLayers, nHeads } = this.maps;
    ctx.fillStyle = theme.quiet;
    ctx.font = `${12 * u}px ${theme.font}`;
    ctx.textBaseline = "middle";
    const every = Math.ceil((14 * u) / pitch);
    ctx.textAlign = "center";
    for (let head = 0; head < nHeads; head += every) ctx.fillText(String(head), left + head * pitch + cell / 2, top - 11 * u);
    ctx.textAlign = "right";
    for (let layer = 0; layer < nLayers; layer += every) ctx.fillText(String(layer), left - 7 * u, top + layer * pitch + cell / 2);
    const small = this.#pooled(Math.max(Math.round(cell * 2), 1), theme);
    ctx.imageSmoothingEnabled = small.side > cell;
    for (let layer = 0; layer < nLayers; layer++) for (let head = 0; head < nHeads; head++) {
      ctx.drawImage(small.canvases[layer * nHeads + head], left + head * pitch, top + layer * pitch, cell, cell);
    }
    const frame = (at, colour, width) => {
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.strokeRect(left + at[1] * pitch - 1.5, top + at[0] * pitch - 1.5, cell + 3, cell + 3);
    };
    if (this.printing) {
      ctx.textAlign = "left";
      ctx.fillText("layers go down, heads across, both from 0; rows look at columns; each map has its own scale", left, top + pitch * nLayers + 8);
      return;
    }
    if (this.picked) frame(this.picked, theme.ink, 2.5);
    if (this.cursor) frame(this.cursor, css(theme.attention, 205), 2);
  }

  // A canvas a head, at most `most` pixels a side.
  #pooled(most, theme) {
    const { side, nLayers, nHeads } = this.maps;
    const size = Math.min(most, side);
    if (this.#small?.side === size && this.#small.dark === theme.dark) return this.#small;
    const canvases = [];
    for (let i = 0; i < nLayers * nHeads; i++) {
      canvases.push(pixels(pool(this.maps.levels.subarray(i * side * side, (i + 1) * side * side), side, size), size, theme.attention));
    }
    this.#small = { side: size, dark: theme.dark, canvases };
    return this.#small;
  }

  // [layer, head] of a point, or null.
  hit([x, y], { left, top, pitch }) {
    const layer = Math.floor((y - top) / pitch), head = Math.floor((x - left) / pitch);
    return layer >= 0 && head >= 0 && layer < this.maps.nLayers && head < this.maps.nHeads ? [layer, head] : null;
  }

  // One map larger, on a canvas of its own.
  enlarged([layer, head], theme) {
    const { side, nHeads, levels } = this.maps;
    const i = layer * nHeads + head;
    return pixels(levels.subarray(i * side * side, (i + 1) * side * side), side, theme.attention);
  }

  // (n × n) weights of a head from its levels, to within peak / 510; null where cells stand for more than one pair.
  weights([layer, head], nTokens) {
    const { side, nHeads, levels, peaks } = this.maps;
    if (side !== nTokens) return null;
    const i = layer * nHeads + head;
    return Float32Array.from(levels.subarray(i * side * side, (i + 1) * side * side), (step) => (step / 255) * peaks[i]);
  }
}

// (size × size) largest of (side × side).
export function pool(levels, side, size) {
  if (size >= side) return levels;
  const pooled = new Uint8Array(size * size);
  for (let row = 0; row < side; row++) {
    const to = Math.floor((row * size) / side) * size;
    for (let column = 0; column < side; column++) {
      const at = to + Math.floor((column * size) / side);
      const level = levels[row * side + column];
      if (level > pooled[at]) pooled[at] = level;
    }
  }
  return pooled;
}
