// What the benchmark asks of a page: how long until a picture stands. The same clock for both sides: a picture counts
// from the task that follows the frame which painted it.

const MOST_MS = 100_000; // of an interaction
const frame = () => new Promise(requestAnimationFrame);
const task = () => new Promise((resolve) => setTimeout(resolve));

// Milliseconds from `act` until what each stage asks for is painted; the stages follow one another.
globalThis.timed = async (act, ...stages) => {
  const start = performance.now();
  const times = [];
  act();
  for (const done of stages) {
    do {
      await frame();
      if (performance.now() - start > MOST_MS) throw new Error(`not painted in time: ${act}`);
    } while (!done());
    await task();
    times.push(performance.now() - start);
  }
  return times;
};

// Both parts of our view on a page of the app.
globalThis.ours = () => globalThis[Symbol.for("bertviz_lite.links")]?.get("attention");
globalThis.drawn = (view) => Number(view?.figure?.canvas.dataset.drawn ?? 0);

globalThis.PICTURES = {
  bertviz: () => document.querySelector("#vis svg"), // filled in one go
  overview: () => drawn(ours()?.overview),
  map: () => drawn(ours()?.map),
  file: () => [...document.querySelectorAll("#view canvas")].slice(0, 2).filter((canvas) => canvas.dataset.drawn).length === 2,
};

// Seconds from the navigation to each picture, as they come.
globalThis.seen = {};
if (window === top) {
  for (const [name, done] of Object.entries(PICTURES)) {
    (async () => {
      do await frame(); while (!done());
      await task();
      seen[name] = performance.now() / 1000;
    })();
  }
}

// Opens a head from the overview: when a picture of it is painted, and when it is painted with the exact numbers.
globalThis.openHead = ([layer, head]) => {
  const { overview, map: before } = ours();
  const { left, top, pitch, cell } = overview.figure.layout;
  const at = inside(overview.figure.canvas, left + head * pitch + cell / 2, top + layer * pitch + cell / 2);
  const pictures = drawn(before);
  const shows = () => {
    const { map } = ours(); // Streamlit may have built it anew
    return String(map.opened) === String([layer, head]) && drawn(map) > (map === before ? pictures : 0);
  };
  return timed(() => overview.figure.canvas.dispatchEvent(new MouseEvent("click", at)), shows,
    () => shows() && !ours().map.painter.map.approximate);
};

// All heads of the next sentence, from now on.
globalThis.nextSentence = () => {
  const peaks = () => String(ours()?.overview?.pack.arrays.peaks);
  const before = peaks();
  return timed(() => {}, () => peaks() !== before); // what is new is painted in the frame that shows it
};

// The pointer over a token that looks.
globalThis.hoverRow = (row) => {
  const { figure } = ours().map;
  const { heat, h } = figure.layout;
  const before = drawn(ours().map);
  const at = inside(figure.canvas, heat.x + heat.width - 1, heat.y + (row + 0.5) * h);
  return timed(() => figure.canvas.dispatchEvent(new PointerEvent("pointermove", at)), () => drawn(ours().map) > before);
};

// A head of BertViz's model view, which draws it large beside the small ones.
globalThis.openThumbnail = ([layer, head]) => {
  const { parentNode } = document.getElementById(`attn_background_${layer}_${head}`);
  return timed(() => parentNode.lastChild.dispatchEvent(new MouseEvent("click")), () => document.querySelector(".detail"));
};

// A head of BertViz's head view: its layer chosen, and its square pressed twice, which shows it alone.
globalThis.openAlone = ([layer, head]) => timed(() => {
  const select = document.getElementById("layer");
  select.value = String(layer);
  select.dispatchEvent(new Event("change"));
  document.querySelector("#vis svg > g:last-child").children[head].dispatchEvent(new MouseEvent("dblclick"));
}, () => true);

globalThis.hoverToken = (row) => {
  const token = document.querySelector("#left > g:last-child").children[row];
  return timed(() => token.dispatchEvent(new MouseEvent("mouseover")), () => true);
};

const inside = (canvas, x, y) => {
  const { left, top } = canvas.getBoundingClientRect();
  return { clientX: left + x, clientY: top + y };
};
