// Waiting between attempts to connect: soon at first, later seldom.

const first = 400; // ms
const most = 8000; // ms; a server that comes back is noticed within these

/** Counts attempts, and calls f when the next one is due. */
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

  /** The connection holds: the next attempt comes soon again. */
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

  /** For good. */
  end() {
    this.stop();
    document.removeEventListener("visibilitychange", this.soon);
    removeEventListener("online", this.soon);
  }
}
