import { fullName } from '../seed/directory.ts';
import { liveCallPayload } from '../webhooks/payloads.ts';
import { type CallWorld, callEvent, conceiveCall, endCall } from './calls.ts';
import { provokeSms, smsEvent } from './texts.ts';

/** Milliseconds of a live call as its watchers see it; the call itself counts as long as such calls are. */
const ringingMs = { min: 700, max: 2_500 };
const talkingMs = { min: 1_500, max: 6_000 };
const replyAfterMs = { min: 2_000, max: 9_000 };

/** Lets texts and calls happen at random, one about every `everyMs`, until the timers are cleared. */
export function startTraffic(world: CallWorld, everyMs: number): void {
  const { random, timers } = world;
  timers.after(Math.round(everyMs * (0.4 + random.next() * 1.2)), () => {
    if (random.chance(0.55)) exchangeTexts(world);
    else placeLiveCall(world);
    startTraffic(world, everyMs);
  });
}

function exchangeTexts(world: CallWorld): void {
  const { random, directory, timers, store } = world;
  const media = random.chance(0.08) ? [`photo-${random.int(1, 9_999)}.jpg`] : [];
  const { line, number } = provokeSms(
    world,
    smsEvent.parse({ number: random.pick(directory.customers).number, media }),
  );
  if (!random.chance(0.45)) return;
  const author = random.pick(directory.users);
  timers.after(random.int(replyAfterMs.min, replyAfterMs.max), () => {
    const signed = random.chance(0.1) ? { text: `This is ${fullName(author)}, I will call you shortly.` } : {};
    const sentBy = store.users.get(author.id)?.id;
    provokeSms(world, smsEvent.parse({ line, number, direction: 'out', sentBy, ...signed }));
  });
}

/** ringing → answered → ended; the call enters the history only when it ends. */
function placeLiveCall(world: CallWorld): void {
  const { random, timers, announce, now } = world;
  const ringing = random.int(ringingMs.min, ringingMs.max);
  const talking = random.int(talkingMs.min, talkingMs.max);
  // The start lies back by the time that was left out, so that the call ends at its true end.
  const hangUp = Math.ceil((now().getTime() + ringing + talking) / 1000);
  const draft = conceiveCall(world, callEvent.parse({}));
  const call = { ...draft, start: hangUp - draft.duration, id: `${hangUp - draft.duration}.${draft.sequence}` };

  announce('AccountRealTimeCalls', liveCallPayload(call, 'ringing'));
  timers.after(ringing, () => {
    if (call.status === 'answered') announce('AccountRealTimeCalls', liveCallPayload(call, 'answered'));
  });
  timers.after(ringing + talking, () => {
    announce('AccountRealTimeCalls', liveCallPayload(call, 'ended'));
    endCall(world, call, { announce: true });
  });
}
