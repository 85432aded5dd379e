// Making elements. Text is only ever set as text: what arms write is not ours.

/**
 * Makes an element. Keys of props: class, text, on (listeners by event), data
 * (data-* attributes); anything else is a property when the element has it,
 * else an attribute.
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

/** Sets an element's text, if it is another one: selections survive. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Shows or hides an element. */
export function show(node, yes) {
  if (node.hidden === yes) node.hidden = !yes;
}

/** Makes the children of node those, moving only what is not in its place. */
export function arrange(node, children) {
  children.forEach((child, i) => {
    if (node.children[i] !== child) node.insertBefore(child, node.children[i] ?? null);
  });
  while (node.children.length > children.length) node.lastElementChild.remove();
}

/** Makes a button that cannot be pressed twice while what it does goes on. */
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

/** Enables a button, or disables it and says why. */
export function enable(node, yes, why = "") {
  node.disabled = !yes;
  node.title = why;
}
