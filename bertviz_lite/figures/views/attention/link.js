// What the two parts of the view share in one browser page: the overview's maps and which head is open. On a page of
// Streamlit they are two components, in a notebook and in a file two parts of one root.

const KEY = Symbol.for("bertviz_lite.links");
const links = (globalThis[KEY] ??= new Map());

export function link(name) {
  if (!links.has(name)) links.set(name, { overview: null, map: null });
  return links.get(name);
}
