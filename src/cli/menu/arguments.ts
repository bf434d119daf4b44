import { type Command, InvalidArgumentError, Option } from 'commander';

/** Flags that many commands share, as commander takes them. */
export const jsonFlag = ['--json', 'print it as JSON'] as const;
export const whenReadyFlag = ['--json', 'print where it listens, or what it works, as JSON once it does'] as const;

/** Lets a command that cannot be taken back be told that it is meant, or be looked at first. */
export function addConsent(command: Command): Command {
  return command
    .addOption(new Option('--yes', 'do it without asking, as it is done where nobody sits at a terminal'))
    .addOption(new Option('--dry-run', 'only show what it would do').conflicts('yes'));
}

/** How a moment may be written on a command line. */
export const momentWords = 'a day such as 2026-11-01 (UTC), or an instant';

/** A whole number within bounds; throws commander's error for anything else. */
export function wholeNumber(from = 0, to = 999_999_999): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d{1,9}$/.test(text) || number < from || number > to) {
      throw new InvalidArgumentError(
        to === 999_999_999
          ? `It must be a whole number${from > 0 ? ` from ${from}` : ''}.`
          : `It must be a whole number from ${from} to ${to}.`,
      );
    }
    return number;
  };
}
