// One weight worked out: query times key by dimension, their sum over √d, the softmax over the row.
import { css, level } from "./colours.js";

const MOST_TOKENS = 8; // of the softmax, the largest are drawn

// { query, key, products (d each), dot, scale, scores, probs (n each), extra } of tokens i and j.
// vectors: { d, queries, keys (n × d), distances (n × n) or null }.
export function work({ d, queries, keys, distances }, n, i, j) {
  const query = queries.subarray(i * d, (i + 1) * d);
  const key = keys.subarray(j * d, (j + 1) * d);
  const products = Float64Array.from(query, (q, c) => q * key[c]);
  const scale = 1 / Math.sqrt(d);
  const extra = (k) => (distances ? distances[i * n + k] : 0);
  const scores = Float64Array.from({ length: n }, (_, k) => {
    let dot = 0;
    for (let c = 0; c < d; c++) dot += query[c] * keys[k * d + c];
    return dot * scale + extra(k);
  });
  const most = scores.reduce((a, b) => Math.max(a, b));
  const raised = scores.map((score) => Math.exp(score - most));
  const total = raised.reduce((a, b) => a + b);
  return { query, key, products, dot: products.reduce((a, b) => a + b), scale, extra: extra(j), scores, probs: raised.map((r) => r / total) };
}

export class WorkedPainter {
  pair = null; // { worked, labels, i, j, weight }
  large = false;
  hovered = -1;

  ready() { return this.pair !== null; }

  layout(width, ctx) {
    const u = this.large ? 1.3 : 1;
    const narrow = width < 620;
    const left = 78 * u;
    const strips = { x: left, y: 6, width: (narrow ? width : width * 0.58) - left - 8, row: 24 * u, bars: 84 * u };
    const stripsHeight = 6 + strips.row * 2 + 14 + strips.bars + 30 * u;
    const n = Math.min(MOST_TOKENS, this.pair.labels.length);
    const soft = narrow ? { x: 0, y: stripsHeight + 16, width } : { x: width * 0.58 + 36, y: 6, width: width * 0.42 - 36 };
    soft.row = 21 * u;
    soft.height = 24 * u + (n + 1) * soft.row;
    return { u, narrow, strips, soft, height: Math.max(stripsHeight, soft.y + soft.height) + 4 };
  }

  draw(ctx, { u, strips, soft }, theme) {
    this.#strips(ctx, strips, u, theme);
    this.#softmax(ctx, soft, u, theme);
  }

  #strips(ctx, { x, y, width, row, bars }, u, theme) {
    const { query, key, products, dot, scale, extra, scores } = this.pair.worked;
    const w = width / query.length;
    const most = Math.max(...query.map(Math.abs), ...key.map(Math.abs), 1e-6);
    const name = (text, middle) => {
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      ctx.font = `${13 * u}px ${theme.font}`;
      ctx.fillStyle = theme.ink;
      ctx.fillText(text, x - 8, middle);
    };
    [["query", query], ["key", key]].forEach(([label, values], i) => {
      const top = y + i * (row + 2);
      name(label, top + row / 2);
      values.forEach((value, c) => {
        ctx.fillStyle = css(theme.signed, level(value, most, true));
        ctx.fillRect(x + c * w, top, w - (w > 5 ? 1 : 0), row);
      });
    });
    const top = y + 2 * (row + 2) + 10, middle = top + bars / 2;
    const tallest = Math.max(...products.map(Math.abs), 1e-6);
    name("product", middle);
    products.forEach((value, c) => {
      ctx.fillStyle = css(theme.signed, value < 0 ? 40 : 215);
      const tall = (Math.abs(value) / tallest) * (bars / 2 - 2);
      ctx.fillRect(x + c * w, value < 0 ? middle : middle - tall, Math.max(w - 1, 0.6), Math.max(tall, 0.5));
    });
    ctx.fillStyle = theme.rule;
    ctx.fillRect(x, middle - 0.5, width, 1);
    if (this.hovered >= 0) {
      ctx.strokeStyle = theme.ink;
      ctx.lineWidth = 1;
      ctx.strokeRect(x + this.hovered * w - 0.5, y - 2, w, top + bars - y + 2);
    }
    ctx.textAlign = "left";
    ctx.font = `${14 * u}px ${theme.font}`;
    ctx.fillStyle = theme.ink;
    const d = query.length, c = this.hovered;
    const more = this.pair.distances ? ` ${extra < 0 ? "−" : "+"} ${Math.abs(extra).toFixed(3)} for the distance` : "";
    ctx.fillText(c >= 0
      ? `dimension ${c}: ${number(query[c])} × ${number(key[c])} = ${number(products[c])}`
      : `sum ${number(dot)} ÷ √${d}${more} = score ${number(dot * scale + extra)}`, x, top + bars + 18 * u);
  }

  #softmax(ctx, { x, y, width, row }, u, theme) {
    const { worked, labels, j, weight } = this.pair;
    const order = [...labels.keys()].sort((a, b) => worked.probs[b] - worked.probs[a]).slice(0, MOST_TOKENS);
    if (!order.includes(j)) order[order.length - 1] = j;
    const columns = { label: x + width * 0.3, score: x + width * 0.45, bar: x + width * 0.49, end: x + width };
    ctx.textBaseline = "middle";
    ctx.font = `${12.5 * u}px ${theme.font}`;
    ctx.fillStyle = theme.quiet;
    ctx.textAlign = "right";
    ctx.fillText("key", columns.label, y + 8);
    ctx.fillText("score", columns.score, y + 8);
    ctx.textAlign = "left";
    ctx.fillText("softmax", columns.bar, y + 8);
    order.forEach((token, i) => {
      const middle = y + 24 * u + (i + 0.5) * row;
      const prob = worked.probs[token];
      ctx.font = `${token === j ? "700" : "400"} ${13 * u}px ${theme.font}`;
      ctx.fillStyle = theme.ink;
      ctx.textAlign = "right";
      ctx.fillText(labels[token].slice(0, 14), columns.label, middle);
      ctx.fillText(worked.scores[token].toFixed(2).replace("-", "−"), columns.score, middle);
      const room = columns.end - columns.bar - 44 * u;
      ctx.fillStyle = css(theme.attention, token === j ? 205 : 90);
      ctx.fillRect(columns.bar, middle - row * 0.36, Math.max(prob * room, 1), row * 0.72);
      ctx.textAlign = "left";
      ctx.fillStyle = theme.ink;
      ctx.fillText(prob.toFixed(3), columns.bar + Math.max(prob * room, 1) + 6, middle);
    });
    const others = labels.length - order.length;
    ctx.font = `${12.5 * u}px ${theme.font}`;
    ctx.fillStyle = theme.quiet;
    const rest = others > 0 ? `${others} others ${(1 - order.reduce((sum, t) => sum + worked.probs[t], 0)).toFixed(3)} · ` : "";
    ctx.textAlign = "right";
    ctx.fillText(`${rest}the model’s own weight ${weight.toFixed(3)}`, x + width, y + 24 * u + (order.length + 0.6) * row);
  }

  // The dimension of a point; -1 where there is none.
  hit([x, y], { strips }) {
    const place = Math.floor(((x - strips.x) / strips.width) * this.pair.worked.query.length);
    return y < strips.y + 2 * strips.row + 14 + strips.bars && place >= 0 && place < this.pair.worked.query.length ? place : -1;
  }
}

const number = (value) => `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(3)}`;
