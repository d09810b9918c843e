// One map with its controls, its hovering, pinning and keys, and a pinned weight worked out.
import { element, picker, tick } from "./dom.js";
import { Figure } from "./figure.js";
import { KIND_NAMES, MapPainter } from "./map.js";
import { WorkedPainter, work } from "./worked.js";

const PAIRS = [["all", "all"], ["a_to_a", "A → A"], ["a_to_b", "A → B"], ["b_to_a", "B → A"], ["b_to_b", "B → B"]];
const TWEEN_MS = 260;

export class MapView {
  // hooks: { changed(state): hears what is chosen, mask(word): hides a word, find(layer, head): a pack or null }.
  constructor(root, shared, hooks) {
    this.root = root;
    this.shared = shared;
    this.hooks = hooks;
    this.lastTold = 0; // number of the last state that was told; Python says which it has heard
    shared.map = this;
  }

  get document() { return this.root.ownerDocument; }
  get opened() { return [this.state.layer, this.state.head]; }

  // New numbers from Python. What the person chose since they were asked for stays.
  update(pack) {
    if (!this.painter) this.#build(pack.ramps);
    this.lastTold = Math.max(this.lastTold, pack.heard);
    const unheard = this.lastTold > pack.heard;
    const fresh = this.pack?.text !== pack.text;
    if (!unheard || fresh) this.state = pack.state;
    else if (pack.state.layer !== this.state.layer || pack.state.head !== this.state.head) return; // the other head's numbers are on their way
    const changed = this.pack && fresh && this.pack.title === pack.title && this.painter.map.n === pack.tokens.labels.length;
    const before = changed ? this.painter.map.weights : null;
    this.pack = pack;
    this.#show(mapOf(pack), before);
    this.shared.overview?.mark(this.opened);
  }

  // Opens a head at once where its numbers are at hand; Python sends what is missing.
  open(layer, head) {
    if (layer === this.state.layer && head === this.state.head) return;
    this.state = { ...this.state, layer, head };
    const found = this.hooks.find?.(layer, head);
    const { overview } = this.shared;
    if (found) {
      this.pack = { ...found, state: this.state };
      this.#show(mapOf(this.pack));
    } else {
      const weights = overview?.painter.weights([layer, head], this.painter.map.n);
      if (weights) this.#show({ ...this.painter.map, weights, vectors: null, approximate: true });
      else if (this.hooks.changed) this.figure.root.classList.add("waiting");
      else this.root.querySelector(".told").textContent = `This file holds layer ${this.pack.state.layer}, head ${this.pack.state.head} whole, and the others small.`;
    }
    overview?.mark([layer, head]);
    this.#tell();
  }

  #show(map, before = null) {
    this.figure.root.classList.remove("waiting");
    const { by, without, pairs, rescale, large, readable } = this.state;
    const choice = { by, without, pairs, rescale, large, readable };
    this.painter.pinned = { row: this.state.pin[0], column: this.state.pin[1] };
    this.root.classList.toggle("large", large);
    this.shared.overview?.large(large);
    if (before && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.#tween(before, map, choice);
    else this.painter.show(map, choice);
    this.#controls();
    this.#redraw();
  }

  // From the maps before a word was masked to those after, so that the eye catches what changed.
  #tween(before, map, choice) {
    const start = performance.now();
    const step = () => {
      if (this.painter.map !== null && this.tweening !== map) return;
      const t = Math.min((performance.now() - start) / TWEEN_MS, 1);
      this.painter.show(t === 1 ? map : { ...map, weights: map.weights.map((weight, i) => before[i] + (weight - before[i]) * t) }, choice);
      if (t < 1) requestAnimationFrame(step);
      this.#redraw(t === 1);
    };
    this.tweening = map;
    step();
  }

  #build(ramps) {
    const { document } = this;
    this.painter = new MapPainter();
    this.figure = new Figure(document, this.painter, ramps, "One map. Arrow keys move over its tokens, Enter pins, Escape lets go.");
    this.workedPainter = new WorkedPainter();
    this.workedFigure = new Figure(document, this.workedPainter, ramps, "A weight worked out from query and key.");
    this.bar = element(document, "div", { class: "bar" });
    this.told = element(document, "div", { class: "told", "aria-live": "polite" });
    this.panel = element(document, "section", { class: "panel" });
    this.panelTitle = element(document, "div", { class: "panel-title" });
    this.scroll = element(document, "div", { class: "scroll" }, this.figure.root);
    const title = () => this.pack.title;
    const pairTitle = () => `${this.pack.title}: from “${this.painter.map.tokens.labels[this.state.pin[0]]}” to “${this.painter.map.tokens.labels[this.state.pin[1]]}”`;
    this.root.replaceChildren(this.bar, caution(document), this.told, this.scroll,
      element(document, "div", { class: "foot" }, element(document, "span", { class: "saves" }, ...this.figure.saving(() => this.#file("attention"), title))),
      this.panel);
    this.panel.append(this.panelTitle, this.workedFigure.root,
      element(document, "div", { class: "foot" }, element(document, "span", {}, "Hover a dimension to read it."), element(document, "span", { class: "saves" }, ...this.workedFigure.saving(() => this.#file("query_key"), pairTitle))));
    const { canvas } = this.figure;
    canvas.addEventListener("pointermove", (event) => this.#hover(this.painter.hit(this.figure.at(event), this.figure.layout)));
    canvas.addEventListener("pointerleave", () => this.#hover({ row: -1, column: -1 }));
    canvas.addEventListener("click", (event) => this.#pin(this.painter.hit(this.figure.at(event), this.figure.layout)));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    const worked = this.workedFigure;
    worked.canvas.addEventListener("pointermove", (event) => this.#dimension(this.workedPainter.hit(worked.at(event), worked.layout)));
    worked.canvas.addEventListener("pointerleave", () => this.#dimension(-1));
    worked.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !this.workedPainter.ready()) return;
      const n = this.workedPainter.pair.worked.query.length;
      this.#dimension((this.workedPainter.hovered + step + n) % n);
      event.preventDefault();
    });
  }

  #file(kind) {
    const { layer, head } = this.state;
    return this.pack.opens ? `${kind}_layer${layer}_head${head}` : kind;
  }

  #controls() {
    const { document, state, pack } = this;
    const choose = (change) => {
      this.state = { ...this.state, ...change };
      this.#show(this.painter.map);
      this.#tell();
    };
    const numbers = (n) => [...Array(n).keys()].map((i) => [i, i]);
    const focused = this.root.getRootNode().activeElement?.dataset?.control;
    const parts = [];
    if (pack.opens) parts.push(
      named("layer", picker(document, "Layer", numbers(pack.opens[0]), state.layer, (layer) => this.open(Number(layer), this.state.head))),
      named("head", picker(document, "Head", numbers(pack.opens[1]), state.head, (head) => this.open(this.state.layer, Number(head)))));
    if (pack.words.labels.length < pack.tokens.labels.length) parts.push(named("by", picker(document, "By", [["pieces", "pieces"], ["words", "words"]], state.by, (by) => choose({ by }))));
    if (pack.tokens.segments.includes(1)) parts.push(named("pairs", picker(document, "Sentences", PAIRS, state.pairs, (pairs) => choose({ pairs }))));
    parts.push(element(document, "span", { class: "group" }, element(document, "span", {}, "Leave out"),
      ...KIND_NAMES.map(([kind, label]) => named(kind, tick(document, label, state.without.includes(kind), (on) =>
        choose({ without: KIND_NAMES.map(([k]) => k).filter((k) => (k === kind ? on : this.state.without.includes(k))) }))))));
    if (!pack.signed) parts.push(named("rescale", tick(document, "rescale rows to 1", state.rescale, (rescale) => choose({ rescale }))));
    if (pack.tokens.labels.length > 36) parts.push(named("readable", tick(document, "name every token", state.readable, (readable) => choose({ readable }))));
    parts.push(named("large", tick(document, "large text", state.large, (large) => choose({ large }))));
    this.bar.replaceChildren(...parts);
    if (focused) this.bar.querySelector(`[data-control="${focused}"]`)?.focus();
    this.scroll.classList.toggle("tall", state.readable);
  }

  #hover(place) {
    const { hovered } = this.painter;
    if (place.row === hovered.row && place.column === hovered.column) return;
    this.painter.hovered = place;
    this.figure.canvas.style.cursor = place.row >= 0 || place.column >= 0 ? "pointer" : "default";
    this.#redraw(false);
  }

  // Pins what was pressed, or lets go of it where it was pinned.
  #pin(place) {
    const pin = [this.painter.token("rows", place.row), this.painter.token("columns", place.column)];
    this.state = { ...this.state, pin: String(pin) === String(this.state.pin) ? [null, null] : pin };
    this.painter.pinned = { row: this.state.pin[0], column: this.state.pin[1] };
    this.#redraw();
    this.#tell();
    if (!this.workedFigure.root.hidden) this.panel.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  #key(event) {
    const { painter } = this;
    let { row, column } = painter.focus;
    const turn = (at, step, n) => (at + step + n) % n;
    if (event.key === "ArrowUp" || event.key === "ArrowDown") row = turn(row, event.key === "ArrowUp" && row >= 0 ? -1 : row < 0 ? 1 : 1, painter.nRows);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") column = turn(column, event.key === "ArrowLeft" && column >= 0 ? -1 : 1, painter.nColumns);
    else if (event.key === "Enter" || event.key === " ") this.#pin(painter.focus);
    else if (event.key === "Escape") { this.#hover({ row: -1, column: -1 }); if (String(this.state.pin) !== ",") this.#pin({ row: -1, column: -1 }); }
    else return;
    event.preventDefault();
    if (event.key.startsWith("Arrow")) this.#hover({ row, column });
  }

  #dimension(place) {
    if (place === this.workedPainter.hovered) return;
    this.workedPainter.hovered = place;
    this.workedFigure.paint();
  }

  #redraw(panel = true) {
    const told = this.painter.told();
    this.told.textContent = told || `${this.painter.noted()} ${this.pack.hint}`.trim();
    this.told.classList.toggle("quiet", !told);
    this.figure.canvas.setAttribute("aria-label", `${this.pack.title}. ${told || "Arrow keys move over its tokens, Enter pins, Escape lets go."}`);
    if (panel) this.#panel();
    this.figure.paint();
  }

  // Query and key of the pinned pair, and what can be done with the word that is pinned.
  #panel() {
    const { document, state, painter } = this;
    const [row, column] = state.pin;
    const words = this.pack.word_ids ?? [];
    const maskable = this.hooks.mask ? [...new Set([row, column].filter((token) => token !== null && words[token] !== null && words[token] !== undefined))] : [];
    const { map } = painter;
    const both = row !== null && column !== null && row < map.n && column < map.n;
    const worked = both && map.vectors && state.by === "pieces";
    const labels = map.tokens.labels;
    const hint = !both ? (this.pack.signed || !this.pack.opens ? "" : "Press a cell of the map to see how query and key make its weight.")
      : map.vectors || this.pack.signed ? "" : "The query and the key are on their way.";
    this.panelTitle.replaceChildren(
      worked ? element(document, "b", {}, `Why ${map.weights[row * map.n + column].toFixed(3)} from “${labels[row]}” to “${labels[column]}”?`)
        : element(document, "span", { class: "quiet" }, both && map.vectors && state.by === "words" ? "Choose pieces to take a weight apart: a word of several pieces has several queries and keys." : hint),
      ...maskable.filter((token, i, all) => all.findIndex((other) => words[other] === words[token]) === i).map((token) => element(document, "button", { type: "button", class: "mask", onclick: () => this.hooks.mask(words[token]) },
        this.pack.masked.includes(token) ? "Show the masked word again" : `Mask “${this.pack.word_labels[words[token]]}”`)));
    const figure = this.workedFigure;
    figure.root.hidden = figure.root.nextSibling.hidden = !worked;
    this.panel.hidden = !this.panelTitle.textContent;
    if (!worked) return;
    this.workedPainter.large = state.large;
    this.workedPainter.pair = { worked: work(map.vectors, map.n, row, column), labels, i: row, j: column, weight: map.weights[row * map.n + column], distances: map.vectors.distances };
    figure.paint();
  }

  #tell() {
    if (!this.hooks.changed) return;
    this.lastTold += 1;
    this.hooks.changed({ n: this.lastTold, ...this.state });
  }
}

function named(name, label) {
  label.querySelector("select, input").dataset.control = name;
  return label;
}

function mapOf(pack) {
  const { weights, queries, keys, distances } = pack.arrays;
  const n = pack.tokens.labels.length;
  const vectors = queries ? { d: queries.length / n, queries, keys, distances: distances ?? null } : null;
  return { n, weights, tokens: pack.tokens, words: pack.words, signed: pack.signed, vectors, approximate: false };
}

function caution(document) {
  const paper = (name, address) => element(document, "a", { href: address, target: "_blank", rel: "noreferrer" }, name);
  return element(document, "div", { class: "caution" }, element(document, "b", {}, "Attention is not an explanation."),
    " It shows where a head reads, not what the model makes of it: ",
    paper("Jain & Wallace 2019", "https://arxiv.org/abs/1902.10186"), ", ",
    paper("Serrano & Smith 2019", "https://arxiv.org/abs/1906.03731"), "; a reply: ",
    paper("Wiegreffe & Pinter 2019", "https://arxiv.org/abs/1908.04626"), ".");
}
