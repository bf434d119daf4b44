import { parseRules } from '../../src/rules/file/parse.ts';
import { RulesError } from '../../src/rules/file/problems.ts';

export const options = { file: 'rules.yaml', timeZone: 'America/New_York' };

/** What is said of a rules file with mistakes. */
export function refusalOf(text: string): RulesError {
  try {
    parseRules(text, options);
  } catch (error) {
    if (error instanceof RulesError) return error;
    throw error;
  }
  throw new Error('the file was taken');
}
