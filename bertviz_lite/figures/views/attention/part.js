// The view of one map on a page that has an overview too: its code came with the overview, so that what a click
// brings is numbers only.
const KEY = Symbol.for("bertviz_lite.attention");

export default function (call) {
  const views = (globalThis[KEY] ??= { waiting: [] });
  if (views.show) views.show(call);
  else views.waiting.push(call);
}
