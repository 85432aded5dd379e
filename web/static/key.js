// The key with which the browser proves its identity. No script can read the private key.
// IndexedDB keeps the key only for this origin, which includes the port. Each signature
// covers a nonce from the server, and a number that is used only once.

const renewAfter = 0.5; // the part of a nonce's life after which the page gets a new nonce
const renewUses = 2000; // how often the page uses one nonce; the server accepts 4096 uses
const algorithm = { name: "ECDSA", namedCurve: "P-256" };
const signing = { name: "ECDSA", hash: "SHA-256" };
const text = new TextEncoder();

let current = null; // a promise of { key, nonce, until, used }

/** Makes a key pair. The private key never leaves the browser. */
export function makeKey() {
  return crypto.subtle.generateKey(algorithm, false, ["sign"]);
}

/** Returns the public key in the form that the server accepts. */
export async function publicHalf(pair) {
  return btoa(bytesToText(await crypto.subtle.exportKey("raw", pair.publicKey)));
}

/** Stores the private key. It replaces the earlier key. */
export async function keepKey(pair) {
  const store = await open("readwrite");
  await done(store.put(pair.privateKey, "sign"));
  store.transaction.db.close();
}

async function readKey() {
  const store = await open("readonly");
  const key = await done(store.get("sign"));
  store.transaction.db.close();
  return key;
}

async function open(mode) {
  const request = indexedDB.open("coleo", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("keys");
  return (await done(request)).transaction("keys", mode).objectStore("keys");
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Fetches the key and a nonce before they are needed. */
export function prepare() {
  current ??= fetchNonce();
  current.catch(() => {}); // the error is ignored here, because sign reports it
}

/** Makes the next request fetch a new nonce, because the server may have been restarted. */
export function forgetNonce() {
  current = null;
}

/**
 * Returns the signature of a request. The parameter path includes the query. If the server
 * cannot be reached, sign throws the error of fetch. If this browser is not signed in, sign
 * throws SignedOut.
 */
export async function sign(method, path, body = "") {
  const known = await nonce();
  const number = known.used++;
  const hash = hex(await crypto.subtle.digest("SHA-256", text.encode(body)));
  const message = ["coleo request 1", location.origin, method, path, known.nonce, number, hash].join("\n");
  const signature = await crypto.subtle.sign(signing, known.key, text.encode(message));
  return `${known.nonce}.${number}.${base64url(signature)}`;
}

export class SignedOut extends Error {}

async function nonce() {
  current ??= fetchNonce();
  const mine = current;
  try {
    const known = await mine;
    if (Date.now() < known.until && known.used < renewUses) return known;
  } catch (e) {
    if (current === mine) current = null;
    throw e;
  }
  if (current === mine) current = null;
  return nonce();
}

async function fetchNonce() {
  const [key, answer] = await Promise.all([readKey(), fetch("/api/signin")]);
  if (answer.status === 401 || answer.status === 403 || !key) throw new SignedOut("This browser is not signed in.");
  if (!answer.ok) throw new TypeError(`The server answered ${answer.status}.`);
  const drawn = await answer.json();
  return { key, nonce: drawn.nonce, until: Date.now() + drawn.life * renewAfter, used: 0 };
}

function bytesToText(buffer) {
  return String.fromCharCode(...new Uint8Array(buffer));
}

function base64url(buffer) {
  return btoa(bytesToText(buffer)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function hex(buffer) {
  return [...new Uint8Array(buffer)].map((b) => b.toString(16).padStart(2, "0")).join("");
}
