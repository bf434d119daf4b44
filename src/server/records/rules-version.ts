import { sql, type Transaction } from '../../db/database.ts';
import { type RulesVersion, readInForce, readVersions } from '../../ledger/rules-in-force.ts';
import { countOf } from '../../ops/format.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { asks, facts, type RecordPage, section, soft } from '../page.ts';
import { changeFields } from './rules-forms.ts';
import { numberedText, renderDifference } from './source-text.ts';
import type { View } from './view.ts';

/** The number of a version in an address. Throws `BadAddress`. */
export function versionOf(text: string | undefined): number {
  if (text === undefined || !/^[1-9]\d{0,8}$/.test(text)) throw new BadAddress('A version is a whole number.', 404);
  return Number(text);
}

/** The page of a version of the rules. `user`: who signed in with a name. */
export async function versionPage(
  tx: Transaction,
  version: number,
  { view, user }: { readonly view: View; readonly user: string | undefined },
): Promise<RecordPage> {
  const [shown] = await readVersions(tx, sql`version = ${version}`);
  if (!shown) throw new BadAddress(`There is no version ${version} of the rules.`, 404);
  const inForce = await readInForce(tx);
  const before = sql`version = (select max(version) from ops.rule_versions where version < ${version})`;
  const [earlier] = await readVersions(tx, before);
  const { text, appliedAt, by, why, rules } = shown;
  const isInForce = version === inForce?.version;
  const state = isInForce ? 'in force, for all workers' : 'was in force';
  return {
    title: `Version ${version} of the rules`,
    about: html`<a class="link" href="/rules/history">All versions</a>`,
    parts: [
      section(
        'Version',
        facts(view, [
          ['State', state],
          ['Applied', appliedAt],
          ['By', by],
          ['Why', why],
          ['Rules', countOf(rules.length, 'rule')],
        ]),
      ),
      inForce !== undefined && inForce.text !== text && rollBack(version, inForce, user),
      earlier !== undefined && changes(`Changes since version ${earlier.version}, the one before`, earlier, shown),
      inForce !== undefined &&
        !isInForce &&
        inForce.version !== earlier?.version &&
        changes(`From here to version ${inForce.version}, which is in force`, shown, inForce),
      section('Text', text === '' ? soft('It is empty.') : numberedText(text, `Text of version ${version}`)),
    ],
  };
}

function changes(title: string, from: RulesVersion, to: RulesVersion): Html {
  return section(title, renderDifference(from.text, to.text, title) ?? soft('The text is the same.'));
}

function rollBack(version: number, inForce: RulesVersion, user: string | undefined): Html {
  return asks(
    html`<details class="ask"><summary>Roll back …</summary><p>The text of version ${version} comes into force for all workers, as a new version.</p><form class="change" method="post" action="/rules/history/${version}/roll-back">${changeFields(user, inForce)}
<button class="act">Roll back to version ${version}</button></form></details>`,
  );
}
