import type { FastifyRequest } from 'fastify';
import type { AnswerFault, AnswerFaultOf } from '../../faults/answers.ts';
import type { Struck } from '../../faults/lots.ts';
import { requireNumber } from '../../phone-number.ts';
import { type CallWorld, callEvent, provokeCall } from '../../traffic/calls.ts';
import { provokeSms, smsEvent } from '../../traffic/texts.ts';
import { invalidRequest } from '../errors.ts';

/** 400 for a limit that the smaller range does not allow (4.2: not clamped). */
export function refuseLimit(request: FastifyRequest, struck: readonly Struck<AnswerFault>[]): void {
  const query = new URLSearchParams(request.url.split('?')[1]);
  for (const { fault } of struck) {
    if (fault.kind === 'limit' && Number(query.get('limit') ?? 0) > fault.max) {
      throw invalidRequest(`limit must be from 1 to ${fault.max}`);
    }
  }
}

interface ThreadRead {
  params: { line: string; number: string };
  query: { groupParticipants?: string; limit: number; offset: number };
}

/** Lets a validated thread read ask for another page than it named: a shorter one, or one counted from the beginning. */
export function turnPages(
  { store }: Pick<CallWorld, 'store'>,
  request: FastifyRequest,
  struck: readonly Struck<AnswerFault>[],
): void {
  if (request.routeOptions.schema?.operationId !== 'readThread') return;
  const { params, query } = request as unknown as ThreadRead;
  for (const { fault } of struck) {
    if (fault.kind === 'limit') query.limit = Math.min(query.limit, fault.max);
    if (fault.kind !== 'oldestFirst') continue;
    const length = store.messages.thread(params.line, [...partiesOf({ params, query })]).length;
    const end = Math.min(length, query.offset + query.limit);
    query.limit = Math.max(0, end - query.offset);
    query.offset = length - end;
  }
}

/** Puts a call into the window that was searched, or a message into the thread that was read. */
export function shiftPages(world: CallWorld, request: FastifyRequest, { announce }: AnswerFaultOf<'shift'>): void {
  if (request.routeOptions.schema?.operationId === 'searchCalls') {
    const { start, end } = request.body as { start: number; end: number };
    const latest = Math.min(end, Math.floor(world.now().getTime() / 1000));
    if (latest < start) return;
    const startTime = new Date(latest * 1000).toISOString();
    provokeCall(world, callEvent.parse({ startTime, durationSeconds: 0, status: 'missed', announce }));
    return;
  }
  const read = request as unknown as ThreadRead;
  const parties = [...partiesOf(read)];
  const group = parties.length > 1 ? { participants: parties } : {};
  provokeSms(world, smsEvent.parse({ ...read.params, ...group, announce }));
}

function partiesOf({ params, query }: ThreadRead): Set<string> {
  const others = (query.groupParticipants ?? '').split(',').filter((part) => part.trim() !== '');
  return new Set([params.number, ...others.map((part) => requireNumber(part, 'groupParticipants'))]);
}
