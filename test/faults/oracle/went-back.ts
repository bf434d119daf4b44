import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { expect } from 'vitest';
import { placesIn } from '../../privacy/everywhere.ts';
import { type Part, runCommand } from '../deployment/part.ts';
import type { FaultyService } from '../deployment/service.ts';
import { createProgress } from '../figures.ts';
import { answerTo, greetingFor, type Person, type Town } from '../load/town.ts';
import { doubledRows } from './doubles.ts';

/** A deployment whose database went back in time. */
export interface Site {
  readonly service: FaultyService;
  readonly database: Pool;
  readonly redisUrl: string | undefined;
  readonly parts: readonly Part[];
  /** For commands. */
  readonly environment: Readonly<Record<string, string>>;
  readonly town: Town;
}

/** What is mirrored of all that was accepted. */
export interface Accepted {
  readonly accepted: number;
  /** Accepted and not mirrored, though no gap says so. */
  readonly missing: readonly string[];
  /** Accepted and not mirrored, within a gap of `ops.gaps` that is being searched. */
  readonly inOpenGap: readonly string[];
  /** The same, though the gap was searched. */
  readonly inSearchedGap: readonly string[];
}

/** `FAULT_PATIENCE`, in seconds, waits less, for trying. */
const patienceMs = Number(process.env.FAULT_PATIENCE ?? 300) * 1_000;
const noProgressMs = 60_000;
const quietMs = 5_000;
const pauseMs = 1_000;
const threadsAtOnce = 8;
const maxShown = 5;

/**
 * What must hold after a database went back: all that was ever accepted is mirrored, or within a gap that is named; nobody is
 * answered or greeted twice, no note stands twice, nobody who was erased can be read; the bill is in the ledger; `status` and
 * `doctor` say what happened; sends leave again. Resolves to what is missing in named gaps.
 */
export async function expectHealed(site: Site): Promise<Accepted> {
  const accepted = await mirroredAtLast(site);
  console.log(wordsOf(accepted));
  console.log(await outcomes(site));
  const { missing } = accepted;
  const found = {
    ended: site.parts
      .filter(({ isRunning }) => !isRunning)
      .map(({ name, output }) => `${name}: …${output.slice(-1_500)}`),
    missing: some(missing),
    doubledRows: await doubledRows(site.database),
    ...(await doubledTexts(site)),
    ...(await doubledNotes(site)),
    readable: await readable(site),
    unbooked: await unbooked(site),
    unsaid: await unsaid(site),
    paused: await pauses(site),
  };
  const nothing: string[] = [];
  expect(found).toEqual({
    ended: nothing,
    missing: nothing,
    doubledRows: nothing,
    answeredTwice: nothing,
    greetedTwice: nothing,
    hasReplies: true,
    notedTwice: nothing,
    hasNotes: true,
    readable: nothing,
    unbooked: nothing,
    unsaid: nothing,
    paused: nothing,
  });
  return accepted;
}

/**
 * Waits until all that was accepted is mirrored and no rule, send or step is under way or paused; five minutes at most, and not
 * while nothing changes.
 */
async function mirroredAtLast(site: Site): Promise<Accepted> {
  const progress = createProgress('went back');
  const began = performance.now();
  let [fewest, most] = [Number.POSITIVE_INFINITY, 0];
  let changedAt = began;
  for (;;) {
    const accepted = await compare(site);
    const left = accepted.missing.length + accepted.inOpenGap.length + accepted.inSearchedGap.length;
    const isBusy = await isUnderWay(site);
    progress(() => `${wordsOf(accepted)}${isBusy ? ', rules are at work or paused' : ''}`);
    const now = performance.now();
    // The service repeats what was refused, so that more may be accepted later.
    if (isBusy || left < fewest || accepted.accepted > most) changedAt = now;
    [fewest, most] = [Math.min(fewest, left), accepted.accepted];
    const isOver = now - changedAt > (left === 0 ? quietMs : noProgressMs);
    if (isOver || now - began > patienceMs) return accepted;
    await sleep(pauseMs);
  }
}

/** Apart from triggers that wait for the outcome of a send, which is known after minutes. */
async function isUnderWay({ database }: Site): Promise<boolean> {
  const { rowCount } = await database.query(
    `select from ops.rule_events where due_at <= noted_at
     union all select from ops.sends where state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED') and due_at < now() + interval '2 seconds'
     union all select from ops.rule_actions where state = 'waiting' and kind <> 'reply' and due_at < now() + interval '5 seconds'
     union all select from ops.send_control where is_paused`,
  );
  return rowCount !== 0;
}

export function wordsOf({ accepted, missing, inOpenGap, inSearchedGap }: Accepted): string {
  const lost = `${inOpenGap.length} missing in an open gap, ${inSearchedGap.length} in a searched one`;
  return `${accepted} deliveries accepted, ${lost}${missing.length === 0 ? '' : `, ${missing.length} in none`}`;
}

async function compare({ service, database, town }: Site): Promise<Accepted> {
  const erased = new Set([...town.gone].map(({ number }) => number));
  const deliveries = (await service.deliveries()).flatMap(({ type, body, attempts }) => {
    const at = attempts.find(({ status }) => status !== null && status >= 200 && status < 300)?.at;
    const { id, callId, fromNumber, toNumber } = JSON.parse(body) as Record<string, unknown>;
    if (at === undefined || [fromNumber, toNumber].some((number) => erased.has(String(number)))) return [];
    return [{ stream: type === 'AccountSMS' ? 'texts' : 'calls', id: String(id ?? callId), at: new Date(at) }];
  });
  const held = new Set(
    (
      await database.query<{ id: string }>(
        `select 'texts ' || message_id as id from warehouse.sms_messages where deleted_at is null
         union all select 'calls ' || call_id from warehouse.calls where deleted_at is null`,
      )
    ).rows.map(({ id }) => id),
  );
  const { rows: gaps } = await database.query<{ stream: string; from_at: Date; to_at: Date; is_open: boolean }>(
    'select stream, from_at, to_at, filled_at is null as is_open from ops.gaps',
  );
  const lost = deliveries
    .filter(({ stream, id }) => !held.has(`${stream} ${id}`))
    .map((each) => ({
      ...each,
      gaps: gaps.filter((gap) => gap.stream === each.stream && gap.from_at <= each.at && each.at <= gap.to_at),
    }));
  const named = ({ stream, id, at }: (typeof deliveries)[number]) => `${stream} ${id}, accepted ${at.toISOString()}`;
  return {
    accepted: deliveries.length,
    missing: lost.filter((each) => each.gaps.length === 0).map(named),
    inOpenGap: lost.filter((each) => each.gaps.some(({ is_open }) => is_open)).map(named),
    inSearchedGap: lost.filter((each) => each.gaps.length > 0 && each.gaps.every((gap) => !gap.is_open)).map(named),
  };
}

/** Texts that were sent twice for one trigger, and greetings beyond "1 per 12h". */
async function doubledTexts({ service, database, town }: Site) {
  let replies = 0;
  const answeredTwice: string[] = [];
  const greetedTwice: string[] = [];
  async function look({ line, number, texts, habit }: Person): Promise<void> {
    const { messages } = await service.read<{ messages: { text: string }[] }>(
      `/sms/conversations/${line}/${number}?limit=200`,
    );
    const sent = messages.map(({ text }) => text);
    const timesOf = (text: string) => sent.filter((each) => each === text).length;
    for (const id of texts) {
      const times = timesOf(answerTo(id)) + timesOf(greetingFor(id));
      replies += times;
      if (times > 1) answeredTwice.push(`text ${id}`);
    }
    const greetings = texts.reduce((sum, id) => sum + timesOf(greetingFor(id)), 0);
    if (habit === 'greets' && greetings > 1) {
      greetedTwice.push(`thread ${line}/${number}: ${greetings} greetings; ${await historyOf(database, line, number)}`);
    }
  }
  const people = town.people.filter(({ habit }) => habit === 'asks' || habit === 'greets');
  for (let from = 0; from < people.length; from += threadsAtOnce) {
    await Promise.all(people.slice(from, from + threadsAtOnce).map(look));
  }
  return { answeredTwice: some(answeredTwice), greetedTwice: some(greetedTwice), hasReplies: replies > 0 };
}

/** What is mirrored of a thread and what rules did in it, for whoever reads a run. */
async function historyOf(database: Pool, line: string, number: string): Promise<string> {
  const { rows } = await database.query<{ words: string }>(
    `select string_agg(at::time(1) || ' ' || words, '; ' order by at) as words from (
       select sent_at as at, format('%s %s: %s', direction, message_id, body) as words from warehouse.sms_messages where line = $1 and number = $2
       union all select e.observed_at, format('send %s to %s %s (%s)', trigger_id, to_state, e.reason, e.actor)
         from ops.sends s join ops.send_events e using (send_id) where line = $1 and number = $2
       union all select evaluated_at, format('run %s of %s: %s', rule, trigger_key, concat_ws(', ', r.reason, (select string_agg(concat_ws(' ', kind, state, a.reason), ', ') from ops.rule_actions a where a.run_id = r.run_id)))
         from ops.rule_runs r where line = $1 and number = $2
       union all select lost_from, 'lost from' from ops.incarnation union all select lost_until, 'lost until' from ops.incarnation
       union all select noticed_at, 'noticed' from ops.incarnation union all select recovered_at, 'recovered' from ops.incarnation) s`,
    [line, number],
  );
  return rows[0]?.words ?? '';
}

/** Threads with two notes about their one text, unless the ledger lists the note as unclear. */
async function doubledNotes({ service, database }: Site) {
  const noted = (await service.requests()).filter(
    ({ method, path, status }) => method === 'POST' && path.endsWith('/comments') && status === 201,
  );
  const { rows } = await database.query<{ thread: string }>(
    `select r.line || '/' || r.number as thread from ops.rule_actions a join ops.rule_runs r using (run_id)
     where a.kind = 'comment' and a.state = 'unclear'`,
  );
  const unclear = new Set(rows.map(({ thread }) => thread));
  const threadOf = (path: string) => path.split('/').slice(-3, -1).join('/');
  const notedTwice = [...Map.groupBy(noted, ({ path }) => threadOf(path))]
    .filter(([thread, notes]) => notes.length > 1 && !unclear.has(thread))
    .map(async ([thread, notes]) => {
      const [line = '', number = ''] = thread.split('/');
      return `thread ${thread}: ${notes.length} notes; ${await historyOf(database, line, number)}`;
    });
  return { notedTwice: some(await Promise.all(notedTwice)), hasNotes: noted.length > 0 };
}

/** Where somebody who was erased can be read. Jobs are gone once they are done. */
async function readable({ database, redisUrl, town }: Site): Promise<string[]> {
  const query = async <Row>(text: string, ...parameters: readonly unknown[]) =>
    (await database.query(text, [...parameters])).rows as Row[];
  const found: string[] = [];
  for (const { number } of town.gone) {
    const places = await placesIn({ query, redisUrl }, number.slice(1));
    found.push(...places.filter((place) => !/^(bullmq\.|redis )/.test(place)).map((place) => `${number} in ${place}`));
  }
  return found;
}

/** Where the bill of the service is not what the ledger booked, give or take what awaits review. */
async function unbooked({ service, database }: Site): Promise<string[]> {
  const charges = (await service.sends()).flatMap(({ key, charge }) => (key === 'default' && charge ? [charge] : []));
  const charged = charges.reduce((sum, { totalMicros }) => sum + totalMicros, 0);
  const { rows } = await database.query<{ booked: string; unsure: string }>(
    `select coalesce(sum(settled_micros) filter (where state = 'SENT'), 0) as booked,
       coalesce(sum(reserved_micros) filter (where settled_micros is null and state in ('SENT', 'UNKNOWN', 'NEEDS_HUMAN')), 0) as unsure
     from ops.sends`,
  );
  const booked = Number(rows[0]?.booked);
  const unsure = Number(rows[0]?.unsure);
  const isEven = booked <= charged && charged <= booked + unsure;
  return isEven
    ? []
    : [`charged ${charged} micro-dollars, booked ${booked}, worst case of what awaits review ${unsure}`];
}

/** How sends and other steps of rules ended, for whoever reads a run. */
async function outcomes({ database }: Site): Promise<string> {
  const { rows } = await database.query<{ words: string }>(
    `select string_agg(format('%s %s (%s)', count, state, reason), ', ' order by count desc) as words from (
       select state, reason, count(*) from ops.sends group by 1, 2
       union all select kind || ' ' || state, reason, count(*) from ops.rule_actions where kind <> 'reply' group by 1, 2) s`,
  );
  return rows[0]?.words ?? 'no step of a rule';
}

async function pauses({ database }: Site): Promise<string[]> {
  const { rows } = await database.query<{ reason: string }>(
    `select format('by %s: %s', paused_by, pause_reason) as reason from ops.send_control where is_paused`,
  );
  return rows.map(({ reason }) => reason);
}

/** Which of `status` and `doctor` do not say that the database went back. */
async function unsaid({ environment }: Site): Promise<string[]> {
  const words = await Promise.all(
    ['status', 'doctor'].map(async (command) => ({ command, said: await toldBy(command, environment) })),
  );
  return words.filter(({ said }) => !/went back/.test(said)).map(({ command }) => command);
}

/** Both commands fail where something is to be done. */
function toldBy(command: string, environment: Site['environment']): Promise<string> {
  return runCommand([command, '--json'], environment).catch((error: Error & { stdout?: string }) => error.stdout ?? '');
}

function some(found: readonly string[]): string[] {
  return found.length <= maxShown ? [...found] : [`${found.length}, such as`, ...found.slice(0, maxShown)];
}
