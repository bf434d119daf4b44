import type { EventType } from '../account.ts';
import type { Context } from '../context.ts';
import type { Payload } from './payloads.ts';

/**
 * Takes the text or call that an event tells of out of sight for a while, as if the event were ahead of the API. The
 * journal has it already and is told nothing.
 */
export function hideFor(
  ms: number,
  type: EventType,
  payload: Payload,
  { store, timers }: Pick<Context, 'store' | 'timers'>,
): void {
  if (type === 'AccountSMS') hide(store.messages, Number(payload.id));
  else hide(store.calls, String(payload.callId));

  function hide<Key extends string | number, Entity extends object>(
    table: { get(key: Key): Entity | undefined; load(entity: Entity): void; unload(key: Key): void },
    key: Key,
  ): void {
    const entity = table.get(key);
    if (entity === undefined) return;
    table.unload(key);
    timers.after(ms, () => table.load(entity));
  }
}
