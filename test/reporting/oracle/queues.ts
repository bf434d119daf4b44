import type { Endpoint, Leg } from '../../../src/sandbox/account.ts';
import type { Account } from './account.ts';
import { type Fact, factsOf, groupsOf, isGroup, isPerson } from './calls.ts';
import { dateAt, isOpen, second, wallAt } from './clock.ts';
import { grouped, percent, percentile, type Report, total } from './rows.ts';

/** What happened in each queue and huntgroup, as the comments of `fct_queue_visit` and `queue_daily` define it. */

interface Visit {
  readonly fact: Fact;
  readonly number: number;
  readonly group: { readonly kind: string; readonly endpoint: string };
  readonly enteredAt: number | null;
  readonly outcome: string;
  readonly wait: number | null;
  readonly basis: string;
  readonly next: string | null;
}

const nameOf = ({ number, name }: Endpoint) => number || name;
const endedHere = ['abandoned', 'short_abandoned', 'missed'];

function visitsOf(fact: Fact): Visit[] {
  if (fact.isInternal) return [];
  // Telephones that only rang are a part of the visit.
  const steps = fact.legs.filter((leg) => !isPerson(leg) || leg.outcome === 'answer');
  const entries = steps.flatMap((leg, at) => (isGroup(leg.to) ? [{ leg, at }] : []));
  if (entries.length === 0) {
    return groupsOf(fact).map((group, at) => ({
      ...{ fact, number: at + 1, group, enteredAt: null, outcome: fact.outcome, wait: fact.wait },
      ...{ basis: fact.waitBasis, next: null },
    }));
  }
  return entries.map(({ leg, at }, index) => {
    const next = steps[at + 1];
    const { outcome, until } = next ? movedOn(next) : ended(fact, steps.slice(0, at).some(isPerson));
    const wait = until === null ? null : until - leg.offset;
    return {
      ...{ fact, number: index + 1, group: { kind: leg.to.type, endpoint: nameOf(leg.to) } },
      ...{
        enteredAt: (fact.call.start + leg.offset) * second,
        outcome,
        wait,
        basis: wait === null ? 'unknown' : 'legs',
      },
      next: next && outcome === 'overflowed' ? `${next.to.type}:${nameOf(next.to)}` : null,
    };
  });
}

function movedOn(next: Leg): { outcome: string; until: number } {
  if (isPerson(next)) return { outcome: 'answered', until: next.offset + next.ringSeconds };
  const outcome = isGroup(next.to) ? 'overflowed' : next.to.type === 'mailbox' ? 'voicemail' : 'left';
  return { outcome, until: next.offset };
}

/** Whom a user passed on was answered once, so that the outcome of the call tells nothing of this queue. */
function ended({ outcome, duration }: Fact, wasAnswered: boolean): { outcome: string; until: number | null } {
  if (outcome === 'answered' && wasAnswered) return { outcome: 'missed', until: duration };
  return { outcome, until: endedHere.includes(outcome) ? duration : null };
}

export function queueReports(account: Account): Report[] {
  const { timeZone: zone, schedule, serviceLevelSeconds } = account.definitions;
  const visits = factsOf(account).flatMap(visitsOf);
  const inbound = visits.filter(({ fact }) => fact.direction === 'inbound');
  const days = grouped(inbound, ({ fact, group }) => [dateAt(fact.at, zone), group.kind, group.endpoint]);
  return [
    {
      view: 'reporting.fct_queue_visit',
      key: ['call_id', 'visit_number'],
      rows: visits.map(({ fact, number, group, enteredAt, outcome, wait, basis, next }) => {
        const wall = wallAt(fact.at, zone);
        return {
          ...{ call_id: fact.id, visit_number: number, started_at: new Date(fact.at), local_date: wall.date },
          ...{ local_hour: wall.hour, local_isodow: wall.isodow, is_business_hours: isOpen(fact.at, schedule) },
          ...{ direction: fact.direction, ...group, account_number: fact.accountNumber, outcome },
          entered_at: enteredAt === null ? null : new Date(enteredAt),
          ...{ wait_seconds: wait, wait_basis: basis, next_queue_key: next },
        };
      }),
    },
    {
      view: 'reporting.queue_daily',
      key: ['local_date', 'kind', 'endpoint'],
      rows: days.map(({ key: [local_date, kind, endpoint], items }) => {
        const of = (outcome: string) => items.filter((visit) => visit.outcome === outcome).length;
        const waitsOf = (outcome: string) =>
          items.flatMap((visit) => (visit.outcome === outcome && visit.wait !== null ? [visit.wait] : []));
        const [answers, abandons] = [waitsOf('answered'), waitsOf('abandoned')];
        const known = items.flatMap(({ wait }) => (wait === null ? [] : [wait]));
        const answerable = items.length - of('short_abandoned');
        const inTime = answers.filter((wait) => wait <= serviceLevelSeconds).length;
        const unknownWaits = of('answered') - answers.length;
        return {
          ...{ local_date, kind, endpoint, visit_count: items.length, answered_count: of('answered') },
          ...{ abandoned_count: of('abandoned'), short_abandoned_count: of('short_abandoned') },
          ...{ overflowed_count: of('overflowed'), voicemail_count: of('voicemail'), left_count: of('left') },
          ...{ missed_count: of('missed'), unknown_count: of('unknown'), answerable_count: answerable },
          ...{ answered_in_time_count: inTime, answer_wait_count: answers.length },
          ...{ answer_wait_unknown_count: unknownWaits, answer_wait_seconds: total(answers) },
          answer_rate_without_short_pct: percent(of('answered'), answerable),
          abandon_rate_pct: percent(of('abandoned'), answerable),
          service_level_pct: percent(inTime, answerable - unknownWaits),
          answer_wait_p50_seconds: percentile(0.5, answers),
          answer_wait_p90_seconds: percentile(0.9, answers),
          abandon_wait_count: abandons.length,
          abandon_wait_p50_seconds: percentile(0.5, abandons),
          abandon_wait_p90_seconds: percentile(0.9, abandons),
          longest_wait_seconds: known.length > 0 ? Math.max(...known) : null,
        };
      }),
    },
  ];
}
