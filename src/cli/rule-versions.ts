import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Database, sql } from '../db/database.ts';
import { readAllowedMode, readInForce, readVersions } from '../ledger/rules-in-force.ts';
import { parseRules } from '../rules/file/parse.ts';
import type { Mode } from '../rules/rule.ts';
import { applyRules } from '../rules/versions.ts';
import { UserError } from '../shared/errors.ts';
import { countOf } from '../shared/format.ts';
import { openDatabase } from './environment.ts';
import type { Output } from './output.ts';
import { describeVersion, printWarnings } from './rules.ts';
import { operatorName } from './terminal.ts';

interface Reason {
  readonly why?: string;
}

export async function apply(file: string, { why }: Reason): Promise<Output> {
  await using database = await openDatabase('rules');
  const { db, settings } = database;
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UserError(`${file} cannot be read (${error.code}).`);
  });
  const set = parseRules(text, { file, timeZone: settings.hoursZone });
  const isRulesFile = resolve(file) === resolve(settings.rulesFile);
  const { isNew, waiting } = await applyRules(db, text, { file, isRulesFile, by: operatorName(), why });
  await printWarnings(file, text, set, settings);
  const older = `${countOf(waiting, 'text')} of earlier versions ${waiting === 1 ? 'waits and leaves' : 'wait and leave'} with the words of then. `;
  return await inForceNow(db, settings, isNew ? (waiting > 0 ? older : '') : `${file} was in force already. `);
}

export async function show(version: number | undefined): Promise<Output> {
  await using database = await openDatabase('rules');
  const { db } = database;
  const [found] = await readVersions(db, version === undefined ? undefined : sql`version = ${version}`);
  if (!found) {
    throw new UserError(
      version === undefined
        ? 'No rules were applied yet.'
        : `There is no version ${version}: see the page /rules/history.`,
    );
  }
  return { json: found, text: found.text.trimEnd() };
}

/** Tells which version is in force after a change. */
async function inForceNow(
  db: Database,
  { timeZone, rulesMode }: { readonly timeZone: string; readonly rulesMode: Mode },
  done: string,
): Promise<Output> {
  const inForce = await readInForce(db);
  const allowed = (await readAllowedMode(db)) ?? rulesMode;
  const { version, appliedAt, by, why } = inForce ?? {};
  return {
    json: { version, allowed, appliedAt, by, why },
    text: `${done}${describeVersion(inForce, allowed, timeZone)}`,
  };
}
