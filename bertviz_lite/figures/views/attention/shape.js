// A map as it is read: pieces or words, one sentence looking at the other, kinds left out. The same as
// analysis/shown_maps.py, done here so that a file or a notebook can do it without Python.

export const PAIRINGS = { all: null, a_to_a: [0, 0], a_to_b: [0, 1], b_to_a: [1, 0], b_to_b: [1, 1] };

const NOTHING = 1e-6; // of a row's 1: less is what float32 leaves of a row that went elsewhere whole

// map: { n, weights (n × n), tokens, words }, where tokens and words hold labels, positions, kinds, segments.
// choice: { by, without, pairs, rescale }.
export function shape(map, choice) {
  const units = map[choice.by === "words" ? "words" : "tokens"];
  const merged = merge(map.weights, map.n, units.positions);
  const n = units.labels.length;
  const pairing = PAIRINGS[choice.pairs];
  const kept = (side) => [...Array(n).keys()].filter((i) => !choice.without.includes(units.kinds[i])
    && (!pairing || units.segments[i] === pairing[side]));
  const rows = kept(0), columns = kept(1);
  const weights = new Float64Array(rows.length * columns.length);
  const gone = new Float64Array(rows.length);
  rows.forEach((row, r) => {
    let sum = 0;
    for (const column of columns) sum += merged[row * n + column];
    const scale = choice.rescale ? (sum < NOTHING ? 0 : 1 / sum) : 1;
    columns.forEach((column, c) => (weights[r * columns.length + c] = merged[row * n + column] * scale));
    gone[r] = Math.min(Math.max(1 - sum, 0), 1);
  });
  return { units, rows, columns, weights, gone };
}

// Columns of a unit are summed, its rows averaged: rows still sum to 1.
export function merge(weights, n, positions) {
  if (positions.length === n) return weights;
  const merged = new Float64Array(positions.length ** 2);
  positions.forEach((rows, r) => positions.forEach((columns, c) => {
    let sum = 0;
    for (const row of rows) for (const column of columns) sum += weights[row * n + column];
    merged[r * positions.length + c] = sum / rows.length;
  }));
  return merged;
}

// The unit that holds a token, among those shown (rows or columns of a shape); -1 where it is not shown.
export function placeOf(token, shown, units) {
  return token === null ? -1 : shown.findIndex((unit) => units.positions[unit].includes(token));
}
