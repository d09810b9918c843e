// A canvas context that writes SVG: the few calls that our pictures make, so that a picture is drawn by one code only.

const NO_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // no file may hold these, escaped or not
const escaped = (text) => String(text).replace(NO_XML, "\ufffd").replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const short = (number) => String(Math.round(number * 100) / 100);

export class SvgContext {
  #parts = [];
  #path = "";
  #state = { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "14px sans-serif", textAlign: "start", textBaseline: "alphabetic", lineCap: "butt" };
  #saved = [];
  #open = 0; // groups that restore() has to close

  constructor(measure) {
    this.measure = measure; // a real context: widths of text are the browser's
    for (const name of Object.keys(this.#state)) {
      Object.defineProperty(this, name, { get: () => this.#state[name], set: (value) => (this.#state[name] = value) });
    }
  }

  save() { this.#saved.push([{ ...this.#state }, this.#open]); this.#open = 0; }
  restore() {
    this.#parts.push("</g>".repeat(this.#open));
    [this.#state, this.#open] = this.#saved.pop();
  }
  #group(attributes) { this.#parts.push(`<g ${attributes}>`); this.#open += 1; }
  translate(x, y) { this.#group(`transform="translate(${short(x)} ${short(y)})"`); }
  rotate(radians) { this.#group(`transform="rotate(${short((radians * 180) / Math.PI)})"`); }

  beginPath() { this.#path = ""; }
  moveTo(x, y) { this.#path += `M${short(x)} ${short(y)}`; }
  lineTo(x, y) { this.#path += `L${short(x)} ${short(y)}`; }
  bezierCurveTo(...at) { this.#path += `C${at.map(short).join(" ")}`; }
  stroke() {
    const { strokeStyle, lineWidth, globalAlpha, lineCap } = this.#state;
    const cap = lineCap === "butt" ? "" : ` stroke-linecap="${lineCap}"`;
    this.#parts.push(`<path d="${this.#path}" fill="none" stroke="${strokeStyle}" stroke-width="${short(lineWidth)}" stroke-opacity="${short(globalAlpha)}"${cap}/>`);
  }
  #box(x, y, w, h) { return `<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"`; }
  fillRect(x, y, w, h) { this.#parts.push(`${this.#box(x, y, w, h)} fill="${this.#state.fillStyle}" fill-opacity="${short(this.#state.globalAlpha)}"/>`); }
  strokeRect(x, y, w, h) {
    const { strokeStyle, lineWidth } = this.#state;
    this.#parts.push(`${this.#box(x, y, w, h)} fill="none" stroke="${strokeStyle}" stroke-width="${short(lineWidth)}"/>`);
  }
  drawImage(canvas, x, y, w, h) {
    this.#parts.push(`<image x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${canvas.toDataURL()}"/>`);
  }
  measureText(text) { this.measure.font = this.#state.font; return this.measure.measureText(text); }
  fillText(text, x, y) {
    const { font, fillStyle, globalAlpha, textAlign, textBaseline } = this.#state;
    const [, weight, size, family] = /^(?:(\d+) )?([\d.]+)px (.*)$/.exec(font);
    const anchor = { start: "start", left: "start", center: "middle", end: "end", right: "end" }[textAlign];
    const down = { alphabetic: 0, middle: 0.35, top: 0.78, bottom: -0.22 }[textBaseline] * size;
    this.#parts.push(`<text x="${short(x)}" y="${short(y + down)}" font-family="${escaped(family)}" font-size="${size}"${weight ? ` font-weight="${weight}"` : ""} text-anchor="${anchor}" fill="${fillStyle}" fill-opacity="${short(globalAlpha)}">${escaped(text)}</text>`);
  }

  // The picture as a file; `title` is what a screen reader says.
  file(width, height, title, background) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}"><title>${escaped(title)}</title><rect width="100%" height="100%" fill="${background}"/>${this.#parts.join("\n")}</svg>\n`;
  }
}
