// The words of the page, each with one sentence: tooltips and the page "Words" are made of them.

export const WORDS = {
  settled: ["settled", "The decision is as sure as the project asks for, so no more labels are bought."],
  open: ["open", "Still takes labels."],
  full: ["full", "Closed with the most labels a task may have, though not as sure as asked for."],
  hard: ["hard", "Closed because more labels would hardly have settled it."],
  idle: ["idle", "Closed because no label came for a while."],
  closed: ["by hand", "Closed by somebody, as sure as it was then."],
  wrong: ["expected wrong decisions", "The share of decisions that are wrong, as far as can be known, with a 95 % interval."],
  agreement: ["by agreement alone", "Known from how workers agree with one another; a task that fools most of them cannot be seen this way. Gold can show it."],
  gold: ["checked against gold", "Compared with tasks whose truth is known."],
  saved: ["labels saved", "Labels not bought because tasks settled earlier, against giving every task the most it may have."],
  worth: ["a label is worth", "How many independent votes one label counts for: less than 1 where workers make the same mistakes."],
  error_rate: ["error rate", "The share of a worker's answers that are wrong; the band holds the true one in 95 of 100 cases."],
  chance: ["chance", "The error rate of somebody who guesses."],
  sure: ["sure", "How likely the decision is right."],
  needs: ["needs", "Labels that the task is expected to need until it settles."],
  added: ["added", "How much this answer moved the decision: 0 is nothing, +1 makes it 2.7 times as likely, −1 as much less."],
  got_worse: ["got worse", "Errs more of late than before, by more than chance explains."],
  got_better: ["got better", "Errs less of late than before, by more than chance explains."],
  everyone: ["everyone", "Many workers changed at the same time: look at the tasks or the instructions rather than at one of them."],
  few_answers: ["few answers", "Too few answers to say much: the band is wide."],
  better_than_chance: ["better than chance", "The whole band is below the error rate of a guesser."],
  worse_than_chance: ["worse than chance", "Errs more than a guesser would: perhaps misunderstood the question."],
  at_chance: ["guesses", "Cannot be told from somebody who guesses."],
  undecided: ["not clear yet", "Many answers, yet the band still reaches chance."],
  separate_group: ["separate group", "Shares no tasks with most others, so cannot be compared with them."],
  always_one_class: ["always the same", "Gives almost always one label, clearly more often than the others do."],
  same_errors: ["same errors", "Makes the same mistakes as another worker: a copy, or the same source."],
  trend: ["trend", "Error rate over equally many answers each, the latest at the right."],
  confusions: ["mix-ups", "Of tasks whose truth is the row's label: how often this worker says each label."],
};

/** Flags of a worker that are shown as chips in lists, and how grave they are. */
export const TONES = {
  got_worse: "warn",
  got_better: "good",
  few_answers: "",
  worse_than_chance: "bad",
  at_chance: "bad",
  undecided: "",
  separate_group: "warn",
  always_one_class: "bad",
  same_errors: "warn",
  everyone: "warn",
};

/** A worker's flags: the server's codes, a clear trend, and whose errors are the same. */
export function flagsOf(row, copies) {
  const found = [...row.flags].filter((code) => code in TONES);
  if (row.trend > 0) found.unshift("got_worse");
  if (row.trend < 0) found.unshift("got_better");
  if ((copies ?? []).some((group) => group.includes(row.worker))) found.push("same_errors");
  return found;
}
