// One map as a picture: the heatmap, the tokens that look, lines as thick as their weights, the tokens looked at.
// Rows of all four stand side by side, so that a row of the heatmap runs on into its lines.
import { css, level, pixels, textOn } from "./colours.js";
import { placeOf, shape } from "./shape.js";

const FAINTEST = 0.02; // of the map's largest: weaker ones are not drawn as lines, and the view says so
const MOST_LINES = 1500;
export const KIND_NAMES = [["cls", "[CLS]"], ["sep", "[SEP]"], ["punctuation", "punctuation"]];
const NARROW = 620; // a phone: lines above the heatmap

export class MapPainter {
  map = null;
  choice = { by: "pieces", without: [], pairs: "all", rescale: false, large: false, readable: false };
  pinned = { row: null, column: null }; // tokens
  hovered = { row: -1, column: -1 }; // places
  printing = false; // rows are then named on the left of the heatmap too
  #cells = null; // the heatmap, one pixel a cell

  ready() { return this.map !== null; }

  show(map, choice = {}) {
    this.map = map;
    this.choose(choice);
  }

  choose(choice) {
    this.choice = { ...this.choice, ...choice };
    this.#reshape();
  }

  #reshape() {
    this.shown = shape(this.map, this.choice);
    const { weights } = this.shown;
    let most = 1e-6;
    for (const weight of weights) most = Math.max(most, Math.abs(weight));
    this.most = most;
    this.#cells = null;
    this.hovered = { row: -1, column: -1 };
  }

  get signed() { return this.map.signed; }
  get nRows() { return this.shown.rows.length; }
  get nColumns() { return this.shown.columns.length; }
  weight(row, column) { return this.shown.weights[row * this.nColumns + column]; }
  label(side, place) { return this.shown.units.labels[this.shown[side][place]]; }

  // What is in focus: what the pointer is on, else what is pinned; -1 for none.
  get focus() {
    if (this.hovered.row >= 0 || this.hovered.column >= 0) return this.hovered;
    const { rows, columns, units } = this.shown;
    return { row: placeOf(this.pinned.row, rows, units), column: placeOf(this.pinned.column, columns, units) };
  }

  layout(width, ctx) {
    const u = this.choice.large ? 1.4 : 1;
    const room = this.choice.large ? 640 : 450; // for rows, at first sight
    const rows = Math.max(this.nRows, 1), columns = Math.max(this.nColumns, 1);
    const fit = Math.min(Math.max(room / rows, 1), 30 * u);
    const h = this.choice.readable ? Math.max(fit, 17 * u) : fit;
    const font = Math.min(Math.max(h * 0.72, 9.5 * u), 14.5 * u);
    ctx.font = `700 ${font}px sans-serif`;
    let longest = 0;
    for (const side of ["rows", "columns"]) this.shown[side].forEach((_, i) => (longest = Math.max(longest, ctx.measureText(this.label(side, i)).width)));
    const labelWidth = Math.min(longest + 14, 112 * u, width * 0.3);
    const numberWidth = 40 * u;
    const narrow = width < NARROW;
    const top = Math.min(longest, 92 * u) * 0.87 + 16;
    const named = narrow || this.printing;
    const heatLeft = named ? labelWidth + 4 : 0;
    const heatRoom = narrow ? width - heatLeft - 22 : Math.max((width - heatLeft - 2 * labelWidth - numberWidth) * 0.6 - 24, 60);
    const w = Math.min(heatRoom / columns, h * 1.7);
    const rowsHeight = rows * h, columnsHeight = columns * h;
    const linesLeft = narrow ? 0 : heatLeft + w * columns + 16;
    const linesWidth = Math.min(width - linesLeft - 2 * labelWidth - numberWidth, 420 * u);
    const heatTop = narrow ? 26 + Math.max(rowsHeight, columnsHeight) + 24 + top : top;
    return {
      u, h, w, font, labelWidth, numberWidth, narrow, named, top,
      heat: { x: heatLeft, y: heatTop, width: w * columns, height: rowsHeight },
      lines: { x: linesLeft + labelWidth, y: narrow ? 26 : top, width: linesWidth },
      left: { x: linesLeft, width: labelWidth },
      right: { x: linesLeft + labelWidth + linesWidth, width: labelWidth + numberWidth },
      height: Math.max(heatTop + rowsHeight, (narrow ? 26 : top) + columnsHeight) + 34,
    };
  }

  draw(ctx, layout, theme) {
    if (!this.nRows || !this.nColumns) return this.#sayNothing(ctx, theme);
    const focus = this.focus;
    this.table = this.signed ? theme.signed : theme.attention;
    this.#heat(ctx, layout, theme, focus);
    this.#lines(ctx, layout, theme, focus);
    this.#sides(ctx, layout, theme, focus);
    this.#legend(ctx, layout, theme);
  }

  #sayNothing(ctx, theme) {
    ctx.fillStyle = theme.quiet;
    ctx.font = `14px ${theme.font}`;
    ctx.fillText("Everything is left out: show [CLS], [SEP] or punctuation again.", 4, 30);
  }

  #colour(value) { return css(this.table, level(value, this.most, this.signed)); }

  #heat(ctx, { heat, h, w, font, u, named, labelWidth }, theme, focus) {
    const few = this.nRows * this.nColumns <= 4096;
    const gap = Math.min(w, h) >= 7 ? 1 : 0;
    if (few) {
      for (let row = 0; row < this.nRows; row++) for (let column = 0; column < this.nColumns; column++) {
        ctx.fillStyle = this.#colour(this.weight(row, column));
        ctx.fillRect(heat.x + column * w, heat.y + row * h, w - gap, h - gap);
      }
    } else {
      ctx.imageSmoothingEnabled = w < 1 || h < 1;
      ctx.drawImage(this.#pixels(theme), heat.x, heat.y, heat.width, heat.height);
    }
    if (w >= 22 && h >= 14) this.#values(ctx, heat, w, h, u, theme);
    if (focus.row >= 0 || focus.column >= 0) this.#dim(ctx, heat, h, w, theme, focus);
    this.#columnLabels(ctx, heat, w, font, theme, focus);
    if (named) this.#labels(ctx, "rows", heat.x - 6, heat.y, h, font, labelWidth, "right", theme, focus.row);
  }

  #pixels(theme) {
    if (this.#cells?.dark === theme.dark) return this.#cells.canvas;
    const steps = Uint8Array.from(this.shown.weights, (weight) => level(weight, this.most, this.signed));
    this.#cells = { dark: theme.dark, canvas: pixels(steps, this.nColumns, this.table) };
    return this.#cells.canvas;
  }

  #values(ctx, heat, w, h, u, theme) {
    ctx.font = `${Math.min(11.5 * u, h * 0.6, w * 0.43)}px ${theme.font}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (let row = 0; row < this.nRows; row++) for (let column = 0; column < this.nColumns; column++) {
      const value = this.weight(row, column);
      if (Math.abs(value) < 0.01) continue; // a page of .00 hides the others
      ctx.fillStyle = textOn(this.table, level(value, this.most, this.signed));
      ctx.fillText(two(value), heat.x + (column + 0.5) * w, heat.y + (row + 0.5) * h);
    }
  }

  #dim(ctx, heat, h, w, theme, { row, column }) {
    ctx.fillStyle = theme.page;
    ctx.globalAlpha = 0.6;
    if (row >= 0) {
      ctx.fillRect(heat.x, heat.y, heat.width, row * h);
      ctx.fillRect(heat.x, heat.y + (row + 1) * h, heat.width, heat.height - (row + 1) * h);
    } else {
      ctx.fillRect(heat.x, heat.y, column * w, heat.height);
      ctx.fillRect(heat.x + (column + 1) * w, heat.y, heat.width - (column + 1) * w, heat.height);
    }
    ctx.globalAlpha = 1;
    if (row >= 0 && column >= 0) {
      ctx.strokeStyle = theme.ink;
      ctx.lineWidth = 1.5;
      ctx.strokeRect(heat.x + column * w - 0.5, heat.y + row * h - 0.5, w, h);
    }
  }

  #columnLabels(ctx, heat, w, font, theme, focus) {
    const size = Math.min(font, Math.max(w * 0.8, 9.5));
    const every = Math.max(Math.ceil((size * 1.1) / (w * Math.sin(Math.PI / 3))), 1); // leaning lines are closer
    for (let column = 0; column < this.nColumns; column++) {
      const focused = column === focus.column;
      const near = focus.column >= 0 && Math.abs(column - focus.column) < every;
      if (!focused && (column % every || near)) continue;
      ctx.save();
      ctx.translate(heat.x + (column + 0.5) * w, heat.y - 6);
      ctx.rotate(-Math.PI / 3);
      ctx.font = `${focused ? "700" : "400"} ${size}px ${theme.font}`;
      ctx.fillStyle = theme.ink;
      ctx.globalAlpha = focused || focus.column < 0 ? 1 : 0.55;
      ctx.textAlign = "left";
      ctx.textBaseline = "middle";
      ctx.fillText(cut(ctx, this.label("columns", column), 88 * (size / 12)), 0, 0);
      ctx.restore();
    }
  }

  #lines(ctx, { lines, h, u }, theme, focus) {
    const start = lines.x + (focus.row < 0 && focus.column >= 0 ? 36 * u : 5); // numbers stand before the lines
    const thickest = Math.min(Math.max(h * 0.42, 1), 9 * u);
    const line = (row, column, strong) => {
      const value = this.weight(row, column), share = Math.abs(value) / this.most;
      const from = lines.y + (row + 0.5) * h, to = lines.y + (column + 0.5) * h;
      ctx.beginPath();
      ctx.moveTo(start, from);
      ctx.bezierCurveTo(lines.x + lines.width * 0.4, from, lines.x + lines.width * 0.6, to, lines.x + lines.width - 5, to);
      ctx.lineWidth = Math.max(share * thickest, 0.25);
      ctx.strokeStyle = this.signed ? this.#colour(Math.sign(value) * this.most) : css(this.table, 205);
      ctx.globalAlpha = strong ? 0.35 + 0.65 * share : 0.12 + 0.75 * share;
      ctx.stroke();
    };
    ctx.lineCap = "butt";
    const { row, column } = focus;
    if (row >= 0) {
      for (let c = 0; c < this.nColumns; c++) if (Math.abs(this.weight(row, c)) > this.most * 0.004) line(row, c, column < 0 || c === column);
    } else if (column >= 0) {
      for (let r = 0; r < this.nRows; r++) if (Math.abs(this.weight(r, column)) > this.most * 0.004) line(r, column, true);
    } else {
      for (const at of this.strongest()) line(Math.floor(at / this.nColumns), at % this.nColumns, false);
    }
    ctx.globalAlpha = 1;
    ctx.font = `${12.5 * u}px ${theme.font}`;
    ctx.fillStyle = theme.quiet;
    ctx.textAlign = "center";
    ctx.textBaseline = "bottom";
    ctx.fillText("looks at", lines.x + lines.width / 2, lines.y - 6);
  }

  // Cells that are drawn as lines, weakest first, so that strong ones lie on top.
  strongest() {
    const { weights } = this.shown;
    let found = [];
    for (let i = 0; i < weights.length; i++) if (Math.abs(weights[i]) > this.most * FAINTEST) found.push(i);
    found.sort((a, b) => Math.abs(weights[a]) - Math.abs(weights[b]));
    return found.slice(-MOST_LINES);
  }

  #sides(ctx, layout, theme, focus) {
    const { left, right, lines, h, font, labelWidth, u } = layout;
    const beside = (side, x, align, numbers) => this.#labels(ctx, side, x, lines.y, h, font, labelWidth - 8, align, theme,
      side === "rows" ? focus.row : focus.column, numbers);
    // The other side of what is in focus shows its weights, as a colour and as a number.
    const ofRow = focus.row >= 0 ? (c) => this.weight(focus.row, c) : null;
    const ofColumn = focus.row < 0 && focus.column >= 0 ? (r) => this.weight(r, focus.column) : null;
    beside("rows", left.x + left.width - 4, "right", ofColumn);
    beside("columns", right.x + 4, "left", ofRow);
    ctx.font = `${Math.min(font, 12.5 * u)}px ${theme.font}`;
    ctx.textBaseline = "middle";
    const every = Math.max(Math.ceil((font * 0.95) / h), 1);
    const numbers = (n, of, x, align, chosen) => {
      ctx.textAlign = align;
      for (let i = 0; i < n; i++) {
        const named = every > 1 ? this.#stands(of, i, n, every) && (chosen < 0 || Math.abs(i - chosen) >= every) : Math.abs(of(i)) >= 0.005;
        if (i !== chosen && !named) continue;
        ctx.font = `${i === chosen ? "700" : "400"} ${Math.min(font, 12.5 * u)}px ${theme.font}`;
        ctx.fillStyle = i === chosen || chosen < 0 ? theme.ink : theme.quiet;
        ctx.fillText(two(of(i)), x, lines.y + (i + 0.5) * h);
      }
    };
    if (ofRow) numbers(this.nColumns, ofRow, right.x + labelWidth + 6, "left", focus.column);
    if (ofColumn) numbers(this.nRows, ofColumn, lines.x + 2, "left", -1);
  }

  // Whether a place is the largest of those around it that share one line of text.
  #stands(of, i, n, every) {
    if (Math.abs(of(i)) < 0.02) return false;
    for (let j = Math.max(i - every, 0); j <= Math.min(i + every, n - 1); j++) {
      if (j !== i && (Math.abs(of(j)) > Math.abs(of(i)) || (Math.abs(of(j)) === Math.abs(of(i)) && j < i))) return false;
    }
    return true;
  }

  #labels(ctx, side, x, y, h, font, room, align, theme, focused, numbers = null) {
    const n = this.shown[side].length;
    const every = Math.max(Math.ceil((font * 0.95) / h), 1);
    ctx.textBaseline = "middle";
    for (let i = 0; i < n; i++) {
      const named = numbers ? (every === 1 || this.#stands(numbers, i, n, every)) : i % every === 0;
      const near = focused >= 0 && Math.abs(i - focused) < every;
      if (i !== focused && (!named || near)) continue;
      ctx.font = `${i === focused ? "700" : "400"} ${font}px ${theme.font}`;
      const text = cut(ctx, this.label(side, i), room);
      const middle = y + (i + 0.5) * h;
      ctx.globalAlpha = focused >= 0 && i !== focused && !numbers ? 0.55 : 1;
      if (numbers && Math.abs(numbers(i)) >= 0.02) {
        const step = level(numbers(i), this.most, this.signed);
        const width = ctx.measureText(text).width + 8;
        ctx.fillStyle = css(this.table, step);
        ctx.fillRect(align === "right" ? x - width + 4 : x - 4, middle - Math.max(h, font) / 2 + 0.5, width, Math.max(h, font) - 1);
        ctx.fillStyle = textOn(this.table, step);
      } else ctx.fillStyle = theme.ink;
      ctx.textAlign = align;
      ctx.fillText(text, x, middle);
    }
    ctx.globalAlpha = 1;
  }

  #legend(ctx, { heat, height, u, narrow, lines }, theme) {
    const x = narrow ? 0 : heat.x, y = height - 18, width = 110;
    for (let i = 0; i < width; i++) {
      ctx.fillStyle = css(this.table, Math.round((i / (width - 1)) * 255));
      ctx.fillRect(x + 34 * u + i, y, 1.5, 9);
    }
    ctx.font = `${12 * u}px ${theme.font}`;
    ctx.fillStyle = theme.quiet;
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    const most = this.most < 0.1 ? this.most.toPrecision(1) : this.most.toFixed(2);
    ctx.fillText(this.signed ? `−${most}` : "0", x + 30 * u, y + 5);
    ctx.textAlign = "left";
    ctx.fillText(this.signed ? `+${most}` : most, x + 34 * u + width + 5, y + 5);
    const { weights } = this.shown;
    if (weights.length > 400 && !narrow) {
      ctx.textAlign = "center";
      ctx.fillText(`lines: weights above ${(this.most * FAINTEST).toPrecision(1)}`, lines.x + lines.width / 2, y + 5);
    }
  }

  // { row, column } of a point; -1 where it is on neither. `on` tells a label from a cell.
  hit([x, y], layout) {
    const { heat, lines, left, right, h, w, narrow, labelWidth } = layout;
    const inside = (place, n) => (place >= 0 && place < n ? place : -1);
    const row = inside(Math.floor((y - heat.y) / h), this.nRows);
    if (x >= heat.x && x < heat.x + heat.width && row >= 0) return { row, column: inside(Math.floor((x - heat.x) / w), this.nColumns) };
    if (x >= heat.x && x < heat.x + heat.width && y < heat.y && y > heat.y - layout.top) return { row: -1, column: inside(Math.floor((x - heat.x) / w), this.nColumns) };
    if (narrow && x < heat.x && x > heat.x - labelWidth && row >= 0) return { row, column: -1 };
    const place = Math.floor((y - lines.y) / h);
    if (x >= left.x && x < lines.x + lines.width * 0.3) return { row: inside(place, this.nRows), column: -1 };
    if (x >= lines.x + lines.width * 0.7 && x < right.x + right.width) return { row: -1, column: inside(place, this.nColumns) };
    return { row: -1, column: -1 };
  }

  // The token of a place, for pinning.
  token(side, place) { return place < 0 ? null : this.shown.units.positions[this.shown[side][place]][0]; }

  // What the choice has done to the map, where it has done anything.
  noted() {
    const { by, without, rescale } = this.choice;
    const merged = by === "words" && this.map.words.labels.length < this.map.tokens.labels.length
      ? "Words: of the pieces of a word, rows are averaged and columns summed. " : "";
    const left = this.signed || !this.nRows ? 0 : this.shown.gone.reduce((sum, gone) => sum + gone, 0) / this.nRows;
    if (left < 0.0005 || (this.choice.pairs === "all" && !without.length)) return merged;
    const { pairs } = this.choice;
    const kinds = KIND_NAMES.filter(([kind]) => without.includes(kind)).map(([, name]) => name).join(", ");
    const shown = [pairs === "all" ? "" : `${pairs.toUpperCase().replace("_TO_", " → ")} alone`, kinds && `${kinds} left out`].filter(Boolean).join(", ");
    return `${merged}${shown}: on average ${percent(left)} of a row’s attention goes to what is not shown${rescale ? "; the rest is rescaled to sum to 1" : ", and rows sum to the rest"}.`;
  }

  // A sentence on what is in focus, and the numbers behind it.
  told() {
    const { row, column } = this.focus;
    const digits = this.map.approximate ? 2 : 4;
    const name = (side, place) => `“${this.label(side, place)}” (${this.choice.by === "words" ? "word" : "token"} ${this.shown[side][place]})`;
    if (row >= 0 && column >= 0) {
      return this.signed
        ? `${name("rows", row)} → ${name("columns", column)}: ${signedText(this.weight(row, column), digits)}`
        : `${name("rows", row)} looks at ${name("columns", column)} with weight ${this.weight(row, column).toFixed(digits)}.`;
    }
    if (row >= 0) {
      const gone = this.shown.gone[row];
      if (this.signed) {
        let moved = 0;
        for (let c = 0; c < this.nColumns; c++) moved += Math.abs(this.weight(row, c)) / 2;
        return `Of ${name("rows", row)}, ${percent(moved)} of the attention went elsewhere.`;
      }
      const left = gone < 0.0005 ? "" : this.choice.rescale ? ` ${percent(gone)} of it goes to what is left out; the rest was rescaled to 1.` : ` ${percent(gone)} goes to what is left out.`;
      return `Where ${name("rows", row)} looks.${left}`;
    }
    if (column >= 0) {
      let sum = 0;
      for (let r = 0; r < this.nRows; r++) sum += this.weight(r, column);
      return this.signed ? `Who looks at ${name("columns", column)} more, or less.` : `Who looks at ${name("columns", column)}: it gets ${sum.toFixed(2)} in all, ${(sum / this.nRows).toFixed(2)} on average.`;
    }
    return "";
  }
}

export function two(value) {
  const text = Math.abs(value).toFixed(2).replace(/^0(?=\.)/, "");
  return value <= -0.005 ? `−${text}` : text;
}
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const signedText = (value, digits) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

function cut(ctx, text, room) {
  if (ctx.measureText(text).width <= room) return text;
  let n = text.length;
  while (n > 1 && ctx.measureText(`${text.slice(0, n)}…`).width > room) n -= 1;
  return `${text.slice(0, n)}…`;
}
