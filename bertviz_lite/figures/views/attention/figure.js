// One picture on a canvas that fits its place: drawn sharp at any pixel ratio, drawn again when the place or the theme
// changes, saved as PNG or SVG by the code that draws it on the page.
import { download, element } from "./dom.js";
import { SvgContext } from "./svg.js";
import { theme } from "./colours.js";

const MOST_PIXELS = 16_000; // a side; browsers draw nothing on larger canvases
const PNG_SCALE = 3; // for print
const MARGIN = 12, TITLE = 24;

export class Figure {
  // painter: { layout(width, ctx) → { height, … }, draw(ctx, layout, theme) }; ramps: see colours.theme.
  constructor(document, painter, ramps, label) {
    this.painter = painter;
    this.ramps = ramps;
    this.canvas = element(document, "canvas", { tabIndex: 0, role: "application", "aria-label": label });
    this.root = element(document, "div", { class: "figure" }, this.canvas);
    this.width = 0;
    this.asked = false;
    new ResizeObserver(([{ contentRect }]) => {
      if (Math.abs(contentRect.width - this.width) < 1) return;
      this.width = contentRect.width;
      this.paint();
    }).observe(this.root);
  }

  // Many changes in one frame are one drawing.
  paint() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (this.width > 0 && this.painter.ready()) this.#draw();
    });
  }

  #draw() {
    const { canvas } = this;
    const ctx = canvas.getContext("2d");
    this.layout = this.painter.layout(this.width, ctx);
    const { width = this.width, height } = this.layout;
    const ratio = Math.min(globalThis.devicePixelRatio || 1, MOST_PIXELS / height, MOST_PIXELS / width);
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) {
      [canvas.width, canvas.height] = size;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    this.painter.draw(ctx, this.layout, theme(this.root, this.ramps));
    this.canvas.dataset.drawn = String(Number(this.canvas.dataset.drawn ?? 0) + 1); // tests and benchmarks wait for it
    if (this.layout.heat) this.canvas.dataset.cells = [this.layout.heat.x, this.layout.heat.y, this.layout.w, this.layout.h].join(" ");
  }

  // Where a pointer is, in the picture's own units.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // Draws the picture for print: on white, in the light colours, with its title and a margin; returns its size.
  #print(ctx, measure, title) {
    const light = { ...theme(this.root, { light: this.ramps.light, dark: this.ramps.light }), dark: false };
    const colours = { ...light, ink: "#1d2129", quiet: "#626b7a", page: "#ffffff", rule: "#d9dce3", font: `${light.font}, Arial, sans-serif` };
    this.painter.printing = true;
    try {
      const layout = this.painter.layout(this.width, measure);
      const size = [(layout.width ?? this.width) + 2 * MARGIN, layout.height + 2 * MARGIN + TITLE];
      if (ctx) {
        ctx.fillStyle = colours.ink;
        ctx.font = `600 14px ${colours.font}`;
        ctx.textAlign = "left";
        ctx.textBaseline = "top";
        ctx.fillText(title, MARGIN, MARGIN);
        ctx.save();
        ctx.translate(MARGIN, MARGIN + TITLE);
        this.painter.draw(ctx, layout, colours);
        ctx.restore();
      }
      return size;
    } finally {
      this.painter.printing = false;
    }
  }

  svg(title) {
    const measure = this.root.ownerDocument.createElement("canvas").getContext("2d");
    const ctx = new SvgContext(measure);
    const size = this.#print(ctx, measure, title);
    return ctx.file(...size, title, "#ffffff");
  }

  png(title) {
    const canvas = this.root.ownerDocument.createElement("canvas");
    const ctx = canvas.getContext("2d");
    const [width, height] = this.#print(null, ctx, title);
    const scale = Math.min(PNG_SCALE, MOST_PIXELS / width, MOST_PIXELS / height);
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.fillStyle = "#ffffff";
    ctx.fillRect(0, 0, width, height);
    this.#print(ctx, ctx, title);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  // Two buttons; `name` and `title` are functions, since the picture changes.
  saving(name, title) {
    const document = this.root.ownerDocument;
    const button = (kind, blob) => element(document, "button", {
      type: "button", class: "save", title: `Save this picture as ${kind}, in light colours`,
      onclick: async () => download(document, `${name()}.${kind.toLowerCase()}`, await blob()),
    }, kind);
    return [
      element(document, "span", {}, "save as"),
      button("SVG", () => new Blob([this.svg(title())], { type: "image/svg+xml" })),
      button("PNG", () => this.png(title())),
    ];
  }
}
