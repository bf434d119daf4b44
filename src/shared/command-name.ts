/**
 * What a user types to run Trunkline, in a checkout and beside an installed package alike: npm finds the program of either. The
 * container image names its own, since npm fails there for a user without a home folder.
 */
export const commandName = process.env.TRUNKLINE_COMMAND || 'npx trunkline';

/** A command for use in a sentence, as the user types it. */
export function toType(words: string): string {
  return `\`${commandName} ${words}\``;
}
