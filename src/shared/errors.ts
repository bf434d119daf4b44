/**
 * A failure that the user can fix. The message says what happened and what it means; the remedy says what to do.
 * Commands print both without a stack trace, and exit with the code: 1 for a failure, 2 for wrong usage.
 */
export class UserError extends Error {
  readonly remedy: string | undefined;
  readonly exitCode: 1 | 2 = 1;

  constructor(message: string, { remedy, ...options }: ErrorOptions & { readonly remedy?: string } = {}) {
    super(message, options);
    this.name = new.target.name;
    this.remedy = remedy;
  }
}

/** The arguments of a command or an action can't be accepted. */
export class WrongUse extends UserError {
  override readonly exitCode = 2;
  readonly code = 'wrong_use';
}
