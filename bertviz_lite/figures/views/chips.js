// A sentence as a row of chips, one per word, its pieces joined. Draws data from figures/chips.py;
// the page hears which word was clicked, a notebook or a saved file just shows the row.

export function render(root, data, onWord, waiting = []) {
  const document = root.ownerDocument;
  const focused = root.querySelector(".chips :focus")?.dataset.word;
  const row = document.createElement("div");
  row.className = data.bounded || data.words.some((word) => word.unseen) ? "chips long" : "chips";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", data.label);
  for (const word of data.words) {
    const element = chip(document, word, data.clickable ? onWord : null);
    if (waiting.includes(word.id)) element.classList.add("pending");
    row.append(element);
  }
  const old = root.querySelector(".chips");
  const scrolled = old?.scrollTop; // lost once the old row is gone
  if (old) old.replaceWith(row);
  else root.append(row);
  // A long text scrolls: to its mask where other words are read than before, else it stays where it was.
  row.dataset.from = String(data.words.findIndex((word) => !word.unseen && !word.special));
  if (old?.className === row.className && old.dataset.from === row.dataset.from) row.scrollTop = scrolled;
  else row.scrollTop = (firstMask(row)?.offsetTop ?? 0) - row.offsetTop - 45;
  // A redrawn row must not take the keyboard away from the word that was just pressed.
  if (focused !== undefined) row.querySelector(`[data-word="${focused}"]`)?.focus();
}

function firstMask(row) {
  const masks = [...row.querySelectorAll(".masked")];
  return masks.find((mask) => !mask.classList.contains("unseen")) ?? masks[0];
}

function chip(document, word, onWord) {
  const presses = onWord !== null && word.id !== null && !word.fixed;
  const element = document.createElement(presses ? "button" : "span");
  element.className = ["chip", word.special && "special", word.masked && "masked", word.unseen && "unseen", presses && "presses"]
    .filter(Boolean).join(" ");
  if (word.id !== null) element.dataset.word = String(word.id);
  if (presses) {
    element.type = "button";
    element.setAttribute("aria-pressed", String(word.masked));
    element.setAttribute("aria-label", `mask ${word.hidden}`);
    element.addEventListener("click", () => {
      if (element.classList.contains("pending")) return; // the first press is on its way
      element.classList.add("pending");
      onWord(word.id);
    });
  }
  for (const piece of word.pieces) {
    const part = document.createElement("span");
    part.className = "piece";
    part.textContent = piece.text;
    if (piece.tip) part.title = piece.tip;
    if (piece.background) {
      part.style.backgroundColor = piece.background;
      part.style.color = piece.colour;
    }
    element.append(part);
  }
  return element;
}

// Presses that the page has not acted on yet, by row. A busy server joins its requests and keeps the last one only:
// so each names all presses that wait, and their numbers keep the page from acting on one twice.
const unheard = new WeakMap();

export default function ({ data, parentElement, setTriggerValue, setStateValue }) {
  const root = parentElement.querySelector(".chips-root");
  const { last = 0, presses = [] } = unheard.get(root) ?? {};
  const row = { last: Math.max(last, data.heard), presses: presses.filter(({ n }) => n > data.heard) };
  unheard.set(root, row);
  const press = (word) => {
    row.last += 1;
    row.presses.push({ n: row.last, word });
    setTriggerValue("presses", [...row.presses]);
  };
  render(root, data, press, row.presses.map(({ word }) => word));
  // The server chose the colours for the theme it knew; when the theme has changed since, it must draw again.
  const isDark = getComputedStyle(parentElement.host).colorScheme === "dark";
  if (isDark !== data.dark) setStateValue("dark", isDark);
}
