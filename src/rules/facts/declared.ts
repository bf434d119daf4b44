import { weekdays } from '../../shared/business-hours.ts';
import { reachedValues } from '../../warehouse/call-facts.ts';
import type { TriggerKind } from '../triggers.ts';

/** The CEL type of a fact. */
export type FactType = 'string' | 'int' | 'bool' | 'timestamp' | 'list<int>';

/**
 * The format of a string. `number`: digits with the country code; `plain`: lower case, single spaces, no punctuation or
 * accents; `time`: `09:05`; `date`: `2026-11-01`.
 */
export type FactFormat = 'number' | 'plain' | 'time' | 'date';

/** The values that a fact can have. A comparison with any other value is an error of the rules file. */
export interface FactDomain {
  /** All values of a string. */
  readonly values?: readonly string[];
  readonly format?: FactFormat;
  /** Lower bound of an integer. */
  readonly min?: number;
}

/** The declaration of a fact. */
export interface Declared<T extends FactType = FactType> extends FactDomain {
  readonly type: T;
  readonly doc: string;
  /** It can be missing: conditions check `has(…)` first, templates get nil. */
  readonly isOptional?: true;
  /** A fact that is false whenever this one is missing, and so as good a check as `has(…)`. */
  readonly presentIf?: string;
  /** Text, speech or a name: a run records only its length, so that erasing the mirror erases it. */
  readonly isPrivate?: true;
}

const fact = <T extends FactType>(type: T, doc: string, domain: FactDomain = {}) => ({ type, doc, ...domain }) as const;
const optional = <T extends FactType>(type: T, doc: string, presence: Pick<Declared, 'presentIf'> = {}) =>
  ({ type, doc, isOptional: true, ...presence }) as const;
const personal = <T extends FactType>(type: T, doc: string, domain: FactDomain = {}) =>
  ({ type, doc, isPrivate: true, ...domain }) as const;
const number: FactDomain = { format: 'number' };
const counted: FactDomain = { min: 0 };
const optionalPrivate = <T extends FactType>(type: T, doc: string) =>
  ({ type, doc, isOptional: true, isPrivate: true }) as const;

/**
 * The facts of rules and templates, each as of the moment of the trigger: evaluated on last month's trigger, a rule decides as
 * it would have decided then.
 */
export const declaredFacts = {
  message: {
    id: fact('int', 'The service’s id of the text.'),
    text: personal('string', 'The text; empty for an image alone.'),
    plain: personal('string', 'The text in lower case, with single spaces and without punctuation: `thank you`.', {
      format: 'plain',
    }),
    media_count: fact('int', 'Attached files.', counted),
    sent_at: fact('timestamp', 'When it was sent.'),
  },
  thread: {
    line: fact('string', 'Our line.', number),
    number: fact('string', 'The other party.', number),
    exists: fact('bool', 'There is a text conversation; false for a caller who never texted.'),
    message_count: fact('int', 'Texts, this one included.', counted),
    inbound_count: fact('int', 'Texts of theirs, this one included.', counted),
    outbound_count: fact('int', 'Texts of ours.', counted),
    last_direction: fact('string', '`in`, `out`, or empty when there is no text.', { values: ['in', 'out', ''] }),
    last_inbound_at: optional('timestamp', 'Their newest text.'),
    last_outbound_at: optional('timestamp', 'Our newest text.'),
    last_human_reply_at: optional('timestamp', 'Newest text that a user of the account sent.'),
    is_resolved: optional(
      'bool',
      'From the newest answer to one of our own requests; false once they have written again (for message_received: before this text). Missing when no such answer contained it: what people resolve in the portal is not visible.',
    ),
    assigned_user_id: optional(
      'int',
      'From the newest answer to one of our own requests; missing when it is unknown, or nobody.',
    ),
  },
  line: {
    number: fact('string', 'Our line.', number),
    name: fact('string', 'Its caller-ID name.'),
    can_text: fact('bool', 'It is one of the lines that can send texts.'),
    user_ids: fact('list<int>', 'Users whom the line is assigned to; empty when it is everybody’s.'),
  },
  contact: {
    number: fact('string', 'The other party.', number),
    name: optionalPrivate('string', 'Name shown with the latest call, where there is one.'),
    is_own_line: fact('bool', 'The other party is a line of the account.'),
    is_new: fact('bool', 'No text and no call before this.'),
    earlier_messages: fact('int', 'Texts to or from them on any line before this.', counted),
    earlier_calls: fact('int', 'Calls with them that had ended before this.', counted),
    missed_calls_24h: fact('int', 'Of these, calls of theirs in the last 24 hours that nobody answered.', counted),
    last_message_at: optional('timestamp', 'Newest text on any line before this.'),
    last_call_at: optional('timestamp', 'Start of their newest call before this.'),
    talked_since: fact(
      'bool',
      'Since the call began (else since the trigger), a person of the account has talked with them by phone or texted them, on any line, as far as it is known when the rules are evaluated.',
    ),
  },
  hours: {
    is_open: fact('bool', 'Within `business_hours`.'),
    is_holiday: fact('bool', 'One of the `holidays`.'),
    weekday: fact('string', 'Local day of the week.', { values: weekdays }),
    time: fact('string', 'Local time of 24 hours.', { format: 'time' }),
    date: fact('string', 'Local day.', { format: 'date' }),
    opens_at: optional('timestamp', 'When it opens next; missing when nothing opens within two weeks.'),
    closes_at: optional('timestamp', 'When it closes; missing while it is closed.', { presentIf: 'hours.is_open' }),
  },
  call: {
    id: fact('string', 'The service’s id of the call.'),
    direction: fact('string', 'Empty when the service did not report it.', { values: ['inbound', 'outbound', ''] }),
    status: fact('string', 'How it ended.', { values: ['answered', 'missed', 'voicemail', 'unknown'] }),
    started_at: optional('timestamp', 'Start.'),
    ended_at: fact('timestamp', 'End.'),
    duration_seconds: fact('int', 'Length including enqueuing.', counted),
    talk_seconds: fact('int', 'Connected time.', counted),
    transferred_count: fact('int', 'How often it was transferred.', counted),
    is_abandoned: fact('bool', 'The caller hung up before anyone answered.'),
    is_recorded: fact('bool', 'Audio was captured.'),
    repeated_count: fact('int', 'Earlier calls of the same caller within the service’s window.', counted),
    reached: fact(
      'string',
      'How far the caller came: only into a menu, into a queue or huntgroup, a telephone rang, a mailbox, a person answered. `unknown` if the service does not say so within a minute.',
      { values: reachedValues },
    ),
    wait_seconds: optional(
      'int',
      'How long the caller waited for an answer, by the legs; from the entry of a queue, if there is one.',
    ),
    menu_seconds: optional('int', 'How long the caller was in menus, by the legs.'),
    message_left: fact('bool', 'A mailbox took a message: it was recorded, or connected for three seconds or more.'),
  },
  transcript: {
    id: fact('int', 'The service’s id of the transcript.'),
    text: personal('string', 'The spoken text, one utterance a line.'),
    summary: optionalPrivate('string', 'Short summary.'),
    purpose: optional('string', 'Purpose, in the account’s own words.'),
    sentiment: optional('string', 'Sentiment, in the account’s own words.'),
    satisfaction: optional('int', 'Customer satisfaction; missing when it was not analysed.'),
    performance: optional('int', 'Agent performance; missing when it was not analysed.'),
    is_action_required: fact('bool', 'Somebody should act.'),
    is_urgent: fact('bool', 'Somebody should act at once.'),
    action_note: optionalPrivate('string', 'What to do; the urgent note where there is one.'),
    agent_name: optionalPrivate('string', 'The agent’s name as the analysis heard it.'),
  },
  replies: {
    count: fact(
      'int',
      'Replies that rules have sent into this thread; for a dry-run rule, also those that dry-run rules would have sent.',
      counted,
    ),
    count_24h: fact('int', 'Of these, in the last 24 hours.', counted),
    last_at: optional('timestamp', 'The newest of them.'),
  },
} as const satisfies Record<string, Record<string, Declared>>;

export type FactGroup = keyof typeof declaredFacts;

interface ValueOf {
  string: string;
  int: number;
  bool: boolean;
  timestamp: Date;
  'list<int>': readonly number[];
}

type Declarations = typeof declaredFacts;
type OptionalNames<G extends FactGroup> = {
  [K in keyof Declarations[G]]: Declarations[G][K] extends { isOptional: true } ? K : never;
}[keyof Declarations[G]];
type FactValue<D> = D extends Declared<infer T> ? ValueOf[T] : never;

/** The facts of a group. */
export type FactsOf<G extends FactGroup> = {
  readonly [K in Exclude<keyof Declarations[G], OptionalNames<G>>]: FactValue<Declarations[G][K]>;
} & {
  readonly [K in OptionalNames<G>]?: FactValue<Declarations[G][K]> | undefined;
};

/** The facts of one trigger: the groups of its kind, and `now`, the moment of the trigger. */
export type Facts = { readonly now: Date } & { readonly [G in FactGroup]?: FactsOf<G> };

const everywhere = ['thread', 'line', 'contact', 'hours', 'replies'] as const;

/** The fact groups of each trigger. */
export const groupsOf: Readonly<Record<TriggerKind, readonly FactGroup[]>> = {
  message_received: ['message', ...everywhere],
  thread_idle: everywhere,
  call_missed: ['call', ...everywhere],
  call_ended: ['call', ...everywhere],
  voicemail_left: ['call', ...everywhere],
  transcript_ready: ['transcript', 'call', ...everywhere],
  action_required: ['transcript', 'call', ...everywhere],
};

/** Facts whose values are narrower on a trigger than their declaration says. */
const valuesAt: Readonly<Partial<Record<TriggerKind, Readonly<Record<string, readonly string[]>>>>> = {
  call_missed: { 'call.status': ['missed'] },
  voicemail_left: { 'call.status': ['voicemail'] },
};

/** A fact as `rules facts` and the documentation list it. */
export interface DescribedFact extends FactDomain {
  /** Such as `message.text`. */
  readonly fact: string;
  readonly type: FactType;
  readonly meaning: string;
  /** It can be missing: a condition checks `has(…)` first. */
  readonly isOptional: boolean;
  /** The triggers that have it. */
  readonly triggers: readonly TriggerKind[];
  /** The triggers on which it has fewer values. */
  readonly valuesOn?: Readonly<Partial<Record<TriggerKind, readonly string[]>>>;
}

/** Every fact, from the declarations that conditions and templates are checked against. */
export function describedFacts(): DescribedFact[] {
  const kinds = Object.keys(groupsOf) as TriggerKind[];
  const now: DescribedFact = {
    fact: 'now',
    type: 'timestamp',
    meaning: 'The moment of the trigger. Its parts are in UTC: the local time is hours.time.',
    isOptional: false,
    triggers: kinds,
  };
  const described = Object.entries<Readonly<Record<string, Declared>>>(declaredFacts).flatMap(([group, facts]) =>
    Object.entries(facts).map(([name, { type, doc, isOptional = false, isPrivate: _, ...domain }]): DescribedFact => {
      const fact = `${group}.${name}`;
      const triggers = kinds.filter((kind) => groupsOf[kind].includes(group as FactGroup));
      const fewer = triggers.flatMap((kind) => (valuesAt[kind]?.[fact] ? [[kind, valuesAt[kind][fact]] as const] : []));
      const valuesOn = fewer.length > 0 ? { valuesOn: Object.fromEntries(fewer) } : {};
      return { fact, type, meaning: doc, isOptional, ...domain, triggers, ...valuesOn };
    }),
  );
  return [now, ...described];
}

/** The values that a fact can have on a trigger; undefined for an unknown fact. */
export function domainOf(kind: TriggerKind, path: string): FactDomain | undefined {
  const declared = declarationOf(path);
  const values = valuesAt[kind]?.[path] ?? declared?.values;
  return declared && { ...declared, ...(values && { values }) };
}

/** The declaration of a fact such as `message.text`; undefined for an unknown one. */
export function declarationOf(path: string): Declared | undefined {
  const [group = '', name = ''] = path.split('.');
  const facts: Readonly<Record<string, Declared>> | undefined = declaredFacts[group as FactGroup];
  return facts && Object.hasOwn(facts, name) ? facts[name] : undefined;
}

const sampleNow = new Date('2026-03-04T15:30:00Z');
const before = (hours: number) => new Date(sampleNow.getTime() - hours * 3_600_000);

const full: { readonly [G in FactGroup]: FactsOf<G> } = {
  message: { id: 7, text: 'Thanks, see you at 5!', plain: 'thanks see you at 5', media_count: 1, sent_at: sampleNow },
  thread: {
    line: '18455550100',
    number: '17185550123',
    exists: true,
    message_count: 4,
    inbound_count: 2,
    outbound_count: 2,
    last_direction: 'in',
    last_inbound_at: sampleNow,
    last_outbound_at: before(20),
    last_human_reply_at: before(20),
    is_resolved: true,
    assigned_user_id: 101,
  },
  line: { number: '18455550100', name: 'Front Desk', can_text: true, user_ids: [101, 102] },
  contact: {
    number: '17185550123',
    name: 'Pat Example',
    is_own_line: false,
    is_new: false,
    earlier_messages: 3,
    earlier_calls: 2,
    missed_calls_24h: 1,
    last_message_at: before(20),
    last_call_at: before(30),
    talked_since: false,
  },
  hours: {
    is_open: true,
    is_holiday: false,
    weekday: 'wednesday',
    time: '10:30',
    date: '2026-03-04',
    opens_at: before(-22),
    closes_at: before(-6),
  },
  call: {
    id: '1772638200.12',
    direction: 'inbound',
    status: 'missed',
    started_at: before(0.1),
    ended_at: sampleNow,
    duration_seconds: 45,
    talk_seconds: 0,
    transferred_count: 0,
    is_abandoned: true,
    is_recorded: false,
    repeated_count: 1,
    reached: 'rang',
    wait_seconds: 30,
    menu_seconds: 15,
    message_left: false,
  },
  transcript: {
    id: 9,
    text: 'Hello.\nMy sink leaks.',
    summary: 'The sink leaks.',
    purpose: 'Repair',
    sentiment: 'negative',
    satisfaction: 4,
    performance: 8,
    is_action_required: true,
    is_urgent: true,
    action_note: 'Send a plumber.',
    agent_name: 'Sam',
  },
  replies: { count: 1, count_24h: 1, last_at: before(20) },
};

/** What differs in a second sample, in which all optional facts are missing: nobody wrote or called before. */
const sparse: { readonly [G in FactGroup]: Partial<FactsOf<G>> } = {
  message: { text: '', plain: '', media_count: 0 },
  thread: { exists: false, message_count: 0, inbound_count: 0, outbound_count: 0, last_direction: '' },
  line: { name: '', can_text: false, user_ids: [] },
  contact: { is_new: true, earlier_messages: 0, earlier_calls: 0, missed_calls_24h: 0, talked_since: true },
  hours: { is_open: false, is_holiday: true, weekday: 'sunday', time: '03:05', date: '2026-11-01' },
  call: { direction: 'outbound', status: 'unknown', repeated_count: 0, reached: 'unknown' },
  transcript: { text: '', is_action_required: false, is_urgent: false },
  replies: { count: 0, count_24h: 0 },
};

/** Sample facts that every rule is evaluated on when its file is loaded: a rule must not fail on the first customer. */
export function sampleFacts(kind: TriggerKind): readonly Facts[] {
  const sampleOf = (groupOf: (group: FactGroup) => object) =>
    ({ now: sampleNow, ...Object.fromEntries(groupsOf[kind].map((group) => [group, groupOf(group)])) }) as Facts;
  return [sampleOf((group) => full[group]), sampleOf((group) => ({ ...requiredFacts(group), ...sparse[group] }))];
}

function requiredFacts(group: FactGroup): object {
  return Object.fromEntries(
    Object.entries(full[group]).filter(([name]) => !declarationOf(`${group}.${name}`)?.isOptional),
  );
}
