/** Exit codes of every command. */
export const exitCodes = { done: 0, failed: 1, wrongUse: 2 } as const;

/** The command was understood but could not do what was asked; the message says where and how to cure it. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly code = 'command_failed';
}

/** Runs a command's work; a failure becomes one message on standard error and the exit code. */
export async function reporting(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    console.error(error instanceof Error ? sentenceOf(error) : String(error));
    // Whatever the command had opened may still hold the process.
    process.exit(codeOf(error) === 'settings' ? exitCodes.wrongUse : exitCodes.failed);
  }
}

function sentenceOf(error: Error): string {
  const code = codeOf(error);
  if (error.name === 'ServiceError') return `The service did not do it: ${error.message}`;
  switch (code) {
    case 'settings':
    case 'command_failed':
    case 'not_erasable':
    case 'no_bi_role':
    case 'queue_unavailable':
      return error.message;
    case 'EADDRINUSE':
      return `${error.message}: another program listens there. Set PORT to a free port, or to 0 for any.`;
    case 'ECONNREFUSED':
    case 'ENOTFOUND':
      return `${error.message || code}: is the address right, and does the server run?`;
    case '28P01':
    case '28000':
      return `Postgres refused the user or the password of DATABASE_URL (${error.message}).`;
    case '3D000':
      return `${error.message}: create the database that DATABASE_URL names.`;
    default:
      return error.stack ?? error.message;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
