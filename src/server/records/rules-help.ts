import { readdirSync, readFileSync } from 'node:fs';
import { type Database, query, sql } from '../../db/database.ts';
import { type Declared, declaredFacts, type FactGroup, nowFact, triggersWith } from '../../rules/facts/declared.ts';
import { type Html, html, withCode } from '../html.ts';

/* What whoever writes rules needs beside the text: what a rule can name, and recipes. */

/** Something that a rule can name: as it is written there, and what it means. */
interface Name {
  readonly kind: 'Users' | 'Lines' | 'Targets';
  readonly written: string;
  readonly meaning: string;
}

/** The users, lines and targets that rules can name. `targets` are those of NOTIFY_TARGETS. */
export function readNames(db: Database, targets: readonly string[]): Promise<Name[]> {
  return query<Name>(
    db,
    sql`select 'Users' as kind, coalesce(nullif(email, ''), nullif(username, ''), user_id::text) as written, concat_ws(' ', first_name, last_name) as meaning
        from warehouse.users where deleted_at is null
      union all select 'Lines', line, coalesce(name, '') from warehouse.sms_lines where deleted_at is null
      union all select 'Targets', target, '' from unnest(${targets}::text[]) target order by kind desc, meaning, written`,
  );
}

const folder = new URL('../../../config/cookbook/rules/', import.meta.url);

/** The cookbook of rules: of each file its name, its first comment and its text. */
const recipes = readdirSync(folder).map((file) => {
  const [, comment = '', text = ''] = /^((?:# .*\n)*)(.*)$/s.exec(readFileSync(new URL(file, folder), 'utf8')) ?? [];
  return { title: file.replace('.yaml', '').replaceAll('-', ' '), about: comment.replace(/^# /gm, ''), text };
});

/** All of it, folded. */
export function renderHelp(names: readonly Name[]): Html {
  const groups = Object.entries(declaredFacts) as [FactGroup, Readonly<Record<string, Declared>>][];
  const kinds = [...Map.groupBy(names, ({ kind }) => kind)];
  return html`<aside class="help"><h2>What rules can use</h2>
${fold(
  'Facts',
  html`<dl>${factOf('now', nowFact)}</dl>${groups.map(
    ([group, facts]) =>
      html`<h3>${group} <small>on ${triggersWith(group).join(', ')}</small></h3><dl>${Object.entries(facts).map(([name, fact]) => factOf(`${group}.${name}`, fact))}</dl>`,
  )}`,
)}
${kinds.map(([kind, some]) => fold(kind, html`<dl>${some.map(({ written, meaning }) => entry(written, meaning))}</dl>`))}
<h2>Recipes</h2>
${recipes.map(({ title, about, text }) => fold(title, html`<p>${withCode(about)}</p><pre>${text}</pre>`))}</aside>`;
}

function factOf(path: string, { doc, values, isOptional }: Declared): Html {
  const all = values && ` One of ${values.map((value) => value || '""').join(', ')}.`;
  return entry(path, html`${withCode(doc)}${all}${isOptional && ' It can be missing.'}`);
}

const entry = (name: string, meaning: Html | string) => html`<dt><code>${name}</code></dt><dd>${meaning}</dd>`;
const fold = (title: string, content: Html) => html`<details><summary>${title}</summary>${content}</details>`;
