import type { Account } from './account.ts';
import { factsOf } from './calls.ts';
import { dateAt, hour, second } from './clock.ts';
import type { Report } from './rows.ts';

/** Who calls for the first time, who calls again and whom one call was enough, as the comment of `caller_calls` defines it. */
export function callerReports(account: Account, now: number): Report[] {
  const { scenes, definitions } = account;
  const [first = 0, second_ = 0] = scenes;
  const everything = [dateAt(0, 'UTC'), dateAt(now + 24 * hour, 'UTC')] as const;
  const scene = [dateAt(first, definitions.timeZone), dateAt(second_, definitions.timeZone)] as const;
  return [
    callerCalls(account, now, everything, definitions.callbackWindow),
    callerCalls(account, now, scene, 24 * hour),
    callerCalls(account, now, everything, 90 * 24 * hour),
  ];
}

function callerCalls(account: Account, now: number, [from, to]: readonly [string, string], span: number): Report {
  const { timeZone: zone } = account.definitions;
  const inbound = factsOf(account).filter(({ direction, isInternal, externalNumber }) => {
    return direction === 'inbound' && !isInternal && externalNumber !== null;
  });
  const isHere = (date: string) => from <= date && date <= to;
  return {
    view: 'reporting.caller_calls',
    from: `reporting.caller_calls('${from}', '${to}', make_interval(secs => ${span / second}))`,
    key: ['call_id'],
    rows: inbound
      .filter(({ at }) => isHere(dateAt(at, zone)))
      .map((call) => {
        const others = inbound.filter(
          ({ id, externalNumber }) => id !== call.id && externalNumber === call.externalNumber,
        );
        // Of two in one second the lower id comes first.
        const isBefore = (other: typeof call) => other.at < call.at || (other.at === call.at && other.id < call.id);
        const before = others.filter(isBefore);
        const after = others.filter((other) => !isBefore(other));
        const isOver = call.at + span <= now;
        return {
          ...{ call_id: call.id, started_at: new Date(call.at), local_date: dateAt(call.at, zone) },
          ...{ contact_key: call.externalNumber, number_key: call.accountNumber ?? 'unknown' },
          ...{ is_answered: call.status === 'answered', is_first_time: before.length === 0 },
          is_repeat: before.some(({ at }) => call.at - at <= span),
          is_resolved:
            call.status !== 'answered'
              ? null
              : after.some(({ at }) => at - call.at <= span)
                ? false
                : isOver
                  ? true
                  : null,
        };
      }),
    beside: ['queue_key', 'answered_user_key'],
  };
}
