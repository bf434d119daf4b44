import { sql, type Transaction } from '../../db/database.ts';
import { type RulesVersion, readInForce, readVersions } from '../../ledger/rules-in-force.ts';
import { countOf } from '../../shared/format.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { asks, type RecordPage, section, soft } from '../page.ts';
import { differenceCard } from './difference.ts';
import { ask, changeFields } from './forms.ts';
import type { View } from './view.ts';

/** The number of a version in an address. Throws `BadAddress`. */
export function versionOf(text: string | undefined): number {
  if (text === undefined || !/^[1-9]\d{0,8}$/.test(text)) throw new BadAddress('A version is a whole number.', 404);
  return Number(text);
}

/** The page of a version of the rules: what it changed, and the way back to it. */
export async function versionPage(tx: Transaction, version: number, view: View): Promise<RecordPage> {
  const [shown] = await readVersions(tx, sql`version = ${version}`);
  if (!shown) throw new BadAddress(`There is no version ${version} of the rules.`, 404);
  const inForce = await readInForce(tx);
  const before = sql`version = (select max(version) from ops.rule_versions where version < ${version})`;
  const [earlier] = await readVersions(tx, before);
  const { text, appliedAt, by, why, rules } = shown;
  const isInForce = version === inForce?.version;
  return {
    title: isInForce ? `Version ${version} of the rules is in force` : `Version ${version} of the rules was in force`,
    about: html`${countOf(rules.length, 'rule')}, applied ${view.time(appliedAt)} by ${by}${why !== null && html`: ${why}`}. <a class="link" href="/rules/history">All versions</a>`,
    parts: [
      inForce !== undefined && inForce.text !== text && rollBack(version, inForce, view),
      earlier !== undefined &&
        differenceCard(`Changes since version ${earlier.version}, the one before`, earlier.text, text),
      inForce !== undefined &&
        !isInForce &&
        inForce.version !== earlier?.version &&
        differenceCard(`From here to version ${inForce.version}, which is in force`, text, inForce.text),
      section('Text', text === '' ? soft('It is empty.') : html`<pre class="words-of">${text}</pre>`),
    ],
  };
}

function rollBack(version: number, inForce: RulesVersion, view: View): Html {
  const question = `The text of version ${version} comes into force for all workers, as a new version.`;
  const answer = ['rules rollback', { version: String(version) }] as const;
  const fields = changeFields({ basedOn: inForce.version });
  return asks(ask(view, 'Roll back', question, { [`Roll back to version ${version}`]: answer }, fields));
}
