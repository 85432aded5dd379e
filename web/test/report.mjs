// Collects the results of a run.

export class Report {
  constructor() {
    this.checks = 0;
    this.faults = [];
  }

  wrong(what) {
    this.faults.push(what);
    console.log(`WRONG  ${what}`);
  }

  yes(what, ok) {
    this.checks++;
    if (!ok) this.wrong(`not so: ${what}`);
  }

  same(what, got, want) {
    this.checks++;
    if (JSON.stringify(got) !== JSON.stringify(want)) this.wrong(`${what}: ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  }

  /** Prints the results, and returns the exit code. */
  end() {
    console.log(`${this.checks} checks, ${this.faults.length} wrong`);
    return this.faults.length || !this.checks ? 1 : 0;
  }
}
