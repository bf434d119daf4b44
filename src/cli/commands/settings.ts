import { settingsRows, settingsTable } from '../../../config/settings.ts';

/** Prints the table of all variables. */
export async function run({ json }: { json?: boolean }): Promise<void> {
  console.log(json ? JSON.stringify(settingsRows()) : settingsTable());
}
