import type { Account } from './account.ts';
import { type Fact, factsOf, isodowOf, isToldByLegs } from './calls.ts';
import { dateAt, wallAt } from './clock.ts';
import { grouped, percent, quotient, type Report, total } from './rows.ts';

/** Calls by user, as the comments of `agent_daily` and `fct_call_attribution` define them. */

/** The one user who has an extension, a dial-by-name extension or a desk phone; null where nobody or several have it. */
export function ownerOf({ users, formerUsers }: Account, extension: string): number | null {
  const owners = [...users, ...formerUsers].filter((user) => {
    return [user.extension, ...user.extensions, ...user.lines].includes(extension) && extension !== '';
  });
  return owners.length === 1 && owners[0] ? owners[0].id : null;
}

export function nameOf({ users, formerUsers }: Account, userId: number): string {
  const user = [...users, ...formerUsers].find(({ id }) => id === userId);
  const name = `${user?.firstName ?? ''} ${user?.lastName ?? ''}`.trim();
  return name || user?.username || `user ${userId}`;
}

interface Part {
  readonly extension: string;
  readonly role: 'placed' | 'answered' | 'rang' | 'transferred_to' | 'transferred_out';
  readonly talk: number | null;
}

/** What users did on a call: by its legs, or where these name nobody, as of a call not read whole, by its two ends. */
function partsOf(fact: Fact): Part[] {
  const { legs, caller, called, status, talk } = fact;
  if (!isToldByLegs(fact)) {
    const isAnswered = status === 'answered';
    return [
      ...(caller.type === 'user' ? [{ extension: caller.number, role: 'placed' as const, talk }] : []),
      ...(called.type === 'user'
        ? [
            {
              extension: called.number,
              role: isAnswered ? ('answered' as const) : ('rang' as const),
              talk: isAnswered ? talk : null,
            },
          ]
        : []),
    ];
  }
  return legs.flatMap(({ from, to, talkSeconds }, at): Part[] => {
    const isAnswered = talkSeconds > 0;
    return [
      ...(at === 0 && from.type === 'user'
        ? [{ extension: from.number, role: 'placed' as const, talk: talkSeconds }]
        : []),
      ...(to.type === 'user'
        ? [
            {
              extension: to.number,
              role: isAnswered ? ('answered' as const) : ('rang' as const),
              talk: isAnswered ? talkSeconds : null,
            },
          ]
        : []),
      ...(to.type === 'user' && from.type === 'user' && at > 0
        ? [{ extension: to.number, role: 'transferred_to' as const, talk: null }]
        : []),
      ...(from.type === 'user' && at > 0
        ? [{ extension: from.number, role: 'transferred_out' as const, talk: null }]
        : []),
    ];
  });
}

export function agentReports(account: Account): Report[] {
  const { timeZone: zone } = account.definitions;
  const touched = factsOf(account).flatMap((fact) => {
    const parts = partsOf(fact).flatMap((part) => {
      const userId = ownerOf(account, part.extension);
      return userId === null ? [] : [{ userId, ...part }];
    });
    return grouped(parts, ({ userId }) => [userId]).map(({ key: [userId], items }) => {
      const has = (role: Part['role']) => items.some((part) => part.role === role);
      const [isAnswered, isPlaced] = [has('answered'), has('placed')];
      return {
        ...{
          date: dateAt(fact.at, zone),
          hour: wallAt(fact.at, zone).hour,
          userId,
          direction: fact.isInternal ? 'internal' : fact.direction,
        },
        ...{ isAnswered, isPlaced, isRung: has('rang') && !isAnswered && !isPlaced, status: fact.status },
        isConnected: isAnswered || (isPlaced && fact.status === 'answered'),
        ...{ isTransferred: has('transferred_to'), isPassedOn: has('transferred_out') },
        talk: total(items.map((part) => (part.role === 'answered' || part.role === 'placed' ? part.talk : 0))),
      };
    });
  });
  const figures = (direction: string, items: typeof touched) => {
    const of = (test: (each: (typeof touched)[number]) => boolean) => items.filter(test).length;
    const connected = items.filter(({ isConnected }) => isConnected);
    const talk = total(connected.map((each) => each.talk));
    const answered = of(({ isAnswered }) => isAnswered);
    const rang = of(({ isRung }) => isRung);
    const reached = of(({ isPlaced, status }) => isPlaced && status === 'answered');
    const unconnected = of(({ isPlaced, status }) => isPlaced && (status === 'missed' || status === 'voicemail'));
    return {
      handled_count: of(({ isAnswered, isPlaced }) => isAnswered || isPlaced),
      ...{ answered_count: answered, placed_count: of(({ isPlaced }) => isPlaced), connected_count: connected.length },
      ...{
        unconnected_count: unconnected,
        placed_connected_count: reached,
        connect_rate_pct: percent(reached, reached + unconnected),
      },
      ...{ rang_count: rang, talk_seconds: talk, talk_count: connected.length },
      transferred_to_count: of(({ isTransferred }) => isTransferred),
      transferred_out_count: of(({ isPassedOn }) => isPassedOn),
      talk_avg_seconds: quotient(talk, connected.length, 10),
      pickup_rate_pct: direction === 'outbound' ? null : percent(answered, answered + rang),
    };
  };
  const report = (view: string, dateColumn: string, dateOf: (date: string) => string): Report => ({
    view,
    key: [dateColumn, 'user_id', 'direction'],
    rows: grouped(touched, ({ date, userId, direction }) => [dateOf(date), userId, direction] as const).map(
      ({ key: [date, userId, direction], items }) => ({
        ...{ [dateColumn]: date, user_id: userId, user_name: nameOf(account, userId), direction },
        ...figures(direction, [...items]),
      }),
    ),
  });
  const hours = grouped(touched, ({ date, hour, userId, direction }) => [date, hour, userId, direction] as const);
  return [
    {
      view: 'reporting.agent_hourly',
      key: ['local_date', 'local_hour', 'user_id', 'direction'],
      rows: hours.map(({ key: [date, hour, userId, direction], items }) => {
        const { connect_rate_pct, talk_avg_seconds, pickup_rate_pct, ...counts } = figures(direction, [...items]);
        return {
          ...{ local_date: date, local_hour: hour, isodow: isodowOf(date), user_id: userId, direction, ...counts },
          user_name: nameOf(account, userId),
        };
      }),
    },
    report('reporting.agent_daily', 'local_date', (date) => date),
    report('reporting.agent_monthly', 'month_start_date', (date) => `${date.slice(0, 7)}-01`),
  ];
}
