/** What a user types to run Trunkline, in a checkout and beside an installed package alike: npm finds the program of either. */
export const commandName = 'npx trunkline';

/** A command for a sentence, as the user types it. */
export function toType(words: string): string {
  return `\`${commandName} ${words}\``;
}
