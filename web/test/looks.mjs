// Checks for every page: it is not wider than the window, each control has a name, and each
// text is readable.

export async function checkWidth(page, report, what) {
  const wide = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll("main, nav, .side, dialog")]
    .filter((n) => n.scrollWidth > n.clientWidth)
    .map((n) => `${n.tagName} ${n.scrollWidth} > ${n.clientWidth}`));
  report.same(`${what}: what must be scrolled sideways`, wide, []);
  const out = await page.evaluate(() => [...document.querySelectorAll("button, h1, .word, input, textarea")]
    .filter((n) => n.checkVisibility() && !n.closest(".frame"))
    .filter((n) => n.getBoundingClientRect().right > innerWidth + 1)
    .map((n) => n.textContent || n.placeholder));
  report.same(`${what}: controls outside of the window`, out, []);
}

export async function checkNames(page, report, what) {
  const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, input, textarea, select, [role=region]")]
    .filter((n) => n.checkVisibility() && !n.closest(".xterm"))
    .filter((n) => !(n.getAttribute("aria-label") || n.textContent.trim() || n.labels?.length))
    .map((n) => n.outerHTML.slice(0, 80)));
  report.same(`${what}: controls without a name`, nameless, []);
}

/** Checks that no text has a contrast below 4.5 (WCAG 2.2, 1.4.3), except texts of disabled controls. */
export async function checkContrast(page, report, what) {
  const poor = await page.evaluate(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
      const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const ground = (node) => {
      for (let n = node; n; n = n.parentElement) {
        const colour = rgb(getComputedStyle(n).backgroundColor);
        if (colour[3] === 255) return colour;
      }
      return [255, 255, 255, 255];
    };
    return [...document.querySelectorAll("body *")]
      .filter((n) => !n.closest(".xterm") && !n.disabled && n.checkVisibility() && [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim()))
      .map((n) => {
        const [a, b] = [light(rgb(getComputedStyle(n).color)), light(ground(n))];
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), n];
      })
      .filter(([ratio]) => ratio < 4.5)
      .map(([ratio, n]) => `${n.tagName}.${n.className} ${n.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  });
  report.same(`${what}: texts that are hard to read`, poor, []);
}
