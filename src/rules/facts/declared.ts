import { didYouMean } from '../../shared/suggestions.ts';
import { reachedValues } from '../../warehouse/call-facts.ts';
import { weekdays } from '../business-hours.ts';
import { type TriggerKind, triggerKinds } from '../triggers.ts';

/** The CEL type of a fact. */
export type FactType = 'string' | 'int' | 'bool' | 'timestamp' | 'list<string>';

/**
 * The format of a string. `number`: digits with the country code; `plain`: lower case, single spaces, no punctuation or
 * accents; `time`: `09:05`; `date`: `2026-11-01`; `language`: `es`; `lower`: lower case.
 */
export type FactFormat = 'number' | 'plain' | 'time' | 'date' | 'language' | 'lower';

/** The values that a fact can have. A comparison with any other value is an error of the rules file. */
export interface FactDomain {
  /** All values of a string. */
  readonly values?: readonly string[];
  /** Of a string, and of each string of a list. */
  readonly format?: FactFormat;
}

interface ValueOf {
  string: string;
  int: number;
  bool: boolean;
  timestamp: Date;
  'list<string>': readonly string[];
}

/** The declaration of a fact. */
export interface Declared<T extends FactType = FactType> extends FactDomain {
  readonly type: T;
  /** Its value in the first sample. */
  readonly example: ValueOf[T];
  readonly doc: string;
  /** It can be missing: a condition that needs it is then false, and a template gets nil. */
  readonly isOptional?: true;
  /** Text, speech or a name: a run records only its length, so that erasing the mirror erases it everywhere. */
  readonly isPrivate?: true;
}

const fact = <T extends FactType>(type: T, example: ValueOf[T], doc: string, domain: FactDomain = {}) =>
  ({ type, example, doc, ...domain }) as const;
const optional = <T extends FactType>(type: T, example: ValueOf[T], doc: string, domain: FactDomain = {}) =>
  ({ ...fact(type, example, doc, domain), isOptional: true }) as const;
const personal = <T extends FactType>(type: T, example: ValueOf[T], doc: string, domain: FactDomain = {}) =>
  ({ ...fact(type, example, doc, domain), isPrivate: true }) as const;
const optionalPrivate = <T extends FactType>(type: T, example: ValueOf[T], doc: string) =>
  ({ ...optional(type, example, doc), isPrivate: true }) as const;
const number: FactDomain = { format: 'number' };

const sampleNow = new Date('2026-03-04T15:30:00Z');
const before = (hours: number) => new Date(sampleNow.getTime() - hours * 3_600_000);

/**
 * The facts of rules and templates, each as of the moment of the trigger: on last month's trigger, a rule decides as it
 * would have decided last month.
 */
export const declaredFacts = {
  message: {
    id: fact(
      'int',
      7,
      'The service’s id of the text. On thread_idle, `message` is their last text; without one, id and sent_at are missing.',
    ),
    text: personal(
      'string',
      'Thanks, see you at 5!',
      'The text; empty for an image alone, and on thread_idle if they never wrote.',
    ),
    plain: personal(
      'string',
      'thanks see you at 5',
      'The text in lower case, with single spaces and without punctuation: `thank you`.',
      {
        format: 'plain',
      },
    ),
    is_reaction: fact(
      'bool',
      false,
      'It is a reaction of a phone to another text, such as `Liked “…”` or `👍 to “…”`. Only rules whose condition asks for this fact are evaluated on reactions; the facts of the thread do not count them.',
    ),
    media_count: fact('int', 1, 'Attached files.'),
    sent_at: fact('timestamp', sampleNow, 'When it was sent.'),
  },
  thread: {
    message_count: fact('int', 4, 'Texts, this one included.'),
    inbound_count: fact('int', 2, 'Texts of theirs, this one included.'),
    outbound_count: fact('int', 2, 'Texts of ours.'),
    unanswered_count: fact(
      'int',
      1,
      'Texts of theirs, this one included, since your last text; one that a rule sent is no answer.',
    ),
    last_direction: fact('string', 'in', '`in`, `out`, or empty when there is no text.', { values: ['in', 'out', ''] }),
    last_inbound_at: optional('timestamp', sampleNow, 'Their newest text.'),
    last_human_reply_at: optional('timestamp', before(20), 'Newest text that a user of the account sent.'),
    is_resolved: optional(
      'bool',
      true,
      'From the newest answer to one of our own requests; false once they have written again (for message_received: before this text). Missing when no such answer contained it: what people resolve in the portal is not visible.',
    ),
  },
  line: {
    number: fact('string', '18455550100', 'Our line.', number),
    name: fact('string', 'Front Desk', 'Its caller-ID name.'),
    can_text: fact('bool', true, 'It is one of the lines that can send texts.'),
  },
  contact: {
    number: fact('string', '17185550123', 'The other party.', number),
    name: optionalPrivate(
      'string',
      'Pat Example',
      'Name by the imported list, else as shown with the latest call that had one; what carriers show instead of a name is none.',
    ),
    company: optionalPrivate('string', 'Example Plumbing', 'Company by the newest import of contacts.'),
    owner: optionalPrivate('string', 'Sam', 'Who looks after them, by the newest import of contacts.'),
    language: optional('string', 'es', 'Language by the newest import of contacts.', { format: 'language' }),
    tags: fact('list<string>', ['vip'], 'Tags by the newest import of contacts; empty when there are none.', {
      format: 'lower',
    }),
    is_new: fact('bool', false, 'No text and no call before this.'),
    talked_since: fact(
      'bool',
      false,
      'Since the call began (else since the event of the trigger), a person of the account has talked with them by phone or texted them, on any line, as far as it is known when the rules are evaluated.',
    ),
  },
  hours: {
    is_open: fact('bool', true, 'Within the hours of the line: those of its office, else `business_hours`.'),
    is_holiday: fact('bool', false, 'Closed all day: one of the `holidays`.'),
    weekday: fact('string', 'wednesday', 'Local day of the week.', { values: weekdays }),
    time: fact('string', '10:30', 'Local time of 24 hours.', { format: 'time' }),
    date: fact('string', '2026-03-04', 'Local day.', { format: 'date' }),
    time_zone: fact('string', 'America/New_York', 'Time zone of these hours, and of times in texts.'),
    opens_at: optional('timestamp', before(-22), 'When it opens next; missing when nothing opens within two weeks.'),
  },
  call: {
    id: fact('string', '1772638200.12', 'The service’s id of the call.'),
    direction: fact('string', 'inbound', 'Empty when the service did not report it.', {
      values: ['inbound', 'outbound', ''],
    }),
    status: fact('string', 'missed', 'How it ended.', { values: ['answered', 'missed', 'voicemail', 'unknown'] }),
    started_at: optional('timestamp', before(0.1), 'Start.'),
    ended_at: fact('timestamp', sampleNow, 'End.'),
    duration_seconds: fact('int', 45, 'Length including enqueuing.'),
    talk_seconds: fact('int', 0, 'Connected time.'),
    reached: fact(
      'string',
      'rang',
      'How far the caller came: only into a menu, into a queue or huntgroup, a telephone rang, a mailbox, a person answered. `unknown` if the service does not say so within a minute.',
      { values: reachedValues },
    ),
    wait_seconds: optional(
      'int',
      30,
      'How long the caller waited for an answer, by the legs; from the entry of a queue, if there is one.',
    ),
    menu_seconds: optional('int', 15, 'How long the caller was in menus, by the legs.'),
    message_left: fact(
      'bool',
      false,
      'A mailbox took a message: it was recorded, or connected for three seconds or more.',
    ),
    message_seconds: optional('int', 20, 'How long the mailbox was connected; missing without a mailbox.'),
    answered_user_id: optional('int', 101, 'The user who answered first.'),
    queue: optional(
      'string',
      '8001',
      'The last queue or huntgroup that the caller entered: its number, else its name.',
    ),
  },
  transcript: {
    text: personal('string', 'Hello.\nMy sink leaks.', 'The spoken text, one utterance a line.'),
    summary: optionalPrivate('string', 'The sink leaks.', 'Short summary.'),
    sentiment: optional('string', 'negative', 'Sentiment, in the account’s own words.'),
    is_action_required: fact('bool', true, 'Somebody should act.'),
    is_urgent: fact('bool', true, 'Somebody should act at once.'),
    action_note: optionalPrivate('string', 'Send a plumber.', 'What to do; the urgent note where there is one.'),
  },
  replies: {
    count: fact(
      'int',
      1,
      'Replies that rules have sent into this thread; for a dry-run rule, also those that dry-run rules would have sent.',
    ),
  },
} as const satisfies Record<string, Record<string, Declared>>;

export type FactGroup = keyof typeof declaredFacts;

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
  thread_idle: ['message', ...everywhere],
  call_missed: ['call', ...everywhere],
  call_ended: ['call', ...everywhere],
  voicemail_left: ['call', ...everywhere],
  transcript_ready: ['transcript', 'call', ...everywhere],
  action_required: ['transcript', 'call', ...everywhere],
};

/** The fact that belongs to no group. */
export const nowFact: Declared = fact(
  'timestamp',
  sampleNow,
  'The moment of the trigger. Its parts are in UTC: the local time is hours.time.',
);

/** The triggers whose rules have a group of facts. */
export function triggersWith(group: FactGroup): TriggerKind[] {
  return triggerKinds.filter((kind) => groupsOf[kind].includes(group));
}

/** The declaration of a fact such as `message.text`; undefined for an unknown one. */
export function declarationOf(path: string): Declared | undefined {
  const [group = '', name = ''] = path.split('.');
  const facts: Readonly<Record<string, Declared>> | undefined = declaredFacts[group as FactGroup];
  return facts && Object.hasOwn(facts, name) ? facts[name] : undefined;
}

/** What is wrong with a name that rules on a trigger don't have; undefined for a fact that they have. */
export function unknownFact(
  kind: TriggerKind,
  group: string,
  name: string | undefined,
): { readonly message: string; readonly remedy: string } | undefined {
  if (!groupsOf[kind].includes(group as FactGroup)) {
    const others = triggersWith(group as FactGroup);
    return others.length > 0
      ? { message: `There is no \`${group}\` on ${kind}.`, remedy: `Rules on ${others.join(', ')} have it.` }
      : { message: `There is no fact called ${group}.`, remedy: didYouMean(group, ['now', ...groupsOf[kind]]) };
  }
  const names = Object.keys(declaredFacts[group as FactGroup]);
  if (name === undefined) {
    return { message: `${group} is a group of facts.`, remedy: `Name one of its facts: ${names.join(', ')}.` };
  }
  if (names.includes(name)) return undefined;
  return { message: `There is no fact ${group}.${name}.`, remedy: didYouMean(name, names) };
}

/**
 * Sample facts on which every rule is evaluated when its file is loaded: a rule must not fail on the first customer.
 * The first sample has every fact, the second only those that are never missing, with other values.
 */
export function sampleFacts(kind: TriggerKind): readonly Facts[] {
  const groupOf = (group: FactGroup, valued: (declared: Declared) => unknown) =>
    Object.fromEntries(
      Object.entries<Declared>(declaredFacts[group]).map(([name, declared]) => [name, valued(declared)]),
    );
  const sampleOf = (valued: (declared: Declared) => unknown) =>
    ({
      now: sampleNow,
      ...Object.fromEntries(groupsOf[kind].map((group) => [group, groupOf(group, valued)])),
    }) as Facts;
  return [sampleOf(({ example }) => example), sampleOf((each) => (each.isOptional ? undefined : otherValue(each)))];
}

function otherValue({ type, example, values, format }: Declared): unknown {
  switch (type) {
    case 'bool':
      return !example;
    case 'int':
      return 0;
    case 'list<string>':
      return [];
    case 'timestamp':
      return example;
    case 'string':
      return values?.at(-1) ?? (format === undefined || format === 'plain' ? '' : example);
  }
}
