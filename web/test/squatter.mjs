// The program of another user, which squat.mjs starts. It takes serve's port and a second port, and
// writes each request that it receives as a line of JSON to its standard output. It ends when its
// standard input ends.
import { createServer } from "node:http";

// This service worker answers all requests of the origin, as long as it is installed.
const worker = `addEventListener("install", () => skipWaiting());
addEventListener("activate", (e) => e.waitUntil(clients.claim()));
addEventListener("fetch", (e) => e.request.mode === "navigate" && e.respondWith(new Response("the worker's page")));`;
const home = `<!doctype html><title>not Coleo</title><script>navigator.serviceWorker.register("/worker.js")</script>`;
const nonce = { nonce: "bm9uY2Utb2YtdGhlLXNxdWF0dGVyLTAxMjM0NTY3ODkwMTIzNDU2Nzg", life: 600000 };
const empty = { arms: [], agents: [], harnesses: [], ok: true };

function tell(r, body) {
  console.log(JSON.stringify({ port: r.socket.localPort, method: r.method, url: r.url, headers: r.rawHeaders, body }));
}

function answer(r, w) {
  let body = "";
  r.setEncoding("utf8").on("data", (d) => (body += d)).on("end", () => {
    tell(r, body);
    const [kind, text] = r.url === "/worker.js" ? ["text/javascript", worker] : r.url === "/" ? ["text/html", home] : ["application/json", JSON.stringify(r.url === "/api/signin" ? nonce : empty)];
    w.writeHead(200, { "Content-Type": kind }).end(text);
  });
}

for (const port of process.argv.slice(-2)) {
  const server = createServer(answer).on("upgrade", (r, socket) => {
    tell(r, "");
    socket.destroy();
  });
  await new Promise((done) => server.listen(Number(port), "127.0.0.1", done));
}
console.log(JSON.stringify({ uid: process.getuid() }));
process.stdin.resume().on("end", () => process.exit(0));
