// The parts of the attention view that need no browser; expected values are worked out by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { load } from "./view_modules.mjs";

const { half, unpack } = await load("pack");
const { shape, merge, placeOf } = await load("shape");
const { ramp, level, css, textOn } = await load("colours");
const { SvgContext } = await load("svg");
const { pool, OverviewPainter } = await load("overview");
const { work } = await load("worked");
const { MapPainter, two } = await load("map");

const near = (actual, expected, tolerance = 1e-12) => {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= tolerance, `${[...actual]} is not ${expected}`));
};

test("half floats by the standard", () => {
  for (const [bits, value] of [[0x3c00, 1], [0xc000, -2], [0x7bff, 65504], [0x0400, 2 ** -14], [0x0001, 2 ** -24], [0x3555, 0.333251953125], [0x8000, -0], [0x7c00, Infinity]]) {
    assert.equal(half(bits), value);
  }
  assert.ok(Number.isNaN(half(0x7e00)));
});

test("bytes are read at their places", async () => {
  const deflated = deflateSync(Uint8Array.of(9, 9, 8));
  const places = { a: ["uint8", [3], 400, 3], b: ["float32", [1, 2], 408, 8], c: ["float16", [1], 416, 2], d: ["uint8", [3], 424, deflated.length] };
  const arrays = Object.fromEntries(Object.entries(places).map(([name, [dtype, shape, start, bytes]]) => [name, { dtype, shape, start, bytes, deflated: name === "d" }]));
  const header = new TextEncoder().encode(JSON.stringify({ part: "é", arrays }));
  const bytes = new Uint8Array(600).subarray(3, 503); // at an odd offset, as a message may bring it
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(0, header.length, true);
  bytes.set(header, 4);
  assert.ok(header.length < 396);
  bytes.set([7, 0, 255], 400);
  view.setFloat32(408, 0.5, true);
  view.setFloat32(412, -1.25, true);
  view.setUint16(416, 0x3800, true);
  bytes.set(deflated, 424);
  const read = await unpack(bytes);
  assert.equal(read.part, "é");
  assert.deepEqual([...read.arrays.a], [7, 0, 255]);
  assert.deepEqual([...read.arrays.b], [0.5, -1.25]);
  assert.deepEqual([...read.arrays.c], [0.5]);
  assert.deepEqual([...read.arrays.d], [9, 9, 8]);
});

// [CLS] ab ##c . with "ab" and "##c" one word: worked out by hand.
const W = [0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.2, 0.1, 0, 0.5, 0.5, 0, 1, 0, 0, 0];
const units = (labels, positions, kinds, segments) => ({ labels, positions, kinds, segments });
const MAP = {
  n: 4, weights: W, signed: false,
  tokens: units(["[CLS]", "ab", "##c", "."], [[0], [1], [2], [3]], ["cls", "", "", "punctuation"], [0, 0, 1, 1]),
  words: units(["[CLS]", "abc", "."], [[0], [1, 2], [3]], ["cls", "", "punctuation"], [0, 0, 1]),
};
const CHOICE = { by: "pieces", without: [], pairs: "all", rescale: false };

test("columns of a word are summed, its rows averaged", () => {
  near(merge(W, 4, MAP.words.positions), [0.1, 0.5, 0.4, 0.2, 0.75, 0.05, 1, 0, 0]);
});

test("what is left out is told, and rows are rescaled only when asked", () => {
  const left = shape(MAP, { ...CHOICE, without: ["cls"] });
  assert.deepEqual([left.rows, left.columns], [[1, 2, 3], [1, 2, 3]]);
  near(left.weights, [0.3, 0.2, 0.1, 0.5, 0.5, 0, 0, 0, 0]);
  near(left.gone, [0.4, 0, 1]);
  const rescaled = shape(MAP, { ...CHOICE, without: ["cls"], rescale: true });
  near(rescaled.weights, [0.5, 1 / 3, 1 / 6, 0.5, 0.5, 0, 0, 0, 0]); // the last row looked at nothing else
});

test("one sentence looks at the other", () => {
  const between = shape(MAP, { ...CHOICE, pairs: "a_to_b" });
  assert.deepEqual([between.rows, between.columns], [[0, 1], [2, 3]]);
  near(between.weights, [0.3, 0.4, 0.2, 0.1]);
  assert.deepEqual(shape(MAP, { ...CHOICE, pairs: "b_to_a" }).rows, [2, 3]);
});

test("a token is found in the unit that holds it", () => {
  const { rows, units: words } = shape(MAP, { ...CHOICE, by: "words", without: ["cls"] });
  assert.equal(placeOf(2, rows, words), 0);
  assert.equal(placeOf(0, rows, words), -1);
  assert.equal(placeOf(null, rows, words), -1);
});

test("a ramp begins and ends with its colours", () => {
  const table = ramp(["#000000", "#808080", "#ffffff"]);
  assert.deepEqual([css(table, 0), css(table, 255)], ["rgb(0,0,0)", "rgb(255,255,255)"]);
  assert.equal(css(table, 64), "rgb(64,64,64)");
  assert.deepEqual([level(0, 2, false), level(2, 2, false), level(9, 2, false), level(0, 2, true), level(-2, 2, true)], [0, 255, 255, 128, 0]);
  assert.deepEqual([textOn(table, 0), textOn(table, 255)], ["#ffffff", "#000000"]);
});

test("pooling keeps the peak", () => {
  const levels = new Uint8Array(16);
  levels[6] = 200; // row 1, column 2
  assert.deepEqual([...pool(levels, 4, 2)], [0, 200, 0, 0]);
  assert.equal(pool(levels, 4, 4), levels);
});

test("a head of the overview is told from its bytes, unless cells were pooled", () => {
  const painter = new OverviewPainter();
  painter.show({ nLayers: 1, nHeads: 2, side: 2, levels: Uint8Array.of(0, 0, 0, 0, 255, 51, 0, 102), peaks: Float32Array.of(1, 0.5) });
  near(painter.weights([0, 1], 2), [0.5, 0.1, 0, 0.2], 1e-6);
  assert.equal(painter.weights([0, 1], 3), null);
  const layout = painter.layout(200);
  assert.deepEqual(painter.hit([layout.left + layout.pitch * 1.5, layout.top + 3], layout), [0, 1]);
  assert.equal(painter.hit([2, 2], layout), null);
});

test("a weight is worked out: products, sum over root d, softmax", () => {
  const vectors = { d: 2, queries: Float32Array.of(1, 2, 0, 0), keys: Float32Array.of(3, -1, 0.5, 0.25), distances: null };
  const worked = work(vectors, 2, 0, 1);
  near(worked.products, [0.5, 0.5]);
  assert.equal(worked.dot, 1);
  near(worked.scores, [1 / Math.SQRT2, 1 / Math.SQRT2]);
  near(worked.probs, [0.5, 0.5]);
  const distant = work({ ...vectors, distances: Float32Array.of(0, Math.LN2, 0, 0) }, 2, 0, 1);
  near(distant.probs, [1 / 3, 2 / 3], 1e-6);
});

test("numbers in cells are short", () => {
  assert.deepEqual([0.934, 1, 0.004, -0.25].map(two), [".93", "1.00", ".00", "−.25"]);
});

const measure = { font: "", measureText: (text) => ({ width: text.length * 7 }) };
const THEME = { dark: false, ink: "#000000", quiet: "#777777", page: "#ffffff", rule: "#dddddd", font: "Sans", attention: ramp(["#ffffff", "#000000"]), signed: ramp(["#0000ff", "#ffffff", "#ff0000"]) };

function drawn(painter, width = 800) {
  const ctx = new SvgContext(measure);
  const layout = painter.layout(width, measure);
  painter.draw(ctx, layout, THEME);
  return { layout, file: ctx.file(width, layout.height, "a <map>", "#ffffff") };
}

test("a map is drawn as it is: a cell a weight, a line a weight, names as text", () => {
  const painter = new MapPainter();
  painter.show(MAP);
  const { file, layout } = drawn(painter);
  assert.ok(file.includes("<title>a &#60;map&#62;</title>"));
  const cells = [...file.matchAll(/<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)" fill="rgb\((\d+),/g)].slice(0, 16);
  cells.forEach(([, x, y, , , red], i) => {
    assert.equal(Number(red), 255 - Math.round(W[i] * 255)); // the strongest colour is the largest weight, 1
    assert.ok(Math.abs(x - (layout.heat.x + (i % 4) * layout.w)) < 0.01 && Math.abs(y - (layout.heat.y + Math.floor(i / 4) * layout.h)) < 0.01);
  });
  assert.equal(cells.length, 16);
  const widths = [...file.matchAll(/<path [^>]*stroke-width="([\d.]+)"/g)].map(([, width]) => Number(width));
  assert.equal(widths.length, W.filter((weight) => weight > 0.02).length);
  assert.ok(Math.abs(Math.max(...widths) / Math.min(...widths) - 10) < 0.2, "thickness is the weight: 1 to 0.1");
  for (const label of MAP.tokens.labels) assert.ok(file.includes(`>${label}</text>`));
});

test("what the pointer is on is shown alone, and pinned places are kept", () => {
  const painter = new MapPainter();
  painter.show(MAP);
  const { layout } = drawn(painter);
  const cell = [layout.heat.x + 2.5 * layout.w, layout.heat.y + 1.5 * layout.h];
  assert.deepEqual(painter.hit(cell, layout), { row: 1, column: 2 });
  assert.deepEqual(painter.hit([layout.left.x + 5, layout.lines.y + 0.5 * layout.h], layout), { row: 0, column: -1 });
  assert.deepEqual(painter.hit([layout.right.x + 5, layout.lines.y + 3.5 * layout.h], layout), { row: -1, column: 3 });
  painter.hovered = { row: 1, column: -1 };
  assert.equal([...drawn(painter).file.matchAll(/<path /g)].length, 4); // the row's own lines
  assert.match(painter.told(), /Where “ab” \(token 1\) looks/);
  painter.hovered = { row: -1, column: 0 };
  assert.match(painter.told(), /gets 1\.50 in all, 0\.38 on average/);
  painter.hovered = { row: -1, column: -1 };
  painter.pinned = { row: 1, column: 2 };
  assert.deepEqual(painter.focus, { row: 1, column: 2 });
  assert.match(painter.told(), /“ab” \(token 1\) looks at “##c” \(token 2\) with weight 0\.2000/);
  painter.choose({ by: "words", without: ["punctuation"] });
  assert.deepEqual(painter.focus, { row: 1, column: 1 }); // the word that holds both
});

test("what a choice does to a map is said beside it", () => {
  const painter = new MapPainter();
  painter.show(MAP);
  assert.equal(painter.noted(), "");
  painter.choose({ without: ["cls"] }); // of the rows left, 0.4, 0 and 1 go there
  assert.match(painter.noted(), /^\[CLS\] left out: on average 47 % of a row’s attention goes to what is not shown, and rows sum to the rest\.$/);
  painter.choose({ by: "words", without: [], pairs: "a_to_b", rescale: true }); // 0.6 and 0.95 stay
  assert.match(painter.noted(), /^Words: .*summed\. A → B alone: on average 7[78] % .*rescaled to sum to 1\.$/);
});

test("everything left out is said, not drawn", () => {
  const painter = new MapPainter();
  painter.show({ ...MAP, tokens: { ...MAP.tokens, kinds: ["cls", "sep", "sep", "cls"] } });
  painter.choose({ without: ["cls", "sep"] });
  assert.ok(drawn(painter).file.includes("Everything is left out"));
});

test("no file is cut by a token that means something to XML", () => {
  const painter = new MapPainter();
  painter.show({ ...MAP, tokens: { ...MAP.tokens, labels: ["<b>", "&", "\u000b\u001b", "]]>"] } });
  const { file } = drawn(painter);
  assert.ok(file.includes(">&#60;b&#62;</text>") && file.includes(">&#38;</text>") && file.includes(">\ufffd\ufffd</text>"));
});
