import { settingsTable } from '../../../config/settings.ts';

/** Prints the table of all variables. */
export async function run(): Promise<void> {
  console.log(settingsTable());
}
