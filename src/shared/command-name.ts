/**
 * What a user types to run Trunkline. npm finds the program both in a checkout and in an installed package. The
 * container image sets its own name, because npm fails there for a user without a home folder.
 */
export const commandName = process.env.TRUNKLINE_COMMAND || 'npx trunkline';

/** A command for use in a sentence, as the user types it. */
export function toType(words: string): string {
  return `\`${commandName} ${words}\``;
}
