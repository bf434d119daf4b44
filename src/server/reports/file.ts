import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BadAddress } from '../errors.ts';
import { type Unit, unitOf } from '../words.ts';

/*
 * A report is a file of SQL that every tool can run. Its first comments say how the page shows it:
 *
 *   -- Title
 *   -- The question that it answers?
 *   -- says: {sum(calls)} [call|calls], {round(100.0 * sum(answered) / nullif(sum(calls), 0)) as answered_pct} answered.
 *   -- figure: Calls: {sum(calls)}, more is good             shown on /reports
 *   -- draw: bars x=local_date y=answered:good,missed:bad    or line, shares, heat (with value=…)
 *   -- rows: missed-calls-one-by-one                         the report that a row opens
 *   -- choose: queue = select queue_key, queue_name from reporting.dim_queue order by 2
 *   -- Everything else explains it.
 *
 * What is in braces is SQL over the rows of the query. A row opens its call or thread by a column call_id or thread.
 */

const kinds = ['line', 'bars', 'shares', 'heat'] as const;
const tones = ['main', 'second', 'good', 'fair', 'plain', 'bad', 'worse'] as const;
export type Tone = (typeof tones)[number];

export interface Draw {
  readonly kind: (typeof kinds)[number];
  readonly x: string;
  readonly y: readonly { readonly column: string; readonly tone: Tone }[];
  /** heat: the column of the colour. */
  readonly value: string;
  /** Durations that differ by orders of magnitude. */
  readonly isLog: boolean;
}

/** Texts and the expressions between them. */
export type Template = readonly (string | Expression)[];

/** `{max(wait) as wait_seconds}` is shown as a duration. */
export interface Expression {
  readonly sql: string;
  readonly unit: Unit;
}

export interface Report {
  /** In its address. */
  readonly name: string;
  readonly title: string;
  readonly question: string;
  readonly about: string;
  /** Its sentence. Empty if there is none. */
  readonly says: Template;
  readonly figure?: Figure | undefined;
  readonly draws: readonly Draw[];
  /** The name of the report that a row opens. */
  readonly rows?: string | undefined;
  /** What to choose beside the period, and the query of values and names. */
  readonly choices: readonly { readonly name: string; readonly sql: string }[];
  readonly sql: string;
  readonly hasPeriod: boolean;
  /**
   * What it reads, derived from the views that it names. So its page knows how complete the figures are, and which can
   * still rise.
   */
  readonly isOf: Readonly<Record<'calls' | 'texts' | 'returns', boolean>>;
  readonly fault?: Fault;
}

export interface Figure extends Expression {
  readonly name: string;
  readonly more?: 'good' | 'bad' | undefined;
}

/** What is wrong with a file, or its query. */
export class Fault extends BadAddress {}

/**
 * The files of folders, read again each time: a file that is added is a page. A later folder replaces a report by name.
 */
export function readReports(folders: readonly string[]): Map<string, Report> {
  const reports = folders.filter(existsSync).flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.sql'))
      .sort()
      .map((file) => parseReport(file, readFileSync(join(folder, file), 'utf8'))),
  );
  return new Map(reports.map((report) => [report.name, report]));
}

export function parseReport(file: string, sql: string): Report {
  const name = file.replace(/^\d+-|\.sql$/g, '');
  const head = /^(?:--.*\n)*/.exec(sql)?.[0] ?? '';
  const comments = head.split('\n').map((line) => line.slice(2).trim());
  const told = (key: string) =>
    comments.flatMap((text) => (text.startsWith(`${key}: `) ? [text.slice(key.length + 2)] : []));
  const words = comments.filter((text) => text !== '' && !/^(says|figure|draw|choose|rows): /.test(text));
  const [title = name, second = ''] = words;
  const isQuestion = second.endsWith('?');
  const plain = {
    ...{ name, title, question: isQuestion ? second : '', about: words.slice(isQuestion ? 2 : 1).join(' '), sql },
    hasPeriod: sql.includes("'report.from'"),
    isOf: {
      calls: /reporting\.(call_hourly|agent_hourly|fct_call|fct_queue_visit|missed_calls)/.test(sql),
      texts: /reporting\.(sms_daily|fct_sms|rule_outcomes)/.test(sql),
      returns: sql.includes('reporting.missed_calls'),
    },
  };
  try {
    return {
      ...plain,
      says: templateOf(told('says').join(' ')),
      figure: told('figure').map(figureOf)[0],
      rows: told('rows')[0],
      draws: told('draw').map(drawOf),
      choices: told('choose').map(choiceOf),
    };
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return { ...plain, says: [], draws: [], choices: [], fault };
  }
}

function templateOf(text: string): Template {
  if (text === '') return [];
  return text.split(/\{([^{}]*)\}/).map((part, at) => {
    if (at % 2 === 1) {
      return expressionOf(part);
    }
    if (/[{}]/.test(part)) throw new Fault(`A brace is open or closed alone: ${text}`);
    return part;
  });
}

function expressionOf(text: string): Expression {
  const [, sql = text, name = ''] = /^(.*) as (\w+)$/.exec(text) ?? [];
  return { sql, unit: unitOf(name).unit };
}

function figureOf(text: string): Figure {
  const [, name, told, more] = /^([^{:]+): \{([^{}]+)\}(?:, more is (good|bad))?$/.exec(text) ?? [];
  if (name && told) return { name, ...expressionOf(told), more: more as Figure['more'] };
  throw new Fault('A figure is a name and one expression: -- figure: Calls: {sum(calls)}');
}

function drawOf(text: string): Draw {
  const [word = '', ...words] = text.split(/\s+/);
  const given = new Map(words.map((each) => each.split('=', 2) as [string, string | undefined]));
  const kind = kinds.find((each) => each === word);
  if (!kind) throw new Fault(`"${word}" is no picture: take one of ${kinds.join(', ')}.`);
  const [x = '', value = ''] = [given.get('x'), given.get('value')];
  const y = (given.get('y') ?? '').split(',').map((each, at) => {
    const [column = '', name = tones[at % tones.length]] = each.split(':');
    const tone = tones.find((known) => known === name);
    if (!tone) throw new Fault(`"${name}" is no tone: take one of ${tones.join(', ')}.`);
    return { column, tone };
  });
  if (!x || !y[0]?.column || (kind === 'heat' && !value)) {
    throw new Fault(`A picture names its columns: -- draw: ${kind} x=… y=…${kind === 'heat' ? ' value=…' : ''}`);
  }
  return { kind, x, y, value, isLog: given.has('log') };
}

function choiceOf(text: string): Report['choices'][number] {
  const [, name, sql] = /^([a-z_]+) = (select .*)$/.exec(text) ?? [];
  if (name && sql) return { name, sql };
  throw new Fault('A choice is a name and a query: -- choose: queue = select key, name from …');
}
