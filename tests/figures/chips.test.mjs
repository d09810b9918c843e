// figures/views/chips.js on a fake page of sixty lines; expected values are written by hand from its contract.
// The fake knows text and elements only: whoever sets HTML makes it throw.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { beforeEach, test } from "node:test";

const source = await readFile(new URL("../../bertviz_lite/figures/views/chips.js", import.meta.url));
const { default: component, render } = await import(`data:text/javascript;base64,${source.toString("base64")}`);

class FakeElement {
  children = [];
  parent = null;
  className = "";
  dataset = {};
  style = {};
  #attributes = new Map();
  #listeners = new Map();
  #text = "";

  constructor(document, tag) {
    this.ownerDocument = document;
    this.tagName = tag.toUpperCase();
  }

  get classList() {
    const names = () => this.className.split(" ").filter(Boolean);
    return { add: (name) => (this.className = [...new Set([...names(), name])].join(" ")), contains: (name) => names().includes(name) };
  }
  get textContent() { return this.#text + this.children.map((child) => child.textContent).join(""); }
  set textContent(text) { this.children = []; this.#text = String(text); }
  set innerHTML(html) { throw new Error(`HTML was set: ${html}`); }
  set outerHTML(html) { throw new Error(`HTML was set: ${html}`); }
  insertAdjacentHTML(_, html) { throw new Error(`HTML was set: ${html}`); }

  setAttribute(name, value) { this.#attributes.set(name, String(value)); }
  getAttribute(name) { return this.#attributes.get(name) ?? null; }
  addEventListener(type, listener) { this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]); }
  click() { for (const listener of this.#listeners.get("click") ?? []) listener({ type: "click", target: this }); }
  focus() { if (["BUTTON", "INPUT"].includes(this.tagName)) this.ownerDocument.activeElement = this; }

  append(...elements) {
    for (const element of elements) {
      assert.ok(element instanceof FakeElement);
      element.parent = this;
      this.children.push(element);
    }
  }
  replaceWith(other) {
    this.parent.children[this.parent.children.indexOf(this)] = other;
    other.parent = this.parent;
    if (this.contains(this.ownerDocument.activeElement)) this.ownerDocument.activeElement = null;
  }
  contains(other) { return this === other || this.children.some((child) => child.contains(other)); }

  matches(selector) {
    const found = /^(?<tag>[a-z]+)?(?:\.(?<name>[\w-]+))?(?:\[data-word="(?<word>[^"]*)"\])?(?<focus>:focus)?$/.exec(selector);
    assert.ok(found, `the fake does not know the selector ${selector}`);
    const { tag, name, word, focus } = found.groups;
    return (!tag || this.tagName === tag.toUpperCase()) && (!name || this.classList.contains(name))
      && (word === undefined || this.dataset.word === word) && (!focus || this.ownerDocument.activeElement === this);
  }
  querySelectorAll(selector) {
    const [first, ...rest] = selector.split(" ");
    const below = this.children.flatMap((child) => [...(child.matches(first) ? [child] : []), ...child.querySelectorAll(first)]);
    return rest.length === 0 ? below : below.flatMap((element) => element.querySelectorAll(rest.join(" ")));
  }
  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }
}

class FakeDocument {
  activeElement = null;
  createElement(tag) { return new FakeElement(this, tag); }
}

const WORDS = [
  { id: null, pieces: [{ text: "[CLS]", tip: "opens" }], masked: false, special: true, hidden: "", fixed: false },
  { id: 0, pieces: [{ text: "souv", tip: "one" }, { text: "enir", tip: "" }], masked: false, special: false, hidden: "souvenir", fixed: false },
  { id: 1, pieces: [{ text: "[MASK]", tip: "" }], masked: true, special: false, hidden: "lost", fixed: false },
  { id: 2, pieces: [{ text: "[MASK]", tip: "" }], masked: true, special: false, hidden: "[MASK]", fixed: true },
  { id: null, pieces: [{ text: "[SEP]", tip: "" }], masked: false, special: true, hidden: "", fixed: false },
];
const data = (changes = {}) => ({ words: WORDS, clickable: true, heard: 0, label: "the sentence", dark: false, ...changes });

let root, pressed;
const onWord = (id) => pressed.push(id);
const chips = () => root.querySelectorAll(".chip");

beforeEach(() => {
  root = new FakeDocument().createElement("div");
  pressed = [];
});

test("one chip a word, pieces inside in order", () => {
  render(root, data(), onWord);
  assert.deepEqual(chips().map((chip) => chip.children.map((piece) => piece.textContent)),
    [["[CLS]"], ["souv", "enir"], ["[MASK]"], ["[MASK]"], ["[SEP]"]]);
  assert.ok(root.querySelectorAll(".piece").every((piece) => piece.tagName === "SPAN"));
});

test("the row has a name for screen readers", () => {
  render(root, data({ label: "two words" }), onWord);
  const row = root.querySelector(".chips");
  assert.equal(row.getAttribute("role"), "group");
  assert.equal(row.getAttribute("aria-label"), "two words");
});

test("special and masked chips say so by their class", () => {
  render(root, data(), onWord);
  assert.deepEqual(chips().map((chip) => chip.classList.contains("special")), [true, false, false, false, true]);
  assert.deepEqual(chips().map((chip) => chip.classList.contains("masked")), [false, false, true, true, false]);
  assert.ok(chips().every((chip) => !/undefined|false|null/.test(chip.className)));
});

test("buttons stand only where a word can be pressed", () => {
  render(root, data(), onWord);
  assert.deepEqual(chips().map((chip) => chip.tagName), ["SPAN", "BUTTON", "BUTTON", "SPAN", "SPAN"]);
  assert.deepEqual(chips().map((chip) => chip.classList.contains("presses")), [false, true, true, false, false]);
  assert.ok(root.querySelectorAll("button").every((button) => button.type === "button"), "a form must not be sent");
});

test("without clicking there is no button at all", () => {
  render(root, data({ clickable: false }), onWord);
  assert.equal(root.querySelectorAll("button").length, 0);
  for (const chip of chips()) chip.click();
  assert.deepEqual(pressed, []);
});

test("a button tells what it does and whether it is pressed", () => {
  render(root, data(), onWord);
  const [shown, hidden] = root.querySelectorAll("button");
  assert.equal(shown.getAttribute("aria-pressed"), "false");
  assert.match(shown.getAttribute("aria-label"), /mask souvenir/);
  assert.equal(hidden.getAttribute("aria-pressed"), "true");
  assert.match(hidden.getAttribute("aria-label"), /mask lost/); // aria-pressed says that it is masked
});

test("a click calls back with the number of the word and marks the chip as waiting", () => {
  render(root, data(), onWord);
  const [first, second] = root.querySelectorAll("button");
  second.click();
  first.click();
  assert.deepEqual(pressed, [1, 0]);
  assert.ok(first.classList.contains("pending") && first.classList.contains("chip"));
  render(root, data(), onWord);
  assert.equal(root.querySelectorAll(".pending").length, 0);
});

test("text is text, never HTML", () => {
  const nasty = `<img src=x onerror="alert(1)">&amp;<b>`;
  render(root, data({ words: [{ ...WORDS[1], pieces: [{ text: nasty, tip: nasty }], hidden: nasty }], label: nasty }), onWord);
  const piece = root.querySelector(".piece");
  assert.equal(piece.textContent, nasty);
  assert.equal(piece.title, nasty);
  assert.equal(piece.children.length, 0);
  assert.ok(chips()[0].getAttribute("aria-label").includes(nasty));
});

test("tips and colours belong to the pieces that have them", () => {
  const pieces = [{ text: "a", tip: "told", background: "#123456", colour: "#ffffff" }, { text: "b", tip: "" }];
  render(root, data({ words: [{ ...WORDS[1], pieces }] }), onWord);
  const [coloured, plain] = root.querySelectorAll(".piece");
  assert.deepEqual([coloured.title, coloured.style.backgroundColor, coloured.style.color], ["told", "#123456", "#ffffff"]);
  assert.deepEqual([plain.title, plain.style], [undefined, {}]);
});

test("drawing again replaces the row and nothing else", () => {
  const other = root.ownerDocument.createElement("p");
  root.append(other);
  render(root, data(), onWord);
  render(root, data({ words: WORDS.slice(0, 2) }), onWord);
  assert.equal(root.querySelectorAll(".chips").length, 1);
  assert.equal(chips().length, 2);
  assert.equal(root.children[0], other);
});

test("drawing again keeps the keyboard on its word", () => {
  render(root, data(), onWord);
  const before = root.querySelector(`[data-word="1"]`);
  before.focus();
  render(root, data({ words: WORDS.map((word) => ({ ...word, masked: word.id === 1 ? false : word.masked })) }), onWord);
  const after = root.ownerDocument.activeElement;
  assert.notEqual(after, before);
  assert.equal(after.dataset.word, "1");
  assert.ok(root.contains(after));
});

test("drawing again takes no keyboard from elsewhere, and bears a word that went", () => {
  render(root, data(), onWord);
  const box = root.ownerDocument.createElement("input");
  box.focus();
  render(root, data(), onWord);
  assert.equal(root.ownerDocument.activeElement, box);
  root.querySelector(`[data-word="1"]`).focus();
  render(root, data({ words: WORDS.slice(0, 2) }), onWord);
  assert.equal(root.ownerDocument.activeElement, null);
});

const LONG = WORDS.map((word) => ({ ...word, unseen: word.id === 0 || word.id === 1 }));

test("what the model does not read says so by its class, and makes the row long", () => {
  render(root, data({ words: LONG }), onWord);
  assert.deepEqual(chips().map((chip) => chip.classList.contains("unseen")), [false, true, true, false, false]);
  assert.ok(root.querySelector(".chips").classList.contains("long"));
  render(root, data(), onWord);
  assert.ok(!root.querySelector(".chips").classList.contains("long"));
});

test("a long row opens at its first mask, and keeps its place when drawn again", () => {
  const offset = Object.getOwnPropertyDescriptor(FakeElement.prototype, "offsetTop");
  Object.defineProperty(FakeElement.prototype, "offsetTop", {
    configurable: true,
    get() { return this.classList.contains("unseen") ? 900 : this.classList.contains("masked") ? 400 : 100; },
  });
  try {
    render(root, data({ words: LONG }), onWord);
    const first = root.querySelector(".chips");
    assert.ok(first.scrollTop > 200 && first.scrollTop < 300, "the mask is below the upper edge");
    first.scrollTop = 77;
    render(root, data({ words: LONG }), onWord);
    assert.equal(root.querySelector(".chips").scrollTop, 77);
    render(root, data({ words: LONG.map((word) => ({ ...word, unseen: word.id === 2 })) }), onWord);
    assert.ok(root.querySelector(".chips").scrollTop > 200, "other words are read now");
  } finally {
    delete FakeElement.prototype.offsetTop;
    if (offset) Object.defineProperty(FakeElement.prototype, "offsetTop", offset);
  }
});

test("nothing typed draws an empty row", () => {
  render(root, data({ words: [] }), onWord);
  assert.equal(root.querySelectorAll(".chips").length, 1);
  assert.equal(chips().length, 0);
});

function mounted(isDark, given) {
  const parentElement = root.ownerDocument.createElement("div");
  parentElement.host = { isHost: true };
  const home = root.ownerDocument.createElement("div");
  home.className = "chips-root";
  parentElement.append(home);
  globalThis.getComputedStyle = (element) => ({ colorScheme: element.isHost && isDark ? "dark" : "light" });
  const triggers = [], states = [];
  const draw = (data) => component({
    data,
    parentElement,
    setTriggerValue: (...told) => triggers.push(told),
    setStateValue: (...told) => states.push(told),
  });
  draw(given);
  return { home, triggers, states, draw };
}

test("in Streamlit a click sets the trigger", () => {
  const { home, triggers } = mounted(false, data());
  home.querySelector(`[data-word="1"]`).click();
  assert.deepEqual(triggers, [["presses", [{ n: 1, word: 1 }]]]);
});

test("a press is named again until the page has acted on it, so that none is lost and none counts twice", () => {
  const { home, triggers, draw } = mounted(false, data());
  const press = (word) => home.querySelector(`[data-word="${word}"]`).click();
  press(1);
  press(0);
  assert.deepEqual(triggers.at(-1), ["presses", [{ n: 1, word: 1 }, { n: 2, word: 0 }]]);
  draw(data({ heard: 1 }));
  assert.ok(!home.querySelector(`[data-word="1"]`).classList.contains("pending"));
  assert.ok(home.querySelector(`[data-word="0"]`).classList.contains("pending"), "its press still waits");
  press(1);
  assert.deepEqual(triggers.at(-1), ["presses", [{ n: 2, word: 0 }, { n: 3, word: 1 }]]);
});

test("a row drawn anew goes on counting where the page stopped", () => {
  const { home, triggers } = mounted(false, data({ heard: 7 }));
  home.querySelector(`[data-word="0"]`).click();
  assert.deepEqual(triggers, [["presses", [{ n: 8, word: 0 }]]]);
});

for (const [isDark, dark, told] of [[true, true, []], [false, false, []], [true, false, [["dark", true]]], [false, true, [["dark", false]]]]) {
  test(`page ${isDark ? "dark" : "light"}, data ${dark ? "dark" : "light"}: ${told.length ? "asks for others" : "is content"}`, () => {
    assert.deepEqual(mounted(isDark, data({ dark })).states, told);
  });
}
