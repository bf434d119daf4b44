import { addressOf } from '../../actions/actions.ts';
import { sql, type Transaction } from '../../db/database.ts';
import { type RulesVersion, readInForce, readVersions } from '../../ledger/rules-in-force.ts';
import { countOf } from '../../shared/format.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { ask, asks, type RecordPage, section, soft } from '../page.ts';
import { type DiffLine, differenceOf } from './difference.ts';
import { changeFields } from './forms.ts';
import type { View } from './view.ts';

/** The number of a version in an address. Throws `BadAddress`. */
export function versionOf(text: string | undefined): number {
  if (text === undefined || !/^[1-9]\d{0,8}$/.test(text)) throw new BadAddress('A version is a whole number.', 404);
  return Number(text);
}

/** The page of a version of the rules: what it changed, and the way back to it. `user`: who signed in with a name. */
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
  return {
    title: isInForce ? `Version ${version} of the rules is in force` : `Version ${version} of the rules was in force`,
    about: html`${countOf(rules.length, 'rule')}, applied ${view.time(appliedAt)} by ${by}${why !== null && html`: ${why}`}. <a class="link" href="/rules/history">All versions</a>`,
    parts: [
      inForce !== undefined && inForce.text !== text && rollBack(version, inForce, user),
      earlier !== undefined && changes(`Changes since version ${earlier.version}, the one before`, earlier, shown),
      inForce !== undefined &&
        !isInForce &&
        inForce.version !== earlier?.version &&
        changes(`From here to version ${inForce.version}, which is in force`, shown, inForce),
      section('Text', text === '' ? soft('It is empty.') : html`<pre class="words-of">${text}</pre>`),
    ],
  };
}

function changes(title: string, from: RulesVersion, to: RulesVersion): Html {
  return section(title, renderDifference(from.text, to.text, title) ?? soft('The text is the same.'));
}

function rollBack(version: number, inForce: RulesVersion, user: string | undefined): Html {
  return asks(
    ask(
      'Roll back',
      `The text of version ${version} comes into force for all workers, as a new version.`,
      changeFields(user, { basedOn: inForce.version }),
      {
        [`Roll back to version ${version}`]: addressOf('rules rollback', { version: String(version) }),
      },
    ),
  );
}

const signs = { same: ' ', removed: '−', added: '+' } as const;

/** The difference between two texts, unified. Undefined if there is none. */
export function renderDifference(before: string, after: string, label: string): Html | undefined {
  const hunks = differenceOf(before, after);
  if (hunks.length === 0) return undefined;
  const line = ({ kind, number, text }: DiffLine) =>
    html`<tr class="${kind}"><td>${number}</td><td>${signs[kind]}</td><td><code>${text}</code></td></tr>`;
  return html`<div class="difference" tabindex="0" role="region" aria-label="${label}"><table>${hunks.map(
    (hunk) => html`<tbody>${hunk.map(line)}</tbody>`,
  )}</table></div>`;
}
