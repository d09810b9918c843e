// Small helpers for elements; nothing here knows attention.

export function element(document, tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// A drop-down: options are [value, label]; `changed` hears the value.
export function picker(document, label, options, value, changed) {
  const select = element(document, "select", { onchange: () => changed(select.value) },
    ...options.map(([at, name]) => element(document, "option", { value: String(at), selected: String(at) === String(value) }, name)));
  return element(document, "label", { class: "pick" }, element(document, "span", {}, label), select);
}

// A tick box; `changed` hears true or false.
export function tick(document, label, checked, changed, disabled = false) {
  const box = element(document, "input", { type: "checkbox", checked, disabled, onchange: () => changed(box.checked) });
  return element(document, "label", { class: disabled ? "tick off" : "tick" }, box, label);
}

export function download(document, name, blob) {
  const url = URL.createObjectURL(blob);
  element(document, "a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
