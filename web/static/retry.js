// Waits between attempts to connect. The waits are short at first, and become longer.

const first = 400; // ms
const most = 8000; // ms; the longest wait until the page notices that the server is back

/** Calls f when the next attempt is due. Each attempt makes the next wait longer. */
export class Retry {
  constructor(f) {
    this.f = f;
    this.attempts = 0;
    this.timer = 0;
    this.soon = () => {
      if (!this.timer || document.hidden) return;
      this.stop();
      this.f();
    };
    document.addEventListener("visibilitychange", this.soon);
    addEventListener("online", this.soon);
  }

  /** Makes the next wait short again, because the connection works. */
  reset() {
    this.attempts = 0;
  }

  again() {
    clearTimeout(this.timer);
    const wait = Math.min(most, first * 2 ** this.attempts++) * (0.8 + 0.4 * Math.random());
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.f();
    }, wait);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Stops all further attempts. */
  end() {
    this.stop();
    document.removeEventListener("visibilitychange", this.soon);
    removeEventListener("online", this.soon);
  }
}
