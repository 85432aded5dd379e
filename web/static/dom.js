// Makes elements. Text is always set as text and never as HTML, because nobody can trust what arms write.

/**
 * Makes an element. The keys of props are class, text, on (listeners by event) and data
 * (data-* attributes). Any other key sets the property with this name. If the element has
 * no such property, the key sets an attribute.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === "class") node.className = value;
    else if (key === "text") node.textContent = value;
    else if (key === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key in node && typeof value !== "string") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

/** Sets an element's text. It does nothing if the text is the same, so the selection stays. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Shows or hides an element. */
export function show(node, yes) {
  if (node.hidden === yes) node.hidden = !yes;
}

/** Makes the given elements the children of node. It moves only elements that are in another place. */
export function arrange(node, children) {
  children.forEach((child, i) => {
    if (node.children[i] !== child) node.insertBefore(child, node.children[i] ?? null);
  });
  while (node.children.length > children.length) node.lastElementChild.remove();
}

/** Makes a button. Until its action has ended, the button ignores further presses. */
export function button(label, act, props = {}) {
  const node = el("button", { type: "button", text: label, ...props });
  node.addEventListener("click", async () => {
    if (node.getAttribute("aria-busy") === "true") return;
    node.setAttribute("aria-busy", "true");
    try {
      await act(node);
    } finally {
      node.removeAttribute("aria-busy");
    }
  });
  return node;
}

/** Enables or disables a button, and sets its tooltip. */
export function enable(node, yes, why = "") {
  node.disabled = !yes;
  node.title = why;
}
