import type { Transaction } from '../../db/database.ts';
import { maskedTarget, type Target, targetKinds } from '../../inbox/targets.ts';
import { readTargetStates } from '../../ops/target-states.ts';
import { trace } from '../../ops/trace.ts';
import { toType } from '../../shared/command-name.ts';
import { maskNumbers } from '../../shared/masking.ts';
import { BadAddress } from '../answering.ts';
import { html, link } from '../html.ts';
import { ask, asks, facts, type RecordPage, section, story } from './page-parts.ts';
import { targetPath, type View } from './view.ts';

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

const ranks = ['live', 'history, after live reads', 'unconfirmed, slowly', 'unconfirmed, slowly'] as const;

/** The page of a target: its state, the reason, and its history. */
export async function targetPage(tx: Transaction, target: Target, view: View): Promise<RecordPage> {
  const { kind, key } = target;
  const [row] = await readTargetStates(tx, [target]);
  const name = maskedTarget(target);
  if (!row) throw new BadAddress(`Nothing made ${name} pending so far: ${toType('resync')} reads it.`, 404);
  const way = kind === 'thread' || kind === 'call' ? await trace(tx, kind, key) : undefined;
  const { deliveryId } = row;
  const mirrored = kind === 'thread' ? `/threads/${key}` : key === 'all' ? undefined : `/calls/${key}`;
  return {
    title: name,
    heading: html`${name.charAt(0).toUpperCase()}${name.slice(1, kind.length)} <span class="soft">${name.slice(kind.length + 1)}</span>`,
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
${row.error !== null && html`<p class="reason">${maskNumbers(row.error)}</p>`}
${facts(view, [
  ['newest read', row.readAt],
  ['next read', row.isPending && row.dueAt],
  ['failures in a row', row.attempts],
  ['refused since', row.refusedAt],
  ['parked until', row.parkedUntil],
  ['parked because', row.parkedReason && maskNumbers(row.parkedReason)],
  ['missing scope', row.missingScope],
  ['order', ranks[row.priority] ?? row.priority],
  ['because of', deliveryId !== null && link(`/deliveries/${deliveryId}`, `delivery ${deliveryId}`)],
])}`,
      ),
      way !== undefined && section('The way to it', story(way, view)),
    ],
  };
}
