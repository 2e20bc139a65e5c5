// Words for codes come from the server, which has them in one table with its reports; see codes.js.

import { CASES, LEVEL, NOTED, TONES, WORDS } from "/page/codes.js";

export { CASES, LEVEL, TONES, WORDS };

/** What there is to note of a worker: the server's codes and a clear trend. */
export function flagsOf(row) {
  const found = row.flags.filter((code) => NOTED.includes(code));
  if (row.trend > 0) found.unshift("got_worse");
  if (row.trend < 0) found.unshift("got_better");
  return found;
}
