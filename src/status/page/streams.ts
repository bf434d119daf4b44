import { type TargetKind, targetKinds } from '../../inbox/target.ts';
import { lateSeconds } from '../concerns.ts';
import type { Backlog } from '../facts/backlog.ts';
import { known, type Snapshot } from '../snapshot.ts';
import { quantity, span, streamNames } from '../words.ts';
import { type Html, html } from './html.ts';
import { moment } from './parts.ts';

const tableOf: Readonly<Record<TargetKind, string>> = {
  thread: 'warehouse.sms_messages',
  call: 'warehouse.calls',
  recordings: 'warehouse.recordings',
  transcripts: 'warehouse.transcripts',
  users: 'warehouse.users',
  lines: 'warehouse.sms_lines',
};

/** One card for each stream: how fresh it is, how much is held, and what is owed. */
export function streams(snapshot: Snapshot, timeZone: string): Html {
  const { freshness } = snapshot;
  if (freshness.state === 'unknown') {
    return html`<section class="card"><p class="unknown">The streams could not be asked: ${freshness.reason}</p></section>`;
  }
  return html`<section class="streams">${targetKinds.map((kind) => stream(snapshot, kind, timeZone))}</section>`;
}

function stream(snapshot: Snapshot, kind: TargetKind, timeZone: string): Html {
  const fresh = known(snapshot.freshness, []).find((each) => each.kind === kind);
  const held = known(snapshot.holdings, []).find(({ table }) => table === tableOf[kind]);
  const backlog = known(snapshot.backlog, []).find((each) => each.kind === kind);
  const { level, word } = stateOf(snapshot, kind, backlog, fresh?.readAt ?? null);
  const isDirectory = kind === 'users' || kind === 'lines';
  const rows = held && `${held.isExact ? '' : 'about '}${quantity(held.rows)}`;
  return html`<article class="card stream">
  <header><h3>${streamNames[kind]}</h3><span class="state" title="${word}"><span class="dot ${level}"></span><span class="word soft">${word}</span></span></header>
  <p class="newest">${isDirectory ? (rows ?? '?') : moment(fresh?.newestAt ?? null, snapshot.takenAt, timeZone)}</p>
  <p>${!isDirectory && rows && html`${rows} held <span class="hint">· </span>`}<span class="${isDirectory ? '' : 'hint'}">read ${moment(fresh?.readAt ?? null, snapshot.takenAt, timeZone)}</span></p>
  <p>${owed(backlog)}</p>
</article>`;
}

function stateOf(
  { parked }: Snapshot,
  kind: TargetKind,
  backlog: Backlog | undefined,
  readAt: Date | null,
): { level: string; word: string } {
  const wait = known(parked, []).find((each) => each.kind === kind);
  if (wait) return { level: 'problem', word: wait.missingScope ? `needs ${wait.missingScope}` : 'refused' };
  if (!backlog) return { level: 'quiet', word: 'not known' };
  if (backlog.failing > 0) return { level: 'warning', word: `${quantity(backlog.failing)} failing` };
  if ((backlog.oldestDueSeconds ?? 0) > lateSeconds) return { level: 'warning', word: 'behind' };
  if (backlog.due > 0) return { level: 'ok', word: 'reading' };
  return readAt === null ? { level: 'quiet', word: 'nothing read yet' } : { level: 'ok', word: 'in step' };
}

function owed(backlog: Backlog | undefined): Html {
  if (!backlog) return html``;
  const { due, later, history, unconfirmed, isAtLeast, oldestDueSeconds } = backlog;
  const least = isAtLeast ? 'at least ' : '';
  const parts = [
    due > 0 && `${quantity(due)} due, oldest ${span(oldestDueSeconds ?? 0)}`,
    later > 0 && `${quantity(later)} ${due > 0 ? 'later' : 'due later'}`,
    history > 0 && `${quantity(history)} of history`,
    unconfirmed > 0 && `${quantity(unconfirmed)} that only deliveries named`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? html`nothing owed` : html`${least}${parts.join(' · ')}`;
}
