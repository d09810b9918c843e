// Entry: on a page each call is one part (an overview or a map) with new data; `mount` puts both parts of a file or a
// notebook into one root.
import { fromBase64, unpack } from "./pack.js";
import { link } from "./link.js";
import { MapView } from "./map_view.js";
import { OverviewView } from "./overview_view.js";

const views = new WeakMap();
const turns = new WeakMap(); // the last call for each root: what is read later is shown later

// The first part of a page brings this code for the others, see part.js.
export default function (call) {
  const known = (globalThis[Symbol.for("bertviz_lite.attention")] ??= { waiting: [] });
  known.show = show;
  show(call);
  known.waiting.splice(0).forEach(show);
}

function show({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".attention");
  const before = (turns.get(root) ?? Promise.resolve()).catch(() => {});
  turns.set(root, before.then(async () => {
    const pack = await unpack(data);
    if (!views.has(root)) {
      const shared = link(pack.link);
      views.set(root, pack.part === "overview" ? new OverviewView(root, shared) : new MapView(root, shared, {
        changed: (state) => setStateValue("view", state),
        mask: pack.word_ids ? (word) => setTriggerValue("mask", word) : null,
      }));
    }
    views.get(root).update(pack);
  }));
}

// parts: { overview: base64 or null, maps: [base64] }; the first map is the one shown.
export async function mount(root, { overview, maps }) {
  const packs = await Promise.all(maps.map((map) => unpack(fromBase64(map))));
  const shared = { overview: null, map: null };
  const find = (layer, head) => packs.find(({ state }) => state.layer === layer && state.head === head) ?? null;
  const [left, right] = [...root.querySelectorAll(".attention")];
  const view = new MapView(right, shared, { find });
  view.update(packs[0]);
  if (overview) new OverviewView(left, shared).update(await unpack(fromBase64(overview)));
  else left.remove();
}
