/** What an examination found: one sentence, and unless all is well one remedy. A notice is no fault. */
export type Finding =
  | { readonly level: 'ok'; readonly subject: string; readonly sentence: string }
  | {
      readonly level: 'notice' | 'warning' | 'problem';
      readonly subject: string;
      readonly sentence: string;
      readonly cure: string;
    };

/** Findings on one subject. */
export function findingsOn(subject: string) {
  return {
    ok: (sentence: string): Finding => ({ level: 'ok', subject, sentence }),
    warning: (sentence: string, cure: string): Finding => ({ level: 'warning', subject, sentence, cure }),
    problem: (sentence: string, cure: string): Finding => ({ level: 'problem', subject, sentence, cure }),
  };
}

/** Whether somebody has to do something. */
export function isFault({ level }: Pick<Finding, 'level'>): boolean {
  return level === 'warning' || level === 'problem';
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A refused connection to a name with several addresses has no message of its own.
  return error.message || ('code' in error ? String(error.code) : error.name);
}
