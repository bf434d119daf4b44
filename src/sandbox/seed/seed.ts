import type { Call } from '../account.ts';
import { assumptions } from '../assumptions.ts';
import { createRandom, deriveSeed } from '../random.ts';
import type { Origin } from '../store/journal.ts';
import type { Store } from '../store/store.ts';
import { drawMoments, historyDays } from './calendar.ts';
import { inventCall, outsideNumber, placeCall } from './calls.ts';
import type { Customer } from './customers.ts';
import { type Directory, inventDirectory } from './directory.ts';
import { inventThreads } from './threads.ts';

/** The account's directory for an origin; the same origin always gives the same one. */
export function directoryOf(origin: Origin): Directory {
  const customers = Math.min(20_000, Math.max(80, Math.ceil(Math.max(origin.calls / 5, origin.threads))));
  return inventDirectory(createRandom(deriveSeed(origin.seed, 'directory')), customers);
}

/** Fills an empty store with what happened before the origin's start. Nothing of it is recorded in the journal. */
export function seedStore(store: Store, origin: Origin, directory: Directory): void {
  for (const user of directory.users) store.users.load(user);
  for (const line of directory.lines) store.lines.load(line);
  for (const call of inventHistory(store, origin, directory)) store.calls.load(call);
  const random = createRandom(deriveSeed(origin.seed, 'threads'));
  const firstId = store.messages.nextId();
  for (const message of inventThreads(random, directory, origin.threads, origin.startedAt, firstId)) {
    store.messages.load(message);
    const { line, number, blockReason: reason, sentAt } = message;
    // Whoever a text was not delivered to had been blocked before.
    if (reason !== undefined) store.blocked.load({ line, number, reason, blockedAt: sentAt - 86_400_000 });
  }
}

function inventHistory(store: Store, origin: Origin, directory: Directory): Call[] {
  const random = createRandom(deriveSeed(origin.seed, 'calls'));
  // The last hour stays quiet, so that whatever is told as history has ended by the start.
  const end = origin.startedAt - 3_600_000;
  const moments = drawMoments(random, origin.calls, end, historyDays(origin.calls), assumptions.timeZone);
  const customerOf = new Map<string, Customer>(directory.customers.map((customer) => [customer.number, customer]));
  const waiting: { call: Call; notBefore: number }[] = [];
  const lastCalls = new Map<string, number[]>();

  return moments.map((start) => {
    const returned = takeDue(waiting, start);
    const customer = returned && customerOf.get(returned.caller.number);
    const draft = customer
      ? inventCall(random, directory, { kind: 'outbound', status: 'answered', customer })
      : inventCall(random, directory, { status: random.chance(0.006) ? 'unknown' : undefined });

    const number = draft.direction === 'inbound' ? outsideNumber(draft) : '';
    const recent = (lastCalls.get(number) ?? []).filter((moment) => moment > start - assumptions.repeatWindowSeconds);
    const call = placeCall(draft, start, store.calls.reserve(draft.legs.length), number === '' ? 0 : recent.length);
    if (number !== '') lastCalls.set(number, [...recent, start]);
    if (returned !== undefined) returned.calledBack = call.id;
    if (call.abandoned && number !== '' && random.chance(0.55)) {
      waiting.push({ call, notBefore: start + call.duration + random.int(300, 7200) });
    }
    return withArtefacts(call);
  });
}

/** History's recordings and transcripts have been there since shortly after the call. */
function withArtefacts(call: Call): Call {
  if (!call.recorded) return call;
  const hangUp = (call.start + call.duration) * 1000;
  call.recordingsAt = hangUp + 40_000;
  call.transcriptsAt = hangUp + 150_000;
  return call;
}

function takeDue(waiting: { call: Call; notBefore: number }[], start: number): Call | undefined {
  const at = waiting.findIndex(({ notBefore }) => notBefore <= start);
  if (at === -1) return undefined;
  const due = waiting.splice(at, 1)[0];
  if (due === undefined || start > due.call.start + assumptions.repeatWindowSeconds) return undefined;
  return due.call;
}
