import type { Database } from '../../db/database.ts';
import { findDelivery, type StoredDelivery } from '../../inbox/stored-deliveries.ts';
import { readTargetStates } from '../../inbox/target-states.ts';
import { type Target, targetKinds } from '../../inbox/targets.ts';
import { type Trace, trace } from '../../ops/trace.ts';
import { commandName, toType } from '../../shared/command-name.ts';
import { countOf, quantity } from '../../shared/format.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { ask, asks, facts, items, link, type RecordPage, section, soft, steps } from '../page.ts';
import { hiddenWords, targetPath, type View } from './view.ts';

/* For operators: what came, and what is read because of it. */

const shownTargets = 50;

/** The page of a delivery: what came, what it points at, and what followed. Throws `BadAddress`. */
export async function deliveryPage(db: Database, id: string, view: View): Promise<RecordPage> {
  const found = await findDelivery(db, id);
  if (!found) throw new BadAddress(`There is no delivery ${id}: it is older than EVENT_RETENTION_DAYS.`, 404);
  const led = await trace(db, 'delivery', id);
  const { targets } = found;
  const links = targets.slice(0, shownTargets).map((target) => link(targetPath(target), target));
  return {
    title: `Delivery ${id}`,
    parts: [
      targets.length > 0 &&
        asks(
          ask({
            label: 'Replay',
            question: `Read again, through the API, what this delivery points at (${countOf(targets.length, 'target')}). Nothing is lost, and rules do not act twice.`,
            answers: [['Replay', `/deliveries/${id}/replay`]],
          }),
        ),
      section(
        'What came',
        facts(view, [
          ['Received', found.receivedAt],
          ['Event type', found.type ?? 'none in the address'],
          ['Type in the body', found.claimedType],
          ['Content type', found.contentType ?? 'none'],
          ['Sender', found.userAgent ?? 'none'],
          ['Recognized', recognition(found)],
          ['Body', `${quantity(found.unreadBytes ?? Buffer.byteLength(found.body))} bytes`],
        ]),
      ),
      section(
        'Points at',
        links.length === 0
          ? soft(
              html`Nothing was recognized. <code>${commandName} events reparse</code> parses it again with this release.`,
            )
          : html`${items(links, 'prose')}${targets.length > links.length && soft(`and ${targets.length - links.length} more`)}`,
      ),
      section('What it led to', led ? story(led, view) : soft('Nothing yet.')),
      section('Body', bodyOf(found, view)),
    ],
  };
}

function recognition({ isRecognized, targets }: StoredDelivery): string {
  if (isRecognized) return 'yes';
  return targets.length === 0 ? 'no' : 'in part: it has more references than are taken from one delivery';
}

function bodyOf({ isErased, body, unreadBytes }: StoredDelivery, { areWordsShown }: View): Html {
  if (isErased) return soft('It mentioned a person who was erased, so its body was removed.');
  if (unreadBytes !== null)
    return soft(
      html`This release does not recognize it. It is kept whole where no page can read it (${quantity(unreadBytes)} bytes), and a later release may read it: <code>${commandName} events reparse</code>.`,
    );
  if (!areWordsShown) return hiddenWords;
  return html`<pre class="words-of" tabindex="0" role="region" aria-label="Body">${laidOut(body)}</pre><p class="note">Secrets and links were removed before it was stored.</p>`;
}

function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** The target in a path. Throws `BadAddress`. */
export function targetOf(kind: string | undefined, key: string | undefined): Target {
  const known = targetKinds.find((each) => each === kind);
  if (known === undefined || !key)
    throw new BadAddress(`The first part must be one of ${targetKinds.join(', ')}.`, 404);
  return { kind: known, key };
}

/** What a state means, and what comes next. */
const stateWords: Readonly<Record<string, string>> = {
  'up to date': 'Nothing to read: the mirror has what the newest read found.',
  'being read': 'A worker reads it now.',
  due: 'It waits for a worker.',
  'due later': 'It is read again by itself, as a recheck.',
  failing: 'The newest read failed. It is retried by itself, ever less often; a retry asks the service at once.',
  failed: 'The newest read failed, and nothing has made it pending again.',
  parked:
    'The API key may not read anything of this kind, so all its reads wait. Grant what is missing; they go on by themselves.',
  gone: 'The service does not have it any more. It is read again when a delivery names it.',
  forbidden: 'The API key may not read it. It is tried again ever less often.',
  refused: 'The service refuses the request itself, so it is not repeated. It is read again when a delivery names it.',
};

/** The page of a target: its state, the reason, and its history. Throws `BadAddress`. */
export async function targetPage(db: Database, target: Target, view: View): Promise<RecordPage> {
  const { kind, key } = target;
  const [row] = await readTargetStates(db, [target]);
  if (!row) throw new BadAddress(`Nothing made ${kind} ${key} pending so far: ${toType('resync')} reads it.`, 404);
  const way = kind === 'thread' || kind === 'call' ? await trace(db, kind, key) : undefined;
  const { deliveryId } = row;
  const mirrored = kind === 'thread' ? `/threads/${key}` : key === 'all' ? undefined : `/calls/${key}`;
  return {
    title: `The read of ${kind} ${key}`,
    parts: [
      asks(
        ask({
          label: 'Read again',
          question: `Read ${kind === 'thread' ? 'the whole thread' : 'it'} through the API now, without waiting for the next retry. What is mirrored stays; what changed is mirrored again.`,
          answers: [['Read again', targetPath(`${kind} ${key}`)]],
        }),
        mirrored !== undefined && html`<a class="link" href="${mirrored}">What is mirrored</a>`,
      ),
      section(
        'State',
        html`<p><span class="state">${row.words}</span>. ${stateWords[row.words]}</p>
${row.error !== null && html`<p class="reason">${row.error}</p>`}
${facts(view, [
  ['Newest read', row.readAt],
  ['Next read', row.isPending && row.dueAt],
  ['Failures in a row', row.attempts],
  ['Refused since', row.refusedAt],
  ['Parked until', row.parkedUntil],
  ['Parked because', row.parkedReason],
  ['Missing scope', row.missingScope],
  ['Because of', deliveryId !== null && link(`/deliveries/${deliveryId}`, `delivery ${deliveryId}`)],
])}`,
      ),
      way !== undefined && section('The way to it', story(way, view)),
    ],
  };
}

/** Events in order of time, and the reads that still wait. */
function story({ steps: taken, pending, isCut }: Trace, view: View): Html {
  return html`${steps(taken.map(({ at, step, subject, what }) => [view.time(at, true), step, html`${subjectLink(subject)}: ${what}`]))}
${pending.map(
  ({ target, dueAt, attempts, error }) =>
    html`<p class="note">Pending: ${target} is read at ${view.time(dueAt)}${attempts > 0 && `; ${countOf(attempts, 'read')} failed`}${error !== null && `: ${error}`}.</p>`,
)}
${isCut && html`<p class="note">Only the newest are shown.</p>`}`;
}

/** The subject of a trace, such as `delivery 42`, linked to its page if it has one. */
function subjectLink(subject: string): Html {
  const [kind = '', key] = subject.split(' ');
  const page = { delivery: '/deliveries', call: '/calls', send: '/sends' }[kind];
  return page === undefined ? html`${subject}` : link(`${page}/${key}`, subject);
}
