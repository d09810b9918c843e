// The overview with its hovering, its keys and the heads that bear a name.
import { element } from "./dom.js";
import { Figure } from "./figure.js";
import { OverviewPainter } from "./overview.js";
import { theme } from "./colours.js";

const CARD = 210; // pixels a side of the enlarged map
const SHOWN = 3; // heads of a pattern, until more are asked for

export class OverviewView {
  constructor(root, shared) {
    this.root = root;
    this.shared = shared;
    shared.overview = this;
  }

  update(pack) {
    const document = this.root.ownerDocument;
    if (!this.painter) this.#build(document, pack.ramps);
    this.pack = pack;
    const [nLayers, nHeads, side] = pack.shape;
    this.painter.show({ nLayers, nHeads, side, levels: pack.arrays.levels, peaks: pack.arrays.peaks });
    this.note.textContent = pack.note;
    this.#names(document);
    this.mark(this.shared.map?.opened ?? null);
  }

  #build(document, ramps) {
    this.ramps = ramps;
    this.painter = new OverviewPainter();
    this.figure = new Figure(document, this.painter, ramps, "All heads: layers downwards, heads across. Arrow keys move, Enter opens a head.");
    this.card = element(document, "div", { class: "card", hidden: true });
    this.note = element(document, "span", {});
    this.named = element(document, "div", { class: "named" });
    this.figure.root.append(this.card);
    this.root.replaceChildren(
      this.figure.root,
      element(document, "div", { class: "foot" }, this.note, element(document, "span", { class: "saves" }, ...this.figure.saving(() => "all_heads", () => "All heads"))),
      this.named,
    );
    const { canvas } = this.figure;
    canvas.addEventListener("pointermove", (event) => this.#point(this.painter.hit(this.figure.at(event), this.figure.layout)));
    canvas.addEventListener("pointerleave", () => this.#point(null));
    canvas.addEventListener("click", (event) => {
      const at = this.painter.hit(this.figure.at(event), this.figure.layout);
      if (at) this.open(at);
    });
    canvas.addEventListener("blur", () => this.#point(null));
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    const { nLayers, nHeads } = this.painter.maps;
    const [layer, head] = this.painter.cursor ?? this.painter.picked ?? [0, 0];
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) this.#point([(layer + step[0] + nLayers) % nLayers, (head + step[1] + nHeads) % nHeads]);
    else if (event.key === "Enter" || event.key === " ") this.open([layer, head]);
    else if (event.key === "Escape") this.#point(null);
    else return;
    event.preventDefault();
  }

  open(at) {
    this.mark(at);
    this.shared.map?.open(...at);
  }

  mark(at) {
    this.painter.picked = at && at[0] !== null && at[1] !== null ? at : null;
    this.figure.paint();
  }

  large(large) {
    this.painter.large = large;
    this.root.classList.toggle("large", large);
    this.figure.paint();
  }

  #point(at) {
    if (String(at) === String(this.painter.cursor)) return;
    this.painter.cursor = at;
    this.figure.canvas.style.cursor = at ? "pointer" : "default";
    this.card.hidden = !at;
    if (at) this.#enlarge(at);
    this.figure.paint();
  }

  #enlarge(at) {
    const document = this.root.ownerDocument;
    const { left, pitch, width, height } = this.figure.layout;
    const map = this.painter.enlarged(at, theme(this.root, this.ramps));
    map.className = "enlarged";
    const names = this.pack.names.filter(([, heads]) => heads.some(([layer, head]) => layer === at[0] && head === at[1]))
      .map(([name, heads]) => `${name} ${heads.find(([layer, head]) => layer === at[0] && head === at[1])[2].toFixed(2)}`);
    this.card.replaceChildren(map, element(document, "b", {}, `layer ${at[0]}, head ${at[1]}`), element(document, "span", {}, names.join(" · ")));
    // Below all heads, so that it hides none of them.
    this.card.style.left = `${Math.min(Math.max(left + (at[1] + 0.5) * pitch - CARD / 2, 0), Math.max(width - CARD - 14, 0))}px`;
    this.card.style.top = `${height + 4}px`;
    this.figure.canvas.setAttribute("aria-label", `layer ${at[0]}, head ${at[1]} ${names.join(", ")}. Enter opens it.`);
  }

  // A row a pattern, its best heads as buttons; of a pattern that no head matches, the head that comes nearest.
  #names(document) {
    const button = ([layer, head, score], says) => element(document, "button", { type: "button", onclick: () => this.open([layer, head]), title: `layer ${layer}, head ${head}: ${says} ${score.toFixed(3)}` }, `${layer}·${head}`, element(document, "small", {}, ` ${score.toFixed(2)}`));
    this.named.replaceChildren(...this.pack.names.map(([name, heads, says, nearest]) => {
      const row = element(document, "div", { title: says }, element(document, "span", { class: "pattern" }, name), ...heads.slice(0, SHOWN).map((one) => button(one, says)));
      if (!heads.length) row.append(element(document, "small", {}, nearest ? "none; highest" : "none: no token stands there twice"), ...(nearest ? [button(nearest, says)] : []));
      if (heads.length > SHOWN) row.append(element(document, "button", { type: "button", class: "more", onclick: ({ target }) => target.replaceWith(...heads.slice(SHOWN).map((one) => button(one, says))) }, `${heads.length - SHOWN} more`));
      return row;
    }));
  }
}
